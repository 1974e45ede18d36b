"""Weighted vectors in rows mean the same in a simulation and in a session over a board."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gopa
from gopa import LocalAggregator, Result, SessionAggregator, UsageError
from gopa.aggregation.values import OutOfRange
from gopa.planning import Plan
from gopa.protocol.organiser import SessionSetting
from gopa.sessions.board_access import Together
from tests.sessions.live.test_aggregator import opened
from tests.sessions.live.worlds import Gathering, gathering

PARTIES, WIDTH, MOST = 5, 6, 2.0
WEIGHTS = [1.0, 2.0, 0.0, 2.0, 1.0]
HEAVY = [2.0, 2.0, 0.0, 2.0, 2.0]
"""Ten standard errors of their noisy sum: nobody divides by one of five, and none comes out so."""
WEIGHTED = SessionSetting(weighted=True)


@cache
def planned(epsilon: float | None) -> Plan:
    """Without noise the vectors below, with their weights, are points of the grid."""
    hidden: dict[str, Any] = {"steps": 64} if epsilon is None else {"delta": "1e-2"}
    return gopa.plan(
        n=PARTIES,
        epsilon=epsilon,
        dimension=WIDTH + 1,
        norm=1,
        range=(-1, 1),
        path="rows",
        weighted=True,
        corrupt=1,
        least_chance=0,
        **hidden,
    )


def vectors() -> list[Any]:
    found = np.random.default_rng(5).integers(-6, 7, (PARTIES, WIDTH)) / 16
    return [np.clip(each, -0.375, 0.375) for each in found]


@contextmanager
def session(root: Path, epsilon: float | None) -> Iterator[tuple[Gathering, SessionAggregator]]:
    """An aggregator of all parties, in a session that an organiser runs."""
    world_of = gathering(root, planned(epsilon).terms, setting=WEIGHTED)
    with world_of as world, opened(world, to_the_end=False):
        together = Together()
        clients = [world.member(each, connect=together) for each in range(PARTIES)]
        with SessionAggregator(world.ticket, *clients, max_weight=MOST) as aggregator:
            yield world, aggregator


def in_a_simulation(epsilon: float | None, weights: list[float], seed: int = 1) -> Result:
    with LocalAggregator(planned(epsilon), max_weight=MOST, seed=seed) as aggregator:
        return aggregator.average(vectors(), weights=weights)


@pytest.mark.slow
def test_an_exact_mean_is_that_of_the_simulation_bit_for_bit(tmp_path: Path) -> None:
    expected = in_a_simulation(None, WEIGHTS)
    with session(tmp_path, None) as (world, aggregator):
        found = aggregator.average(vectors(), weights=WEIGHTS)
        findings = world.findings()
    (carried,) = findings.rounds
    assert findings.faults == ()
    assert carried.sums is not None
    whole = np.array(vectors()).T @ WEIGHTS / MOST * 32
    assert list(carried.sums) == [*whole.astype(int), 64 * sum(WEIGHTS) / MOST]
    for name in ("mean", "sum", "stderr", "sum_stderr"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert (found.weight, found.weight_stderr) == (expected.weight, expected.weight_stderr)
    assert (found.count, found.noise_of_liars) == (PARTIES, expected.noise_of_liars)
    assert not found.simulation


@pytest.mark.slow
def test_a_noisy_mean_has_the_error_that_it_states(tmp_path: Path) -> None:
    """The plan is the simulation's, so the noise has its size; wrong values cost nothing."""
    wrong = [3 * np.ones(WIDTH), *vectors()[1:]]
    with session(tmp_path, 30.0) as (_, aggregator):
        with pytest.raises(OutOfRange, match="longer than the plan allows"):
            aggregator.average(wrong, weights=HEAVY)
        with pytest.raises(UsageError, match="weights"):
            aggregator.average(vectors())
        found = aggregator.average(vectors(), weights=HEAVY)
    mean = np.average(vectors(), axis=0, weights=HEAVY)
    assert float(np.abs((found.mean - mean) / found.stderr).max()) < 6
    assert found.sum_stderr == pytest.approx(in_a_simulation(30.0, HEAVY).sum_stderr)
    assert "lengths of vectors" in str(found)
