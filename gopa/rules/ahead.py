"""Proofs that are checked as they come, so that nobody has to keep them until the close."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from wire.errors import GopaError

_Claim = TypeVar("_Claim")

BATCH: Final = 512
"""So many claims are checked together: more would cost little less for each."""

_MOST_BATCHES: Final = 4
"""Batches that may wait for their answers while the log is read on."""


class CheckedAhead(Generic[_Claim]):
    """Checks claims by name, each once, in batches, and keeps the names of bad ones.

    `check` answers with the positions of bad claims. With `background` it runs in a thread,
    which is worth while where it waits for workers.
    """

    def __init__(
        self, check: Callable[[Sequence[_Claim]], frozenset[int]], *, background: bool
    ) -> None:
        self._check = check
        self._bad: set[bytes] = set()
        self._waiting: dict[bytes, _Claim] = {}
        self._running: deque[tuple[list[bytes], Future[frozenset[int]]]] = deque()
        self._failed = False
        self._background = background
        self._thread: ThreadPoolExecutor | None = None

    def add(self, name: bytes, claim: _Claim) -> None:
        """A claim that has not come before. Nothing is checked yet."""
        self._waiting[name] = claim

    def go_on(self) -> None:
        """Check what waits, if it is enough for a batch. What a check raises is left to `bad`."""
        if len(self._waiting) < BATCH or self._failed:
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
