"""The closes of rollback: who opened the edges it owes ([O1] to [O4])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gopa.masks import edge_key_hash, edge_masks
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Cause, Why
from gopa.messages.party import OPENING, Opening
from gopa.messages.phases import Phase
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.confirm import ConfirmStage
from gopa.rules.mailbox import Sorter
from gopa.rules.openings import Claimed, wrong_openings
from gopa.rules.verdict import BreaksRule, Verdict, absent, invalid
from wire.secret import SecretBytes


@dataclass(slots=True)
class RollbackStage:
    """From one close to that of rollback `step`; `members` is L_(step - 1)."""

    book: Book
    opened: Message
    step: int
    members: tuple[int, ...]
    owed: Mapping[int, Mapping[int, int]] = field(init=False)
    """For each party that owes something: the edge to each neighbour that is gone."""
    _sorter: Sorter[Opening] = field(init=False)
    _right: dict[bytes, bool] = field(default_factory=dict)
    phase: Phase = field(default=Phase.ROLLBACK, init=False)

    def __post_init__(self) -> None:
        book = self.book
        book.publish_leaves.add(self.opened.leaf)
        self.owed = owed_edges(book, self.members)
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.ROLLBACK,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.ROLLBACK),
            rule="04-O1",
            missing="04-O1",
            read=self._read,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(sorted(self.owed))

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        verdicts: dict[bytes, Verdict] = {}
        read = self._received(cut, verdicts)
        self._require_keys(read, verdicts)
        stay = [place for place in self.members if book.author(place) not in verdicts]
        members = book.shortened(stay, verdicts)
        final = members == self.members
        removed = book.removed(verdicts, Phase.ROLLBACK, self.step)
        faults = book.blamed(verdicts)
        culprits = book.culprits(verdicts)
        if book.too_few(members):
            return fails(Why.TOO_FEW_LEFT, culprits, removed, faults, out=verdicts)
        if not final and self.step >= book.manifest.max_rollbacks:
            return fails(Why.TOO_MANY_ROLLBACKS, culprits, removed, faults, out=verdicts)
        counted = frozenset(message.leaf for message, _ in read.values())
        opened = {
            self.owed[book.places[author]][edge.neighbour]: SecretBytes(edge.key)
            for author, (_, opening) in read.items()
            for edge in opening.edges
        }

        def settle(message: Message) -> Stage:
            book.openings |= opened
            book.stray_openings += [
                each for each in book.mail.many(Phase.ROLLBACK) if each.leaf not in counted
            ]
            listed = book.settle_list(Phase.ROLLBACK, cut, message, members, self.step, final=final)
            if not final:
                return RollbackStage(book, message, self.step + 1, listed)
            book.final = listed
            book.publish_leaves.add(message.leaf)
            return ConfirmStage(book, message)

        return Step(book.packed(members, final=final), removed, settle, faults, out=verdicts)

    def _received(
        self, cut: int, verdicts: dict[bytes, Verdict]
    ) -> dict[bytes, tuple[Message, Opening]]:
        """[O1]: the first message of each party that acts on the close before."""
        book = self.book
        read: dict[bytes, tuple[Message, Opening]] = {}
        members = frozenset(self.members)
        for message in book.mail.many(Phase.ROLLBACK):
            author = message.author
            listed = book.places[author] in members
            if message.index >= cut or not listed or author in read or author in verdicts:
                continue
            opening = self._sorter.judge(message)
            if not isinstance(opening, Verdict):
                read[author] = message, opening
            elif opening.rule != "04-E4":
                verdicts[author] = opening
        for place in self.members:
            author = book.author(place)
            if book.mail.is_struck(author, cut):
                read.pop(author, None)
                verdicts[author] = Verdict(Cause.STRUCK, "04-E3", book.mail.struck[author])
            elif place in self.owed and author not in read and author not in verdicts:
                verdicts[author] = absent("04-O3")
        return read

    def _read(self, message: Message) -> Opening:
        opening = OPENING.decode(message.body)
        owed = self.owed.get(self.book.places[message.author], {})
        if [edge.neighbour for edge in opening.edges] != sorted(owed):
            raise BreaksRule("04-O1", "other edges than those that it owes")
        return opening

    def _require_keys(
        self, read: dict[bytes, tuple[Message, Opening]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[O2]."""
        book = self.book
        new = [author for author in sorted(read) if read[author][0].leaf not in self._right]
        keys: list[tuple[int, SecretBytes]] = []
        owners: list[bytes] = []
        for author in new:
            message, opening = read[author]
            self._right[message.leaf] = True
            owed = self.owed[book.places[author]]
            keys += [(owed[edge.neighbour], SecretBytes(edge.key)) for edge in opening.edges]
            owners += [message.leaf] * len(opening.edges)
        for number in wrong_keys(book, keys):
            self._right[owners[number]] = False
        for author in sorted(read):
            message = read[author][0]
            if not self._right[message.leaf]:
                del read[author]
                fault = "a key that does not make the edge's commitment"
                verdicts[author] = invalid("04-O2", message.index, fault)


def owed_edges(book: Book, members: Iterable[int]) -> dict[int, dict[int, int]]:
    """For each member the live edges to parties that are gone, as far as they are not open."""
    owed: dict[int, dict[int, int]] = {}
    for edge, inside, outside in book.matched.crossing(members):
        if edge not in book.openings:
            owed.setdefault(inside, {})[outside] = edge
    return owed


def wrong_keys(book: Book, keys: list[tuple[int, SecretBytes]]) -> frozenset[int]:
    """The positions of keys from which another commitment than the edge's follows ([O2])."""
    edges = book.matched
    if not book.context.full:
        return frozenset(
            number
            for number, (edge, key) in enumerate(keys)
            if edge_key_hash(key, book.edge_context(*edges.ends(edge))) != edges.encoding(edge)
        )
    if not keys:
        return frozenset()
    masks = edge_masks(book.group, [key for _, key in keys], book.mask_law, book.context.dimension)
    rows = [row.reveal() for row in masks.rows]
    points = edges.points(book.group, [edge for edge, _ in keys])
    return wrong_openings(Claimed(book.key, rows, masks.blindings.reveal(), points), book.tools.rng)
