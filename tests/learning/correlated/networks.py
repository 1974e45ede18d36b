"""Networks and functions that several tests of correlated noise minimise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gopa.graph import Graph, grid, random_regular, ring
from gopa.learning import Users, from_sklearn, iid
from gopa.learning.objectives import LOGISTIC, Linear, Quadratic
from gopa.learning.rows import AgentRows

GRAPHS: dict[str, Graph] = {
    "cycle": ring(4),
    "grid": grid(3, 3),
    "random": random_regular(10, 4, seed=1),
}


def points(agents: int) -> Quadratic:
    """Functions (x - i / n)^2: the smallest sum is at the mean."""
    return Quadratic(np.arange(1.0, agents + 1)[:, None] / agents)


def four() -> Quadratic:
    """Functions (x - i)^2 for i from 1 to 4."""
    return Quadratic(np.arange(1.0, 5.0)[:, None])


def tumours(agents: int, rows: int = 120) -> Linear:
    """The logistic loss of real data, rows in the unit ball."""
    table = from_sklearn("breast_cancer").take(np.arange(rows))
    features = table.features[:, :9]  # means; what follows says how they vary
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    features /= np.linalg.norm(features, axis=1).max()
    signed = replace(table, features=features, labels=2 * table.labels - 1, names=table.names[:9])
    users: Users = iid(signed, agents, seed=1)
    return Linear(LOGISTIC, AgentRows.of(users.pairs()).clipped(2, 1.0), ridge=0.1)
