"""A session of processes that are killed and started again while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from gopa.contract.phases import REPEATABLE, Phase
from tests.sessions.processes.judging import Observer, size_of
from tests.sessions.processes.running import FOREVER, Running
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


_PAUSE: Final = 0.1


@dataclass
class Trouble:
    """A session and what is done to it. Who runs now is in `parties` and `organiser`.

    `excused` are parties that may end however they like. Nobody waits for those of them that
    are gone: an organiser that has heard everybody else gives the phase no more time.
    """

    world: World
    organiser: Running
    parties: dict[int, Running] = field(default_factory=dict)
    starts: dict[int, Callable[[], Running]] = field(default_factory=dict)
    excused: set[int] = field(default_factory=set)
    patience: dict[Phase, int] = field(default_factory=dict)
    chronicle: Chronicle = field(default_factory=Chronicle)
    watching: Observer = field(init=False)
    _seen: tuple[int, int] = (0, 0)
    _seen_at: float = field(default_factory=time.monotonic)
    _phase: object = None

    def __post_init__(self) -> None:
        self.watching = Observer(self.world)

    def begin(self, number: int, start: Callable[[], Running]) -> None:
        """A party that can be started again in the same way."""
        self.starts[number] = start
        self.parties[number] = start()

    # What is done to it

    def restart_party(self, number: int) -> None:
        self.parties[number].strike()
        self.parties[number] = self.starts[number]()

    def lose_party(self, number: int) -> None:
        """It does not come back. What it would have posted is on the disk at most."""
        self.excused.add(number)
        self.parties[number].strike()

    def restart_organiser(self) -> None:
        self.organiser.strike()
        self._open()

    def restart_board(self) -> None:
        self.world.board.strike()
        self.world.serve()

    # How it goes on

    def is_open(self, phase: Phase) -> object:
        """Whether the organiser has said that the phase is open."""
        return self.organiser.said("phase", phase=phase.name.lower())

    def is_in(self, number: int, phase: Phase) -> object:
        """Whether the party has said that it is in this phase."""
        return self.parties[number].said("phase", phase=phase.name.lower())

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Return as soon as it holds.

        Fails if the session cannot go on, or if nothing at all is new for very long.
        """
        while not condition():
            self._look(what)
            time.sleep(_PAUSE)

    def to_the_end(self) -> None:
        """Until the organiser has done its work, and everybody has ended."""
        self.until(lambda: not self.organiser.alive, "the end of the session")
        for number, party in self.parties.items():
            if number not in self.excused:
                self.until(lambda party=party: not party.alive, f"the end of {party.name}")  # type: ignore[misc]
        self._require_health()

    @contextmanager
    def told(self, about: object) -> Iterator[None]:
        """Whatever fails in the block comes with all that is known."""
        try:
            yield
        except BaseException as error:
            story = account(self.chronicle, self.world, self.watching, self.parties)
            error.add_note(f"-- {about}\n{story}")
            raise

    def _look(self, what: str) -> None:
        self._require_health()
        self._go_on_without()
        opened = [each for each in self.organiser.events if each.get("event") == "phase"]
        if opened and self._phase != (opened[-1]["round"], opened[-1]["phase"], opened[-1]["step"]):
            self._phase = opened[-1]["round"], opened[-1]["phase"], opened[-1]["step"]
            self.chronicle.note("round {}: {} opens, step {}".format(*self._phase))
        now = size_of(self.world), len(self.chronicle.lines)
        if now != self._seen:
            self._seen, self._seen_at = now, time.monotonic()
        assert time.monotonic() - self._seen_at < FOREVER, f"stalled: never {what}"

    def _require_health(self) -> None:
        """Nobody has given up: what a test waits for could not come any more."""
        for number, party in self.parties.items():
            if number not in self.excused:
                assert party.alive or party.process.returncode == 0, (party.name, party.complaint)
        for each in (self.world.board, *self.world.witnesses):
            assert each.alive, (each.name, each.complaint)
        organiser = self.organiser
        assert organiser.alive or organiser.process.returncode == 0, organiser.complaint

    def _go_on_without(self) -> None:
        """An organiser that gives a phase no more time, once everybody else has spoken.

        A phase whose time is over ends like this, and no test has to guess how long others need.
        """
        away = {self.world.keys[each] for each in self.excused if not self.parties[each].alive}
        now = self.watching.round if away else None
        if now is None or now.opens is None or not now.expected or now.expected - away:
            return
        assert now.opens not in REPEATABLE, "no time for its next step would keep everybody out"
        if now.opens not in self.patience:
            self.patience[now.opens] = 0
            self.chronicle.note(f"{now.opens.name} ends without some")
            self.organiser.kill()
            self._open()

    def _open(self) -> None:
        more = [
            word
            for phase, seconds in self.patience.items()
            for word in ("--seconds", phase.name.lower(), seconds)
        ]
        self.organiser = self.world.open(*more)
