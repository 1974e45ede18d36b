"""One loop that all algorithms share: its account, its steps, its notes, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any, Self

from gopa import UsageError
from gopa.learning.checks import require_seed
from gopa.learning.history import History, Recorder
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import Outcome, Progress, told
from gopa.learning.privacy import Spent


class Run:
    """A run of an algorithm, from the first check to its outcome. A context manager.

    Whoever watches it by a function may end it by `StopIteration`, where it `stops`: everything
    was charged before the first step, so what is there by then costs no more than all of it, and
    nothing comes back. What was planned to hide numbers in its last step does not stop.

    >>> from gopa.learning import PrivacyLedger
    >>> with Run(seed=1, progress=False, ledger=PrivacyLedger(None)) as run:
    ...     for step in run.steps(3):
    ...         run.note(step=step, error=2.0 ** -step)
    >>> run.outcome("halving", 0.25, messages=0, bytes=0).history
    <History: 3 rows of step, error>
    """

    def __init__(
        self,
        *,
        seed: int,
        progress: Progress = None,
        ledger: PrivacyLedger | None = None,
        stops: bool = True,
    ) -> None:
        require_seed(seed)
        self.seed, self.ledger, self.stopped = seed, ledger, False
        self.progress, self._stops = progress, stops
        self._begun, self._notes = perf_counter(), Recorder()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._advance = self._open.enter_context(told(self.progress))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def advance(self, what: str, done: int, total: int) -> None:
        """Tells whoever watches how far it is; `stopped` is true after `StopIteration`."""
        self.asks(self._advance, what, done, total)

    def asks(self, watcher: Callable[..., None], *said: Any) -> None:
        """Tells something to whoever watches, who may stop the run."""
        try:
            watcher(*said)
        except StopIteration:
            if not self._stops:
                message = "half of this run is no result: let it end, or ask for fewer steps"
                raise UsageError(message, "progress") from None
            self.stopped = True

    def steps(self, total: int, what: str = "steps") -> Iterator[int]:
        """The numbers of all steps from 0 on, until whoever watches stops the run."""
        for number in range(total):
            yield number
            self.advance(what, number + 1, total)
            if self.stopped:
                return

    def note(self, **numbers: Any) -> None:
        """Adds a row to the history."""
        self._notes.note(**numbers)

    @property
    def history(self) -> History:
        """All rows so far."""
        return self._notes.history()

    def outcome(
        self, algorithm: str, model: Any, *, spent: Spent | None = None, **more: Any
    ) -> Outcome:
        """What came of it; `more` are fields of `Outcome`, and what was spent is the account's."""
        if spent is None:
            spent = Spent.nothing_hidden() if self.ledger is None else self.ledger.spent()
        if self.stopped:
            more["warnings"] = (*more.get("warnings", ()), "stopped by whoever watched it")
        return Outcome(
            algorithm=algorithm,
            model=model,
            history=more.pop("history", None) or self.history,
            spent=spent,
            seconds=perf_counter() - self._begun,
            seed=self.seed,
            **more,
        )
