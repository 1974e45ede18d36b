"""Step schedules: their lengths, and what their sums do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gopa import UsageError
from gopa.learning.steps import Steps, constant, from_smoothness, harmonic, root

K = np.array([1, 4, 100])


@pytest.mark.parametrize(
    ("steps", "lengths", "everywhere", "squares"),
    [
        (constant(0.3), [0.3, 0.3, 0.3], True, False),
        (harmonic(2.0), [2.0, 0.5, 0.02], True, True),
        # Frank-Wolfe with 10 users: 2 n / (k + 2 n).
        (harmonic(20.0, 20.0), [20 / 21, 20 / 24, 20 / 120], True, True),
        (root(3.0), [3.0, 1.5, 0.3], True, False),
        (Steps(1.0, 2.0), [1.0, 1 / 16, 1e-4], False, True),
        (from_smoothness(4.0), [0.25] * 3, True, False),
        (from_smoothness(4.0, 2.0), [0.5] * 3, True, False),
    ],
)
def test_lengths(steps: Steps, lengths: list[float], everywhere: bool, squares: bool) -> None:
    assert steps(K) == pytest.approx(lengths, rel=1e-14, abs=0)
    assert float(steps(4)) == pytest.approx(lengths[1])
    assert steps.reaches_everywhere is everywhere
    assert steps.square_summable is squares


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
        (lambda: from_smoothness(1.0), lambda: from_smoothness(float("inf"))),
        (lambda: from_smoothness(1.0), lambda: from_smoothness(0.0)),
        (lambda: from_smoothness(1.0, 2.0), lambda: from_smoothness(1.0, 2.1)),
    ],
)
def test_wrong_steps_are_refused(right: Callable[[], object], wrong: Callable[[], object]) -> None:
    assert right() is not None
    with pytest.raises(UsageError):
        wrong()
