"""That all graphs and all symmetries are there: what small worlds claim to cover."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import pytest

from tests.small_worlds.graphs import (
    connected_shapes,
    distinct_pairs,
    distinct_parties,
    shapes,
    symmetries,
)


@pytest.mark.parametrize(("parties", "every", "connected"), [(3, 4, 2), (4, 11, 6), (5, 34, 21)])
def test_there_are_as_many_graphs_as_is_known(parties: int, every: int, connected: int) -> None:
    assert len(shapes(parties)) == every
    assert len(connected_shapes(parties)) == connected


@pytest.mark.parametrize("parties", [3, 4, 5])
def test_every_labelled_graph_has_one_shape(parties: int) -> None:
    """Orbits of the symmetric group: their sizes add up to all labelled graphs."""
    names = factorial(parties)
    sizes = [names // len(symmetries(parties, edges)) for edges in shapes(parties)]
    assert sum(sizes) == 2 ** (parties * (parties - 1) // 2)


@pytest.mark.parametrize("parties", [3, 4, 5])
def test_orbits_cover_all_places(parties: int) -> None:
    for edges in shapes(parties):
        every = symmetries(parties, edges)
        single = {each[party] for party in distinct_parties(parties, edges) for each in every}
        assert single == set(range(parties))
        chosen = [places for places, _ in distinct_pairs(parties, edges)]
        both = {frozenset((each[u], each[v])) for u, v in chosen for each in every}
        assert both == {frozenset(each) for each in combinations(range(parties), 2)}
