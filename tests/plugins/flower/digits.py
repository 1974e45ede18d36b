"""A network of 9,610 weights for scikit-learn's digits, spread over clients of unequal size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

Floats = npt.NDArray[np.float64]
Model = dict[str, npt.NDArray[Any]]

SIZES: Final = (64, 128, 10)
WEIGHTS: Final = 9_610


@dataclass(frozen=True)
class Share:
    """What one client has."""

    x: Floats
    y: npt.NDArray[np.int64]


@cache
def shares(clients: int) -> tuple[tuple[Share, ...], Share]:
    """The clients' rows, and those to test on."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(y))
    x, y = x[order] / 16, y[order]
    held = len(y) // 5
    parts = np.cumsum(np.arange(1, clients + 1) + clients)
    cuts = held + (parts[:-1] * (len(y) - held)) // parts[-1]
    rows = np.split(np.arange(held, len(y)), cuts - held)
    return tuple(Share(x[each], y[each]) for each in rows), Share(x[:held], y[:held])


def beginning() -> Model:
    """The model that everybody begins with."""
    rng = np.random.default_rng(6)
    a, b, c = SIZES
    return {
        "in": (rng.normal(size=(a, b)) / 8).astype(np.float32),
        "in-bias": np.zeros(b, np.float32),
        "out": (rng.normal(size=(b, c)) / 11).astype(np.float32),
        "out-bias": np.zeros(c, np.float32),
    }


def train(model: Model, own: Share, *, steps: int = 20, rate: float = 0.3) -> Model:
    """Gradient descent on all rows of a client."""
    a, b, c, d = (each.astype(np.float64) for each in model.values())
    right = np.eye(10)[own.y]
    for _ in range(steps):
        hidden = np.maximum(own.x @ a + b, 0)
        off = (_softmax(hidden @ c + d) - right) / len(own.y)
        back = (off @ c.T) * (hidden > 0)
        a, b = a - rate * own.x.T @ back, b - rate * back.sum(0)
        c, d = c - rate * hidden.T @ off, d - rate * off.sum(0)
    made = zip(model, (a, b, c, d), strict=True)
    return {name: each.astype(np.float32) for name, each in made}


def accuracy(model: Model, on: Share) -> float:
    """How many digits are read rightly."""
    a, b, c, d = model.values()
    return float(np.mean((np.maximum(on.x @ a + b, 0) @ c + d).argmax(1) == on.y))


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(1, keepdims=True))
    found: Floats = raised / raised.sum(1, keepdims=True)
    return found
