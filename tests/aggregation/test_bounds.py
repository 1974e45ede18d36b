"""What a plan allows as inputs."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.aggregation.encoding import Bounds
from gopa.aggregation.grid import Grid
from gopa.aggregation.values import InvalidValue, OutOfRange, Structure
from tests.aggregation.plans import planned, terms

BOX = Structure.of(np.zeros(4))
PLAN = planned(n=50, dimension=4, norm=1, range=(-1, 1))
WITH_NORM: dict[str, Any] = {"n": 50, "dimension": 4, "norm": 1, "range": (-1, 1)}


def test_values_at_both_ends_pass_and_those_beyond_do_not() -> None:
    bounds = Bounds(Grid(Decimal("-0.1"), Decimal("0.3"), 10), None)
    values = np.array([-0.1, 0.3, 0.0, 0.1])
    assert bounds.admit(values, BOX, 2, clip=False).values is values
    for wrong in (math.nextafter(-0.1, -1), math.nextafter(0.3, 1), 17.25):
        with pytest.raises(OutOfRange) as caught:
            bounds.admit(np.array([0.0, 0.1, wrong, wrong]), BOX, 2, clip=False)
        assert (caught.value.party, caught.value.coordinate) == (2, "[2]")
        assert caught.value.field == "values[2][2]"
        assert isinstance(caught.value, InvalidValue)


def test_errors_name_no_value_and_survive_pickling() -> None:
    bounds = Bounds(Grid(Decimal(0), Decimal(1), 10), None)
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(np.array([0, 0, 0, 123.456]), BOX, 5, clip=False)
    assert "123" not in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert type(copy) is OutOfRange
    assert (copy.party, copy.coordinate, str(copy)) == (5, "[3]", str(caught.value))


def test_clipping_moves_to_the_nearest_end_and_counts() -> None:
    bounds = Bounds(Grid(Decimal(0), Decimal(1), 10), None)
    admitted = bounds.admit(np.array([-5.0, 0.5, 1.5, 1.0]), BOX, 0, clip=True)
    assert admitted.values.tolist() == [0.0, 0.5, 1.0, 1.0]
    assert (admitted.clipped, admitted.scaled) == (2, False)


@pytest.mark.parametrize("integers", [False, True])
def test_a_vector_as_long_as_the_plan_says_passes(integers: bool) -> None:
    norm = 5 if integers else 1
    plan = planned(**{**WITH_NORM, "norm": norm, "range": (-norm, norm), "integers": integers})
    bounds = Bounds.of(plan.terms)
    longest = np.array([3.0, 0.0, 4.0, 0.0]) * (norm / 5)
    assert not bounds.admit(longest, BOX, 0, clip=False).scaled
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(longest * 1.2, BOX, 7, clip=False)
    assert caught.value.party == 7
    if integers:
        with pytest.raises(OutOfRange):
            bounds.admit(longest + np.array([1.0, 0, 0, 0]), BOX, 7, clip=False)


@given(st.integers(0, 2**32), st.booleans())
def test_admitted_vectors_are_never_further_apart_than_the_plan_counts_on(
    seed: int, opposite: bool
) -> None:
    """Whatever the rounding: every coordinate may move by one step, outwards."""
    bounds = Bounds.of(PLAN.terms)
    random = np.random.default_rng(seed)
    first = random.normal(size=4)
    raw = (first, -first if opposite else random.normal(size=4))
    scales = 10 ** random.uniform(-2, 2, 2)
    longer = [vector * scale for vector, scale in zip(raw, scales, strict=True)]
    pair = [bounds.admit(vector, BOX, 0, clip=True).values for vector in longer]
    steps = [np.array([float(bounds.grid.position(x)) for x in vector]) for vector in pair]
    one, other = (np.stack([np.floor(each), np.ceil(each)]) for each in steps)
    apart = np.maximum(one[1] - other[0], other[1] - one[0])
    assert float(np.sum(apart**2)) <= PLAN.terms.squared_sensitivity


def test_shortening_keeps_the_direction_and_is_counted() -> None:
    bounds = Bounds.of(PLAN.terms)
    vector = np.array([3.0, -4.0, 12.0, 84.0])
    admitted = bounds.admit(vector, BOX, 0, clip=True)
    assert admitted.scaled
    assert admitted.clipped == 0
    assert np.allclose(admitted.values / np.linalg.norm(admitted.values), vector / 85)
    assert math.isclose(float(np.linalg.norm(admitted.values)), bounds.longest(4), rel_tol=1e-9)
    assert 1 <= bounds.longest(4) < 1.02


def test_vectors_are_not_shortened_towards_a_forbidden_zero() -> None:
    plan = planned(n=50, dimension=4, norm=3, range=(1, 9))
    bounds = Bounds.of(plan.terms)
    assert bounds.reach is not None
    bounds.admit(np.array([1.0, 1.0, 1.0, 1.0]), BOX, 0, clip=True)
    with pytest.raises(OutOfRange):
        bounds.admit(np.array([5.0, 5.0, 5.0, 5.0]), BOX, 0, clip=True)


def test_what_stands_beside_a_vector_may_leave_it_no_room() -> None:
    bounds = Bounds.of(PLAN.terms)
    vector = np.full(4, 0.9)
    admitted = bounds.admit(vector, BOX, 0, clip=True, beside=0.5)
    whole = math.hypot(float(np.linalg.norm(admitted.values)), 0.5)
    assert math.isclose(whole, bounds.longest(5), rel_tol=1e-9)
    with pytest.raises(OutOfRange) as caught:
        bounds.admit(vector, BOX, 2, clip=True, beside=1.5)
    assert caught.value.party == 2


def test_a_plan_without_a_norm_bounds_no_length() -> None:
    bounds = Bounds.of(terms(dimension=4))
    assert bounds.reach is None
    assert bounds.longest(4) == math.inf
    bounds.admit(np.ones(4), BOX, 0, clip=False)
