"""The close of unmask, or the result if every seed is there ([U1], [U2])."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import UNMASK, Unmask
from gopa.messages.phases import Phase
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.mailbox import Sorter
from gopa.rules.recover import RecoverStage
from gopa.rules.seeds import wrong_seeds
from gopa.rules.sums import summed
from gopa.rules.verdict import Verdict, invalid
from wire.secret import SecretBytes


@dataclass(slots=True)
class UnmaskStage:
    """From the close of confirm to that of unmask, or to the result."""

    book: Book
    opened: Message
    _sorter: Sorter[Unmask] = field(init=False)
    _right: dict[bytes, bool] = field(default_factory=dict)
    phase: Phase = field(default=Phase.UNMASK, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.UNMASK,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.UNMASK),
            rule="04-U1",
            missing="04-U1",
            read=lambda message: UNMASK.decode(message.body),
            strikes=False,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(self.book.final or ())

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        found = self._sorter.sort(self.awaited(), cut)
        self._require_seeds(found.read, found.out)
        seeds = {
            book.places[author]: SecretBytes(found.read[author][1].seed)
            for author in sorted(found.read)
        }
        faults, laggards = book.blamed(found.out), frozenset(found.out)
        if not found.out:
            return summed(book, seeds, {}, faults)
        if not book.recovers:
            missing = book.culprits(found.out)
            failed = fails(Why.NOT_UNMASKED, missing, (), faults, laggards, out=found.out)
            return replace(failed, settle=lambda _: book.unmask(seeds))
        members = tuple(seeds)

        def settle(message: Message) -> Stage:
            book.unmask(seeds)
            book.settle_list(Phase.UNMASK, cut, message, members)
            return RecoverStage(book, message)

        said = book.packed(members)
        return Step(said, (), settle, faults, laggards=laggards, out=found.out)

    def _require_seeds(
        self, read: dict[bytes, tuple[Message, Unmask]], verdicts: dict[bytes, Verdict]
    ) -> None:
        """[U1]."""
        new = [author for author in sorted(read) if read[author][0].leaf not in self._right]
        wrong = self._wrong(
            [(self.book.places[each], SecretBytes(read[each][1].seed)) for each in new]
        )
        for number, author in enumerate(new):
            self._right[read[author][0].leaf] = number not in wrong
        for author in sorted(read):
            message = read[author][0]
            if not self._right[message.leaf]:
                del read[author]
                fault = "a seed that does not make its self-mask"
                verdicts[author] = invalid("04-U1", message.index, fault)

    def _wrong(self, seeds: list[tuple[int, SecretBytes]]) -> frozenset[int]:
        return wrong_seeds(self.book, seeds)
