"""The messages of one round: kept until their phase is over, read as they come, sorted by a cut.

What is wrong with a message is a `PartyVerdict`; a rule says it by raising `BreaksRule`. Claims in
messages are checked once each, and proofs many at a time while the log is read on: nobody has to
keep them until the close.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from gopa.contract.framing import Message
from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import KIND_IN, REPEATABLE, Phase
from gopa.rounds.toolkit import Toolkit
from wire.errors import GopaError, MalformedMessage, ProtocolError
from wire.randomness import Rng

T = TypeVar("T")

LEAF_SIZE: Final = 32


@dataclass(frozen=True, slots=True)
class PartyVerdict:
    """Why a party is not in a list: cause and rule, and the entry that decided it.

    `fault` says what the author did wrong, in words; empty where nothing convicts it.
    """

    cause: RemovalCause
    rule: str
    entry: int | None = None
    fault: str = ""


class BreaksRule(ProtocolError):
    """A message breaks a rule of its own: who reads it turns this into a finding."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)
        self.rule = rule
        self.message = message

    def __str__(self) -> str:
        return f"[{self.rule}] {self.message}"


def absent(rule: str) -> PartyVerdict:
    """No message below the cut: nobody's fault that a log could show."""
    return PartyVerdict(RemovalCause.ABSENT, rule)


def invalid(rule: str, entry: int, fault: str = "") -> PartyVerdict:
    """A message below the cut that does not count."""
    return PartyVerdict(RemovalCause.INVALID, rule, entry, fault)


@dataclass(frozen=True, slots=True)
class Conviction:
    """Whom the accusation at index `entry` convicts, and why."""

    author: bytes
    rule: str
    entry: int
    what: str

    @property
    def verdict(self) -> PartyVerdict:
        return PartyVerdict(RemovalCause.CONVICTED, self.rule, self.entry)


@dataclass(slots=True)
class Mailbox:
    """The messages of the open phase by author, and who used up its slot before the phase opened.

    `readers` take out of a message what the rules need, as soon as it comes: bodies are
    longer than that and are not kept. Once a phase is closed they are asked no more.
    """

    struck: dict[bytes, int] = field(default_factory=dict)
    _first: dict[Phase, dict[bytes, Message]] = field(default_factory=dict)
    _many: dict[Phase, list[Message]] = field(default_factory=dict)
    _early: dict[tuple[Phase, bytes], int] = field(default_factory=dict)
    readers: dict[Phase, Sorter[Any]] = field(default_factory=dict)

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
        """Whether evidence against the author stands below the cut (04-E3)."""
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
    """Who sent something that can be read, and what keeps the others out."""

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
        """Decode a body that is no longer than it has to be (04-S4; attack `oversized-message`)."""
        if len(message.body) > self.largest:
            raise BreaksRule("04-S4", f"{len(message.body)} bytes: {self.largest} would do")
        return self.read(message)


_Claim = TypeVar("_Claim")
_Read = TypeVar("_Read")

BATCH: Final = 512
"""So many claims are checked together: more would cost little less for each."""

_MOST_BATCHES: Final = 4
"""Batches that may wait for their answers while the log is read on."""


class CheckedAhead(Generic[_Claim]):
    """Claims by name, checked once each, in batches; and the names of bad ones.

    `check` answers with the positions of bad claims. With `background` it runs in a thread,
    which is worth while where it waits for workers. `batch` claims are checked together.
    """

    def __init__(
        self,
        check: Callable[[Sequence[_Claim]], frozenset[int]],
        *,
        background: bool,
        batch: int | None = None,
    ) -> None:
        self._check, self._batch = check, batch or BATCH
        self._bad: set[bytes] = set()
        self._waiting: dict[bytes, _Claim] = {}
        self._running: deque[tuple[list[bytes], Future[frozenset[int]]]] = deque()
        self._failed = False
        self._background = background
        self._thread: ThreadPoolExecutor | None = None

    def add(self, name: bytes, claim: _Claim) -> None:
        """Take a claim that has not come before; nothing is checked yet."""
        self._waiting[name] = claim

    def flush_full_batches(self) -> None:
        """Check what waits, if it is enough for a batch. What a check raises is left to `bad`."""
        if len(self._waiting) < self._batch or self._failed:
            return
        try:
            self._start()
            self._collect(_MOST_BATCHES)
        except GopaError:
            self._failed = True

    def bad(self) -> frozenset[bytes]:
        """The names of all bad claims so far. What a check raises, it raises whenever asked."""
        if self._waiting:
            self._start()
        self._collect(0)
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
        return frozenset(self._bad)

    def require(
        self,
        read: dict[bytes, tuple[Message, _Read]],
        verdicts: dict[bytes, PartyVerdict],
        rule: str,
        fault: str,
    ) -> None:
        """Move the authors of messages that are named bad from `read` to `verdicts`."""
        bad = self.bad()
        for author in sorted(read):
            message = read[author][0]
            if message.leaf in bad:
                del read[author]
                verdicts[author] = invalid(rule, message.index, fault)

    def _start(self) -> None:
        names, claims = list(self._waiting), list(self._waiting.values())
        if not self._background:
            self._note(names, self._check(claims))
        else:
            self._thread = self._thread or ThreadPoolExecutor(1)
            self._running.append((names, self._thread.submit(self._check, claims)))
        self._waiting = {}

    def _collect(self, leave: int) -> None:
        while len(self._running) > leave:
            names, answer = self._running[0]
            self._note(names, answer.result())
            self._running.popleft()

    def _note(self, names: Sequence[bytes], bad: frozenset[int]) -> None:
        self._bad |= {names[position] for position in bad}


RootAt: TypeAlias = Callable[[int], bytes | None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What the evaluation computes with.

    `root_at` gives the root that the log had at a size; None where that is not known.
    """

    toolkit: Toolkit
    rng: Rng
    executor: Executor | None
    root_at: RootAt


def checked_with(
    tools: Tools,
    bad: Callable[[Sequence[_Claim], Rng, Executor | None], frozenset[int]],
    batch: int | None = None,
) -> CheckedAhead[_Claim]:
    """Check claims by this function of a toolkit's proofs, in a thread where it has workers."""

    def check(claims: Sequence[_Claim]) -> frozenset[int]:
        return bad(claims, tools.rng, tools.executor)

    return CheckedAhead(check, background=tools.executor is not None, batch=batch)


@dataclass(slots=True)
class CheckedOnce(Generic[_Read]):
    """Claims of messages that are checked once, however often a cut is tried.

    `wrong` gets the messages that are new, by their authors' keys, and says at which positions
    claims do not hold. Their authors are out by `rule`, with `fault` in words.
    """

    rule: str
    fault: str
    wrong: Callable[[Sequence[tuple[Message, _Read]]], Collection[int]]
    _right: dict[bytes, bool] = field(default_factory=dict)

    def require(
        self, read: dict[bytes, tuple[Message, _Read]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Move whoever claims what does not hold from `read` to `verdicts`."""
        new = [read[author] for author in sorted(read) if read[author][0].leaf not in self._right]
        wrong = self.wrong(new)
        for number, (message, _) in enumerate(new):
            self._right[message.leaf] = number not in wrong
        for author in sorted(read):
            message = read[author][0]
            if not self._right[message.leaf]:
                del read[author]
                verdicts[author] = invalid(self.rule, message.index, self.fault)
