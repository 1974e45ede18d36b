"""Graphs: who is whose neighbour, and what is left of them."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import combinations, islice, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gopa.graph import (
    Graph,
    Spectrum,
    all_choices,
    certified_spectrum,
    cheapest_flow,
    chosen_by,
    complete,
    degree_bound,
    effective_resistance,
    from_edges,
    gap_at_least,
    k_out_graph,
    ring,
    smallest_piece_without_one,
    spectral_flow_energy,
    spread_energy,
    worst_flow_energy,
)
from gopa.graph import spectrum as resistance_module
from gopa.graph import spectrum as spectrum_module
from gopa.graph.choices import _candidates
from gopa.graph.spectrum import solve
from tests.graph.vectors import records, seed
from tests.randomness import seeded
from wire.errors import UsageError

VECTORS = Path(__file__).resolve().parents[2] / "specs" / "vectors" / "graph.json"


def test_vectors_are_current() -> None:
    assert json.loads(VECTORS.read_text()) == records()


@given(st.binary(min_size=32, max_size=32), st.integers(2, 60), st.data())
def test_choices_are_distinct_others_and_nested(
    value: bytes, parties: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, parties - 1))
    position = data.draw(st.integers(0, parties - 1))
    chosen = chosen_by(value, position, parties, k)
    assert len(set(chosen)) == k
    assert position not in chosen
    assert set(chosen) <= set(range(parties))
    assert chosen_by(value, position, parties, 1) == chosen[:1]


@given(st.sets(st.integers(0, 8)), st.integers(1, 8))
def test_edges_between_listed_parties_stay(inside: set[int], k: int) -> None:
    graph = k_out_graph(seed("between"), 9, k)
    pairs = list(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    kept = [pair for pair in pairs if inside.issuperset(pair)]
    left = graph.between(inside)
    assert left.parties == 9
    assert list(zip(*(ends.tolist() for ends in left.edges()), strict=True)) == kept


@pytest.mark.parametrize(("parties", "k"), [(2, 1), (7, 6), (50, 10), (3000, 12)])
def test_rows_are_the_choices_of_each_party(parties: int, k: int) -> None:
    own = [seed(str(u)) for u in range(parties)]
    for seeds in (seed("all"), own):
        rows = all_choices(seeds, parties, k)
        for u in range(0, parties, max(1, parties // 40)):
            value = seeds if isinstance(seeds, bytes) else seeds[u]
            assert tuple(rows[u]) == chosen_by(value, u, parties, k)


def test_choices_are_uniform() -> None:
    rows = all_choices(seed("uniform"), 41, 3)
    counts = np.zeros(41)
    for draw in range(300):
        rows = all_choices(seed(f"uniform/{draw}"), 41, 3)
        np.add.at(counts, rows.reshape(-1), 1)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_words_that_would_favour_some_are_left_out() -> None:
    """2^64 leaves a remainder for 11 others: the last words are not used."""
    limit = 2**64 - 2**64 % 11
    words = b"".join(word.to_bytes(8) for word in (limit, 2**64 - 1, limit - 1, 4, 0))

    def stream(size: int) -> bytes:
        return words.ljust(size, b"\0")[:size]

    assert list(islice(_candidates(stream, 3, 12), 3)) == [11, 5, 0]


def test_an_edge_stands_where_either_end_chose() -> None:
    rows = all_choices(seed("edges"), 30, 4)
    graph = k_out_graph(seed("edges"), 30, 4)
    expected = {(min(u, int(v)), max(u, int(v))) for u in range(30) for v in rows[u]}
    assert set(zip(*(part.tolist() for part in graph.edges()), strict=True)) == expected
    for party in range(30):
        around = {b if a == party else a for a, b in expected if party in {a, b}}
        assert graph.neighbours(party).tolist() == sorted(around)


def test_named_graphs() -> None:
    assert complete(6).edge_count == 15
    assert ring(6).degrees.tolist() == [2] * 6
    assert from_edges(3, []).components().tolist() == [0, 1, 2]
    assert from_edges(1, []).is_connected()
    assert not from_edges(4, [(0, 1), (2, 3)]).is_connected()


def test_induced_graphs_and_removed_edges() -> None:
    graph = complete(5)
    part = graph.induced([4, 2, 0])
    assert part.edge_count == 3
    assert ring(5).induced([0, 1, 3]).degrees.tolist() == [1, 1, 0]
    assert ring(5).without([(1, 0), (2, 3)]).edge_count == 3
    assert len(set(ring(5).without([(1, 0), (2, 3)]).components().tolist())) == 2


def test_laplacians_sum_to_zero() -> None:
    laplacian = k_out_graph(seed("laplacian"), 20, 3).laplacian().toarray()
    assert not laplacian.sum(axis=0).any()
    assert (laplacian == laplacian.T).all()


def test_arrays_are_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ring(4).targets[0] = 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: from_edges(3, [(0, 0)]),
        lambda: from_edges(3, [(0, 1), (1, 0)]),
        lambda: from_edges(3, [(0, 3)]),
        lambda: from_edges(0, []),
        lambda: ring(2),
        lambda: from_edges(3, [(0.0, 1.0)]),  # type: ignore[list-item]
        lambda: from_edges(3, [(0, 1.5)]),  # type: ignore[list-item]
        lambda: from_edges(3, [(False, True)]),
        lambda: from_edges(3, [("0", "1")]),  # type: ignore[list-item]
        lambda: from_edges(3, [(0, 2**70)]),
        lambda: from_edges(3, [(0, -1)]),
        lambda: from_edges(4, [(0, 1, 2, 3)]),  # type: ignore[list-item]
        lambda: from_edges(3.0, []),  # type: ignore[arg-type]
        lambda: complete(3.5),  # type: ignore[arg-type]
        lambda: complete(0),
        lambda: ring(5.0),  # type: ignore[arg-type]
        lambda: ring(5).induced([0, 1.5]),  # type: ignore[list-item]
        lambda: ring(5).induced(np.array([0.0, 1.0])),
        lambda: ring(5).without([(0.0, 1.0)]),  # type: ignore[list-item]
        lambda: ring(5).induced([0, 0]),
        lambda: ring(5).induced([5]),
        lambda: ring(5).without([(0, 2)]),
        lambda: k_out_graph(bytes(31), 5, 2),
        lambda: k_out_graph(bytes(32), 5, 5),
        lambda: k_out_graph(bytes(32), 1, 1),
        lambda: k_out_graph([bytes(32)] * 4, 5, 2),
        lambda: chosen_by(bytes(32), 5, 5, 2),
        lambda: chosen_by(bytes(32), True, 5, 2),
    ],
)
def test_nonsense_is_refused(build: object) -> None:
    k_out_graph([bytes(32)] * 5, 5, 2)
    with pytest.raises(UsageError):
        build()  # type: ignore[operator]


def test_integers_of_any_kind_number_parties() -> None:
    numbers = np.arange(5, dtype=np.uint8)
    assert from_edges(5, [(numbers[1], numbers[3])]).edge_count == 1
    assert ring(5).induced(numbers[:3]).edge_count == 2  # type: ignore[arg-type]
    assert ring(5).induced([]).parties == 0


def pieces(graph: Graph) -> int:
    """The smallest component over all ways to take one party out."""
    smallest = graph.parties
    for gone in range(graph.parties):
        rest = graph.induced([party for party in range(graph.parties) if party != gone])
        smallest = min([smallest, *np.bincount(rest.components()).tolist()])
    return smallest


@given(st.integers(2, 12), st.integers(0, 22), st.integers(0, 2**32 - 1))
def test_pieces_without_one_are_the_smallest(parties: int, edges: int, number: int) -> None:
    pairs = list(combinations(range(parties), 2))
    np.random.default_rng(number).shuffle(pairs)
    graph = from_edges(parties, [(int(u), int(v)) for u, v in pairs[:edges]])
    assert smallest_piece_without_one(graph) == pieces(graph)


def test_pieces_of_known_graphs() -> None:
    assert smallest_piece_without_one(from_edges(1, [])) == 0
    assert smallest_piece_without_one(ring(50)) == 49
    assert smallest_piece_without_one(from_edges(5, [(0, u) for u in range(1, 5)])) == 1
    long = from_edges(5000, [(u, u + 1) for u in range(4999)])
    assert smallest_piece_without_one(long) == 1
    barbell = [pair for base in (0, 10) for pair in combinations(range(base, base + 10), 2)]
    assert smallest_piece_without_one(from_edges(20, [*barbell, (0, 10)])) == 9
    assert smallest_piece_without_one(from_edges(20, barbell)) == 9


@pytest.mark.soak
def test_a_million_parties() -> None:
    graph = k_out_graph(bytes(32), 1_000_000, 30)
    assert graph.degrees.min() >= 30
    assert graph.is_connected()


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
