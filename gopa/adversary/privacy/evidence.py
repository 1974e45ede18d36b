"""Reads what a coalition finds in a real log: masked values, opened keys, seeds, shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bulletin_board import Entry, LogReader, Submission
from gopa.contract.party import COMMIT, OPENING, PUBLISH, RECOVER, UNMASK, Commit
from gopa.contract.phases import Kind
from gopa.contract.words import unpack_words
from gopa.protocol.rules import RoundFindings
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import Share, decode_share, share_point
from wire.errors import UsageError
from wire.secret import SecretBytes

Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundMessages:
    """Holds the messages of honest parties in one round, by position of the roll.

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
