"""Tokens go where their clock says, and the path alone decides who adds data."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import Graph, complete, from_edges, grid, ring
from gopa.learning.clocks import Clock, ClockLaw, EdgeClock, InTurn, Poisson, Replayed, events
from gopa.learning.network_dp import GraphWalk, Visits, Walk, carry
from gopa.learning.network_dp.walks import Flags, Users
from gopa.support.arrays import Floats

PATH = [0, 1, 0, 0, 2, 0, 1, 1, 0, 2]


def replayed(walk: Walk, path: list[int]) -> Visits:
    clock = Replayed(3, np.array(path)[None, :, None])
    return Walk(clock, walk.cap, walk.edge_cap).visits(0, steps=len(path))


def test_visits_are_counted() -> None:
    found = replayed(Walk(Poisson(3)), PATH)
    assert found.users.tolist() == [PATH]
    assert found.times.tolist() == [[0, 0, 1, 2, 0, 3, 1, 2, 4, 1]]
    assert found.active.all()


def test_past_the_cap_users_add_noise_only() -> None:
    found = replayed(Walk(Poisson(3), cap=2), PATH)
    assert (found.active == (found.times < 2)).all()


def test_past_the_cap_of_an_edge_users_add_noise_only() -> None:
    path = [*PATH, 2, 2, 0, 0, 0, 1]
    found = replayed(Walk(Poisson(3), edge_cap=1), path)
    used: Counter[tuple[int, int]] = Counter()
    for place, edge in enumerate(itertools.pairwise(path)):
        assert found.active[0, place] == (used[edge] < 1)
        used[edge] += 1
    assert used[0, 0] == 3
    assert found.active[0, -1]


def test_a_token_is_carried_step_by_step() -> None:
    """Against a loop over runs; in parts it is the same."""
    visits = Walk(Poisson(4), cap=3).visits(5, steps=30, runs=3)
    values = np.arange(4.0)

    def update(token: Floats, step: int, users: Users, times: Users, active: Flags) -> Floats:
        own = token[:, 0] / 2 + values[users] * active + step - times
        return np.asarray(own[:, None], dtype=np.float64)

    whole = carry(visits, update, np.zeros((3, 1)))
    parts = carry(visits, update, carry(visits, update, np.zeros((3, 1)), last=11), first=11)
    for run in range(3):
        token, seen = 0.0, Counter[int]()
        for step, user in enumerate(visits.users[run].tolist()):
            token += token / 2 + values[user] * (seen[user] < 3) + step - seen[user]
            seen[user] += 1
        assert whole[run, 0] == pytest.approx(token)
    assert (whole == parts).all()


@pytest.mark.parametrize(
    ("graph", "law"),
    [
        (None, ClockLaw.UNIFORM),
        (complete(6), ClockLaw.UNIFORM),
        (ring(6), ClockLaw.IN_TURN),
        (grid(2, 3), ClockLaw.MARKOV),
        (from_edges(6, [(0, 2), (2, 4), (1, 4), (1, 3), (3, 5), (0, 5)]), ClockLaw.MARKOV),
    ],
)
def test_a_graph_has_its_walk(graph: Graph | None, law: ClockLaw) -> None:
    assert Walk.on(6, graph, None).clock.law is law


def test_walks_on_graphs_keep_to_edges_and_visit_all_alike() -> None:
    graph = grid(3, 3)
    users = events(GraphWalk(graph), 3, steps=4000, runs=8).actors[:, :, 0]
    allowed = {*zip(*(each.tolist() for each in graph.edges()), strict=True)}
    steps = {*zip(users[:, :-1].ravel().tolist(), users[:, 1:].ravel().tolist(), strict=True)}
    assert {(min(each), max(each)) for each in steps if each[0] != each[1]} == allowed
    counts = np.bincount(users.ravel(), minlength=9)
    assert counts == pytest.approx(np.full(9, 32_000 / 9), rel=0.1)
    again = np.concatenate(
        [each.actors for each in GraphWalk(graph).blocks(3, steps=4000, runs=8, size=999)], axis=1
    )
    assert (again[:, :, 0] == users).all()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"users": 1}, "problem"),
        ({"graph": ring(5)}, "graph"),
        ({"graph": from_edges(6, [(0, 1)])}, "graph"),
        ({"clock": Poisson(6, [1, 1, 1, 1, 1, 2.0])}, "clock"),
        ({"clock": Replayed(6, np.zeros((1, 4, 1), dtype=int))}, "clock"),
        ({"clock": EdgeClock(ring(6))}, "clock"),
        ({"clock": InTurn(5)}, "clock"),
        ({"graph": ring(6)}, "clock"),
        ({"graph": grid(2, 3)}, "clock"),
        ({"cap": 0}, "cap"),
        ({"edge_cap": 1.5}, "edge_cap"),
    ],
)
def test_walks_that_no_theorem_is_about(change: dict[str, object], field: str) -> None:
    right: dict[str, object] = {"users": 6, "graph": None, "clock": Poisson(6)}
    Walk.on(**right)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        Walk.on(**{**right, **change})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_clock_alone_says_how_the_token_goes() -> None:
    clock: Clock = InTurn(3)
    assert Walk.on(3, complete(3), clock).clock is clock
