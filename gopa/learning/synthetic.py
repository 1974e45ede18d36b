"""Makes up the problems on which the papers show their algorithms, from a seed.

The problems are those of Bellet's thesis and of Gade and Vaidya; what these leave open is
said here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.learning.data import Floats, Users, stacked
from gopa.learning.fitting import generator

_GAMMA = 0.1
_FLIPPED = 0.05
_SPREAD = 0.1
_NOISE = 0.1


def linear_models(
    users: int = 100, columns: int = 100, *, seed: int, rows: tuple[int, int] = (10, 100)
) -> Users:
    """Every user has a linear separator of its own, in a plane that all of them share.

    Points are drawn uniformly from [-1, 1] in each column and labelled 1 or -1, and a twentieth of
    the labels is flipped. `truth` has the `targets`, and the `weights` of the graph between
    users, exp((cos(angle between the targets) - 1) / 0.1), 0 on the diagonal.
    """
    _check(users, columns, 2)
    rng = generator(seed, "linear models")
    targets = np.zeros((users, columns))
    targets[:, :2] = rng.standard_normal((users, 2))
    parts = []
    for target, many in zip(targets, _counts(users, rows, rng), strict=True):
        points = rng.uniform(-1, 1, (many, columns))
        parts.append((points, _flipped(np.where(points @ target < 0, -1, 1), rng)))
    directions = targets / np.linalg.norm(targets, axis=1, keepdims=True)
    weights = np.exp((directions @ directions.T - 1) / _GAMMA)
    np.fill_diagonal(weights, 0.0)
    source = f"made up: linear models of {users} users, seed {seed}"
    return stacked(parts, source, targets=targets, weights=weights)


def moons(
    clusters: Sequence[int] = (10, 20, 30, 40),
    columns: int = 20,
    *,
    seed: int,
    rows: tuple[int, int] = (3, 15),
) -> Users:
    """Two interleaved half circles, turned by an angle that users of a cluster nearly share.

    The centres of the clusters are spread evenly over a whole turn, and angles have a
    deviation of 0.1 around them; columns from the third on are noise. `truth` has `angles`,
    `clusters`, and the `weights` exp((cos(difference of angles) - 1) / 0.1) of the oracle's graph.
    """
    users = sum(clusters)
    _check(users, columns, 2)
    rng = generator(seed, "moons")
    cluster = np.repeat(np.arange(len(clusters)), clusters)
    turn = 2 * np.pi / len(clusters)
    angles = cluster * turn + rng.normal(0, _SPREAD, users)
    parts = []
    for angle, many in zip(angles, _counts(users, rows, rng), strict=True):
        labels = rng.choice([-1, 1], many)
        points = rng.normal(0, _NOISE, (many, columns))
        points[:, :2] += _on_moons(labels, rng.uniform(0, np.pi, many)) @ _turned(angle)
        parts.append((points, labels))
    weights = np.exp((np.cos(angles[:, None] - angles) - 1) / _GAMMA)
    np.fill_diagonal(weights, 0.0)
    source = f"made up: moons of {users} users in {len(clusters)} clusters, seed {seed}"
    return stacked(parts, source, angles=angles, clusters=cluster, weights=weights)


def ratings(users: int = 10_000, *, seed: int, agreement: float = 0.5) -> Users:
    """Every user rates two things from 0 to 5; the first is the feature, the second the label.

    With probability `agreement` both ratings are the same, else independent; high ones are more
    frequent. `truth` has the `law`, a table of 6 x 6 chances, and Kendall's `tau` in it.
    """
    _check(users, 1, 1)
    if not 0 <= agreement <= 1:
        raise UsageError("a probability", "agreement")
    single = np.array([1, 1, 2, 4, 8, 8]) / 24
    law = agreement * np.diag(single) + (1 - agreement) * np.outer(single, single)
    drawn = generator(seed, "ratings").choice(36, users, p=law.ravel())
    signs = np.sign(np.arange(6)[:, None] - np.arange(6))
    tau = float(np.einsum("ab,cd,ac,bd->", law, law, signs, signs))
    parts = [(np.array([[float(each // 6)]]), np.array([each % 6])) for each in drawn]
    return stacked(parts, f"made up: ratings of {users} users, seed {seed}", law=law, tau=tau)


def quadratics(users: int = 4) -> Users:
    """User i has the function (x - i)^2, for i from 1: its only row is i, and its label 0.

    Gade and Vaidya put four of them on a cycle. `truth` has the `minimum` of the sum.
    """
    _check(users, 1, 1)
    parts = [(np.array([[float(each)]]), np.array([0])) for each in range(1, users + 1)]
    return stacked(parts, f"made up: {users} quadratic functions", minimum=(users + 1) / 2)


def _on_moons(labels: np.ndarray, along: Floats) -> Floats:
    """The outer half circle for 1, the inner one for -1, around their common middle."""
    outer = np.stack([np.cos(along) - 0.5, np.sin(along) - 0.25], axis=1)
    return np.where(labels[:, None] == 1, outer, -outer)


def _turned(angle: float) -> Floats:
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _flipped(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(labels)) < _FLIPPED, -labels, labels)


def _counts(users: int, rows: tuple[int, int], rng: np.random.Generator) -> list[int]:
    least, most = rows
    if not 0 <= least <= most:
        raise UsageError("the fewest and the most rows of a user", "rows")
    found: list[int] = rng.integers(least, most, users, endpoint=True).tolist()
    return found


def _check(users: int, columns: int, fewest: int) -> None:
    whole(users, "users")
    whole(columns, "columns", fewest)
