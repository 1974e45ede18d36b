"""All small worlds: who leaves or lies, when, in which graph; and what has to come of it.

In `make test` a fixed part of them: one in 64 of the pairs of faults, and every so many
of all worlds. In `make soak` all pairs, each once, and all worlds: `kinds.SEVERAL` and
`kinds.SINGLE` say which, and how many they are.
"""

from __future__ import annotations

import pytest

from tests.small_worlds.explore import explored
from tests.small_worlds.kinds import (
    COVERED,
    KINDS,
    SEVERAL,
    SINGLE,
    WIDE,
    covered,
    graphs_of,
    several,
    single,
)

PARTS = 64
ALWAYS = 1
"""Of so many parts of the pairs these are acted out in `make test`."""

ALL_FAULTS = "recovery"
"""The kind of session in which every fault has its occasion: of others none runs always."""

EVERY = {3: 35999, 4: 11987, 5: 11987, WIDE: 797}
"""Of so many ways to place faults one is acted out in `make test`."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [pytest.param(n, marks=() if n < ALWAYS else pytest.mark.soak) for n in range(PARTS)],
)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == ALL_FAULTS else pytest.mark.soak) for kind in COVERED],
)
def test_pairs_of_all_faults(kind: str, part: int) -> None:
    expected = len(range(part, COVERED[kind], PARTS))
    assert explored(covered(kind)[part::PARTS]) == expected


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("parties", "kind"), [(n, k) for n in EVERY for k in KINDS if n < WIDE or (n, k) in SEVERAL]
)
def test_every_so_many_of_all_worlds(parties: int, kind: str) -> None:
    for graph in range(len(graphs_of(parties))):
        assert explored(several(parties, kind, graph, EVERY[parties])) > 0


@pytest.mark.soak
@pytest.mark.parametrize(
    ("parties", "kind", "graph"),
    [(*both, graph) for both, counts in SEVERAL.items() for graph in range(len(counts))],
)
def test_all_worlds_of_several_faulty_parties(parties: int, kind: str, graph: int) -> None:
    assert explored(several(parties, kind, graph)) == SEVERAL[parties, kind][graph]


@pytest.mark.soak
@pytest.mark.parametrize(("parties", "kind"), SINGLE)
def test_all_worlds_of_one_faulty_party(parties: int, kind: str) -> None:
    graphs = range(len(graphs_of(parties)))
    count = sum(explored(single(parties, kind, graph)) for graph in graphs)
    assert count == SINGLE[parties, kind]
