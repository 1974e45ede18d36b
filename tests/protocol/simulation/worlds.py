"""Small sessions whose every secret is known."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal

from gopa.contract.manifest import Mode, TestCoins, Trust
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import check_log
from gopa.protocol.simulation import RoundRecord, Script, Simulation, SimulationOptions
from gopa.rounds.toolkit import Toolkit
from tests.randomness import seeded
from zkp.noise import GaussianTable, irwin_hall

SCALAR = Terms(
    parties=8,
    corrupt=1,
    survivors=5,
    loss=3,
    k=7,
    dimension=1,
    low=Decimal(0),
    high=Decimal(1),
    steps=20,
    squared_sensitivity=400,
    noise=GaussianTable.with_scale("4", bits=20, rows=31),
    mask="uniform",
    mask_deviation=0,
    epsilon=Decimal(100),
    delta=Decimal("0.999"),
    beta=Decimal("0.1"),
    rounds=3,
    charged=1,
    attempts=3,
    beacon="commit-reveal",
    threshold_numerator=0,
    threshold_denominator=1,
)
"""A complete graph, so that nothing is left to chance; honest about its worth."""

FEW = replace(SCALAR, parties=5, k=4, survivors=3, loss=2)
"""The same for as few parties as some of these rounds need."""

RECOVERING = replace(SCALAR, threshold_numerator=1, threshold_denominator=2)
CURIOUS = replace(SCALAR, mask="gaussian", mask_deviation=50, survivors=8, loss=0)
VECTOR = replace(SCALAR, dimension=3, squared_sensitivity=1200, noise=irwin_hall(2, 4))
RECOVERING_VECTOR = replace(VECTOR, threshold_numerator=1, threshold_denominator=2)

FULL = SessionSetting()
SIGNED = SessionSetting(mode=Mode.SIGNED)
LENIENT = SessionSetting(mode=Mode.SIGNED, trust=Trust.HONEST_BUT_CURIOUS)
TEST_COINS = SessionSetting(beacon=TestCoins())


def simulate(
    terms: Terms = SCALAR,
    setting: SessionSetting = FULL,
    script: Script | None = None,
    *,
    seed: int | str = 1,
    toolkit: Toolkit | None = None,
) -> Simulation:
    """A session that remembers the noise of all parties."""
    options = SimulationOptions(toolkit=toolkit, remember_noise=True)
    return Simulation(terms, rng=seeded(seed), setting=setting, script=script, options=options)


def inputs_for(terms: Terms, seed: int = 1) -> list[list[int]]:
    """A vector on the grid for each party."""
    source = random.Random(seed)
    return [
        [source.randint(0, terms.steps) for _ in range(terms.dimension)]
        for _ in range(terms.parties)
    ]


def plain_sum(
    simulation: Simulation, record: RoundRecord, inputs: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """What the result has to be: inputs and noise of the included, added up in the open."""
    number = record.attempts[-1].number
    rows = [
        [
            x + noise
            for x, noise in zip(inputs[i], simulation.noise_for_tests[number, i], strict=True)
        ]
        for i in record.included
    ]
    return tuple(map(sum, zip(*rows, strict=True)))


def culprits(simulation: Simulation, record: RoundRecord) -> dict[int, set[str]]:
    """Numbers of the parties that are blamed, with the rules that they broke."""
    numbers = {actor.author: actor.index for actor in simulation.parties}
    found: dict[int, set[str]] = {}
    for fault in record.findings.faults:
        found.setdefault(numbers.get(fault.author, -1), set()).add(fault.rule)
    return found


def require_sound(
    simulation: Simulation,
    record: RoundRecord,
    inputs: Sequence[Sequence[int]],
    liars: Collection[int] = (),
    *,
    exact: bool = True,
) -> None:
    """What holds whoever lies: exact sums, the right blame, edges that stay shut."""
    assert culprits(simulation, record).keys() <= set(liars), record.findings.faults
    assert record.halted.keys() <= set(liars)
    if record.sums is not None and exact:
        assert record.sums == plain_sum(simulation, record, inputs)
    for attempt in record.attempts:
        final = set(attempt.final or ())
        assert not [pair for pair in attempt.opened if final.issuperset(pair)]
        assert final.issuperset(attempt.unmasked)


def require_checked(simulation: Simulation) -> None:
    """Whoever reads the log later finds what the organiser found."""
    found = check_log(simulation.log().entries(), rng=seeded("auditor"))
    assert found.to_json() == simulation.findings().to_json()
