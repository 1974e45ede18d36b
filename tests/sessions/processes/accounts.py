"""What happened in a session of processes, and where it stands: for whoever reads a failure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.sessions.processes.judging import Observer
from tests.sessions.processes.running import Running
from tests.sessions.processes.worlds import World

_COMPLAINTS: Final = 3
_WIDTH: Final = 300


@dataclass
class Chronicle:
    """Lines with the seconds since the beginning."""

    began: float = field(default_factory=time.monotonic)
    lines: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.lines.append(f"{time.monotonic() - self.began:7.1f}  {text}")


def account(
    chronicle: Chronicle, world: World, watching: Observer, parties: Mapping[int, Running]
) -> str:
    """All that is known, one fact a line."""
    return "\n".join(
        [
            "-- what happened",
            *chronicle.lines,
            "-- the log",
            *_log(world, watching),
            "-- the processes, and what each said last",
            *(_process(each) for each in _newest(world, parties)),
        ]
    )


def _log(world: World, watching: Observer) -> Iterator[str]:
    now = watching.round
    yield f"{watching.size} entries of it were read"
    if now is None:
        yield "no round has been opened"
        return
    yield f"round {now.number}, attempt {now.attempt}, step {now.step}"
    if now.opens is None:
        yield f"over: {type(now.ended).__name__}"
        return
    missing = ", ".join(f"p{world.keys.index(key)}" for key in now.expected) or "nobody"
    yield f"{now.opens.name} is open, {now.posted} have spoken; expected: {missing}"


def _newest(world: World, parties: Mapping[int, Running]) -> list[Running]:
    """The last process of each name, parties last."""
    last = {each.name: each for each in world.started}
    names = [f"p{number}" for number in sorted(parties)]
    return [last[name] for name in sorted(last.keys() - set(names))] + [
        last[name] for name in names
    ]


def _process(each: Running) -> str:
    state = "runs" if each.alive else f"ended with {each.process.returncode}"
    said = str(each.events[-1])[:_WIDTH] if each.events else "nothing"
    complaints = [line[:_WIDTH] for line in each.complaint.splitlines()[-_COMPLAINTS:]]
    return "\n      ".join([f"{each.out.stem}: {state}; {_deadline(each)}{said}", *complaints])


def _deadline(each: Running) -> str:
    """When the phase that an organiser has opened is over."""
    opened = [found for found in each.events if "ends" in found and found["event"] == "phase"]
    return f"its phase ends in {opened[-1]['ends'] - time.time():.0f} s; " if opened else ""
