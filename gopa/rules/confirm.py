"""The close of confirm: who saw the final close ([F1], [F2])."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gopa.messages.framing import Message
from gopa.messages.limits import largest_body
from gopa.messages.organiser import Why
from gopa.messages.party import CONFIRM, Confirm
from gopa.messages.phases import Phase
from gopa.rules.book import Book, Given, Stage, Step, fails
from gopa.rules.mailbox import Sorter
from gopa.rules.unmask import UnmaskStage


@dataclass(slots=True)
class ConfirmStage:
    """From the final close to that of confirm. Evidence changes nothing any more ([E3])."""

    book: Book
    opened: Message
    _sorter: Sorter[Confirm] = field(init=False)
    phase: Phase = field(default=Phase.CONFIRM, init=False)
    step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        book = self.book
        self._sorter = Sorter(
            mailbox=book.mail,
            phase=Phase.CONFIRM,
            acts_on=self.opened.leaf,
            opened_at=self.opened.index,
            largest=largest_body(book.manifest, Phase.CONFIRM),
            rule="04-F1",
            missing="04-F1",
            read=self._read,
            strikes=False,
        )

    def awaited(self) -> Iterable[bytes]:
        return self.book.authors(self.book.final or ())

    def demand(self, cut: int, given: Given) -> Step:
        del given
        book = self.book
        everybody = book.final or ()
        found = self._sorter.sort(self.awaited(), cut)
        confirmed = tuple(place for place in everybody if book.author(place) in found.read)
        faults, missing = book.blamed(found.out), book.culprits(found.out)
        laggards = frozenset(found.out)
        if book.too_few(confirmed) or book.losing(everybody, confirmed):
            return fails(Why.NOT_CONFIRMED, missing, (), faults, laggards, out=found.out)

        def settle(message: Message) -> Stage:
            book.confirmed = book.settle_list(Phase.CONFIRM, cut, message, confirmed)
            return UnmaskStage(book, message)

        said = book.packed(confirmed)
        return Step(said, (), settle, faults, laggards=laggards, out=found.out)

    def _read(self, message: Message) -> Confirm:
        """[F3]: it binds its author at once, wherever the cut lies and however the phase ends."""
        content = CONFIRM.decode(message.body)
        self.book.confirmed_at[self.book.places[message.author]] = message.index
        return content
