"""Lies that other sessions know, in those that prove vectors row by row: the same rules hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.adversary.deeds import (
    accuse,
    another_nonce,
    betray,
    change,
    copy_key,
    other_seed,
    unproved_key,
    wrong_edge,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour, Script
from gopa.protocol.simulation.script import Skip
from tests.lies import lying
from tests.protocol.simulation.row_worlds import (
    MANY_ROWS,
    RECOVERING,
    simulate_rows,
    sum_in_the_open,
    vectors_for,
)
from tests.protocol.simulation.worlds import culprits, require_checked

LIAR, LEAVER, VICTIM = 2, 7, 5

CASES: dict[str, tuple[Behaviour, str | None]] = {
    "key without possession": (lying("join", unproved_key()), "04-J3"),
    "copied key": (lying("join", copy_key(VICTIM)), "04-J3"),
    "wrong nonce": (lying("coins", another_nonce()), "04-V1"),
    "edge that differs": (lying("commit", wrong_edge()), "04-A3"),
    "wrong share": (lying("commit", wrong_share()), "04-A4"),
    "false accusation": (lying("accuse", accuse()), "04-A1"),
    "false accusation, share": (lying("accuse", accuse(about=About.SHARE)), "04-A5"),
    "wrong key": (lying("rollback", wrong_key()), "04-O2"),
    "opens nothing": (Skip(Phase.ROLLBACK), None),
    "opens edges behind its confirmation": (lying("confirm", betray()), "04-F3"),
    "wrong seed": (lying("unmask", wrong_seed()), "04-U1"),
    "another seed dealt": (lying("commit", other_seed()), None),
}


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", CASES)
def test_a_lie_is_found_by_the_rule_of_other_sessions(name: str) -> None:
    lie, rule = CASES[name]
    script = Script().drop(LEAVER, before=Phase.PROVE).misbehave(LIAR, lie)
    simulation = simulate_rows(RECOVERING, script)
    vectors = vectors_for(RECOVERING)
    record = simulation.run_round(vectors)
    found = culprits(simulation, record)
    assert found.keys() <= {LIAR}
    assert rule is None or rule in found[LIAR]
    assert record.halted.keys() <= {LIAR}
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    require_checked(simulation)


@pytest.mark.slow
def test_a_wrong_share_of_a_seed_does_not_count() -> None:
    script = Script().misbehave(VICTIM, Skip(Phase.UNMASK))
    simulation = simulate_rows(
        RECOVERING, script.misbehave(LIAR, lying("recover", wrong_recovery()))
    )
    vectors = vectors_for(RECOVERING)
    record = simulation.run_round(vectors)
    assert culprits(simulation, record) == {LIAR: {"04-U3"}}
    assert record.attempts[0].recovered == (VICTIM,)
    assert record.sums == sum_in_the_open(simulation, record, vectors)


@pytest.mark.slow
def test_another_vector_in_a_retry_is_refused() -> None:
    """Parties see their noise when the coins are out: the next attempt has the same rows."""
    swapped = change(lambda join: replace(join, input=join.noise))
    script = Script().drop(LEAVER, before=Phase.CONFIRM, rounds=[1])
    same = simulate_rows(MANY_ROWS, script).run_round(vectors_for(MANY_ROWS))
    assert len(same.attempts) == 2
    assert LIAR in same.included
    simulation = simulate_rows(MANY_ROWS, script.misbehave(LIAR, lying("join", swapped, {2})))
    record = simulation.run_round(vectors_for(MANY_ROWS))
    assert culprits(simulation, record) == {LIAR: {"04-J5"}}
    assert LIAR not in record.included
