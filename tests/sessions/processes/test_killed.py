"""Sessions in which nothing stays up: parties, organiser and board are killed; one party lies."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from gopa.auditing.report import Verdict
from gopa.contract.phases import Phase
from tests.sessions.processes.judging import audit, findings, included, require_sum, write_value
from tests.sessions.processes.stranger import GATED, VALUE
from tests.sessions.processes.trouble import Trouble
from tests.sessions.processes.worlds import PLAN, World, world

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


SEED: Final = "GOPA_KILLED_SEED"


"""In the environment: a number that a failure has shown, to draw the same script again."""


def seed() -> int:
    given = os.environ.get(SEED)
    return int.from_bytes(os.urandom(4)) if given is None else int(given)


def hold(place: World, script: Script, about: object) -> None:
    """The session, and everything there is to say about its end."""
    trouble = Trouble(place, place.open())
    with trouble.told(about):
        play(place, script, trouble)
        require_result(trouble, script)


def require_result(trouble: Trouble, script: Script) -> None:
    """Everybody who is left has the one right result, and an audit says who is out and why."""
    place, liar = trouble.world, trouble.world.keys[script.liar]
    found = findings(place)
    assert {fault.author for fault in found.faults} == {liar}
    last = found.rounds[-1]
    inside = included(last)
    assert liar not in inside
    honest = {place.keys[n] for n in range(place.parties) if n not in script.silent}
    perhaps = set() if script.away is None else {place.keys[script.away]}
    assert honest <= inside <= honest | perhaps
    offered = {place.keys[n]: value for n, value in values(place, script).items()}
    require_sum(place, last, {key: offered[key] for key in inside})
    results = _results(trouble, script.silent)
    assert {(each["sum"], each["parties"]) for each in results} == {
        (results[0]["sum"], len(inside))
    }
    assert all(each["included"] for each in results)
    _require_audit(place, inside, liar)


def _results(trouble: Trouble, silent: set[int]) -> Sequence[dict[str, object]]:
    results = []
    for number, party in trouble.parties.items():
        if number in silent:
            continue
        found = party.said("result")
        assert found is not None, (party.name, party.events)
        results.append(found)
    assert len(results) == trouble.world.parties - len(silent)
    return results


def _require_audit(place: World, inside: set[bytes], liar: bytes) -> None:
    code, report = audit(place)
    assert (code, report["verdict"]) == (Verdict.VALID.code, Verdict.VALID.value), report["faults"]
    assert {fault["author"] for fault in report["faults"]} == {liar.hex()}
    assert all(fault["handled"] for fault in report["faults"])
    excluded = {each["author"] for each in report["rounds"][-1]["excluded"]}
    assert excluded == {key.hex() for key in place.keys if key not in inside}
    assert audit(place, "--strict")[0] == Verdict.VALID_WITH_EXCLUSIONS.code


@pytest.mark.soak
def test_a_session_survives_killed_processes_and_a_liar(tmp_path: Path) -> None:
    """A party, the organiser and the board, each killed while others wait for it."""
    script = Script(
        waits=0,
        liar=1,
        moments=(
            Moment(ORGANISER, Phase.COINS),
            Moment(2, Phase.COMMIT),
            Moment(BOARD, Phase.PUBLISH),
        ),
    )
    with world(tmp_path, 5, plan=(*PLAN, "--dropout", "0.01")) as place:
        place.prepare()
        hold(place, script, script)


@pytest.mark.soak
def test_a_session_survives_whenever_processes_are_killed(tmp_path: Path) -> None:
    number = seed()
    with world(tmp_path, 8) as place:
        place.prepare()
        hold(place, drawn(place.parties, number), f"{SEED}={number}")


@pytest.mark.soak
def test_the_same_with_witnesses_and_thirty_parties(tmp_path: Path) -> None:
    number = seed()
    with world(tmp_path, 30) as place:
        place.prepare("w1", "w2")
        hold(place, drawn(place.parties, number), f"{SEED}={number}")


def test_a_seed_draws_one_script() -> None:
    """Whatever is drawn, everybody has one part, and nobody is killed when all may be over."""
    scripts = [drawn(8, number) for number in range(200)]
    assert scripts == [drawn(8, number) for number in range(200)]
    assert len(set(scripts)) == len(scripts)
    for script in scripts:
        killed = [each.who for each in script.moments]
        parties = [who for who in killed if isinstance(who, int)]
        assert len({script.waits, script.liar, *parties}) == 5
        assert set(killed) == {BOARD, ORGANISER, *parties}
        assert [each.who for each in script.moments if not each.comes_back] == [script.away]
        assert not any(each.closing for each in script.moments if each.phase is Phase.UNMASK)
