"""Families of graphs against their definitions, weights, and what connectedness demands."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gopa.graph import (
    Graph,
    complete,
    from_edges,
    from_similarity,
    geometric,
    grid,
    path,
    random_regular,
    require_connected,
    ring,
    star,
    watts_strogatz,
    weighted,
)
from gopa.support.draws import Draws, Seed
from wire.errors import UsageError

Edge = tuple[int, int]


def edges_of(graph: Graph) -> list[Edge]:
    return list(zip(*(ends.tolist() for ends in graph.edges()), strict=True))


def weights_of(graph: Graph) -> dict[Edge, float]:
    return dict(zip(edges_of(graph), graph.edge_weights.tolist(), strict=True))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (5, 1), (2, 2), (3, 4), (6, 5)])
@pytest.mark.parametrize("torus", [False, True])
def test_a_grid_joins_places_one_step_apart(rows: int, columns: int, torus: bool) -> None:
    if torus and min(rows, columns) < 3:
        with pytest.raises(UsageError):
            grid(rows, columns, torus=True)
        return

    def steps(a: int, b: int, size: int) -> int:
        return min(abs(a - b), size - abs(a - b)) if torus else abs(a - b)

    expected = [
        (u, v)
        for u, v in combinations(range(rows * columns), 2)
        if steps(u // columns, v // columns, rows) + steps(u % columns, v % columns, columns) == 1
    ]
    assert edges_of(grid(rows, columns, torus=torus)) == expected


def test_a_path_a_star_and_what_they_are_not() -> None:
    assert edges_of(path(4)) == [(0, 1), (1, 2), (2, 3)]
    assert edges_of(star(4)) == [(0, 1), (0, 2), (0, 3)]
    assert path(1).edge_count == star(1).edge_count == 0


def small_world_law(n: int, k: int, p: Fraction) -> dict[frozenset[Edge], Fraction]:
    """All small worlds with their probabilities: section 2 of the specification."""
    lattice = {frozenset({u, (u + j) % n}) for u in range(n) for j in range(1, k // 2 + 1)}
    law: dict[frozenset[frozenset[int]], Fraction] = {frozenset(lattice): Fraction(1)}
    for distance, u in product(range(1, k // 2 + 1), range(n)):
        moved: dict[frozenset[frozenset[int]], Fraction] = defaultdict(Fraction)
        old = frozenset({u, (u + distance) % n})
        for edges, chance in law.items():
            free = [w for w in range(n) if w != u and frozenset({u, w}) not in edges]
            moved[edges] += chance * (1 - p if free else 1)
            for w in free:
                moved[edges - {old} | {frozenset({u, w})}] += chance * p / len(free)
        law = moved
    tidy = {frozenset((min(e), max(e)) for e in edges): c for edges, c in law.items() if c}
    assert sum(tidy.values()) == 1
    return tidy


@pytest.mark.parametrize(("n", "k", "p"), [(4, 2, 0.5), (5, 2, 0.25), (5, 4, 1.0)])
def test_small_worlds_have_the_law_of_the_specification(n: int, k: int, p: float) -> None:
    law, draws = small_world_law(n, k, Fraction(p)), 700
    seen = Counter(frozenset(edges_of(watts_strogatz(n, k, p, seed))) for seed in range(draws))
    assert set(seen) <= set(law)
    likely = [edges for edges in law if law[edges] * draws >= 5]
    counts = [seen[edges] for edges in likely]
    expected = [float(law[edges] * draws) for edges in likely]
    counts.append(draws - sum(counts))
    expected.append(draws - sum(expected))
    if expected[-1] < 5:
        # Too few for a cell of their own.
        counts[0] += counts.pop()
        expected[0] += expected.pop()
    assert len(counts) == 1 or stats.chisquare(counts, expected).pvalue > 1e-4


def test_edges_of_small_worlds_move_and_do_not_vanish() -> None:
    lattice = {(u, v) for u, v in combinations(range(30), 2) if (v - u) in {1, 2, 28, 29}}
    assert set(edges_of(watts_strogatz(30, 4, 0.0, 1))) == lattice
    graph = watts_strogatz(30, 4, 0.5, 1)
    assert graph.edge_count == len(lattice)
    kept = len(lattice & set(edges_of(graph)))
    assert 20 < kept < 45


@pytest.mark.parametrize(
    ("n", "k"), [(n, k) for n in range(1, 9) for k in range(n) if n * k % 2 == 0] + [(61, 10)]
)
def test_everybody_has_k_neighbours(n: int, k: int) -> None:
    for seed in range(5):
        graph = random_regular(n, k, seed)
        assert graph.degrees.tolist() == [k] * n
        assert len(set(edges_of(graph))) == n * k // 2


@pytest.mark.slow
def test_all_cubic_graphs_on_six_appear_and_no_edge_is_preferred() -> None:
    drawn = [frozenset(edges_of(random_regular(6, 3, seed))) for seed in range(700)]
    assert len(set(drawn)) == 70
    edges = Counter(edge for graph in drawn for edge in graph)
    # Each of 15 edges is in 3/5 of the graphs.
    assert all(abs(edges[e] - 420) < 5 * (700 * 0.24) ** 0.5 for e in combinations(range(6), 2))


@pytest.mark.parametrize("radius", [0.05, 0.3, 0.7, 1.5])
def test_places_are_joined_up_to_the_radius(radius: float) -> None:
    side, n = 2**31, 60
    places = Draws(3, "geometric").below(side, 2 * n).reshape(n, 2).tolist()
    limit = (Fraction(radius) * side) ** 2
    expected = [
        (u, v)
        for u, v in combinations(range(n), 2)
        if sum((a - b) ** 2 for a, b in zip(places[u], places[v], strict=True)) <= limit
    ]
    assert edges_of(geometric(n, radius, 3)) == expected
    assert expected or radius < 0.1


@pytest.mark.parametrize(("other", "joined"), [(2**30, 1), (2**30 + 1, 0), (2**30 - 1, 1)])
def test_the_radius_itself_is_near_enough(
    other: int, joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = np.array([0, 7, other, 7])
    monkeypatch.setattr(Draws, "below", lambda *_: places)
    assert geometric(2, 0.5, 1).edge_count == joined


def test_a_seed_is_a_graph() -> None:
    families: list[Callable[[Seed], Graph]] = [
        lambda seed: watts_strogatz(40, 6, 0.3, seed),
        lambda seed: random_regular(40, 5, seed),
        lambda seed: geometric(40, 0.3, seed),
    ]
    for family in families:
        assert edges_of(family(1)) == edges_of(family(1)) != edges_of(family(2))
        assert edges_of(family(b"1")) != edges_of(family(1))


WRONG: dict[str, tuple[Callable[..., Graph], tuple[Any, ...], tuple[Any, ...]]] = {
    "no party": (path, (1,), (0,)),
    "half a party": (star, (2,), (2.5,)),
    "too many parties": (path, (3,), (2**24 + 1,)),
    "true parties": (star, (1,), (True,)),
    "no row": (grid, (1, 2), (0, 2)),
    "no column": (grid, (2, 1), (2, 0)),
    "too many places": (grid, (2, 2), (2**13, 2**13)),
    "odd k": (watts_strogatz, (6, 2, 0.1, 1), (6, 3, 0.1, 1)),
    "k of all": (watts_strogatz, (6, 4, 0.1, 1), (6, 6, 0.1, 1)),
    "p above 1": (watts_strogatz, (6, 4, 1.0, 1), (6, 4, 1.1, 1)),
    "p of nothing": (watts_strogatz, (6, 4, 0.0, 1), (6, 4, float("nan"), 1)),
    "a negative seed": (watts_strogatz, (6, 4, 0.5, 1), (6, 4, 0.5, -1)),
    "odd ends": (random_regular, (6, 3, 1), (7, 3, 1)),
    "regular k of all": (random_regular, (6, 5, 1), (6, 6, 1)),
    "negative k": (random_regular, (6, 0, 1), (6, -2, 1)),
    "no radius": (geometric, (6, 0.1, 1), (6, 0.0, 1)),
    "endless radius": (geometric, (6, 2, 1), (6, float("inf"), 1)),
    "no weight": (weighted, (3, [(0, 1)], [0.1]), (3, [(0, 1)], [0.0])),
    "endless weight": (weighted, (3, [(0, 1)], [1.0]), (3, [(0, 1)], [float("inf")])),
    "a weight too many": (weighted, (3, [(0, 1)], [1.0]), (3, [(0, 1)], [1.0, 2.0])),
    "words as weights": (weighted, (3, [(0, 1)], [1.0]), (3, [(0, 1)], ["a"])),
    "an edge twice": (weighted, (3, [(0, 1)], [1.0]), (3, [(0, 1), (1, 0)], [1.0, 1.0])),
    "a loop": (from_edges, (3, np.array([[0, 1]])), (3, np.array([[1, 1]]))),
    "edges of reals": (from_edges, (3, np.array([[0, 1]])), (3, np.array([[0.0, 1.0]]))),
    "edges of three": (from_edges, (3, np.array([[0, 1]])), (3, np.array([[0, 1, 2]]))),
    "two similarities": (
        from_similarity,
        (np.array([[1.0, 0.5], [0.5, 1.0]]),),
        (np.array([[1.0, 0.5], [0.4, 1.0]]),),
    ),
    "similarity of nothing": (
        from_similarity,
        (np.array([[1.0, 0.5], [0.5, 1.0]]),),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]),),
    ),
    "no square": (from_similarity, (np.eye(3),), (np.ones((3, 2)),)),
    "a negative threshold": (from_similarity, (np.eye(3), 0.0), (np.eye(3), -0.1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_are_refused(name: str) -> None:
    family, right, wrong = WRONG[name]
    assert family(*right).parties >= 1
    with pytest.raises(UsageError):
        family(*wrong)


def test_weights_follow_their_edges() -> None:
    listed = [(3, 1), (0, 4), (2, 0), (1, 0), (4, 3)]
    values = [0.5, 2.0, 3.0, 1.25, 7.0]
    graph = weighted(6, listed, values)
    expected = {(min(e), max(e)): w for e, w in zip(listed, values, strict=True)}
    assert weights_of(graph) == expected
    assert weights_of(weighted(6, np.array(listed), np.array(values))) == expected
    kept = [4, 1, 0, 3]
    renamed = {
        tuple(sorted((kept.index(u), kept.index(v)))): w
        for (u, v), w in expected.items()
        if u in kept and v in kept
    }
    assert weights_of(graph.induced(kept)) == renamed
    inside = {e: w for e, w in expected.items() if set(e) <= set(kept)}
    assert weights_of(graph.between(kept)) == inside
    left = {e: w for e, w in expected.items() if e != (0, 4)}
    assert weights_of(graph.without([(4, 0)])) == left
    assert weights_of(pickle.loads(pickle.dumps(graph))) == expected  # noqa: S301
    dense = np.zeros((6, 6))
    for (u, v), w in expected.items():
        dense[u, v] = dense[v, u] = w
    assert np.array_equal(graph.weight_matrix().toarray(), dense)
    assert np.array_equal(graph.strengths, dense.sum(axis=1))
    # What privacy rests on does not read weights.
    assert np.array_equal(graph.laplacian().diagonal(), graph.degrees)
    assert ring(5).weights is None
    assert np.array_equal(ring(5).strengths, [2.0] * 5)


def test_similar_parties_are_joined() -> None:
    angles = np.array([0.0, 0.1, 0.2, 3.0, 3.1])
    similarity = np.exp((np.cos(angles[:, None] - angles) - 1) / 0.1)
    graph = from_similarity(similarity, 0.01)
    assert edges_of(graph) == [(0, 1), (0, 2), (1, 2), (3, 4)]
    assert all(similarity[u, v] == weight for (u, v), weight in weights_of(graph).items())
    assert edges_of(from_similarity(similarity)) == edges_of(complete(5))


def test_pieces_are_told_where_all_have_to_be_reached() -> None:
    assert require_connected(ring(5)).parties == 5
    with pytest.raises(UsageError) as refused:
        require_connected(from_edges(5, [(0, 1), (2, 3)]))
    assert refused.value.field == "graph"


def test_sides_are_told_apart_where_there_are_two() -> None:
    pairs = list(combinations(range(5), 2))
    sides = [frozenset(u for u in range(5) if mask >> u & 1) for mask in range(16)]
    for mask in range(0, 2**10, 3):
        edges = [pair for i, pair in enumerate(pairs) if mask >> i & 1]
        expected = any(all((u in side) != (v in side) for u, v in edges) for side in sides)
        assert from_edges(5, edges).is_bipartite() == expected, edges
