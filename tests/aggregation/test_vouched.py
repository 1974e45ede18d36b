"""Vectors longer than the plan's norm, where the caller answers for how far apart two are."""

from __future__ import annotations

import numpy as np
import pytest

import gopa
from gopa import UsageError
from gopa.aggregation.encoding import VOUCHED


def plan(epsilon: float | None = 40.0) -> gopa.Plan:
    return gopa.plan(
        n=5, epsilon=epsilon, delta="1e-4" if epsilon else None, corrupt=1, dropout=0.0,
        dimension=2, range=(-1, 1), norm=0.1, rounds=2, least_chance=0, mode="signed",
    )  # fmt: skip


def test_the_caller_answers_for_long_vectors_and_the_result_says_so() -> None:
    vectors = [np.array([0.9, -0.9])] * 5
    with (
        gopa.LocalAggregator(plan(), mode="signed", seed=1) as held,
        pytest.raises(gopa.OutOfRange),
    ):
        held.average(vectors)
    with gopa.LocalAggregator(plan(), mode="signed", seed=1, vouched=True) as free:
        found = free.average(vectors)
    assert np.abs(found.mean - vectors[0]).max() < 6 * found.stderr[0]
    assert found.privacy is not None
    assert found.privacy.assumptions[0] == VOUCHED
    with gopa.LocalAggregator(plan(None), mode="off", seed=1, vouched=True) as exact:
        assert np.allclose(exact.average(vectors).mean, vectors[0], atol=1e-4)


def test_the_range_still_holds_and_weights_do_not_mix_with_it() -> None:
    with gopa.LocalAggregator(plan(), mode="off", seed=1, vouched=True) as free:
        assert free.average([np.ones(2)] * 5)
        with pytest.raises(gopa.OutOfRange):
            free.average([np.full(2, 1.1)] * 5)
    with pytest.raises(UsageError) as caught:
        gopa.LocalAggregator(plan(), mode="off", max_weight=2, vouched=True)
    assert caught.value.field == "vouched"
