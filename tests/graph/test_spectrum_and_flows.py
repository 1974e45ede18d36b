from __future__ import annotations

import math
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest

from gopa.graph import (
    Graph,
    Spectrum,
    certified_spectrum,
    cheapest_flow,
    complete,
    degree_bound,
    effective_resistance,
    from_edges,
    gap_at_least,
    k_out_graph,
    ring,
    spectral_flow_energy,
    spread_energy,
    worst_flow_energy,
)
from gopa.graph import resistance as resistance_module
from gopa.graph import spectrum as spectrum_module
from gopa.graph.resistance import solve
from tests.randomness import seeded
from wire.errors import UsageError


def eigenvalues(graph: Graph) -> list[float]:
    return sorted(np.linalg.eigvalsh(graph.laplacian().toarray()).tolist())


def two_cliques() -> Graph:
    pairs = [pair for base in (0, 10) for pair in combinations(range(base, base + 10), 2)]
    return from_edges(20, [*pairs, (0, 10)])


@pytest.mark.parametrize("graph", [complete(9), ring(12), two_cliques()], ids=["K9", "C12", "2K10"])
def test_certified_gaps_are_below_and_near(graph: Graph) -> None:
    found = certified_spectrum(graph, seeded(0))
    assert found.low <= eigenvalues(graph)[1] * (1 + 1e-12)
    assert found.low >= eigenvalues(graph)[1] * 0.999
    assert found.high >= eigenvalues(graph)[-1] * (1 - 1e-12)
    assert not gap_at_least(graph, eigenvalues(graph)[1] * 1.001)


def test_a_ritz_value_proves_nothing() -> None:
    """A vector that misses the slow direction has a Ritz value of 10 and no residual."""
    graph = two_cliques()
    vector = np.zeros(20)
    vector[1], vector[2] = 1.0, -1.0
    image = graph.laplacian() @ vector
    ritz = float(vector @ image) / float(vector @ vector)
    assert ritz == 10
    assert np.allclose(image, ritz * vector)
    assert eigenvalues(graph)[1] < 0.2
    assert not gap_at_least(graph, ritz)
    assert certified_spectrum(graph, seeded(0)).low < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_vectors_certify_large_graphs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum_module, "DENSE", 0)
    graph = k_out_graph(seeded(seed)(32), 400, 5)
    found = certified_spectrum(graph, seeded(seed))
    values = eigenvalues(graph)
    assert found.method == "random vector"
    assert found.low <= values[1]
    assert found.high >= values[-1]
    assert values[1] - found.low <= 0.04 * (values[-1] - values[1])


def test_random_vectors_see_a_bottleneck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum_module, "DENSE", 0)
    assert certified_spectrum(two_cliques(), seeded(1)).low <= eigenvalues(two_cliques())[1]


@pytest.mark.parametrize("failure", [0.0, 1.0, -0.5, math.nan])
def test_nothing_is_certain_by_a_random_vector(failure: float) -> None:
    assert certified_spectrum(complete(9), seeded(0), failure=0.5).low > 0
    with pytest.raises(UsageError) as caught:
        certified_spectrum(complete(9), seeded(0), failure=failure)
    assert caught.value.field == "failure"


def test_no_gap_is_there_always() -> None:
    apart = from_edges(4, [(0, 1), (2, 3)])
    assert gap_at_least(apart, 0.0)
    assert gap_at_least(apart, -1.0)
    assert not gap_at_least(apart, 1e-6)


def test_what_no_random_vector_shows_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess of the spectrum that is too narrow, wherever it is widened to."""
    monkeypatch.setattr(spectrum_module, "DENSE", 0)
    graph = k_out_graph(bytes(32), 400, 5)
    assert certified_spectrum(graph, seeded(0)).low > 0
    values = eigenvalues(graph)
    for guess in ((values[100], values[300]), (values[9], values[9]), (values[9], values[8])):
        monkeypatch.setattr(spectrum_module, "_estimated_ends", lambda *_, guess=guess: guess)
        with np.errstate(over="ignore", invalid="ignore"):
            found = certified_spectrum(graph, seeded(0))
        assert (found.low, found.high) == (0.0, degree_bound(graph))


def test_bounds_hold_however_soon_the_search_for_a_potential_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = k_out_graph(bytes(32), 50, 3)
    exact = effective_resistance(graph, 0, 1)
    for steps in (1, 3, 5):
        hurried = partial(solve, steps=steps)
        monkeypatch.setattr(resistance_module, "solve", hurried)
        found = effective_resistance(graph, 0, 1)
        assert found.low <= exact.high
        assert exact.low <= found.high
        assert found.high - found.low > exact.high - exact.low


def test_disconnected_graphs_have_no_gap() -> None:
    assert certified_spectrum(from_edges(4, [(0, 1), (2, 3)]), seeded(0)).low == 0
    assert degree_bound(from_edges(4, [])) == 0


@pytest.mark.parametrize("seed", range(5))
def test_removing_parties_costs_the_gap_at_most_their_neighbours(seed: int) -> None:
    generator = np.random.default_rng(seed)
    graph = k_out_graph(seeded(seed)(32), 40, 5)
    gone = set(generator.choice(40, 6, replace=False).tolist())
    keep = [party for party in range(40) if party not in gone]
    most = max(len(gone & set(graph.neighbours(party).tolist())) for party in keep)
    assert eigenvalues(graph.induced(keep))[1] >= eigenvalues(graph)[1] - most - 1e-9


def test_resistances_lie_between_their_bounds() -> None:
    graph = k_out_graph(bytes(32), 50, 3)
    inverse = np.linalg.pinv(graph.laplacian().toarray())
    for first, second in ((0, 1), (3, 40), (7, 8)):
        exact = inverse[first, first] + inverse[second, second] - 2 * inverse[first, second]
        found = effective_resistance(graph, first, second)
        assert found.low <= exact <= found.high
        assert found.high - found.low < 1e-6
    spread = spread_energy(graph, 5)
    assert spread.low <= inverse[5, 5] <= spread.high
    assert effective_resistance(graph, 4, 4).high == 0
    apart = from_edges(4, [(0, 1), (2, 3)])
    assert effective_resistance(apart, 0, 2).low == math.inf
    assert spread_energy(apart, 0).low == math.inf
    with pytest.raises(UsageError):
        effective_resistance(graph, 0, 50)


@pytest.mark.parametrize("seed", range(6))
def test_cheapest_flows_are_cheapest(seed: int) -> None:
    """Against every integral flow with at most three units on an edge."""
    generator = np.random.default_rng(seed)
    edges = [pair for pair in combinations(range(4), 2) if generator.random() < 0.8]
    graph = from_edges(4, edges)
    if not graph.is_connected():
        graph = from_edges(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    targets = tuple(int(t) for t in generator.integers(1, 4, 3))
    first, second = graph.edges()
    best = math.inf
    for units in product(range(-3, 4), repeat=graph.edge_count):
        net = np.zeros(4, dtype=int)
        np.add.at(net, first, units)
        np.add.at(net, second, [-unit for unit in units])
        wanted = np.zeros(4, dtype=int)
        wanted[0] += len(targets)
        for target in targets:
            wanted[target] -= 1
        if (net == wanted).all():
            best = min(best, sum(unit * unit for unit in units))
    assert cheapest_flow(graph, 0, targets).energy == best


def test_one_target_is_the_worst_place_for_all_units() -> None:
    graph = k_out_graph(bytes(32), 7, 2)
    worst = worst_flow_energy(graph, 2)
    spread = max(
        cheapest_flow(graph, source, targets).energy
        for source in range(7)
        for targets in product(range(7), repeat=2)
    )
    assert spread == worst


@pytest.mark.parametrize("party", [0, 7, 19])
def test_spectral_bounds_hold_without_any_one_party(party: int) -> None:
    graph = k_out_graph(bytes(32), 20, 7)
    bound = spectral_flow_energy(graph, certified_spectrum(graph, seeded(0)), 6, removed=1)
    assert bound is not None
    rest = graph.induced([other for other in range(20) if other != party])
    assert worst_flow_energy(rest, 6) <= bound


def test_flows_need_a_path() -> None:
    assert cheapest_flow(ring(4), 0, (2,)).energy == 2
    with pytest.raises(UsageError):
        cheapest_flow(from_edges(4, [(0, 1), (2, 3)]), 0, (2,))


@pytest.mark.thirds
@pytest.mark.parametrize(("k", "units"), [(4, 1), (6, 6), (8, 10)])
def test_spectral_bounds_hold(k: int, units: int) -> None:
    graph = k_out_graph(bytes(32), 22, k)
    bound = spectral_flow_energy(graph, certified_spectrum(graph, seeded(0)), units)
    assert bound is not None
    assert worst_flow_energy(graph, units) <= bound


def test_spectral_bounds_by_hand() -> None:
    """In a complete graph one step of drop 1 from either end reaches more than half."""
    spectrum = certified_spectrum(complete(10), seeded(0))
    assert spectral_flow_energy(complete(10), spectrum, 1) == 2
    assert spectral_flow_energy(complete(10), spectrum, 3) == 3 * 2


def test_spectral_bounds_on_poor_graphs() -> None:
    around = spectral_flow_energy(ring(40), certified_spectrum(ring(40), seeded(0)), 9)
    assert around is not None
    assert around >= 20 * (4**2 + 5**2)
    poor = Spectrum(1e-6, 1e6, 0.0, "made up")
    assert spectral_flow_energy(ring(40), poor, 10**6) is None
    apart = from_edges(4, [(0, 1), (2, 3)])
    assert spectral_flow_energy(apart, certified_spectrum(apart, seeded(0)), 1) is None
