"""Small users for tests of pairs, and the sum over all pairs as it is written."""

from __future__ import annotations

from itertools import product

import numpy as np

from gopa.graph import Graph, complete, from_edges, random_regular, watts_strogatz
from gopa.learning import Users, stacked
from gopa.learning.pairwise import Kernel

GRAPHS: dict[str, Graph] = {
    "complete": complete(7),
    "small world": watts_strogatz(7, 4, 0.3, 1),
    "lollipop": from_edges(7, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 6)]),
    "regular": random_regular(7, 4, seed=1),
}
"""Connected and not bipartite."""


def users(count: int = 7, seed: int = 1, *, each: int = 1) -> Users:
    """Numbers from 0 to 1 on a coarse grid, so that some are equal, and labels of both kinds."""
    rng = np.random.default_rng(seed)
    parts = []
    for user in range(count):
        labels = np.where((np.arange(each) + user) % 3 == 0, 1, -1)
        parts.append((rng.integers(0, 9, (each, 1)) / 10 + 0.05 * labels[:, None] + 0.05, labels))
    return stacked(parts, "made up")


def by_hand(kernel: Kernel, among: Users) -> float:
    """The mean over all pairs of points, one by one."""
    table = among.table
    points = np.column_stack([table.features[:, 0], table.labels])
    one_by_one = (
        float(kernel.value(points[i], points[j]))
        for i, j in product(range(len(points)), repeat=2)
        if i != j
    )
    above = int((table.labels > 0).sum())
    many = len(points)
    divisors = {"n(n-1)": many * (many - 1), "n^2": many**2, "2 n+ n-": 2 * above * (many - above)}
    return sum(one_by_one) / divisors[kernel.normalisation]
