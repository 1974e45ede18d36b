"""Clipped vectors are not longer than the bound, in exact arithmetic, and not much shorter."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gopa import UsageError
from gopa.learning.clipping import clip, length

NORMS = (1, 2, math.inf)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def power_of_length(vector: list[float], norm: float) -> Fraction:
    """The exact norm, squared if it is the Euclidean one."""
    exact = [abs(Fraction(each)) for each in vector]
    if norm == 2:
        return sum((each * each for each in exact), Fraction(0))
    return sum(exact, Fraction(0)) if norm == 1 else max(exact)


@given(
    arrays.arrays(np.float64, st.integers(1, 12), elements=FINITE),
    st.sampled_from(NORMS),
    st.floats(1e-200, 1e200) | st.sampled_from([1.0, 0.1, 3.0]),
)
def test_no_clipped_vector_is_longer(
    vector: np.ndarray[tuple[int], np.dtype[np.float64]], norm: float, bound: float
) -> None:
    clipped = clip(vector, norm, bound)
    exact = Fraction(bound) ** (2 if norm == 2 else 1)
    found = power_of_length(clipped.tolist(), norm)
    assert found <= exact
    if power_of_length(vector.tolist(), norm) > exact:
        assert found >= exact * (1 - Fraction(1, 10**13))
        # It is not turned: no coordinate changes its sign, all shrink alike.
        shrink = clipped / np.where(vector == 0, 1.0, vector)
        large = np.abs(clipped) > 1e-12 * bound
        assert np.allclose(shrink[large], shrink[large][:1], rtol=1e-12)
        assert (clipped * np.sign(vector) >= 0).all()
    else:
        # Numbers below 1e-308 have fewer digits to keep.
        assert np.allclose(clipped, vector, rtol=1e-13, atol=1e-308)


@pytest.mark.parametrize("norm", NORMS)
def test_vectors_are_clipped_one_by_one(norm: float) -> None:
    vectors = np.random.default_rng(1).standard_normal((3, 4, 5)) * 3
    clipped = clip(vectors, norm, 2.0)
    for i, j in np.ndindex(3, 4):
        assert np.array_equal(clipped[i, j], clip(vectors[i, j], norm, 2.0))
    order = np.inf if norm == math.inf else norm
    assert np.allclose(length(vectors, norm), np.linalg.norm(vectors, ord=order, axis=-1))
    assert (length(clipped, norm) <= 2.0).all()
    assert (length(clipped, norm) < 1.99).any() == (length(vectors, norm) < 1.99).any()
    assert np.array_equal(clip(np.zeros(3), norm, 1.0), np.zeros(3))


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf"), 1e-201])
def test_bounds_that_clip_nothing_or_all_are_refused(bound: float) -> None:
    assert clip([3.0, 4.0], 2, 1e-200).any()
    with pytest.raises(UsageError):
        clip([3.0, 4.0], 2, bound)


@pytest.mark.parametrize("norm", [0, 3, -1, float("nan")])
def test_other_norms_are_refused(norm: float) -> None:
    assert length([3.0, 4.0], 2) == 5
    with pytest.raises(UsageError):
        clip([3.0], norm, 1.0)
    with pytest.raises(UsageError):
        length([3.0], norm)


@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), -float("inf"), "word", "0.5", 0.5j, None]
)
def test_what_has_no_length_is_refused(number: Any) -> None:
    assert clip([1.0, 0.25], 2, 1.0)[1] < 0.25
    with pytest.raises(UsageError):
        clip([1.0, number], 2, 1.0)
    with pytest.raises(UsageError):
        clip(np.array([1.0, number]), 2, 1.0)
