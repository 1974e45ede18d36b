"""What is published keeps its epsilon under attack, and less noise does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.adversary import distinguish
from gopa.learning import Privacy, Table, Users, iid
from gopa.learning.federated import AdaptiveClip, Recipe, RoundShape, Setting, histogram
from gopa.learning.federated.training import Training
from tests.learning.federated.problems import OFF, two_sides

ASKED = Privacy(1.0, 1e-5)
DRAWS = 300


def users(first: float, rows: int) -> Users:
    """Four users of twenty rows each, so many of those of the first at one end."""
    whole = iid(Table(np.zeros((80, 1)), np.zeros(80), "zeros"), 4, 1)
    whole.table.features[whole.rows[0][:rows], 0] = first
    return whole


def told(problem: Users, privacy: Privacy, start: int) -> Any:
    """Many runs of a histogram of two bins: the difference of both counts."""

    def run(rng: np.random.Generator, many: int) -> np.ndarray:
        seeds = rng.integers(0, 2**62, many) + start
        found = [
            histogram(
                problem, edges=[-1, 0.5, 2], privacy=privacy, seed=int(seed), most_rows=20, **OFF
            ).model["counts"]
            for seed in seeds
        ]
        return np.diff(np.array(found), axis=1)[:, 0]

    return run


def bound(privacy: Privacy, rows: int) -> float:
    pair = [told(users(value, rows), privacy, place) for place, value in enumerate((0.0, 1.0))]
    return distinguish(pair[0], pair[1], lambda seen: seen, ASKED.delta, DRAWS).epsilon


@pytest.mark.soak
def test_all_rows_of_a_user_are_hidden_and_one_row_with_less_noise() -> None:
    by_record = Privacy(1.0, 1e-5, unit="record")
    assert bound(ASKED, 20) <= 1
    assert bound(by_record, 1) <= 1
    # Noise for one row does not hide a user: the attack would see it.
    assert bound(by_record, 20) > 1


@pytest.mark.parametrize(
    "given",
    [{"kept": [2.0] * 2}, {"kept": [float("nan")] * 2}, {"weights": [float("nan"), 1.0]}],
)
def test_a_side_coordinate_carries_no_more_than_noise_is_made_for(given: dict[str, Any]) -> None:
    shape = RoundShape(2, most=2.0, adaptive=True, unit="record")
    right: dict[str, Any] = {"weights": [1.0, 2.0], "kept": [0.0, 1.0]}
    assert len(shape.vectors(np.ones((2, 2)), bound=2.0, **right)) == 2
    with pytest.raises(UsageError):
        shape.vectors(np.ones((2, 2)), bound=2.0, **{**right, **given})
    with pytest.raises(UsageError):
        shape.vectors(np.full((2, 2), 9.0), bound=2.0, **right)


ROUNDS = 5
SEVERAL = Privacy(2.0, 1e-3)


@pytest.fixture(scope="module")
def training() -> Training:
    setting = Setting(SEVERAL, 1, 8, "off", {"corrupt": 2, "dropout": 0.0})
    recipe = Recipe(clip=AdaptiveClip(1.0))
    return Training(setting, recipe, two_sides(), rounds=ROUNDS)


def colluders(training: Training, side: float, weaker: float = 1.0) -> Any:
    """All rounds, as whoever knows all vectors but one, and the noise of the corrupt, sees them.

    The user's update points to one side as long as it may be, in every round, at full weight.
    """
    terms = training.session.terms
    shape = RoundShape(3, most=8.0, adaptive=True)
    pair = shape.vectors([[1.0, 0, 0], [-1.0, 0, 0]], [8.0, 8.0], 1.0, [1.0, 0.0])
    along = np.rint((pair[0] - pair[1]) * terms.steps / 2)
    law = np.array(terms.noise.masses, dtype=float)
    ladder = np.cumsum(law / law.sum())

    def run(rng: np.random.Generator, many: int) -> np.ndarray:
        total = np.full(many, side * ROUNDS * float(along @ along))
        for step in along[along != 0].tolist() * ROUNDS:
            drawn = np.searchsorted(ladder, rng.random((terms.honest, many)))
            total += weaker * step * (drawn - terms.noise.radius).sum(axis=0)
        return total

    return run


@pytest.mark.soak
def test_colluders_who_see_all_rounds_learn_no_more_than_was_charged(training: Training) -> None:
    """The bound comes near epsilon; half of the noise would exceed it."""
    worlds = [(0.0, 1.0), (1.0, 1.0), (0.0, 0.5), (1.0, 0.5)]
    still, moved, *weak = (colluders(training, *each) for each in worlds)
    found = distinguish(still, moved, lambda seen: seen, SEVERAL.delta, 200_000, at_once=20_000)
    assert 0.6 * SEVERAL.epsilon < found.epsilon <= SEVERAL.epsilon
    less = distinguish(weak[0], weak[1], lambda seen: seen, SEVERAL.delta, 200_000, at_once=20_000)
    assert less.epsilon > SEVERAL.epsilon
