"""Shows the progress of long commands: a line that changes and lines that stay, or JSON lines.

Whoever runs a session says what is going on (`set_activity`) and what has happened (`add_event`).
A terminal shows both on stderr, a machine reads one JSON object a line on stdout, and where
there is no terminal a log on stderr gets one plain line for each event.

What happens in a session has words for people and values for machines.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import IO, TYPE_CHECKING, Final, Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bulletin_board.display import visible
from gopa.aggregation.encoding import Plain
from gopa.aggregation.weighting import longest_value
from gopa.cli.logs import UNASKED, LogOptions, log_event, logging_to, standard_error
from gopa.cli.roster import NOBODY, Names
from gopa.contract.manifest import Manifest, Path
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.contract.row_terms import middle
from gopa.planning.usefulness import error_with_all, is_mostly_noise, terms_warning
from gopa.sessions.contribution import noisy_sum
from gopa.sessions.organising import (
    AwaitingBeacon,
    BadBeacon,
    BoardFound,
    BoardLost,
    Happening,
    Heard,
    PhaseOpened,
    RoundEnded,
    SessionEnded,
)
from gopa.support.rounding import listed
from gopa.support.wording import (
    ABORTS,
    EXACT,
    EXACT_DIFFERENCE,
    PHASES,
    counted,
    hidden_among,
    modes_of,
    name_of,
    promise_of,
)
from wire.errors import PUBLISHED

if TYPE_CHECKING:
    import numpy as np

_LONGEST: Final = 300
_BAR: Final = 24


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """What has happened: a name and plain values for machines, a sentence for people."""

    event: str
    text: str
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class CurrentActivity:
    """What is going on now, in place of what was shown before.

    `done` of `total` have been heard, where there is a number to count to; `ends` is a time
    of day at which it is over at the latest.
    """

    text: str
    done: int = 0
    total: int | None = None
    ends: float | None = None


class ProgressDisplay(Protocol):
    """How far a command is. It is used as a context."""

    def add_event(self, what: ProgressEvent) -> None: ...

    def set_activity(self, now: CurrentActivity | None) -> None: ...

    def paused(self) -> AbstractContextManager[None]:
        """Leaves the terminal alone as long as the context lasts: somebody is asked."""
        return nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return


def progress(*, as_json: bool, quiet: bool = False, logs: LogOptions = UNASKED) -> ProgressDisplay:
    """Shows JSON lines on stdout if asked for; else a screen on a terminal; else log lines."""
    if as_json:
        lines = JsonLines(sys.stdout)
        return Several(lines, LogLines(logs)) if logs.asked else lines
    if quiet:
        return Silent()
    console = Console(stderr=True)
    return Screen(console) if console.is_terminal and not logs.asked else LogLines(logs)


class Silent(ProgressDisplay):
    """A display of nothing."""

    def add_event(self, what: ProgressEvent) -> None:
        del what

    def set_activity(self, now: CurrentActivity | None) -> None:
        del now


class OpeningDisplay(ProgressDisplay):
    """A display that closes at its end what it opened at its beginning, and put into `_opened`."""

    def __init__(self) -> None:
        self._opened = ExitStack()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()


class Several(OpeningDisplay):
    """Several displays of the same."""

    def __init__(self, *displays: ProgressDisplay) -> None:
        super().__init__()
        self._displays = displays

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for each in self._displays:
                opened.enter_context(each)
            self._opened = opened.pop_all()
        return self

    def add_event(self, what: ProgressEvent) -> None:
        for each in self._displays:
            each.add_event(what)

    def set_activity(self, now: CurrentActivity | None) -> None:
        for each in self._displays:
            each.set_activity(now)

    @contextmanager
    def paused(self) -> Iterator[None]:
        with ExitStack() as stopped:
            for each in self._displays:
                stopped.enter_context(each.paused())
            yield


_TROUBLE: Final = frozenset({"abort", "bad-beacon", "board-lost"})


class LogLines(OpeningDisplay):
    """A line of the log for each event; what goes on is for those who debug."""

    def __init__(self, options: LogOptions) -> None:
        super().__init__()
        self._options = options

    def __enter__(self) -> Self:
        self._opened.enter_context(logging_to(standard_error(), self._options))
        return self

    def add_event(self, what: ProgressEvent) -> None:
        level = logging.WARNING if what.event in _TROUBLE else logging.INFO
        log_event(what.event, what.text or what.event, dict(what.facts), level)

    def set_activity(self, now: CurrentActivity | None) -> None:
        if now is not None:
            counted_so_far = f", {now.done} of {now.total}" if now.total else ""
            text = f"{now.text}{counted_so_far}"
            facts: dict[str, object] = {"done": now.done, "total": now.total}
            log_event("standing", text, facts, logging.DEBUG)


class JsonLines(ProgressDisplay):
    """An object a line, at once: `event`, then the facts; what goes on is a `standing`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def add_event(self, what: ProgressEvent) -> None:
        self._stream.write(json.dumps({"event": what.event} | dict(what.facts)) + "\n")
        self._stream.flush()

    def set_activity(self, now: CurrentActivity | None) -> None:
        if now is not None:
            ends = None if now.ends is None else round(now.ends, 3)
            facts = {"now": now.text, "done": now.done, "total": now.total, "ends": ends}
            self.add_event(ProgressEvent("standing", now.text, facts))


class Screen(ProgressDisplay):
    """Lines that stay, and below them one that changes, with the time that is left."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.time) -> None:
        self._console, self._clock = console, clock
        self._now: CurrentActivity | None = None
        self._held: list[Text] | None = None
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

    def add_event(self, what: ProgressEvent) -> None:
        stamp = time.strftime("%H:%M:%S", time.localtime(self._clock()))
        line = Text.assemble((stamp, "dim"), "  ", visible(what.text, _LONGEST))
        if self._held is None:
            self._console.print(line)
        else:
            self._held.append(line)

    def set_activity(self, now: CurrentActivity | None) -> None:
        self._now = now
        if now is None and self._live.is_started:
            self._live.refresh()  # what is written next begins on an empty line

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens while somebody is asked is shown after the answer."""
        self._live.stop()
        held = self._held = list[Text]()
        try:
            yield
        finally:
            self._held = None
            for line in held:
                self._console.print(line)
            self._live.start()

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
    """Spells the time that is left, such as `1:05 left`."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{last:02} left" if hours else f"{minutes}:{last:02} left"


class OrganiserProgress:
    """What an organiser does to whoever watches."""

    def __init__(self, manifest: Manifest, to: ProgressDisplay, names: Names = NOBODY) -> None:
        """`names` are those that the organiser knows, of its roster."""
        self._manifest, self._to, self._names = manifest, to, names
        self._phase: PhaseOpened | None = None

    def __call__(self, what: Happening) -> None:
        line = self._line(what)
        if line is not None:
            self._to.add_event(line)
        if isinstance(what, PhaseOpened):
            self._phase = what
            self._show_phase(what, 0, what.expected)
        elif isinstance(what, Heard) and self._phase is not None:
            self._show_phase(self._phase, what.posted, what.posted + what.expected)
        elif isinstance(what, RoundEnded):
            self._to.set_activity(CurrentActivity("between rounds"))

    def _show_phase(self, phase: PhaseOpened, posted: int, total: int) -> None:
        text = f"round {phase.round}: {phase_text(phase.phase)}"
        self._to.set_activity(CurrentActivity(text, posted, total or None, phase.ends))

    def _line(self, what: Happening) -> ProgressEvent | None:
        if isinstance(what, PhaseOpened):
            return _opened(what)
        if isinstance(what, Heard):
            return None
        if isinstance(what, RoundEnded):
            return ended_line(self._manifest, what, self._names)
        if isinstance(what, SessionEnded):
            text = "every round has its result" if what.complete else "no more rounds for now"
            facts = {"rounds": what.rounds, "results": what.results, "complete": what.complete}
            held = f"{what.rounds} held, {what.results} with a result"
            return ProgressEvent("session", f"{text}: {held}", facts)
        return trouble_line(what)


def phase_text(phase: Phase) -> str:
    """The words for what goes on in a phase."""
    return PHASES[name_of(phase)].doing


def _opened(what: PhaseOpened) -> ProgressEvent:
    attempt = f", attempt {what.attempt + 1}" if what.attempt else ""
    present = f", {counted(what.present, 'party', 'parties')}" if what.present else ""
    text = f"round {what.round}{attempt}: {phase_text(what.phase)}{present}"
    return ProgressEvent(
        "phase",
        text,
        {
            "round": what.round,
            "logical": what.logical,
            "attempt": what.attempt,
            "phase": what.phase.name.lower(),
            "step": what.step,
            "present": what.present,
            "expected": what.expected,
            "ends": round(what.ends, 3),
        },
    )


def trouble_line(what: AwaitingBeacon | BadBeacon | BoardLost | BoardFound) -> ProgressEvent:
    """The line on what holds a session up: a beacon or a board that is away, or lies."""
    if isinstance(what, AwaitingBeacon):
        text = f"waiting for round {what.beacon_round} of the beacon"
        facts: dict[str, object] = {"round": what.round, "beacon_round": what.beacon_round}
        return ProgressEvent("beacon", text, facts | {"due": what.due})
    if isinstance(what, BadBeacon):
        text = f"the source of the beacon shows something wrong: {what.error}"
        facts = {"beacon_round": what.beacon_round, "error": what.error}
        return ProgressEvent("bad-beacon", text, facts)
    if isinstance(what, BoardLost):
        text = f"board lost: it cannot be used just now, trying on: {what.error}"
        return ProgressEvent("board-lost", text, {"error": what.error})
    text = f"the board is back after {what.seconds:.0f} seconds"
    return ProgressEvent("board-found", text, {"seconds": round(what.seconds, 3)})


def ended_line(manifest: Manifest, what: RoundEnded, names: Names) -> ProgressEvent:
    """The line on how a round ended: with a result or an abort."""
    facts: dict[str, object] = {
        "round": what.round,
        "logical": what.logical,
        "attempt": what.attempt,
    }
    if isinstance(what.outcome, Abort):
        who = names.listed(what.culprits) if what.culprits else ""
        text = f"round {what.round}: aborted, {why_text(what.outcome, who)}"
        facts |= abort_facts(what.outcome) | {"why": what.why}
        return ProgressEvent("abort", f"{text} ({what.why})" if what.why else text, facts)
    facts |= result_facts(manifest, what.outcome, what.included)
    text = f"round {what.round}: {result_text(manifest, what.outcome, what.included)}"
    return ProgressEvent("result", text, facts)


def question_rows(manifest: Manifest) -> list[tuple[str, str]]:
    """The rows on what a session asks of its parties, and what it promises."""
    terms = manifest.terms
    rounds = "1 round" if terms.rounds == 1 else f"{terms.rounds} rounds"
    cost = promise_of(terms.epsilon, terms.delta)
    if terms.exact:
        cost += (
            f"; {EXACT_DIFFERENCE}. The rest stays hidden but for a chance of {terms.delta}:"
            f" {hidden_among(terms.honest)}"
        )
    plan = f"{terms.parties} parties, at least {terms.survivors} in a result; {rounds}"
    modes = modes_of(exact=terms.exact, in_rows=manifest.path is Path.ROWS)
    return [
        ("question", manifest.title.decode("utf-8", "replace") or "(the organiser gave no title)"),
        ("value", _asked_value(manifest)),
        ("privacy", f"{cost}, if at most {terms.corrupt} of {terms.parties} parties collude"),
        ("plan", f"{plan}; mode {modes[name_of(manifest.mode)]}"),
        ("organiser", manifest.organiser.hex()),
        *(("warning", each) for each in warnings_of(manifest)),
    ]


def _asked_value(manifest: Manifest) -> str:
    """The words for what a party gives: numbers, their length, and whether a weight."""
    terms = manifest.terms
    count = terms.dimension - manifest.weighted
    value = "a number" if count == 1 else f"{counted(count, 'number')}, each"
    text = f"{value} from {terms.low} to {terms.high}"
    # The range says how far from its middle a single number may be.
    single = count == 1 and bool(terms.weight_length)
    longest = None if single else longest_value(terms)
    if longest is not None and terms.weight_length and middle(terms):
        text += f", together no farther than {longest:.6g} from {float(middle(terms)):.6g}"
    elif longest is not None:
        text += f", together no longer than {longest:.6g}"
    return f"{text}; and a weight, which stays private" if manifest.weighted else text


def warnings_of(manifest: Manifest) -> list[str]:
    """The warnings that everybody who takes part should know first."""
    noisy = terms_warning(manifest.terms, error_with_all(manifest.terms))
    return [noisy] if noisy else []


def why_text(abort: Abort, who: str) -> str:
    """The words for why a round was aborted, who was missing, and what was seen."""
    missing = f"; missing or wrong: {who}" if who else ""
    return f"{ABORTS[name_of(abort.reason)]}{missing}; {PUBLISHED[name_of(abort.released)]}"


def abort_facts(abort: Abort) -> dict[str, object]:
    """The same about an abort, for programs."""
    return {
        "reason": abort.reason.name.lower(),
        "released": abort.released.name.lower(),
        "culprits": list(abort.culprits),
    }


def result_facts(manifest: Manifest, result: ResultMessage, included: int) -> dict[str, object]:
    """Gives the sums on the grid, and means where sums alone say what these are."""
    facts: dict[str, object] = {"included": included, "sums": list(result.sums)}
    if manifest.weighted or not included:
        return facts
    found = _estimate(manifest, result, included)
    return facts | {"mean": found[0].tolist(), "stderr": found[1].tolist()}


def result_text(manifest: Manifest, result: ResultMessage, included: int) -> str:
    """Gives the mean for people."""
    if manifest.weighted or not included:
        return f"a weighted result over {included} parties"
    mean, deviation = _estimate(manifest, result, included)
    noisy = f"; {EXACT}" if manifest.terms.exact else ""
    if is_mostly_noise(manifest.terms, deviation[0]):
        noisy = ", mostly noise"
    return f"mean {listed(mean.tolist(), deviation.tolist())} over {included} parties{noisy}"


def _estimate(
    manifest: Manifest, result: ResultMessage, included: int
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]
]:
    found = Plain(manifest.terms).decode(noisy_sum(manifest, result, included))
    return found.mean, found.mean_deviation
