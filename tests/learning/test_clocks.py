"""Clocks: their laws, exactly and by counts, and that a run is its seed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from gopa import UsageError
from gopa.graph import complete, from_edges, grid, path, weighted
from gopa.learning.clocks import (
    Clock,
    ClockLaw,
    EdgeClock,
    Events,
    InTurn,
    Poisson,
    Replayed,
    Synchronous,
    events,
    require_law,
)
from gopa.support.draws import Draws

CLOCKS: dict[str, tuple[Clock, ClockLaw, int]] = {
    "poisson": (Poisson(6), ClockLaw.UNIFORM, 1),
    "rates": (Poisson(3, [0.5, 0.0, 2.0]), ClockLaw.WEIGHTED, 1),
    "edges": (EdgeClock(grid(2, 3)), ClockLaw.UNIFORM_EDGES, 2),
    "edges of weights": (
        EdgeClock(weighted(3, [(0, 1), (1, 2)], [1.0, 3.0])),
        ClockLaw.WEIGHTED_EDGES,
        2,
    ),
    "synchronous": (Synchronous(4), ClockLaw.ALL, 4),
    "in turn": (InTurn(5), ClockLaw.IN_TURN, 1),
    "replayed": (Replayed(3, np.arange(120).reshape(3, 40, 1) % 3), ClockLaw.REPLAYED, 1),
}


def joined(blocks: list[Events]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    assert [block.first for block in blocks] == np.cumsum(
        [0, *(block.actors.shape[1] for block in blocks[:-1])]
    ).tolist()
    actors = np.concatenate([block.actors for block in blocks], axis=1)
    return actors, np.concatenate([block.times for block in blocks], axis=1)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_run_is_its_seed(name: str) -> None:
    clock, law, width = CLOCKS[name]
    whole = events(clock, 1, steps=37, runs=3)
    assert whole.actors.shape == (3, 37, width)
    assert whole.times.shape == (3, 37)
    assert (np.diff(whole.times, axis=1) > 0).all()
    assert clock.law is law
    assert 0 <= whole.actors.min() <= whole.actors.max() < clock.agents
    for size in (1, 7, 37, 1000):
        actors, times = joined(list(clock.blocks(1, steps=37, runs=3, size=size)))
        assert np.array_equal(actors, whole.actors)
        assert np.array_equal(times, whole.times)
    again = pickle.loads(pickle.dumps(clock))  # noqa: S301
    assert np.array_equal(events(again, 1, steps=37, runs=3).actors, whole.actors)
    assert list(clock.blocks(1, steps=0, runs=3)) == []


@pytest.mark.parametrize("name", ["poisson", "rates", "edges", "edges of weights"])
def test_a_run_is_the_same_among_others(name: str) -> None:
    clock = CLOCKS[name][0]
    many, one = events(clock, 5, steps=50, runs=4), events(clock, 5, steps=50)
    assert np.array_equal(many.actors[:1], one.actors)
    assert np.array_equal(many.times[:1], one.times)
    firsts = {many.actors[run].tobytes() for run in range(4)}
    assert len(firsts | {events(clock, 6, steps=50).actors.tobytes()}) == 5


def test_who_acts_is_that_of_the_specification() -> None:
    words = Draws(b"seed", "clock", "who", 1).words(100).tolist()
    drawn = events(Poisson(7), b"seed", steps=100, runs=2).actors[1, :, 0]
    assert drawn.tolist() == [word % 7 for word in words]
    pairs = np.column_stack(grid(2, 3).edges())
    drawn = events(EdgeClock(grid(2, 3)), b"seed", steps=100, runs=2).actors[1]
    assert np.array_equal(drawn, pairs[[word % 7 for word in words]])


def p_of_shares(actors: npt.NDArray[np.int32], shares: npt.ArrayLike) -> float:
    """How likely such counts are, or less fitting ones, if agents act by their shares."""
    expected = np.asarray(shares) * len(actors)
    return float(stats.chisquare(np.bincount(actors, minlength=len(expected)), expected).pvalue)


def p_of_independence(actors: npt.NDArray[np.int32], agents: int) -> float:
    """The same for agents who act after each other, one and two steps later, all equally likely."""
    pairs = [actors[:-lag] * agents + actors[lag:] for lag in (1, 2)]
    return min(p_of_shares(each, np.full(agents**2, agents**-2)) for each in pairs)


def test_steps_of_a_poisson_clock_are_uniform_and_independent() -> None:
    drawn = events(Poisson(6), 2, steps=1_000_000).actors[0, :, 0]
    assert p_of_shares(drawn, np.full(6, 1 / 6)) > 1e-4
    assert p_of_independence(drawn, 6) > 1e-4
    runs = events(Poisson(6), 2, steps=2, runs=4000).actors[:, :, 0]
    assert p_of_independence(runs[:, 0], 6) > 1e-4
    assert p_of_shares(runs[:, 0] * 6 + runs[:, 1], np.full(36, 1 / 36)) > 1e-4


def test_taking_turns_is_not_taken_for_independence() -> None:
    drawn = events(InTurn(6), 2, steps=60_000).actors[0, :, 0]
    assert p_of_shares(drawn, np.full(6, 1 / 6)) > 0.99
    assert p_of_independence(drawn, 6) < 1e-9


def test_agents_act_by_their_rates() -> None:
    rates = np.array([3.0, 0.0, 0.5, 1.5])
    drawn = events(Poisson(4, rates), 3, steps=1_000_000).actors[0, :, 0]
    assert not (drawn == 1).any()
    some = np.searchsorted([0, 2, 3], drawn)
    assert p_of_shares(some.astype(np.int32), [0.6, 0.1, 0.3]) > 1e-4


def test_edges_act_alike_and_agents_by_their_degrees() -> None:
    graph = from_edges(5, [(0, 1), (0, 2), (0, 3), (3, 4)])
    drawn = events(EdgeClock(graph), 3, steps=200_000).actors[0]
    edges = np.column_stack(graph.edges())
    which = (drawn[:, None, :] == edges).all(axis=2).argmax(axis=1).astype(np.int32)
    assert np.array_equal(edges[which], drawn)
    assert p_of_shares(which, np.full(4, 0.25)) > 1e-4
    assert p_of_independence(which, 4) > 1e-4
    taking_part = np.array([(drawn == agent).any(axis=1).mean() for agent in range(5)])
    assert taking_part == pytest.approx(graph.degrees / graph.edge_count, abs=0.01)


def test_edges_act_by_their_weights_or_rates() -> None:
    graph = weighted(3, [(0, 1), (1, 2), (0, 2)], [1.0, 5.0, 2.0])
    codes = {(0, 1): 0, (0, 2): 1, (1, 2): 2}
    for clock, shares in (
        (EdgeClock(graph), [1 / 8, 2 / 8, 5 / 8]),
        (EdgeClock(graph, [4.0, 4.0, 8.0]), [0.25, 0.25, 0.5]),
        (EdgeClock(graph, 1.0), [1 / 3, 1 / 3, 1 / 3]),
    ):
        drawn = events(clock, 3, steps=20_000).actors[0].tolist()
        which = np.array([codes[u, v] for u, v in drawn], dtype=np.int32)
        assert p_of_shares(which, shares) > 1e-4


@pytest.mark.parametrize(
    ("clock", "rate"),
    [(Poisson(6), 6.0), (Poisson(2, [0.5, 2.0]), 2.5), (EdgeClock(complete(4)), 6.0)],
)
def test_waiting_times_are_exponential_and_say_nothing_of_who_acts(
    clock: Clock, rate: float
) -> None:
    drawn = events(clock, 4, steps=100_000, runs=2)
    waits = np.diff(drawn.times, axis=1, prepend=0.0)
    assert stats.kstest(waits[0], "expon", args=(0, 1 / rate)).pvalue > 1e-4
    assert abs(stats.spearmanr(waits[0], drawn.actors[0, :, 0]).statistic) < 0.015
    assert abs(stats.spearmanr(waits[0], waits[1]).statistic) < 0.015
    # Ticks of one agent in unit time have the mean and the variance of its rate.
    agent = int(drawn.actors[0, 0, 0])
    own = drawn.times[0][(drawn.actors[0] == agent).any(axis=1)]
    spans = int(own[-1])
    counts = np.bincount(own[own < spans].astype(int), minlength=spans)
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.05)


def test_clocks_without_chance() -> None:
    together = events(Synchronous(3), 1, steps=4, runs=2)
    assert np.array_equal(together.actors, np.broadcast_to(np.arange(3), (2, 4, 3)))
    assert together.times[1].tolist() == [1, 2, 3, 4]
    turns = events(InTurn(3), 1, steps=7, runs=2)
    assert turns.actors[1, :, 0].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert turns.times[0].tolist() == [(i + 1) / 3 for i in range(7)]


def test_recorded_steps_are_repeated_and_prove_no_law() -> None:
    recorded = events(Poisson(6), 2, steps=30, runs=2)
    clock = Replayed(6, recorded.actors, recorded.times)
    again = events(clock, 99, steps=20, runs=2)
    assert np.array_equal(again.actors, recorded.actors[:, :20])
    assert np.array_equal(again.times, recorded.times[:, :20])
    require_law(Poisson(6), ClockLaw.UNIFORM, ClockLaw.WEIGHTED)
    for wrong in (clock, InTurn(6), Synchronous(6), EdgeClock(complete(6))):
        with pytest.raises(UsageError) as refused:
            require_law(wrong, ClockLaw.UNIFORM, ClockLaw.WEIGHTED)
        assert refused.value.field == "clock"


def test_events_cannot_be_changed() -> None:
    drawn = events(Poisson(3), 1, steps=5)
    for array in (drawn.actors, drawn.times):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0


WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "nobody": (Poisson, (1,), (0,)),
    "half an agent": (Synchronous, (2,), (2.5,)),
    "too many": (InTurn, (2,), (2**31,)),
    "a rate missing": (Poisson, (3, [1.0, 2.0, 0.0]), (3, [1.0, 2.0])),
    "a negative rate": (Poisson, (2, [1.0, 2.0]), (2, [1.0, -2.0])),
    "a rate of nothing": (Poisson, (2, 1.0), (2, float("nan"))),
    "an endless rate": (Poisson, (2, [1.0, 2.0]), (2, [1.0, float("inf")])),
    "rates of 0": (Poisson, (2, [1.0, 0.0]), (2, 0.0)),
    "rates that overflow": (Poisson, (2, [1e200, 0.0]), (2, [1e308, 1e308])),
    "rates that underflow": (Poisson, (2, 1e-200), (2, 1e-300)),
    "rates of words": (Poisson, (2, [1, 2]), (2, ["a", "b"])),
    "a table of rates": (Poisson, (2, [1.0, 2.0]), (2, [[1.0, 2.0], [1.0, 2.0]])),
    "ragged runs": (Replayed, (2, [[[0]], [[1]]]), (2, [[[0]], [[1], [0]]])),
    "no edge": (EdgeClock, (path(2),), (path(1),)),
    "rates of edges": (EdgeClock, (path(3), [1.0, 2.0]), (path(3), [1.0, 2.0, 3.0])),
    "an unknown agent": (Replayed, (2, [[[0], [1]]]), (2, [[[0], [2]]])),
    "a negative agent": (Replayed, (2, [[[0], [1]]]), (2, [[[0], [-1]]])),
    "actors of reals": (Replayed, (2, [[[0], [1]]]), (2, [[[0.0], [1.0]]])),
    "actors without runs": (Replayed, (2, [[[0], [1]]]), (2, [[0], [1]])),
    "no step": (Replayed, (2, [[[0]]]), (2, np.zeros((1, 0, 1), dtype=int))),
    "a time missing": (Replayed, (2, [[[0], [1]]], [[0.5, 1]]), (2, [[[0], [1]]], [[0.5]])),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_clocks_are_refused(name: str) -> None:
    clock, right, wrong = WRONG[name]
    assert clock(*right).agents >= 1
    with pytest.raises(UsageError):
        clock(*wrong)


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize(
    "wrong", [{"steps": -1}, {"steps": 2.0}, {"runs": 0}, {"size": 0}, {"steps": True}]
)
def test_wrong_counts_are_refused(name: str, wrong: dict[str, Any]) -> None:
    clock, right = CLOCKS[name][0], {"steps": 4, "runs": 3, "size": 2}
    assert len(list(clock.blocks(1, **right))) == 2
    with pytest.raises(UsageError):
        list(clock.blocks(1, **{**right, **wrong}))
    with pytest.raises(UsageError):
        events(clock, 1, steps=0, runs=3)


def test_a_recording_ends() -> None:
    clock = CLOCKS["replayed"][0]
    assert events(clock, 1, steps=40, runs=3).actors.shape == (3, 40, 1)
    for wrong in ({"steps": 41, "runs": 3}, {"steps": 40, "runs": 2}):
        with pytest.raises(UsageError):
            events(clock, 1, **wrong)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    many: Any = np.arange(4)
    for clock in (Poisson, Synchronous, InTurn):
        found = events(clock(many[3]), 1, steps=many[2], runs=many[2])
        wanted = events(clock(3), 1, steps=2, runs=2)
        assert (found.actors == wanted.actors).all()
        assert type(clock(many[3]).agents) is int
    for wrong in (0, True, 2.0, np.float64(2.0), "2", None):
        with pytest.raises(UsageError) as caught:
            Poisson(wrong)  # type: ignore[arg-type]
        assert caught.value.field == "agents"
