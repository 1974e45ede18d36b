"""How many parties may go missing late: all liars, and honest ones but for once in 1,000 rounds."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from gopa.planning.row_plan import planned_late


@pytest.mark.parametrize("parties", [20, 1000, 20_000])
@pytest.mark.parametrize("chance", [0.001, 0.02, 0.1])
def test_it_is_the_least_that_hardly_ever_ends_a_round(parties: int, chance: float) -> None:
    corrupt = parties // 10
    missing = planned_late(parties, corrupt, 0, chance) - corrupt
    honest = parties - corrupt
    assert binom.sf(missing, honest, chance) <= 1e-3
    assert missing == 0 or binom.sf(missing - 1, honest, chance) > 1e-3


def test_nobody_fails() -> None:
    assert planned_late(100, 10, 80, 0.0) == 10


def test_no_more_than_may_be_lost_at_all() -> None:
    """A plan that can lose fewer parties than are corrupt is ended by these anyway."""
    assert planned_late(1000, 100, 921, 0.01) == 79
    assert planned_late(10, 1, 10, 0.0) == 0
