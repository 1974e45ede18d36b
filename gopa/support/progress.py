"""Shows progress bars for work that takes long, on terminals and in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, TypeAlias, TypeVar

from markupsafe import Markup
from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")

LONG: Final = 50_000_000
"""From about this many elementary steps on, a second or so, a bar is worth its line."""


def shown(wanted: bool | None, work: int, console: Console) -> bool:
    """Whether there is a bar: True for short work too, False never, None as work demands."""
    seen = console.is_terminal or console.is_jupyter
    return seen and wanted is not False and (bool(wanted) or work >= LONG)


Advance: TypeAlias = Callable[[str, int, int], None]
"""Moves a bar: what is going on, how many are done, of how many."""

_BAR: Final = Markup(
    '<progress value="{}" max="{}" style="width: 20em"></progress> <span>{}: {} of {}</span>'
)
_PAUSE: Final = 0.1
"""Seconds between two pictures of a bar in a notebook: each is a message to the browser."""


@contextmanager
def bar_on(console: Console) -> Iterator[Advance]:
    """Draws a bar meanwhile, and takes it away at the end."""
    if console.is_jupyter:
        yield from _in_notebook()
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("")
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


def _in_notebook() -> Iterator[Advance]:
    """One output that is replaced. Rich's own bar needs `ipywidgets`, which is often missing."""
    from IPython.display import display

    handle = display(_drawn(""), raw=True, display_id=True)
    last = monotonic()

    def advance(what: str, done: int, total: int) -> None:
        nonlocal last
        if monotonic() - last >= _PAUSE:
            last = monotonic()
            picture = _BAR.format(done, total, what, done, total)
            handle.update(_drawn(picture), raw=True)

    try:
        yield advance
    finally:
        handle.update(_drawn(""), raw=True)


def _drawn(picture: str) -> dict[str, str]:
    return {"text/html": str(picture), "text/plain": ""}


def watch(wanted: bool | None, items: Sequence[Item], what: str, work: int) -> Iterator[Item]:
    """The items, with a bar on standard error where one is shown."""
    console = Console(stderr=True)
    if not shown(wanted, work, console):
        yield from items
        return
    with bar_on(console) as advance:
        for done, item in enumerate(items):
            advance(what, done, len(items))
            yield item


PATIENCE: Final = 2.0
"""So many seconds people wait without asking whether anything happens."""


@contextmanager
def bar_if_slow(wanted: bool | None) -> Iterator[Advance]:
    """Offers a way to say how far work is; a bar appears if it is still going on by then.

    That is after `PATIENCE`, or at once if one is wanted, on standard error.
    """
    console = Console(stderr=True)
    if not shown(wanted, LONG, console):
        yield lambda _what, _done, _total: None
        return
    start, bar = monotonic(), None
    with ExitStack() as drawn:

        def advance(what: str, done: int, total: int) -> None:
            nonlocal bar
            if bar is None and (wanted or monotonic() - start >= PATIENCE):
                bar = drawn.enter_context(bar_on(console))
            if bar is not None:
                bar(what, done, total)

        yield advance
