"""Sessions in which nothing stays up: parties, organiser and board are killed; one party lies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from gopa.auditing.report import Verdict
from gopa.contract.phases import Phase
from tests.sessions.processes.judging import audit, findings, included, require_sum
from tests.sessions.processes.scripts import (
    BOARD,
    ORGANISER,
    Moment,
    Script,
    drawn,
    play,
    values,
)
from tests.sessions.processes.trouble import Trouble
from tests.sessions.processes.worlds import PLAN, World, world

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
