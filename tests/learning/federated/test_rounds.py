"""A round: what users send never exceeds what noise is made for, and its mean is the mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gopa
from gopa import UsageError
from gopa.learning.clipping import clip
from gopa.learning.federated import AdaptiveClip, RoundShape, mean_round
from gopa.learning.federated.rounds import require_bound

UPDATES = np.array([[1.0, -2.0], [0.5, 0.25], [6.0, 8.0], [0.0, 0.0]])
WEIGHTS = np.array([1.0, 5.0, 2.0, 0.0])


def aggregator(shape: RoundShape, mode: Any = "off", epsilon: float | None = None) -> Any:
    plan = gopa.plan(
        n=4, epsilon=epsilon, delta=None if epsilon is None else 1e-5, corrupt=1, dropout=0.0,
        dimension=shape.dimension, range=(-1, 1), norm=shape.half, rounds=3, least_chance=0,
        mode=mode, beacon="commit-reveal",
    )  # fmt: skip
    return gopa.LocalAggregator(plan, mode=mode, seed=3, vouched=shape.vouched)


@pytest.mark.parametrize("mode", ["off", "signed", "full"])
def test_every_mode_has_the_weighted_mean_of_shortened_updates(mode: Any) -> None:
    shape = RoundShape(2, most=5.0, adaptive=True)
    with aggregator(shape, mode) as rounds:
        found = mean_round(rounds, shape, UPDATES, WEIGHTS, bound=5.0)
    expected = np.average(clip(UPDATES, 2, 5.0), axis=0, weights=WEIGHTS)
    assert np.allclose(found.mean, expected, atol=2e-3)
    assert found.weight == pytest.approx(8, abs=2e-3)
    assert found.kept == pytest.approx(1 - 2 / 8, abs=2e-3)
    assert found.shortened == 1
    assert found.count == 4


def test_all_count_alike_without_weights_and_one_number_is_enough() -> None:
    shape = RoundShape(1, weighted=False)
    with aggregator(shape) as rounds:
        found = mean_round(rounds, shape, UPDATES[:, :1], bound=2.0)
    assert found.mean == pytest.approx([(1 + 0.5 + 2 + 0) / 4], abs=1e-4)
    assert found.kept is None


def test_means_of_records_are_counted_by_records() -> None:
    shape = RoundShape(2, most=5.0, adaptive=True, unit="record")
    kept = np.array([1.0, 0.6, 1.0, 0.0])
    with aggregator(shape) as rounds:
        found = mean_round(rounds, shape, UPDATES, WEIGHTS, bound=10.0, kept=kept)
    assert np.allclose(found.mean, np.average(UPDATES, axis=0, weights=WEIGHTS), atol=1e-3)
    assert found.kept == pytest.approx((1 + 3 + 2) / 8, abs=1e-3)
    assert found.shortened == 2


def test_a_user_never_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    """Two extreme vectors of one user come as far apart as twice `half`, and none farther."""
    rng = np.random.default_rng(1)
    for adaptive in (False, True):
        shape = RoundShape(3, most=7.0, adaptive=adaptive)
        updates = clip(rng.normal(0, 4, (400, 3)), 2, 2.0)
        updates[0], updates[1] = [2, 0, 0], [-2, 0, 0]
        weights = rng.choice([0.0, 3.0, 7.0], 400)
        weights[0] = weights[1] = 7.0
        kept = rng.integers(0, 2, 400).astype(float)
        vectors = np.array(shape.vectors(updates, weights, 2.0, kept))
        apart = np.linalg.norm(vectors[:, None] - vectors, axis=2).max()
        assert np.linalg.norm(vectors, axis=1).max() <= shape.half
        assert 2 <= apart <= 2 * shape.half
        assert np.abs(vectors).max() <= 1


def test_a_record_never_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    rng = np.random.default_rng(2)
    shape = RoundShape(3, most=10.0, adaptive=True, unit="record")
    assert shape.half > RoundShape(3, most=10.0, unit="record").half  # the question costs noise
    farthest = 0.0
    for _ in range(300):
        records = clip(rng.normal(0, 4, (6, 3)), 2, 2.0)
        other = records.copy()
        other[0] = -records[0]
        kept = rng.integers(0, 2, 6) / 1.0
        both = [
            np.array(shape.vectors([each.mean(axis=0)], [6.0], 2.0, [share]))
            for each, share in ((records, kept.mean()), (other, (1 - kept[0] + kept[1:].sum()) / 6))
        ]
        farthest = max(farthest, float(np.linalg.norm(both[0] - both[1])))
    assert 0.9 * 2 * shape.half < farthest <= 2 * shape.half


def test_few_weights_under_much_noise_shorten_the_step() -> None:
    """A sum of weights that noise made small, or negative, leads to no long step."""
    shape = RoundShape(2, most=1.0)
    total = np.array([1.0, 0.0, -0.4])
    found = shape.read(total, stderr=2.0, count=4, bound=1.0)
    assert found.weight == pytest.approx(4 * 0.5 - 0.4 / 0.25)
    assert found.weight_stderr == pytest.approx(2.0 / 0.25)
    assert found.mean == pytest.approx(total[:2] / 4)
    assert found.divisor(0.5, 0.1) == pytest.approx(2)
    nobody = shape.read(np.array([0.0, 0.0, -0.5]), stderr=0.0, count=4, bound=1.0)
    assert np.isfinite(nobody.mean).all()


def test_an_adaptive_bound_finds_the_quantile() -> None:
    clipping, bound = AdaptiveClip(8.0, quantile=0.75, rate=0.5), 8.0
    lengths = np.linspace(0, 1, 101)
    for _ in range(60):
        bound = clipping.after(bound, float(np.mean(lengths <= bound)))
    assert bound == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: require_bound(0.0),
        lambda: require_bound(math.nan),
        lambda: AdaptiveClip(math.inf),
        lambda: AdaptiveClip(1.0, quantile=1.0),
        lambda: AdaptiveClip(1.0, rate=0.0),
        lambda: RoundShape(0),
        lambda: RoundShape(2, most=0.0),
        lambda: RoundShape(2, most=5.0, weighted=False, unit="record"),
        lambda: RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, 3, 0], 10, [1] * 4),
        lambda: RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, -1, 0], 10, [1] * 4),
    ],
)
def test_nonsense_is_refused(wrong: Any) -> None:
    assert RoundShape(2, most=2.0).vectors(UPDATES, [1, 2, 1, 0], 10, [1] * 4)
    with pytest.raises(UsageError):
        wrong()
