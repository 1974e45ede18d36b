"""Mixing matrices against exact sums, and their gaps against dense and closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gopa.graph import (
    Graph,
    MixingMatrix,
    complete,
    equal_neighbour,
    fitted_mixing,
    fixed,
    from_edges,
    geometric,
    grid,
    heterogeneity,
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


def shares(agents: int, labels: int, seed: int, held: int | None = None) -> np.ndarray:
    """Proportions of labels: of a few that an agent holds alike, or of all by chance."""
    rng = np.random.default_rng(seed)
    if held is None:
        return rng.dirichlet(np.full(labels, 0.3), agents)
    mine = np.stack([rng.permutation(labels)[:held] for _ in range(agents)])
    return np.asarray((mine[:, :, None] == np.arange(labels)).sum(axis=1) / held)


def alone(agents: int) -> MixingMatrix:
    """Nobody hears anybody."""
    whole = sparse.csr_array(np.eye(agents))
    return MixingMatrix("alone", whole, np.full(agents, 1 / agents), doubly_stochastic=True)


@pytest.mark.parametrize("weight", [0.01, 1.0])
def test_a_fitted_matrix_takes_the_best_step_of_all(weight: float) -> None:
    """[G31]: the order of least slope among all there are, and the share of least objective."""
    n = 6
    orders = np.stack([np.eye(n)[list(order)] for order in permutations(range(n))])
    for seed in range(2):
        given = shares(n, 3, seed)
        made = [
            fitted_mixing(given, degree, weight=weight).matrix.toarray() for degree in (3, 4, 5)
        ]
        for before, after in pairwise(made):
            slope, later = (
                (w - 1 / n) @ given @ given.T + weight * (w - 1 / n) for w in (before, after)
            )
            slopes = (orders * slope).sum(axis=(1, 2))
            ways = orders - before
            lengths = ((after - before) * ways).sum(axis=(1, 2)) / (ways**2).sum(axis=(1, 2))
            left = np.abs(after - before - lengths[:, None, None] * ways).max(axis=(1, 2))
            taken = int(left.argmin())
            assert left[taken] < 1e-12
            assert 0 < lengths[taken] <= 1 / 2
            assert slopes[taken] == pytest.approx(slopes.min(), abs=1e-12)
            assert slopes.max() > slopes.min() + 0.01
            assert (later * ways[taken]).sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("weight", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize(
    "given", [shares(30, 6, 1, 1), shares(31, 5, 2, 2), shares(24, 4, 3)], ids=["one", "two", "all"]
)
def test_neighbourhoods_come_as_close_to_the_whole_as_proved(
    given: np.ndarray, weight: float
) -> None:
    agents = len(given)
    before = heterogeneity(alone(agents), given, weight=weight)
    last = before
    for degree in range(3, agents, 4):
        made = fitted_mixing(given, degree, weight=weight)
        dense = made.matrix.toarray()
        hears = dense - np.diag(dense.diagonal()) > 0
        assert max(hears.sum(axis=0).max(), hears.sum(axis=1).max()) <= degree
        assert dense.min() >= 0
        assert dense.diagonal().min() > 0
        assert np.abs([dense.sum(axis=0) - 1, dense.sum(axis=1) - 1]).max() < 1e-12
        now = heterogeneity(made, given, weight=weight)
        assert now <= before / (degree + 1) * (1 + 1e-9)
        assert now <= last
        # Nobody who hears so few comes closer to even weights.
        assert now >= weight * (1 / (degree + 1) - 1 / agents) - 1e-12
        last = now
        away = dense - 1 / agents
        apart = (np.square(away @ given).sum() + weight * np.square(away).sum()) / agents
        assert now == pytest.approx(apart, rel=1e-9)


def test_fitted_neighbourhoods_are_closer_than_drawn_ones() -> None:
    given = shares(60, 10, 4, 2)
    found = heterogeneity(fitted_mixing(given, 4), given)
    drawn = [heterogeneity(fixed(random_regular(60, 4, seed)), given) for seed in range(20)]
    assert found < min(drawn) / 3


def test_equal_proportions_give_equal_matrices() -> None:
    given = shares(40, 4, 5, 1)
    first, again = (fitted_mixing(each, 5) for each in (given, given.tolist()))
    assert (first.matrix.toarray() == again.matrix.toarray()).all()
    assert (first.matrix.toarray() != fitted_mixing(given, 5, weight=10).matrix.toarray()).any()
    # Labels in another order are the same labels.
    assert heterogeneity(fitted_mixing(given[:, ::-1], 5), given) < 0.1


def test_a_directed_matrix_has_its_graph_its_messages_and_its_gap() -> None:
    made = fitted_mixing(shares(30, 5, 6, 2), 4)
    dense = made.matrix.toarray()
    assert np.abs(dense - dense.T).max() > 0.1
    joined = made.graph().adjacency().toarray() > 0
    assert (joined == ((dense + dense.T > 0) & ~np.eye(30, dtype=bool))).all()
    assert made.messages() == (dense > 0).sum() - 30
    assert fixed(ring(9)).messages() == 18
    assert (fixed(ring(9)).graph().adjacency() != ring(9).adjacency()).nnz == 0
    second = np.linalg.svd(dense - 1 / 30, compute_uv=False)[0]
    assert made.spectral_gap() == pytest.approx(1 - second, abs=1e-9)
    values = np.random.default_rng(1).standard_normal(30)
    for _ in range(20):
        mixed = dense @ values
        assert mixed.mean() == pytest.approx(values.mean(), abs=1e-12)
        assert mixed.std() <= (1 - made.spectral_gap()) * values.std() * (1 + 1e-9)
        values = mixed
    # One step of a matrix that only hands values on brings nobody closer.
    turn = sparse.csr_array(np.roll(np.eye(5), 1, axis=0))
    assert MixingMatrix("turn", turn, np.full(5, 0.2), doubly_stochastic=True).spectral_gap() == (
        pytest.approx(0, abs=1e-9)
    )


@pytest.mark.parametrize("n", [40, 1301])
@pytest.mark.parametrize("steps", [(0, 1), (0, 1, 4, 16)])
def test_gaps_of_directed_rings_are_known(n: int, steps: tuple[int, ...]) -> None:
    """Everybody hears those so many further on: waves are kept, each less its own share."""
    here = np.tile(np.arange(n), len(steps))
    heard = (here + np.repeat(steps, n)) % n
    weights = np.full(len(here), 1 / len(steps))
    matrix = sparse.csr_array((weights, (here, heard)), shape=(n, n))
    made = MixingMatrix("directed ring", matrix, np.full(n, 1 / n), doubly_stochastic=True)
    angles = 2j * np.pi * np.outer(np.arange(1, n), steps) / n
    expected = 1 - np.abs(np.exp(angles).mean(axis=1)).max()
    assert made.spectral_gap() == pytest.approx(expected, rel=1e-5, abs=0)


RIGHT = shares(12, 3, 7, 1)


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("proportions", {"proportions": 100 * RIGHT}),
        ("proportions", {"proportions": np.zeros((12, 3))}),
        ("proportions", {"proportions": RIGHT - np.eye(3)[RIGHT.argmax(axis=1) - 1] + RIGHT}),
        ("proportions", {"proportions": RIGHT[:1]}),
        ("proportions", {"proportions": RIGHT[:, 0]}),
        ("proportions", {"proportions": RIGHT[:, :0]}),
        ("proportions", {"proportions": np.where(RIGHT > 0, np.nan, 0)}),
        ("proportions", {"proportions": [["all", "none"]] * 12}),
        ("proportions", {"proportions": [[1.0], [0.5, 0.5]]}),
        ("degree", {"degree": 0}),
        ("degree", {"degree": 12}),
        ("degree", {"degree": 2.0}),
        ("degree", {"degree": True}),
        ("degree", {"degree": 1}),
        ("weight", {"weight": 0}),
        ("weight", {"weight": -1.0}),
        ("weight", {"weight": math.nan}),
        ("weight", {"weight": math.inf}),
        ("weight", {"weight": "0.1"}),
    ],
)
def test_what_nothing_can_be_fitted_to_is_refused(field: str, how: dict[str, Any]) -> None:
    right: dict[str, Any] = {"proportions": RIGHT, "degree": 4, "weight": 0.1}
    found = fitted_mixing(**right)
    with pytest.raises(UsageError) as refused:
        fitted_mixing(**{**right, **how})
    assert refused.value.field == field
    heterogeneity(found, RIGHT)
    if field == "proportions":
        with pytest.raises(UsageError) as refused:
            heterogeneity(found, how["proportions"])
        assert refused.value.field == field


def test_proportions_belong_to_the_agents_that_are_mixed() -> None:
    heterogeneity(fixed(ring(12)), RIGHT)
    with pytest.raises(UsageError) as refused:
        heterogeneity(fixed(ring(11)), RIGHT)
    assert refused.value.field == "proportions"
