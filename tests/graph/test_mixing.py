"""Mixing matrices against exact sums, and their gaps against dense and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from gopa.graph import (
    Graph,
    MixingMatrix,
    complete,
    equal_neighbour,
    fixed,
    from_edges,
    geometric,
    grid,
    metropolis,
    mixing,
    path,
    random_regular,
    require_doubly_stochastic,
    ring,
    star,
    watts_strogatz,
)
from wire.errors import UsageError

GRAPHS = {
    "grid": grid(4, 5),
    "small world": watts_strogatz(24, 4, 0.4, 1),
    "geometric": geometric(30, 0.35, 2),
    "regular": random_regular(20, 3, 3),
    "star": star(9),
    "path": path(11),
    "two": path(2),
    "one": path(1),
    "pieces": from_edges(6, [(0, 1), (1, 2), (3, 4)]),
    "two rings": from_edges(
        32, [(start + i, start + (i + 1) % 16) for start in (0, 16) for i in range(16)]
    ),
}
MATRICES: dict[str, Callable[[Graph], MixingMatrix]] = {
    "metropolis": metropolis,
    "fixed": fixed,
    "equal": equal_neighbour,
}


def exact(graph: Graph, name: str) -> list[list[Fraction]]:
    """Section 3 of the specification, in fractions."""
    n, degrees = graph.parties, graph.degrees.tolist()
    matrix = [[Fraction(0)] * n for _ in range(n)]
    for u in range(n):
        for v in graph.neighbours(u).tolist():
            among = {
                "metropolis": 1 + max(degrees[u], degrees[v]),
                "fixed": 1 + max(degrees),
                "equal": 1 + degrees[u],
            }[name]
            matrix[u][v] = Fraction(1, among)
        matrix[u][u] = Fraction(1 - sum(matrix[u]))
    return matrix


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_those_of_the_specification(graph: Graph, name: str) -> None:
    made, expected = MATRICES[name](graph), exact(graph, name)
    assert np.allclose(
        made.matrix.toarray(), np.array(expected, dtype=float), rtol=1e-14, atol=1e-15
    )
    assert all(sum(row) == 1 for row in expected)
    balanced = all(sum(column) == 1 for column in zip(*expected, strict=True))
    assert made.doubly_stochastic == balanced
    assert balanced or name == "equal"
    among = (
        [1 + degree for degree in graph.degrees.tolist()]
        if name == "equal"
        else [1] * len(expected)
    )
    limit = [Fraction(each, sum(among)) for each in among]
    assert np.allclose(made.limit, np.array(limit, dtype=float), rtol=1e-14)
    # The limit is kept, exactly.
    for v in range(graph.parties):
        kept = sum(limit[u] * expected[u][v] for u in range(graph.parties))
        assert kept == limit[v]


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=list(GRAPHS))
@pytest.mark.parametrize("name", MATRICES)
def test_gaps_are_those_of_the_whole_spectrum(graph: Graph, name: str) -> None:
    made = MATRICES[name](graph)
    moduli = np.sort(np.abs(np.linalg.eigvals(made.matrix.toarray())))[::-1]
    second = moduli[1] if len(moduli) > 1 else 0.0
    assert made.spectral_gap() == pytest.approx(1 - second, abs=1e-9)
    if not graph.is_connected():
        assert made.spectral_gap() == 0


@pytest.mark.parametrize("graph", [GRAPHS["grid"], GRAPHS["star"], GRAPHS["small world"]])
@pytest.mark.parametrize("name", MATRICES)
def test_sparse_gaps_are_the_dense_ones(
    graph: Graph, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MATRICES[name](graph)
    dense = made.spectral_gap()
    monkeypatch.setattr(mixing, "DENSE", 5)
    assert made.spectral_gap() == pytest.approx(dense, rel=1e-9)
    # What is done where Lanczos' method has not converged.
    monkeypatch.setattr(mixing, "_RESTARTS", 1)
    assert made.spectral_gap() == pytest.approx(dense, rel=1e-6)


@pytest.mark.parametrize("n", [40, 1301, 3000])
@pytest.mark.parametrize("epsilon", [1 / 3, 0.4999999])
def test_gaps_of_rings_are_known(n: int, epsilon: float) -> None:
    eigenvalues = 1 - 2 * epsilon * (1 - np.cos(2 * np.pi * np.arange(1, n) / n))
    expected = 1 - np.abs(eigenvalues).max()
    assert fixed(ring(n), epsilon).spectral_gap() == pytest.approx(expected, rel=1e-6, abs=0)


@pytest.mark.parametrize("name", MATRICES)
def test_agents_come_closer_to_the_limit_by_the_gap(name: str) -> None:
    graph = GRAPHS["small world"]
    made = MATRICES[name](graph)
    values = np.random.default_rng(1).standard_normal(graph.parties)
    limit, gap = made.limit @ values, made.spectral_gap()
    assert 0.02 < gap < 0.9
    start = np.sqrt(made.limit @ (values - limit) ** 2)
    for step in range(1, 60):
        values = made.matrix @ values
        apart = np.sqrt(made.limit @ (values - limit) ** 2)
        assert apart <= (1 - gap) ** step * start * (1 + 1e-9) + 1e-15


def test_equal_neighbours_do_not_keep_averages() -> None:
    made = equal_neighbour(star(9))
    values = np.zeros(9)
    values[0] = 1.0
    for _ in range(200):
        values = made.matrix @ values
    # The middle counts 9 of 25, and not one ninth.
    assert values == pytest.approx(np.full(9, 9 / 25))
    assert require_doubly_stochastic(metropolis(star(9))).name == "metropolis"
    assert require_doubly_stochastic(equal_neighbour(complete(4))).doubly_stochastic
    with pytest.raises(UsageError) as refused:
        require_doubly_stochastic(made)
    assert refused.value.field == "mixing"


@pytest.mark.parametrize("epsilon", [0.0, -0.1, 1 / 3, 0.5, float("nan"), float("inf")])
def test_agents_keep_a_part_of_their_own(epsilon: float) -> None:
    graph = GRAPHS["regular"]
    assert fixed(graph, 0.33).matrix.toarray().diagonal() == pytest.approx(np.full(20, 0.01))
    with pytest.raises(UsageError):
        fixed(graph, epsilon)
