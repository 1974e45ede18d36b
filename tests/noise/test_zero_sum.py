"""Noise that cancels: to the last bit, with the right law, and as the protocol's masks do."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gopa
from gopa.graph import Graph, complete, from_edges, k_out_graph, ring
from gopa.noise import TableLaw, discrete_laplace, randomised_response, rounded_gaussian, subseed
from gopa.noise.cancelling import edge_seed
from gopa.noise.laws import Digit
from gopa.rounds.masks import RoundedGaussian, UniformMask, add_edge_words
from tests.group.backends import installed_groups
from tests.noise.samples import SEED
from wire.errors import UsageError

LAWS = [rounded_gaussian(50), discrete_laplace(Fraction(5, 2)), discrete_laplace(70_000)]
laws = pytest.mark.parametrize("law", LAWS, ids=str)
GRAPHS = {
    "two": complete(2),
    "ring": ring(9),
    "complete": complete(6),
    "random": k_out_graph(SEED, 40, 3),
    "path": from_edges(4, [(0, 1), (1, 2), (2, 3)]),
}


@laws
@pytest.mark.parametrize("name", GRAPHS)
def test_it_sums_to_zero_to_the_last_bit(name: str, law: TableLaw) -> None:
    graph = GRAPHS[name]
    noise = gopa.zero_sum(graph, law, 30, SEED)
    assert noise.shape == (graph.parties, 30)
    assert noise.dtype == np.int64
    assert not noise.sum(axis=0).any()
    assert [sum(column) for column in noise.T.tolist()] == [0] * 30
    assert all((row != 0).any() for row in noise)
    for group in installed_groups():
        assert (gopa.zero_sum(graph, law, 30, SEED, group=group) == noise).all()


def test_it_is_what_masks_of_edges_are() -> None:
    """Each party alone, with the code of sessions, from the keys of its own edges."""
    graph, law = GRAPHS["random"], rounded_gaussian(50)
    noise = gopa.zero_sum(graph, law, 25, SEED)
    for party in range(graph.parties):
        own: Any = np.zeros(25, dtype=np.int64)
        for other in graph.neighbours(party).tolist():
            key = edge_seed(SEED, law, min(party, other), max(party, other))
            add_edge_words(own, key, 1 if party < other else -1, RoundedGaussian(50))
        assert (own == noise[party]).all()


@laws
def test_marginals_and_what_neighbours_share(law: TableLaw) -> None:
    """Covariances are the Laplacian of the graph times the variance of the law."""
    graph, dimension = from_edges(5, [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4)]), 40_000
    noise = gopa.zero_sum(graph, law, dimension, SEED).astype(float)
    found = np.cov(noise) / float(law.variance)
    assert abs(found - graph.laplacian().toarray()).max() < 0.1
    halved = np.cov(np.round(noise / 2)) / float(law.variance)
    assert abs(halved - graph.laplacian().toarray()).max() > 0.1


def test_edges_seeds_and_laws_are_independent() -> None:
    star = from_edges(7, [(0, leaf) for leaf in range(1, 7)])
    law, wider = discrete_laplace(100), discrete_laplace(101)
    edges = [*gopa.zero_sum(star, law, 40_000, SEED)[1:]]
    edges += [*gopa.zero_sum(star, law, 40_000, subseed(SEED, 1))[1:]]
    edges += [*gopa.zero_sum(star, wider, 40_000, SEED)[1:]]
    assert abs(np.corrcoef(edges) - np.eye(18)).max() < 0.03
    for function in (np.abs, np.square):
        again = np.corrcoef(function(np.array(edges, dtype=float)))
        assert abs(again - np.eye(18)).max() < 0.03


def test_several_rounds_in_one_call_are_several_rounds() -> None:
    noise = gopa.zero_sum(ring(5), rounded_gaussian(50), 3 * 4, SEED).reshape(5, 3, 4)
    assert not noise.sum(axis=0).any()
    assert len({noise[:, turn].tobytes() for turn in range(3)}) == 3


APART = {
    "two components": from_edges(4, [(0, 1), (2, 3)]),
    "somebody alone": from_edges(3, [(0, 1)]),
    "one party": from_edges(1, []),
    "no graph": [[0, 1]],
}


@pytest.mark.parametrize("name", APART)
def test_graphs_in_which_more_than_the_sum_is_bare_are_refused(name: str) -> None:
    bad: Any = APART[name]
    if isinstance(bad, Graph) and bad.parties == 4:
        joined = from_edges(4, [(0, 1), (1, 2), (2, 3)])
        assert gopa.zero_sum(joined, LAWS[0], 1, SEED).any()
    with pytest.raises(UsageError) as caught:
        gopa.zero_sum(bad, LAWS[0], 1, SEED)
    assert caught.value.field == "graph"


HUGE = TableLaw("huge", (Digit(2**61, (2**126,)),), Fraction(0))
BAD_LAWS: list[Any] = [UniformMask(), RoundedGaussian(50), randomised_response(3, 1), None, HUGE]


@pytest.mark.parametrize("bad", BAD_LAWS, ids=lambda law: type(law).__name__)
def test_other_laws_are_refused(bad: Any) -> None:
    """The last one fits at two neighbours, and not at five."""
    assert not gopa.zero_sum(ring(6), HUGE, 50, SEED).sum(axis=0).any()
    with pytest.raises(UsageError) as caught:
        gopa.zero_sum(complete(6), bad, 1, SEED)
    assert caught.value.field == "law"


@pytest.mark.parametrize("bad", [0, -1, 1.0, "1", None, True], ids=repr)
def test_other_dimensions_are_refused(bad: Any) -> None:
    assert gopa.zero_sum(ring(3), LAWS[0], np.int64(1), SEED).shape == (3, 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        gopa.zero_sum(ring(3), LAWS[0], bad, SEED)
    assert caught.value.field == "dimension"


def test_other_seeds_are_refused() -> None:
    for bad in (b"", bytes(31), "0" * 32, 7, None):
        with pytest.raises(UsageError) as caught:
            gopa.zero_sum(ring(3), LAWS[0], 1, bad)  # type: ignore[arg-type]
        assert caught.value.field == "seed"
