"""What a coalition finds in a real log, and what it can take off masked values with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bulletin_board import Entry, LogReader, Submission
from commitments import Pedersen
from gopa.contract.framing import party_id
from gopa.contract.party import COMMIT, OPENING, PUBLISH, RECOVER, UNMASK, Commit
from gopa.contract.phases import Kind
from gopa.contract.words import unpack_words, word_type
from gopa.protocol.rules import RoundFindings
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import (
    Share,
    add_edge_words,
    add_self_words,
    decode_commitments,
    decode_seed_commitments,
    decode_share,
    edge_mask,
    recover,
    recover_seed,
    self_mask,
    share_point,
    sign,
)
from wire.errors import UsageError
from wire.secret import Guarded, SecretBytes

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundMessages:
    """The messages of honest parties in one round, by position of the roll.

    `edges` are keys that were opened, by both ends; `shares` lie at points, by dealer.
    """

    values: dict[int, Numbers] = field(default_factory=dict)
    commits: dict[int, Commit] = field(default_factory=dict)
    seeds: dict[int, SecretBytes] = field(default_factory=dict)
    edges: dict[frozenset[int], SecretBytes] = field(default_factory=dict)
    shares: dict[int, dict[int, Share]] = field(default_factory=dict)


def evidence_of(log: LogReader, context: RoundContext, found: RoundFindings) -> RoundMessages:
    """Everything that the log has of a round, also what came too late to count.

    Raises:
        UsageError: a message of several entries; small sessions have none.
    """
    places = {key: place for place, key in enumerate(found.roll)}
    evidence = RoundMessages()
    for entry in _entries(log, found.number):
        place = places.get(entry.author.data)
        if place is not None:
            _read(evidence, entry, place, context)
    return evidence


def _entries(log: LogReader, number: int) -> Iterator[Entry]:
    for raw in log.entries():
        entry = Submission.decode(raw).entry
        if entry.round == number:
            if entry.chunks != 1:
                raise UsageError("messages of one entry: take smaller sessions", "log")
            yield entry


def _read(evidence: RoundMessages, entry: Entry, place: int, context: RoundContext) -> None:
    body = entry.body
    if entry.kind == Kind.COMMIT:
        evidence.commits[place] = COMMIT.decode(body)
    elif entry.kind == Kind.PUBLISH:
        evidence.values[place] = _numbers(PUBLISH.decode(body).value, context)
    elif entry.kind == Kind.OPENING:
        for edge in OPENING.decode(body).edges:
            evidence.edges[frozenset({place, edge.neighbour})] = SecretBytes(edge.key)
    elif entry.kind == Kind.UNMASK:
        evidence.seeds[place] = SecretBytes(UNMASK.decode(body).seed)
    elif entry.kind == Kind.RECOVER:
        for each in RECOVER.decode(body).shares:
            share = decode_share(context.group, each.share)
            evidence.shares.setdefault(each.dealer, {})[share_point(place)] = share


def _numbers(value: bytes, context: RoundContext) -> Numbers:
    if context.committed_masks:
        return tuple(context.group.decode_scalars(value, context.dimension).ints())
    words = unpack_words(value, context.dimension, context.manifest.word_width)
    return tuple(words.tolist())


def modulus(context: RoundContext) -> int:
    """What masked values are reduced by."""
    return context.group.order if context.committed_masks else 1 << context.manifest.word_width


def centred(values: Sequence[int], size: int) -> Numbers:
    """The representatives next to zero."""
    return tuple((value + size // 2) % size - size // 2 for value in values)


def total_of(rows: Mapping[int, Numbers], places: Sequence[int], size: int) -> Numbers:
    """The sum of the rows at these places, around zero."""
    columns = zip(*(rows[place] for place in places), strict=True)
    return centred([sum(column) for column in columns], size)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartySecrets(Guarded):
    """What one party knows behind its commit: the keys of its edges, and its seed."""

    party: int
    keys: Mapping[int, SecretBytes]
    seed: SecretBytes | None


@dataclass(frozen=True, slots=True)
class StrippedValue:
    """A value without everything that the coalition knows.

    `hidden` are the neighbours whose masks are still in it, `closed` says that its
    self-mask is.
    """

    values: Numbers
    hidden: tuple[int, ...]
    closed: bool


@dataclass(frozen=True, slots=True)
class Stripper:
    """The values of one round, stripped with what its log shows. Positions are the roll's."""

    context: RoundContext
    found: RoundFindings
    evidence: RoundMessages

    def rests(self, coalition: Mapping[int, PartySecrets]) -> dict[int, StrippedValue]:
        """The rest of every value on the log whose party is not of the coalition."""
        return {
            place: self._rest(place, coalition)
            for place in sorted(self.evidence.values)
            if place not in coalition
        }

    def expected(
        self, place: int, plain: Numbers, rest: StrippedValue, everybody: Mapping[int, PartySecrets]
    ) -> Numbers:
        """Input and noise, with the masks that `rest` says are left: known to a simulation."""
        total = list(plain)
        own = everybody[place]
        for other in rest.hidden:
            total = self._plus(total, self._edge(own.keys[other], place, other))
        if rest.closed and own.seed is not None:
            total = self._plus(total, self._own(own.seed, place))
        return self._reduced(total)

    def _rest(self, place: int, coalition: Mapping[int, PartySecrets]) -> StrippedValue:
        values, hidden = list(self.evidence.values[place]), []
        for other in self._neighbours(place):
            key = self._known(place, other, coalition)
            if key is None:
                hidden.append(other)
            else:
                values = self._minus(values, self._edge(key, place, other))
        mask = self._self_mask(place)
        if mask is not None:
            values = self._minus(values, mask)
        closed = mask is None and self._has_self_masks
        return StrippedValue(self._reduced(values), tuple(hidden), closed)

    @property
    def _has_self_masks(self) -> bool:
        return any(any(each.self_mask) for each in self.evidence.commits.values())

    def _neighbours(self, place: int) -> list[int]:
        if self.found.graph is None:
            raise UsageError("a round with a graph", "found")
        around: list[int] = self.found.graph.neighbours(place).tolist()
        void = {frozenset(edge) for edge in self.found.void}
        listed = self.evidence.commits
        return [each for each in around if each in listed and {place, each} not in void]

    def _known(
        self, place: int, other: int, coalition: Mapping[int, PartySecrets]
    ) -> SecretBytes | None:
        if other in coalition:
            return coalition[other].keys[place]
        return self.evidence.edges.get(frozenset({place, other}))

    def _self_mask(self, place: int) -> Numbers | None:
        """Opened by its owner, or from shares."""
        if place in self.evidence.seeds:
            return self._own(self.evidence.seeds[place], place)
        commit, shares = self.evidence.commits[place], self.evidence.shares.get(place, {})
        needed = self.context.manifest.terms.shares_needed(len(commit.shares))
        if needed is None or not commit.shares or len(shares) < needed:
            return None
        group, data = self.context.group, b"".join(commit.coefficients)
        if self.context.manifest.deals_seeds:
            dealt = decode_seed_commitments(group, data, needed)
            return self._own(recover_seed(dealt, shares), place)
        own = Pedersen(group).decode(commit.self_mask, 1)
        commitments = decode_commitments(own, data, needed)
        return tuple(recover(commitments, shares).values.reveal().ints())

    def _edge(self, key: SecretBytes, place: int, other: int) -> Numbers:
        """The mask as this party adds it."""
        context, law = self.context, self.context.mask_law
        signed = sign(self._id(place), self._id(other))
        if context.committed_masks:
            mask = edge_mask(context.group, key, law, context.dimension)
            return tuple(signed * value for value in mask.values.reveal().ints())
        words = self._zeros()
        add_edge_words(words, key, signed, law, group=context.group)
        return tuple(words.tolist())

    def _own(self, seed: SecretBytes, place: int) -> Numbers:
        context = self.context
        where = context.self_context(self._id(place))
        if context.committed_masks:
            mask = self_mask(context.group, seed, where, context.dimension)
            return tuple(mask.values.reveal().ints())
        words = self._zeros()
        add_self_words(words, seed, where, group=context.group)
        return tuple(words.tolist())

    def _zeros(self) -> np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]:
        width = self.context.manifest.word_width
        return np.zeros(self.context.dimension, dtype=word_type(width))

    def _id(self, place: int) -> bytes:
        return party_id(self.found.roll[place])

    def _reduced(self, values: list[int]) -> Numbers:
        size = modulus(self.context)
        return tuple(value % size for value in values)

    @staticmethod
    def _plus(left: list[int], right: Numbers) -> list[int]:
        return [a + b for a, b in zip(left, right, strict=True)]

    @staticmethod
    def _minus(left: list[int], right: Numbers) -> list[int]:
        return [a - b for a, b in zip(left, right, strict=True)]
