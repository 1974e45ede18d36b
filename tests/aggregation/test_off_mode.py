"""Mode off computes the sum of inputs and noise, of everybody who joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import gopa.aggregation.engine as module
from commitments import ristretto255
from gopa import LocalAggregator
from gopa.aggregation.engine import Excluded, OffMode, RoundAborted, leaving
from gopa.contract.terms import MOST_PARTIES, MOST_STEPS
from gopa.planning import Terms
from gopa.rounds import unproved_noise
from tests.aggregation.plans import terms
from tests.randomness import seeded
from wire.errors import UsageError
from zkp.noise import LARGEST_TOTAL_WEIGHT, MOST_ROWS, NoiseLaw

GROUP = ristretto255()
SHAPES: dict[str, dict[str, Any]] = {
    "numbers": {},
    "many steps": {"steps": 2**31, "squared_sensitivity": 2**62},
    "vectors": {"dimension": 7},
}


def engine(script: Any = None, *, seed: object = 1, **changes: Any) -> OffMode:
    made = terms(**changes)
    return OffMode(made, GROUP, seeded(repr(seed)), leaving(script, made.parties))


def rows(made: Terms) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(5)
    return [random.integers(0, made.steps, made.dimension) for _ in range(made.parties)]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("gone", [(), (2,), (0, 5)], ids=str)
def test_the_sum_is_that_of_inputs_and_noise(
    shape: dict[str, Any], gone: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly: one draw of the law for each party that takes part, and nothing else."""
    drawn: list[np.ndarray[Any, Any]] = []

    def noted(array: Any, law: NoiseLaw, *means: Any) -> None:
        before = array.copy()
        unproved_noise.add_noise(array, law, *means)
        drawn.append((array - before).view(np.int64))

    monkeypatch.setattr(module, "add_noise", noted)
    made = terms(**shape)
    given = rows(made)
    carried = engine(dict.fromkeys(gone, "join"), **shape).run(given)
    there = tuple(party for party in range(6) if party not in gone)
    assert (carried.included, len(drawn)) == (there, len(there))
    assert any(each.any() for each in drawn)
    assert max(abs(each).max() for each in drawn) <= made.noise.radius
    expected = np.sum([given[party] for party in there], axis=0) + np.sum(drawn, axis=0)
    assert carried.sums.tolist() == expected.tolist()
    assert carried.excluded == tuple(Excluded(party, "JOIN", "ABSENT") for party in gone)
    assert (carried.attempts, carried.vetoes, carried.residual) == (1, 0, 0.0)
    assert (carried.rolled_back, carried.privacy) == ((), None)
    assert not carried.transcript


def test_parties_without_a_row_do_not_join() -> None:
    given: list[Any] = rows(terms())
    given[3] = None
    carried = engine().run(given)
    assert carried.included == (0, 1, 2, 4, 5)
    assert carried.excluded == (Excluded(3, "JOIN", "ABSENT"),)


@pytest.mark.parametrize("phase", ["commit", "publish", "rollback", "confirm", "unmask"])
def test_nobody_leaves_after_join(phase: str) -> None:
    assert engine({2: "join"}).run(rows(terms())).included == (0, 1, 3, 4, 5)
    with pytest.raises(UsageError) as caught:
        engine({2: phase}).run(rows(terms()))
    assert caught.value.field == "script"


def test_attempts_run_out() -> None:
    """Too few join: another attempt is a round of its own, and the plan says how many."""

    def script(number: int) -> Mapping[int, str]:
        return dict.fromkeys(range(3), "join") if number < 3 else {}

    assert engine(script).run(rows(terms())).attempts == 3
    with pytest.raises(RoundAborted) as caught:
        engine(script, attempts=2).run(rows(terms()))
    error = caught.value
    assert (error.reason, error.culprits, error.released) == ("TOO_FEW_JOINED", (), "none")
    assert error.attempts == 2


def test_a_seed_gives_the_same_sum_and_rounds_differ() -> None:
    given = rows(terms(dimension=20))
    same = [engine(seed=9, dimension=20).run(given).sums.tolist() for _ in range(2)]
    assert same[0] == same[1]
    several = engine(seed=9, dimension=20)
    assert several.run(given).sums.tolist() != several.run(given).sums.tolist()
    assert engine(seed=10, dimension=20).run(given).sums.tolist() != same[0]


def test_masks_that_stay_are_not_uniform() -> None:
    """As in a session, which a plan that was tried here has to fit."""
    curious: dict[str, Any] = {"mode": "off", "trust": "honest-but-curious"}
    LocalAggregator(terms(mask="gaussian", mask_deviation=2**16), **curious)
    with pytest.raises(UsageError) as caught:
        LocalAggregator(terms(), **curious)
    assert caught.value.field == "trust"


def test_no_sum_that_terms_allow_overflows() -> None:
    widest = LARGEST_TOTAL_WEIGHT // 2
    assert max(widest, MOST_ROWS) == widest
    assert MOST_PARTIES * (MOST_STEPS + widest) < 2**62
    with pytest.raises(UsageError):
        terms(parties=MOST_PARTIES + 1)
    with pytest.raises(UsageError):
        terms(steps=MOST_STEPS + 1)
