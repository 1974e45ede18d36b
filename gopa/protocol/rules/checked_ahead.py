"""Checks the proofs of a phase while its messages are read, many at a time.

So nobody has to keep proofs until the close, and a log is read on while workers check.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from gopa.contract.framing import Message
from gopa.protocol.rules.findings import PartyVerdict, invalid
from gopa.protocol.rules.round_state import Tools
from wire.errors import GopaError
from wire.randomness import Rng

_Claim = TypeVar("_Claim")
_Read = TypeVar("_Read")

BATCH: Final = 512
"""So many claims are checked together: more would cost little less for each."""

_MOST_BATCHES: Final = 4
"""Batches that may wait for their answers while the log is read on."""


class CheckedAhead(Generic[_Claim]):
    """Checks claims by name, each once, in batches, and keeps the names of bad ones.

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


def checked_with(
    tools: Tools,
    bad: Callable[[Sequence[_Claim], Rng, Executor | None], frozenset[int]],
    batch: int | None = None,
) -> CheckedAhead[_Claim]:
    """Check claims by this function of a toolkit's proofs, in a thread where it has workers."""

    def check(claims: Sequence[_Claim]) -> frozenset[int]:
        return bad(claims, tools.rng, tools.executor)

    return CheckedAhead(check, background=tools.executor is not None, batch=batch)
