"""Live progress of long commands: a line that changes and lines that stay, or JSON lines.

Whoever runs a session says what is going on (`standing`) and what has happened (`happened`).
A terminal shows both on stderr, a machine reads one JSON object a line on stdout, and
everybody else is not disturbed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import IO, Final, Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bulletin_board.visible import visible

_LONGEST: Final = 300
_BAR: Final = 24


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that is over: a name and plain values for machines, a sentence for people."""

    event: str
    text: str
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Standing:
    """What is going on now; it replaces what was said before.

    `done` of `total` have been heard, where there is a number to count to; `ends` is a time
    of day at which it is over at the latest.
    """

    text: str
    done: int = 0
    total: int | None = None
    ends: float | None = None


class Progress(Protocol):
    """Where a command says how far it is. Use it as a context."""

    def happened(self, what: Happened) -> None: ...

    def standing(self, now: Standing | None) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def progress(*, as_json: bool, quiet: bool = False) -> Progress:
    """JSON lines on stdout if asked for; else a screen if stderr is a terminal; else nothing."""
    if as_json:
        return JsonLines(sys.stdout)
    console = Console(stderr=True)
    return Screen(console) if console.is_terminal and not quiet else Silent()


class _Context:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace


class Silent(_Context):
    """Says nothing."""

    def happened(self, what: Happened) -> None:
        del what

    def standing(self, now: Standing | None) -> None:
        del now


class JsonLines(_Context):
    """One object a line, at once: `event`, then the facts; what is going on is a `standing`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def happened(self, what: Happened) -> None:
        self._stream.write(json.dumps({"event": what.event} | dict(what.facts)) + "\n")
        self._stream.flush()

    def standing(self, now: Standing | None) -> None:
        if now is not None:
            ends = None if now.ends is None else round(now.ends, 3)
            facts = {"now": now.text, "done": now.done, "total": now.total, "ends": ends}
            self.happened(Happened("standing", now.text, facts))


class Screen(_Context):
    """Lines that stay, and below them one that changes, with the time that is left."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.time) -> None:
        self._console, self._clock = console, clock
        self._now: Standing | None = None
        self._live = Live(
            console=console, get_renderable=self._render, refresh_per_second=2, transient=True
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._now = None
        self._live.stop()

    def happened(self, what: Happened) -> None:
        stamp = time.strftime("%H:%M:%S", time.localtime(self._clock()))
        self._console.print(Text.assemble((stamp, "dim"), "  ", visible(what.text, _LONGEST)))

    def standing(self, now: Standing | None) -> None:
        self._now = now
        if now is None and self._live.is_started:
            self._live.refresh()  # what is written next begins on an empty line

    def _render(self) -> RenderableType:
        now = self._now
        if now is None:
            return Text()
        row = Table.grid(padding=(0, 2))
        cells = [Text(visible(now.text, _LONGEST), style="bold")]
        if now.total:
            done = min(now.done, now.total)
            filled = _BAR * done // now.total
            cells.append(Text("━" * filled + "╌" * (_BAR - filled)))
            cells.append(Text(f"{done}/{now.total}"))
        if now.ends is not None:
            cells.append(Text(left(now.ends - self._clock()), style="dim"))
        row.add_row(*cells)
        return row


def left(seconds: float) -> str:
    """Such as `1:05 left`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{last:02} left" if hours else f"{minutes}:{last:02} left"
