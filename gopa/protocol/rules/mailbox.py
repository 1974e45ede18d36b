"""Keeps the parties' messages of one round, until the close of their phase has been judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, Protocol, TypeVar

from gopa.contract.framing import Message
from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import KIND_IN, REPEATABLE, Phase
from gopa.protocol.rules.findings import BreaksRule, PartyVerdict, absent, invalid
from wire.errors import MalformedMessage

T = TypeVar("T")

LEAF_SIZE: Final = 32


class MessageReader(Protocol):
    """Reads the messages of one phase as they come."""

    def take(self, message: Message) -> Message:
        """Take in a message; return what has to be kept of it."""

    def forget(self) -> None:
        """Forget what was read: the phase is closed."""


@dataclass(slots=True)
class Mailbox:
    """Keeps messages of the open phase by author, and who used up its slot before the phase opened.

    `readers` take out of a message what the rules need, as soon as it comes: bodies are
    longer than that and are not kept. Once a phase is closed they are asked no more.
    """

    struck: dict[bytes, int] = field(default_factory=dict)
    _first: dict[Phase, dict[bytes, Message]] = field(default_factory=dict)
    _many: dict[Phase, list[Message]] = field(default_factory=dict)
    _early: dict[tuple[Phase, bytes], int] = field(default_factory=dict)
    readers: dict[Phase, MessageReader] = field(default_factory=dict)

    def put(self, message: Message) -> None:
        """Keep a message of an open phase, whatever cut will count."""
        phase = Phase(message.phase)
        if phase in REPEATABLE:
            self._many.setdefault(phase, []).append(message)
            return
        first = self._first.setdefault(phase, {})
        if message.author not in first:
            reader = self.readers.get(phase)
            first[message.author] = message if reader is None else reader.take(message)

    def spoil(self, phase: Phase, author: bytes, index: int) -> None:
        """Note that the author used up its slot before the phase opened, at `index`."""
        if phase not in REPEATABLE:
            self._early.setdefault((phase, author), index)

    def strike(self, author: bytes, index: int) -> None:
        """Note that the author signed two entries for one slot, the second of them at `index`."""
        self.struck.setdefault(author, index)

    def is_struck(self, author: bytes, cut: int) -> bool:
        """Whether evidence against the author stands below the cut ([E3])."""
        return self.struck.get(author, cut) < cut

    def early(self, phase: Phase, author: bytes) -> int | None:
        """The index of a message that came before its phase opened."""
        return self._early.get((phase, author))

    def early_authors(self, phase: Phase) -> set[bytes]:
        """The authors whose message came before the phase opened."""
        return {author for early, author in self._early if early is phase}

    def first(self, phase: Phase) -> Mapping[bytes, Message]:
        """The one message of each author in a phase."""
        return self._first.get(phase, {})

    def many(self, phase: Phase) -> tuple[Message, ...]:
        """All messages of a phase in which a party may post several, in order of the log."""
        return tuple(self._many.get(phase, ()))

    def all(self, phase: Phase) -> tuple[Message, ...]:
        """All messages of a phase."""
        return self.many(phase) if phase in REPEATABLE else tuple(self.first(phase).values())

    def drop(self, phase: Phase) -> None:
        """Forget all messages of a phase that is closed."""
        self._first.pop(phase, None)
        self._many.pop(phase, None)
        reader = self.readers.pop(phase, None)
        if reader is not None:
            reader.forget()


@dataclass(frozen=True, slots=True)
class Sorted(Generic[T]):
    """Says who sent something that can be read, and what keeps the others out."""

    read: dict[bytes, tuple[Message, T]]
    out: dict[bytes, PartyVerdict]


def nothing() -> None:
    """Do nothing once a message was read."""


@dataclass(slots=True)
class Sorter(Generic[T]):
    """Reads the messages of one phase, each once, however often a cut is tried.

    Where a party has one message it is read when it comes: what it says follows from
    nothing that comes later. The mailbox keeps no more of it than its place.

    `read` decodes a body. It raises `BreaksRule`, or `MalformedMessage`, which counts
    against `rule`; `missing` is the rule of a list that lacks somebody. `then` is run after
    each message that was read as it came.
    """

    mailbox: Mailbox
    phase: Phase
    acts_on: bytes
    opened_at: int
    largest: int
    rule: str
    missing: str
    read: Callable[[Message], T]
    then: Callable[[], None] = nothing
    strikes: bool = True
    _known: dict[bytes, T | PartyVerdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.phase not in REPEATABLE:
            self.mailbox.readers[self.phase] = self

    def sort(self, authors: Iterable[bytes], cut: int) -> Sorted[T]:
        """Sort authors by whether their message below the cut can be read."""
        found: Sorted[T] = Sorted({}, {})
        first = self.mailbox.first(self.phase)
        for author in authors:
            message = first.get(author)
            early = self.mailbox.early(self.phase, author)
            # Whoever signed two entries could show each reader another one (attack `equivocate`).
            if self.strikes and self.mailbox.is_struck(author, cut):
                evidence = self.mailbox.struck[author]
                found.out[author] = PartyVerdict(RemovalCause.STRUCK, "04-E3", evidence)
            # Said before the phase opened, it acts on nothing: it may be of another round.
            elif early is not None and early < cut:
                found.out[author] = invalid("04-E4", early)
            elif message is None or message.index >= cut:
                found.out[author] = absent(self.missing)
            else:
                self._file(found, message)
        return found

    def judge(self, message: Message) -> T | PartyVerdict:
        """The content of a message, or what is wrong with it alone."""
        known = self._known.get(message.leaf)
        if known is None:
            known = self._judge(message)
            self._known[message.leaf] = known
        return known

    def forget(self) -> None:
        """Forget what was read: the close is posted, and nobody asks again."""
        self._known.clear()

    def take(self, message: Message) -> Message:
        """Read a message at once, and return it without its body."""
        self.judge(message)
        self.then()
        return replace(message, body=b"")

    def _file(self, found: Sorted[T], message: Message) -> None:
        content = self.judge(message)
        if isinstance(content, PartyVerdict):
            found.out[message.author] = content
        else:
            found.read[message.author] = message, content

    def _judge(self, message: Message) -> T | PartyVerdict:
        index = message.index
        # Behind a broken first message two readers might read different ones (`half-a-message`).
        if message.seq and self.phase not in REPEATABLE:
            return invalid("04-E2", index, "its first message in the phase is not whole")
        if message.kind != KIND_IN[self.phase]:
            return invalid("04-E2", index, "another kind of message than the phase's")
        # A message of another round does not count (attack `replay-round`), but is no fault: a
        # log that was forked may have shown its author another close.
        if message.body[:LEAF_SIZE] != self.acts_on or message.first <= self.opened_at:
            return invalid("04-E4", index)
        try:
            return self._content(message)
        except BreaksRule as error:
            return invalid(error.rule, index, error.message)
        except MalformedMessage as error:
            return invalid(self.rule, index, str(error))

    def _content(self, message: Message) -> T:
        """Decode a body that is no longer than it has to be ([S4]; attack `oversized-message`)."""
        if len(message.body) > self.largest:
            raise BreaksRule("04-S4", f"{len(message.body)} bytes: {self.largest} would do")
        return self.read(message)
