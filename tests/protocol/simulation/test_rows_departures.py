"""Every pair of departures from a round of long vectors: the sum is that of whoever stays."""

from __future__ import annotations

from itertools import product

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from gopa.rounds.toolkit import Toolkit
from tests.protocol.simulation.row_worlds import ROWS, simulate_rows, sum_in_the_open, vectors_for
from tests.rounds.doubles import ProofDoubles

PHASES = [
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.PUBLISH,
    Phase.PROVE,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
]


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize(
    ("first", "second"), list(product(PHASES, repeat=2)), ids=lambda phase: phase.name.lower()
)
def test_two_leave_and_three_have_their_sum(first: Phase, second: Phase) -> None:
    """Who stays away from confirm or unmask costs an attempt, and sits out the next one."""
    script = Script().drop(1, before=first).drop(3, before=second)
    simulation = simulate_rows(ROWS, script, toolkit=Toolkit(proofs=ProofDoubles()))
    vectors = vectors_for(ROWS)
    record = simulation.run_round(vectors)
    assert record.included == (0, 2, 4)
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    assert not record.findings.faults
    assert not record.halted
    late = {Phase.CONFIRM, Phase.UNMASK}
    gone = {Phase.PUBLISH, Phase.PROVE}
    # Who stays away from rollback is missed there only if an edge of somebody else's leads out.
    silent = Phase.ROLLBACK in {first, second} and not gone & {first, second}
    assert (len(record.attempts) > 1) == (silent or bool(late & {first, second}))
