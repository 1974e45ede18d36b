"""Who takes part in a session in which nothing stays up, and what happens to them when.

A party that waits to be let through keeps each phase open until the script is done with it: no
moment can be missed, however fast the session or slow the machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from gopa.contract.phases import Phase
from tests.sessions.processes.judging import write_value
from tests.sessions.processes.stranger import GATED, VALUE
from tests.sessions.processes.trouble import Trouble
from tests.sessions.processes.worlds import World

ORGANISER: Final = "organiser"
BOARD: Final = "board"

ABSENCES: Final = (Phase.COMMIT, Phase.UNMASK)
"""Phases that the others finish without a party: off the list, or recovered. Neither is opened
twice in one attempt, so that an organiser may be told to give one of them no time."""

_LATER: Final = 2.0


@dataclass(frozen=True)
class Moment:
    """Somebody is killed: a party with its number, the organiser, or the board.

    So many seconds after it knows that the phase is open; with `closing`, after the last
    party was let through: then the phase may be over, and the next one open.
    """

    who: int | str
    phase: Phase
    after: float = 0.0
    closing: bool = False
    comes_back: bool = True

    def __str__(self) -> str:
        what = "dies and comes back" if self.comes_back else "dies for good"
        name = f"p{self.who}" if isinstance(self.who, int) else f"the {self.who}"
        when = "may close" if self.closing else "is open"
        return f"{name} {what}, {self.after:.1f} s after {self.phase.name} {when}"


@dataclass(frozen=True)
class Script:
    """The parts of a session."""

    waits: int
    liar: int
    moments: tuple[Moment, ...]
    away: int | None = None

    def in_phase(self, phase: Phase, *, closing: bool) -> Iterable[Moment]:
        return [each for each in self.moments if (each.phase, each.closing) == (phase, closing)]

    @property
    def passing(self) -> list[Phase]:
        """Phases in which nothing happens: they end by themselves."""
        return [phase for phase in GATED if phase not in {each.phase for each in self.moments}]

    @property
    def silent(self) -> set[int]:
        """Whoever has no result to show."""
        return {self.liar} | (set() if self.away is None else {self.away})


def drawn(parties: int, seed: int) -> Script:
    """Two parties, the organiser and the board are killed and come back, one party does not.

    The same seed draws the same script.
    """
    rng = random.Random(seed)
    waits, liar, away, first, second = rng.sample(range(parties), 5)
    comes_back: list[int | str] = [first, second, ORGANISER, BOARD]
    moments = [_restart(who, rng) for who in comes_back]
    moments.append(Moment(away, rng.choice(ABSENCES), comes_back=False))
    rng.shuffle(moments)
    return Script(waits, liar, tuple(moments), away)


def _restart(who: int | str, rng: random.Random) -> Moment:
    """Not while the last phase closes: the session might be over."""
    phase = rng.choice(GATED)
    closing = phase != GATED[-1] and rng.random() < 0.5
    return Moment(who, phase, rng.uniform(0, _LATER), closing)


def value(number: int) -> float:
    return (number % 10) / 10


def values(place: World, script: Script) -> dict[int, float]:
    """What each party offers."""
    return {n: VALUE if n == script.waits else value(n) for n in range(place.parties)}


def play(place: World, script: Script, trouble: Trouble) -> None:
    """Hold the session; every moment of the script has happened when it is over."""
    _gather(place, script, trouble)
    done: list[Moment] = []
    for phase in script.passing:
        place.let_through(script.waits, phase)
    for phase in GATED:
        for moment in script.in_phase(phase, closing=False):
            _await(moment, trouble)
            done.append(_happen(moment, trouble))
        if script.in_phase(phase, closing=True):
            _await_open(phase, trouble)
        place.let_through(script.waits, phase)
        done += [_happen(moment, trouble) for moment in script.in_phase(phase, closing=True)]
    trouble.to_the_end()
    assert sorted(map(str, done)) == sorted(map(str, script.moments))


def _gather(place: World, script: Script, trouble: Trouble) -> None:
    trouble.excused.add(script.liar)
    for number in range(place.parties):
        if number == script.liar:
            trouble.begin(number, partial(place.stranger, "lies", number))
        elif number == script.waits:
            trouble.begin(number, partial(place.stranger, "waits", number))
        else:
            how, stdin = write_value(place.root, number, value(number))
            trouble.begin(number, partial(place.join, number, *how, stdin=stdin))


def _await_open(phase: Phase, trouble: Trouble) -> None:
    trouble.until(lambda: trouble.is_open(phase), f"{phase.name} opens")


def _await(moment: Moment, trouble: Trouble) -> None:
    """The phase is open, and the party has noticed."""
    who, phase = moment.who, moment.phase
    _await_open(phase, trouble)
    if isinstance(who, int):
        trouble.until(lambda: trouble.is_in(who, phase), f"p{who} is in {phase.name}")


def _happen(moment: Moment, trouble: Trouble) -> Moment:
    time.sleep(moment.after)
    trouble.chronicle.note(str(moment))
    if moment.who == ORGANISER:
        trouble.restart_organiser()
    elif moment.who == BOARD:
        trouble.restart_board()
    elif isinstance(moment.who, int):
        act = trouble.restart_party if moment.comes_back else trouble.lose_party
        act(moment.who)
    else:
        raise ValueError(moment)
    return moment
