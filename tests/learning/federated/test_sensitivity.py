"""What users send for neighbouring data is never farther apart than noise is made for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from gopa.learning import Outcome, Users, stacked
from gopa.learning.federated import (
    AdaptiveClip,
    SumSession,
    contingency_table,
    fedavg,
    fedsgd,
    histogram,
    kmeans,
    least_squares,
    mean,
    pca,
    quantiles,
    variance,
)
from tests.learning.federated.problems import OFF, RECORD, USER

MOST, USERS = 6, 5
RADII = {"radius": 1.5, "label_radius": 0.7}
Rows = tuple[np.ndarray, np.ndarray]
Algorithm = tuple[Callable[..., Outcome], dict[str, Any]]
ROWS: dict[str, Algorithm] = {
    "k-means": (kmeans, {"clusters": 3, "radius": 1.5, "rounds": 2}),
    "PCA": (pca, {"components": 1, "radius": 1.5}),
    "least squares": (least_squares, RADII),
    "mean": (mean, {"low": -1, "high": [1, 2]}),
    "variance": (variance, {"low": -1, "high": [1, 2]}),
    "histogram": (histogram, {"edges": [-1, 0, 2]}),
    "quantiles": (quantiles, {"at": [0.5], "low": -1, "high": 1, "levels": 3}),
    "table": (contingency_table, {"columns": (-1, -1), "categories": ([-1, 1], [1, -1])}),
    "FedSGD": (fedsgd, {"rounds": 2, "clip": 0.3}),
    "FedSGD, adaptive": (fedsgd, {"rounds": 2, "clip": AdaptiveClip(0.3)}),
}
WHOLE: dict[str, Algorithm] = {
    **ROWS,
    "FedAvg": (fedavg, {"rounds": 2, "clip": 0.5}),
    "FedAvg, adaptive": (fedavg, {"rounds": 2, "clip": AdaptiveClip(0.5)}),
    "FedAvg, unweighted": (fedavg, {"rounds": 2, "clip": AdaptiveClip(0.5), "weighted": False}),
}


class _Seen(Exception):
    pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[np.ndarray, SumSession]]:
    """What the first user sends in the first round, and the session that it is for."""
    found: list[tuple[np.ndarray, SumSession]] = []

    def seen(self: SumSession, vectors: Sequence[np.ndarray]) -> None:
        found.append((np.asarray(vectors[0]), self))
        raise _Seen

    monkeypatch.setattr(SumSession, "sum", seen)

    def run(algorithm: Algorithm, problem: Users, privacy: Any) -> tuple[np.ndarray, SumSession]:
        fit, asked = algorithm
        with pytest.raises(_Seen):
            fit(problem, privacy=privacy, seed=1, most_rows=MOST, **OFF, **asked)
        return found[-1]

    return run


def rows(scale: float, label: int, many: int) -> Rows:
    """Rows that are all alike, outside of all ranges if the scale is large."""
    return np.full((many, 2), scale), np.full(many, label)


def joined(*parts: Rows) -> Rows:
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def farthest(sent: Any, algorithm: Algorithm, privacy: Any) -> float:
    """How far neighbours come apart, as a part of what noise is made for, rounding left out."""
    found: list[float] = []
    label = 1 if algorithm[0] in {fedavg, fedsgd} else -1  # else slopes were the same
    others = [rows(1.0, 1, 3)] * (USERS - 1)
    many = ((1, 1), (MOST, MOST), (MOST + 2, MOST + 2))
    if privacy.unit == "user":
        many = (MOST, MOST), (MOST, 0), (MOST + 4, MOST + 4)
    for scale, (here, there) in product((0.5, 9.0), many):
        both = [rows(scale, 1, here), rows(-scale, label, there)]
        if privacy.unit == "record":
            same = rows(0.1, 1, here - 1)
            both = [joined(rows(scale, 1, 1), same), joined(rows(-scale, label, 1), same)]
        sends = [sent(algorithm, stacked([own, *others], "made up"), privacy) for own in both]
        (first, session), (second, _) = sends
        terms = session.terms
        allowed = math.sqrt(terms.squared_sensitivity) - 2 * math.sqrt(terms.dimension)
        found.append(float(np.linalg.norm(first - second)) * terms.steps / 2 / allowed)
    return max(found)


@pytest.mark.thirds(9)
@pytest.mark.parametrize("name", WHOLE)
def test_no_user_moves_a_sum_by_more(sent: Any, name: str) -> None:
    assert 0.6 < farthest(sent, WHOLE[name], USER) <= 1 + 1e-3


@pytest.mark.thirds(9)
@pytest.mark.parametrize("name", ROWS)
def test_no_record_moves_a_sum_by_more(sent: Any, name: str) -> None:
    assert 0.6 < farthest(sent, ROWS[name], RECORD) <= 1 + 1e-3
