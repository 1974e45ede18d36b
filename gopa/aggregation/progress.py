"""Shows how far the phase of a session is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from gopa.contract.phases import Phase
from gopa.support.progress import Advance, bar_on, shown


class PhaseBar:
    """Shows how many parties have been told of the phase that is open."""

    def __init__(self, wanted: bool | None, work: int) -> None:
        self._wanted = wanted
        self._work = work
        self._bar: Advance | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Shows the bar meanwhile, where one is shown."""
        console = Console(stderr=True)
        if not shown(self._wanted, self._work, console):
            yield
            return
        with bar_on(console) as advance:
            self._bar = advance
            try:
                yield
            finally:
                self._bar = None

    def __call__(self, phase: Phase, done: int, total: int) -> None:
        """Note how far the phase is."""
        if self._bar is not None:
            self._bar(phase.name.lower(), done, total)
