"""Many sessions of long vectors in which parties lie, leave and come late as chance has it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from gopa.adversary.deeds import add_to_the_sum
from gopa.contract.phases import KIND_IN, REPEATABLE, Phase
from gopa.contract.terms import Terms
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import Behaviour, Drop, Garbage, PostsLate, Skip, Twice
from tests.lies import lying
from tests.lies.table import OF_ROWS
from tests.protocol.simulation.row_worlds import (
    MANY_ROWS,
    RECOVERING,
    shifted,
    shifted_together,
    simulate_rows,
    sum_in_the_open,
    vectors_for,
)
from tests.protocol.simulation.worlds import culprits, require_checked

SEEDS = 24
_PHASES = [phase for phase in KIND_IN if phase not in REPEATABLE and phase is not Phase.COINS]


def deeds_of(chance: random.Random, party: int, others: list[int]) -> list[Behaviour]:
    """One or two of the things that a party may do."""
    phase, lie = chance.choice(_PHASES), chance.choice(OF_ROWS)
    other = chance.choice(others)
    choices: list[Callable[[], Behaviour]] = [
        lambda: Drop(phase, chance.random() < 0.5),
        lambda: PostsLate(phase),
        lambda: Skip(phase),
        lambda: Twice(phase),
        lambda: Garbage(phase),
        lambda: lie,
        lambda: shifted(other),
        lambda: shifted_together(other),
        lambda: Skip(Phase.ROLLBACK),
        lambda: lying("publish", add_to_the_sum(7)),
    ]
    del party
    return [make() for make in chance.sample(choices, chance.choice((1, 1, 2)))]


def script_of(chance: random.Random, terms: Terms) -> tuple[Script, set[int]]:
    liars = chance.sample(range(terms.parties), chance.choice((1, 2, 3, 4)))
    script = Script()
    for party in liars:
        others = [each for each in range(terms.parties) if each != party]
        near = [each for each in liars if each != party]
        script = script.misbehave(party, *deeds_of(chance, party, near or others))
    return script, set(liars)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_that_parties_do_moves_a_sum_or_blames_an_honest_one(seed: int) -> None:
    chance = random.Random(seed)
    terms = chance.choice((MANY_ROWS, RECOVERING))
    script, liars = script_of(chance, terms)
    simulation = simulate_rows(terms, script, seed=seed)
    vectors = vectors_for(terms, seed)
    record = simulation.run_round(vectors)
    assert culprits(simulation, record).keys() <= liars
    assert record.halted.keys() <= liars
    if record.sums is not None:
        assert record.sums == sum_in_the_open(simulation, record, vectors)
    for attempt in record.attempts:
        final = set(attempt.final or ())
        assert not [pair for pair in attempt.opened if final.issuperset(pair)]
    require_checked(simulation)
