"""What is asked for makes sense, and what was spent is held against it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gopa import UsageError
from gopa.learning import History, Privacy, Spent, worst
from gopa.learning.clipping import clip, length
from gopa.learning.clocks import Steps, constant, harmonic, root

ASKED = Privacy(1.0, 1e-6)


SPENT = Spent.of(ASKED, 0.9, theorem="a theorem", assumptions=["one"], curve=History({"step": [1]}))


def test_nobody_changes_them() -> None:
    for each in (ASKED, SPENT):
        with pytest.raises(FrozenInstanceError):
            each.epsilon = 2.0  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"unit": "row"}, "unit"),
        ({"view": "server"}, "view"),
        ({"relation": "replace"}, "relation"),
        ({"view": "coalition"}, "colluders"),
        ({"view": "coalition", "colluders": 1}, "colluders"),
        ({"colluders": 3}, "colluders"),
        ({"colluders": 0}, "colluders"),
        ({"view": "coalition", "colluders": 2.5}, "colluders"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], field: str) -> None:
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    assert Privacy(**given) == ASKED
    with pytest.raises(UsageError) as caught:
        Privacy(**{**given, **changes})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"epsilon": -0.1}, "epsilon"), ({"epsilon": math.nan}, "epsilon"), ({"delta": 2}, "delta")],
)
def test_nobody_reports_nonsense(changes: dict[str, Any], field: str) -> None:
    assert replace(SPENT) == SPENT
    with pytest.raises(UsageError) as caught:
        replace(SPENT, **changes)
    assert caught.value.field == field


def test_a_report_keeps_what_was_asked_for_only_if_it_is_about_the_same() -> None:
    assert SPENT.within(ASKED)
    assert not replace(SPENT, epsilon=1.1).within(ASKED)
    assert not replace(SPENT, delta=1e-5).within(ASKED)
    assert not replace(SPENT, unit="record").within(ASKED)
    assert not replace(SPENT, relation="add-remove").within(ASKED)
    assert not replace(SPENT, view="neighbour").within(ASKED)
    assert not Spent.nothing_hidden().within(ASKED)


def test_whoever_sees_everything_sees_what_a_coalition_sees_and_not_the_reverse() -> None:
    few, many = (Privacy(1, 1e-6, view="coalition", colluders=k) for k in (2, 3))
    assert SPENT.within(few)
    assert Spent.of(few, 0.5, theorem="t").within(few)
    assert not Spent.of(few, 0.5, theorem="t").within(many)
    assert Spent.of(many, 0.5, theorem="t").within(few)
    assert Spent.of(few, 0.5, theorem="t").within(replace(ASKED, view="neighbour"))
    assert not Spent.of(few, 0.5, theorem="t").within(ASKED)


def test_the_worst_user_speaks_for_all() -> None:
    more = replace(SPENT, epsilon=0.95)
    assert worst([SPENT, more, SPENT]) is more
    for reports in ([], [SPENT, replace(SPENT, unit="record")]):
        with pytest.raises(UsageError):
            worst(reports)


def test_words_say_whose_data_and_against_whom() -> None:
    assert "one user" in str(ASKED)
    assert "record" in str(replace(ASKED, unit="record"))
    assert "3 users together" in str(Privacy(1, view="coalition", colluders=3))
    assert "nothing is hidden" in str(Spent.nothing_hidden())
    assert "a theorem" in str(SPENT)


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


K = np.array([1, 4, 100])


@pytest.mark.parametrize(
    ("steps", "lengths"),
    [
        (constant(0.3), [0.3, 0.3, 0.3]),
        (harmonic(2.0), [2.0, 0.5, 0.02]),
        # Frank-Wolfe with 10 users: 2 n / (k + 2 n).
        (harmonic(20.0, 20.0), [20 / 21, 20 / 24, 20 / 120]),
        (root(3.0), [3.0, 1.5, 0.3]),
        (Steps(1.0, 2.0), [1.0, 1 / 16, 1e-4]),
    ],
)
def test_lengths(steps: Steps, lengths: list[float]) -> None:
    assert steps(K) == pytest.approx(lengths, rel=1e-14, abs=0)
    assert float(steps(4)) == pytest.approx(lengths[1])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (lambda: constant(1e-9), lambda: constant(0.0)),
        (lambda: constant(1.0), lambda: constant(float("nan"))),
        (lambda: constant(1.0), lambda: constant(float("inf"))),
        (lambda: Steps(1.0, 0.0), lambda: Steps(1.0, -0.5)),
        (lambda: harmonic(1.0, 0.0), lambda: harmonic(1.0, -1.0)),
        (lambda: constant(1.0)(1), lambda: constant(1.0)(0)),
        (lambda: constant(1.0)(1), lambda: constant(1.0)(float("nan"))),
    ],
)
def test_wrong_steps_are_refused(right: Callable[[], object], wrong: Callable[[], object]) -> None:
    assert right() is not None
    with pytest.raises(UsageError):
        wrong()
