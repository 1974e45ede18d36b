from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gopa.graph import all_choices, chosen_by, complete, from_edges, k_out_graph, ring
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


@pytest.mark.soak
def test_a_million_parties() -> None:
    graph = k_out_graph(bytes(32), 1_000_000, 30)
    assert graph.degrees.min() >= 30
    assert graph.is_connected()
