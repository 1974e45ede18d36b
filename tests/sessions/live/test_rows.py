"""Parties prove vectors row by row over a real board, and one of them is gone behind publish."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gopa
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.sessions.contribution import Contribution
from tests.sessions.hostile.worlds import World, closing, of, sooner, world

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
