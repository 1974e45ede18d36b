"""The close of publish: whose masked value opens what it committed to ([P1] to [P3], [A5])."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from commitments.group import Group, PointVec, ScalarVec
from gopa.masks import unpack_words
from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Cause, Why
from gopa.messages.party import PUBLISH
from gopa.messages.phases import Phase
from gopa.rules.accusations import Conviction, Court
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.confirm import ConfirmStage
from gopa.rules.findings import Fault
from gopa.rules.mailbox import Sorter
from gopa.rules.openings import Claimed, wrong_openings
from gopa.rules.result import ResultStage
from gopa.rules.rollback import RollbackStage
from gopa.rules.verdict import Verdict, invalid

_AT_ONCE: Final = 2_048
"""So many openings are checked together: memory does not grow with the list."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A published value as scalars; words stay packed until they are summed."""

    data: bytes
    values: ScalarVec | None
    blinding: ScalarVec | None


@dataclass(slots=True)
class PublishStage:
    """From the close of commit to that of publish; accusations are heard in it."""

    book: Book
    opened: Message
    court: Court = field(init=False)
    _sorter: Sorter[Masked] = field(init=False)
    _opens: dict[bytes, bool] = field(default_factory=dict)
    phase: Phase = field(default=Phase.PUBLISH, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self.court = Court(book)
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.PUBLISH,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.PUBLISH),
            rule="04-P2",
            missing="04-P2",
            read=self._read,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(self.book.members)

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        convicted = self._convicted(cut)
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        for author, conviction in convicted.items():
            found.read.pop(author, None)
            if author in verdicts and verdicts[author].cause is Cause.STRUCK:
                continue
            if book.places[author] in book.committed:
                verdicts[author] = conviction.verdict
        self._require_openings(found.read, verdicts)
        read = {book.places[author]: content for author, (_, content) in found.read.items()}
        members = book.shortened(sorted(read), verdicts)
        final = book.curious or not book.matched.crossing(members)
        removed = book.removed(verdicts, Phase.PUBLISH)
        faults = _faults(book, verdicts, convicted.values())
        culprits = book.culprits(verdicts)
        if book.too_few(members):
            failed = fails(Why.TOO_FEW_LEFT, culprits, removed, faults, out=verdicts)
            return replace(failed, heard=cut)
        if not final and not book.manifest.max_rollbacks:
            failed = fails(Why.TOO_MANY_ROLLBACKS, culprits, removed, faults, out=verdicts)
            return replace(failed, heard=cut)

        def settle(message: Message) -> Stage:
            book.values = [b""] * len(book.enrolled)
            for place in members:
                book.values[place] = read[place].data
            book.pledged = None
            listed = book.settle_list(Phase.PUBLISH, cut, message, members, final=final)
            return _following(book, message, listed, final=final)

        said = book.packed(members, final=final)
        return Step(said, removed, settle, faults, heard=cut, out=verdicts)

    def _convicted(self, cut: int) -> dict[bytes, Conviction]:
        """[A5]: accusations below the cut."""
        heard = [each for each in self.book.mail.many(Phase.ACCUSE) if each.index < cut]
        return dict(self.court.convict(heard))

    def _read(self, message: Message) -> Masked:
        """Raises `MalformedMessage` for anything that is no masked value of this session."""
        publish, book = PUBLISH.decode(message.body), self.book
        dimension, group = book.context.dimension, book.group
        if book.context.full:
            values = group.decode_scalars(publish.value, dimension)
            return Masked(publish.value, values, group.decode_scalars(publish.blinding, 1))
        group.decode_scalars(publish.blinding, 0)
        unpack_words(publish.value, dimension, book.manifest.word_width)
        return Masked(publish.value, None, None)

    def _require_openings(
        self, read: dict[bytes, tuple[Message, Masked]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[P1]."""
        book = self.book
        if not book.context.full:
            return
        new = [author for author in sorted(read) if read[author][0].leaf not in self._opens]
        wrong = self._wrong([(book.places[author], read[author][1]) for author in new])
        for number, author in enumerate(new):
            self._opens[read[author][0].leaf] = number not in wrong
        for author in sorted(read):
            message = read[author][0]
            if not self._opens[message.leaf]:
                del read[author]
                fault = "a value that does not open its commitments"
                verdicts[author] = invalid("04-P1", message.index, fault)

    def _wrong(self, published: Sequence[tuple[int, Masked]]) -> frozenset[int]:
        return frozenset(
            at + number
            for at in range(0, len(published), _AT_ONCE)
            for number in self._wrong_among(published[at : at + _AT_ONCE])
        )

    def _wrong_among(self, published: Sequence[tuple[int, Masked]]) -> frozenset[int]:
        book = self.book
        rows = [masked.values for _, masked in published if masked.values is not None]
        blindings = _joined(book.group, [masked.blinding for _, masked in published])
        targets = masked_commitments(book, [place for place, _ in published])
        return wrong_openings(Claimed(book.key, rows, blindings, targets), book.tools.rng)


def _joined(group: Group, vectors: Iterable[ScalarVec | None]) -> ScalarVec:
    data = b"".join(vector.to_bytes() for vector in vectors if vector is not None)
    return group.decode_scalars(data, len(data) // group.scalar_size)


def masked_commitments(book: Book, places: Sequence[int]) -> PointVec:
    """D_u + B_u + sum of sgn C_uv over live edges, for each of the parties."""
    return book.group.points([]) if book.pledged is None else book.pledged.gather(places)


def _faults(
    book: Book, verdicts: dict[bytes, Verdict], convictions: Iterable[Conviction]
) -> tuple[Fault, ...]:
    """Every conviction, and what else convicts somebody."""
    others = {
        author: verdict
        for author, verdict in verdicts.items()
        if verdict.cause is not Cause.CONVICTED
    }
    convicted = [book.fault(each.author, each.rule, each.what, each.entry) for each in convictions]
    return (*book.blamed(others), *convicted)


def _following(book: Book, message: Message, members: tuple[int, ...], *, final: bool) -> Stage:
    if not final:
        return RollbackStage(book, message, 1, members)
    book.final = members
    book.publish_leaves.add(message.leaf)
    return ResultStage(book) if book.curious else ConfirmStage(book, message)
