"""Builds graphs of known families: grids, small worlds, regular and geometric graphs.

Those that are drawn depend on their seed alone and are the same on every machine.
Specification: `specs/17-graphs-and-clocks.md`, section 2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from gopa.graph.choices import MOST_PARTIES
from gopa.graph.structure import Graph, Positions, complete, from_edges
from gopa.support.draws import Draws, Seed, threshold_of
from wire.errors import UsageError

_SIDE: Final = 2**31
"""Places along one side of the square of a geometric graph: squares of distances fit 64 bits."""

_ATTEMPTS: Final = 1000


def path(parties: int) -> Graph:
    """A line: each party is the neighbour of the next."""
    _require(parties, 1, "parties")
    along = np.arange(parties - 1)
    return from_edges(parties, np.column_stack([along, along + 1]))


def star(parties: int) -> Graph:
    """Party 0 is everybody's only neighbour."""
    _require(parties, 1, "parties")
    around = np.arange(1, parties)
    return from_edges(parties, np.column_stack([np.zeros_like(around), around]))


def grid(rows: int, columns: int, *, torus: bool = False) -> Graph:
    """A rectangle, row after row; a torus also joins opposite borders, at least 3 apart."""
    least = 3 if torus else 1
    _require(rows, least, "rows")
    _require(columns, least, "columns")
    _require(rows * columns, 1, "rows")
    places = np.arange(rows * columns).reshape(rows, columns)
    right, below = np.roll(places, -1, axis=1), np.roll(places, -1, axis=0)
    last = 0 if torus else 1
    across = np.stack([places, right], axis=-1)[:, : columns - last]
    down = np.stack([places, below], axis=-1)[: rows - last]
    return from_edges(rows * columns, np.concatenate([across.reshape(-1, 2), down.reshape(-1, 2)]))


def watts_strogatz(parties: int, k: int, p: float, seed: Seed) -> Graph:
    """A small world: a ring of the k nearest, each edge moved with probability p.

    Distance by distance and party by party, an edge that moves keeps its first end; its
    other one becomes any party that is neither the first nor its neighbour by then, each
    as likely. It stays if there is none. The graph may fall into pieces.
    """
    _require(parties, 3, "parties")
    if type(k) is not int or not (2 <= k < parties and k % 2 == 0):
        raise UsageError("k is even, at least 2 and less than the number of parties", "k")
    moved_below = threshold_of(p)
    draws = Draws(seed, "watts-strogatz")
    around = range(parties)
    near = [{(u + step) % parties for step in range(-k // 2, k // 2 + 1)} - {u} for u in around]
    for distance in range(1, k // 2 + 1):
        words = draws.words(parties).tolist()
        for u in (u for u in around if words[u] < moved_below):
            v = (u + distance) % parties
            if len(near[u]) < parties - 1:
                w = _other(near[u] | {u}, parties, draws)
                near[u].remove(v)
                near[v].remove(u)
                near[u].add(w)
                near[w].add(u)
    return from_edges(parties, np.array([(u, v) for u in around for v in near[u] if u < v]))


def _other(taken: set[int], parties: int, draws: Draws) -> int:
    while True:
        found = int(draws.below(parties, 1)[0])
        if found not in taken:
            return found


def random_regular(parties: int, k: int, seed: Seed) -> Graph:
    """A graph in which everybody has k neighbours; nearly uniform where k is small beside n.

    Every party has k ends; pairs of ends are joined in random order unless that makes a
    loop or repeats an edge, and all over again if it cannot be finished. Where more than
    half of all edges are wanted, those that are not there are drawn.
    """
    _require(parties, 1, "parties")
    if type(k) is not int or not (0 <= k < parties and parties * k % 2 == 0):
        raise UsageError("k is less than the number of parties, and one of the two is even", "k")
    draws = Draws(seed, "random-regular")
    if 2 * k > parties - 1:
        return _complement(_regular(parties, parties - 1 - k, draws))
    return _regular(parties, k, draws)


def _regular(parties: int, k: int, draws: Draws) -> Graph:
    for _ in range(_ATTEMPTS):
        codes = _joined(parties, k, draws)
        if codes is not None:
            return from_edges(parties, np.column_stack(np.divmod(codes, parties)))
    raise UsageError("no such graph was found: use another seed", "seed")


def _joined(parties: int, k: int, draws: Draws) -> Positions | None:
    """Edges as smaller end * parties + larger end; None if the ends that are left do not fit."""
    ends, codes = np.repeat(np.arange(parties), k), np.empty(0, dtype=np.int64)
    while len(ends):
        ends = ends[draws.order(len(ends))]
        pairs = np.sort(ends.reshape(-1, 2), axis=1)
        fresh = pairs[:, 0] * parties + pairs[:, 1]
        fits = (pairs[:, 0] < pairs[:, 1]) & ~np.isin(fresh, codes)
        first = np.zeros(len(fresh), dtype=np.bool_)
        first[np.unique(fresh, return_index=True)[1]] = True
        fits &= first
        codes = np.concatenate([codes, fresh[fits]])
        ends = pairs[~fits].reshape(-1)
        if not fits.any() and not _some_fit(np.unique(ends), codes, parties):
            return None
    return codes


def _some_fit(ends: Positions, codes: Positions, parties: int) -> bool:
    first, second = np.triu_indices(len(ends), 1)
    return not np.isin(ends[first] * parties + ends[second], codes).all()


def _complement(graph: Graph) -> Graph:
    first, second = graph.edges()
    return complete(graph.parties).without(zip(first.tolist(), second.tolist(), strict=True))


def geometric(parties: int, radius: float, seed: Seed) -> Graph:
    """Joins parties at uniform places of the unit square that are at most `radius` apart.

    Places lie on a grid of 2^31 each way and distances are compared as integers, so that
    no rounding decides about an edge.
    """
    from scipy.spatial import cKDTree

    _require(parties, 1, "parties")
    if not 0 < radius <= 2:
        raise UsageError("a radius is positive and at most 2", "radius")
    places = Draws(seed, "geometric").below(_SIDE, 2 * parties).reshape(parties, 2)
    limit = int(Fraction(float(radius)) ** 2 * _SIDE**2)
    near = cKDTree(places).query_pairs(radius * _SIDE * (1 + 1e-9) + 1, output_type="ndarray")
    apart = places[near[:, 0]] - places[near[:, 1]]
    # Two sides of 2^31 at most: the sum of squares is below 2^63.
    edges = near[(apart * apart).sum(axis=1) <= limit]
    return from_edges(parties, edges.astype(np.int64))


def _require(number: int, least: int, field: str) -> None:
    if type(number) is not int or not least <= number <= MOST_PARTIES:
        raise UsageError(f"a whole number from {least} to {MOST_PARTIES}", field)
