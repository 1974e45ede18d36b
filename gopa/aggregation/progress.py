"""Shows progress bars for work that takes long, on terminals only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import Progress, track

from gopa.messages.phases import Phase

Item = TypeVar("Item")

LONG: Final = 50_000_000
"""From about this many elementary steps on, a second or so, a bar is worth its line."""


def shown(wanted: bool | None, work: int, console: Console) -> bool:
    """Whether there is a bar: True for short work too, False never, None as work demands."""
    return console.is_terminal and wanted is not False and (bool(wanted) or work >= LONG)


def watch(wanted: bool | None, items: Sequence[Item], what: str, work: int) -> Iterator[Item]:
    """The items, with a bar on standard error where one is shown."""
    console = Console(stderr=True)
    if not shown(wanted, work, console):
        yield from items
        return
    yield from track(items, what, console=console, transient=True)


class PhaseBar:
    """Shows how many parties have been told of the phase that is open."""

    def __init__(self, wanted: bool | None, work: int) -> None:
        self._wanted = wanted
        self._work = work
        self._bar: Progress | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Shows the bar meanwhile, where one is shown."""
        console = Console(stderr=True)
        if not shown(self._wanted, self._work, console):
            yield
            return
        with Progress(console=console, transient=True) as bar:
            bar.add_task("round")
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    def __call__(self, phase: Phase, done: int, total: int) -> None:
        """Note how far the phase is."""
        if self._bar is not None:
            for task in self._bar.task_ids:
                name = phase.name.lower()
                self._bar.update(task, description=name, completed=done, total=total)
