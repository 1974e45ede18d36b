"""Step schedules and their lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gopa import UsageError
from gopa.learning.steps import Steps, constant, harmonic, root

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
