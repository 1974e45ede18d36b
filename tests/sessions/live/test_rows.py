"""Parties prove vectors row by row over a real board, and one of them is gone behind publish."""

from __future__ import annotations

import asyncio
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
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.planning import Plan
from gopa.protocol.organiser import SessionSetting
from gopa.sessions.board_access import Together
from gopa.sessions.contribution import Contribution
from tests.sessions.hostile.worlds import World, closing, of, sooner, world
from tests.sessions.live.test_aggregator import opened
from tests.sessions.live.worlds import Gathering, gathering

LENGTH = 0.5


@cache
def planned(n: int, dimension: int) -> Terms:
    """A plan that proves lengths, and that a fifth may leave."""
    plan = gopa.plan(
        n=n,
        epsilon=8,
        delta="1e-6",
        dimension=dimension,
        norm=1,
        range=(-1, 1),
        path="rows",
        dropout=0.1,
        least_chance=0,
    )
    assert plan.path == "rows"
    return plan.terms


def vector_of(number: int, dimension: int) -> list[float]:
    """All have something in the first place, and each in one of its own."""
    vector = np.zeros(dimension)
    vector[0], vector[1 + number % (dimension - 1)] = LENGTH, LENGTH
    return [float(each) for each in vector]


async def hold(here: World, *, leaves: int | None) -> list[Contribution | None]:
    """One round; somebody is gone when all have published."""
    terms = here.terms
    organiser_run = here.start_organiser(stops=closing(Phase.PUBLISH))
    clients = here.gather(crowd=[each for each in range(terms.parties) if each != leaves])
    offers = [
        asyncio.create_task(client.contribute(here.ticket, vector_of(i, terms.dimension)))
        for i, client in enumerate(clients)
    ]
    await sooner(lambda: bool(organiser_run.gate.stopped))
    if leaves is not None:
        offers[leaves].cancel()
        await clients[leaves].close()
    organiser_run.gate.stops = lambda _: False
    if leaves is not None:
        await sooner(lambda: here.has_closed(Phase.PUBLISH))
        # All others have proved before the time is over: else a slow machine leaves them out, too.
        await sooner(lambda: len(proved(here)) == terms.parties - 1, seconds=600)
        await here.overdue(organiser_run, Phase.PROVE)
    got = await asyncio.gather(*offers, return_exceptions=True)
    await here.leave(*offers)
    await organiser_run.task
    return [each if isinstance(each, Contribution) else None for each in got]


def proved(here: World) -> set[bytes]:
    """Whose proofs are in the log."""
    return {each.author.data for each in of(here.entries(), Phase.PROVE)}


def require_sums(here: World, got: list[Contribution | None], gone: int | None) -> None:
    """What the rules find: who is gone behind publish is out, and all others have the mean."""
    findings, terms = here.findings(), here.terms
    assert findings.faults == ()
    left = [each for each in range(terms.parties) if each != gone]
    (found,) = findings.rounds
    assert list(found.final or ()) == left
    vectors = np.array([vector_of(i, terms.dimension) for i in left])
    for number in left:
        each = got[number]
        assert each is not None
        assert each.included
        assert each.count == len(left)
        error = (np.array(each.mean) - vectors.mean(axis=0)) / np.array(each.stderr)
        assert float(np.abs(error).max()) < 6
        assert abs(float(error.mean())) < 6 / terms.dimension**0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parties", "dimension", "gone"),
    [
        pytest.param(6, 50, 2, id="a few"),
        pytest.param(20, 50, 7, id="twenty", marks=pytest.mark.soak),
        pytest.param(20, 1_000, 7, id="twenty, long", marks=pytest.mark.soak),
    ],
)
def test_a_session_goes_on_without_a_party_that_has_published(
    parties: int, dimension: int, gone: int, tmp_path: Path
) -> None:
    with world(tmp_path, planned(parties, dimension)) as here:
        got = asyncio.run(hold(here, leaves=gone))
        require_sums(here, got, gone)


PARTIES, WIDTH, MOST = 5, 6, 2.0


WEIGHTS = [1.0, 2.0, 0.0, 2.0, 1.0]


HEAVY = [2.0, 2.0, 0.0, 2.0, 2.0]


"""Ten standard errors of their noisy sum: nobody divides by one of five, and none comes out so."""


WEIGHTED = SessionSetting(weighted=True)


@cache
def planned_weighted(epsilon: float | None) -> Plan:
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
    world_of = gathering(root, planned_weighted(epsilon).terms, setting=WEIGHTED)
    with world_of as world, opened(world, to_the_end=False):
        together = Together()
        clients = [world.member(each, connect=together) for each in range(PARTIES)]
        with SessionAggregator(world.ticket, *clients, max_weight=MOST) as aggregator:
            yield world, aggregator


def in_a_simulation(epsilon: float | None, weights: list[float], seed: int = 1) -> Result:
    with LocalAggregator(planned_weighted(epsilon), max_weight=MOST, seed=seed) as aggregator:
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
