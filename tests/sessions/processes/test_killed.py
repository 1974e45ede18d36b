"""A session in which nothing stays up: parties, organiser and board are killed; one party lies."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from gopa.auditing.report import Verdict
from tests.sessions.processes.incidents import ABSENCES, EVERYWHERE, Trouble
from tests.sessions.processes.judging import audit, findings, included, require_sum, write_value
from tests.sessions.processes.worlds import World, world


def hold(place: World, seed: int) -> tuple[Trouble, int, int]:
    """One session with every kind of trouble; it, who lied, who stayed away.

    Two parties, the organiser and the board are killed with SIGKILL and come back; one party
    is killed and does not; one publishes a wrong masked value.
    """
    rng = random.Random(seed)
    first, second, away, liar = rng.sample(range(place.parties), 4)
    trouble = Trouble(place, place.open())
    for number in range(place.parties):
        if number == liar:
            trouble.begin(number, lambda: place.cheat(liar))
            continue
        how, stdin = write_value(place.root, number, value(number))
        trouble.begin(
            number,
            lambda number=number, how=how, stdin=stdin: place.join(number, *how, stdin=stdin),  # type: ignore[misc]
        )
    trouble.kill_and_restart(first, rng.choice(EVERYWHERE), rng)
    trouble.kill_and_restart(second, rng.choice(EVERYWHERE), rng)
    trouble.kill_for_good(away, rng.choice(ABSENCES))
    trouble.kill_organiser(rng.choice(EVERYWHERE))
    trouble.kill_board(rng.choice(EVERYWHERE))
    trouble.run(absent=[away])
    return trouble, liar, away


def value(number: int) -> float:
    return (number % 10) / 10


def require_result(trouble: Trouble, liar: int, away: int, seed: int) -> None:
    """Everybody who is left has the one right result, and an audit says who is out and why."""
    place = trouble.world
    told = (seed, trouble.history)
    found = findings(place)
    assert {fault.author for fault in found.faults} == {place.keys[liar]}, (told, found.faults)
    last = found.rounds[-1]
    inside = included(last)
    values = {place.keys[n]: value(n) for n in range(place.parties) if place.keys[n] in inside}
    assert place.keys[liar] not in inside, told
    honest = {place.keys[n] for n in range(place.parties) if n not in {liar, away}}
    assert honest <= inside <= honest | {place.keys[away]}, told
    require_sum(place, last, values)
    results = _results(trouble, {liar, away})
    assert {(each["sum"], each["parties"]) for each in results} == {
        (results[0]["sum"], len(inside))
    }, told
    assert all(each["included"] for each in results), told
    _require_audit(place, inside, place.keys[liar])


def _results(trouble: Trouble, without: set[int]) -> Sequence[dict[str, object]]:
    results = []
    for number, party in trouble.parties.items():
        if number in without:
            continue
        assert party.wait() == 0, (number, party.complaint, trouble.history)
        found = party.said("result")
        assert found is not None, (number, party.events)
        results.append(found)
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
    seed = int.from_bytes(os.urandom(4))
    with world(tmp_path, 8) as place:
        place.prepare()
        require_result(*hold(place, seed), seed)


@pytest.mark.soak
def test_the_same_with_witnesses_and_thirty_parties(tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4))
    with world(tmp_path, 30) as place:
        place.prepare("w1", "w2")
        require_result(*hold(place, seed), seed)
