from __future__ import annotations

import json
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gopa.graph import (
    Graph,
    all_choices,
    chosen_by,
    complete,
    from_edges,
    k_out_graph,
    ring,
    smallest_piece_without_one,
)
from gopa.graph.choices import _candidates
from tests.graph.vectors import records, seed
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
