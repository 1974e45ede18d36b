"""What a party gets from a round: for people, for programs, for notebooks."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from commitments import ristretto255
from gopa.adversary.setup import EXACT as EXACT_SETUP
from gopa.adversary.setup import SMALL, SessionSetup
from gopa.aggregation.encoding import Plain
from gopa.aggregation.engine import RoundAborted, fresh_stream
from gopa.aggregation.weighting import Weights, encoding_with
from gopa.contract.organiser import OPEN, Abort, AbortReason, Open, Released, ResultMessage
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Part
from gopa.protocol.rules import RoundPicture
from gopa.protocol.simulation import Script
from gopa.sessions.client import _FARTHEST, Background
from gopa.sessions.contribution import (
    FORMAT,
    Contribution,
    Decided,
    RoundProgress,
    RoundStatus,
    contribution,
    offered,
)
from gopa.support.wording import EXACT, EXACT_DIFFERENCE
from tests.protocol.rules.worlds import make
from tests.protocol.scribe import World
from tests.protocol.simulation.worlds import VECTOR
from tests.randomness import seeded
from wire.domains import ROUNDING
from wire.errors import UsageError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


ONE = Contribution(
    session=bytes(32),
    round=2,
    logical=1,
    attempt=0,
    mean=37.4,
    sum=336.6,
    stderr=19.0,
    sum_stderr=171.0,
    count=9,
    included=True,
    part=Part.ACTIVE,
    clipped=1,
    scaled=0,
)


MANY = replace(
    ONE,
    mean={"<b>": np.array([1.5, 2.5]), "age": np.float64(30)},
    stderr={"<b>": np.array([0.5, 0.5]), "age": np.float64(0.5)},
)


def test_a_person_sees_the_number_with_its_error() -> None:
    for shown in (str(ONE), repr(ONE), ONE._repr_html_()):
        assert "40 +- 19" in shown
    assert "of 3 numbers" in repr(MANY)
    noisy = replace(ONE, warnings=("mostly noise",))
    for shown in (str(noisy), repr(noisy), noisy._repr_html_()):
        assert "mostly noise" in shown


def test_whoever_reads_an_exact_sum_is_told() -> None:
    exact = replace(ONE, exact=True)
    for shown in (str(exact), repr(exact), exact._repr_html_()):
        assert EXACT in shown
    for shown in (str(ONE), repr(ONE), ONE._repr_html_()):
        assert EXACT not in shown
    assert (exact.to_dict()["exact"], ONE.to_dict()["exact"]) == (True, False)


@pytest.mark.parametrize("setup", [EXACT_SETUP, SMALL], ids=["exact", "noisy"])
@pytest.mark.parametrize("released", Released)
def test_after_a_veto_the_value_is_for_no_other_exact_sum(
    setup: SessionSetup, released: Released
) -> None:
    agreed = setup.simulation(Script()).manifest
    given = offered(agreed, Plain(agreed.terms), 0.5, clip=False, rng=seeded(1))
    ended = Abort(bytes(32), 9, AbortReason.ORGANISER, released, ())
    decided = Decided(1, 0, 0, Part.ACTIVE, ended, 3, included=True)
    with pytest.raises(RoundAborted) as aborted:
        contribution(agreed, given, decided)
    warned = EXACT_DIFFERENCE in str(aborted.value)
    assert warned is (setup is EXACT_SETUP and released is Released.MASKED)


def test_a_notebook_gets_a_table_without_markup_of_others() -> None:
    table = ET.fromstring(replace(ONE, warnings=("<script>",))._repr_html_())  # noqa: S314
    assert [row.text for row in table.iter("th")] == ["mean", "warning", "parties"]
    assert "<script>" in [row.text for row in table.iter("td")]


def test_it_is_a_number_where_it_holds_one() -> None:
    assert float(ONE) == 37.4
    with pytest.raises(UsageError) as refused:
        float(MANY)
    assert refused.value.field == "result"


def test_programs_get_plain_data_under_the_names_of_the_page() -> None:
    """What was done to the own value says something about it, and stays out."""
    found = json.loads(MANY.to_json())
    assert found == MANY.to_dict()
    assert found["mean"] == {"<b>": [1.5, 2.5], "age": 30.0}
    assert (found["format"], found["session"], found["part"]) == (FORMAT, "00" * 32, "active")
    section = PAGE.read_text().split("## A contribution for programs")[1]
    assert [name for name in found if f"`{name}`" not in section] == []
    assert not found.keys() & {"clipped", "scaled"}
    assert json.loads(replace(ONE, mean=math.nan).to_json())["mean"] is None


def test_roundings_of_a_weighted_value_are_two_steps_apart_at_most() -> None:
    """So a party that is started again is not told that it gave another value before."""
    terms = VECTOR
    weights = Weights((0.33, *[0.0] * (terms.parties - 1)), Decimal(1))
    encoding = encoding_with(weights, terms, proved=True)
    stream = fresh_stream(ristretto255(), seeded("weighted"), ROUNDING)
    values = [[0.6] * (terms.dimension - 1), *[None] * (terms.parties - 1)]
    found = [encoding.encode(values, stream, clip=False).rows[0] for _ in range(60)]
    rows = np.array([row for row in found if row is not None])
    assert np.ptp(rows, axis=0).max() <= _FARTHEST + 1
    assert np.ptp(rows[:, :-1], axis=0).max() > _FARTHEST


def hear(world: World, progress: RoundProgress, start: int = 0) -> list[RoundStatus | None]:
    """What the organiser's entries from this index on are news of."""
    own = world.organiser.public.data
    return [progress.hear(each) for each in world.log[start:] if each.entry.author.data == own]


def agree(news: RoundStatus | None, view: RoundPicture) -> None:
    assert news is not None
    assert (news.round, news.logical, news.attempt) == (view.number, view.logical, view.attempt)
    assert (news.opens, news.ended) == (view.opens, view.ended)
    if view.lists and not view.released:
        assert news.present == len(view.members)


def test_news_agree_with_the_rules_behind_every_message() -> None:
    world = make(rounds=2)
    progress, heard = RoundProgress(world.manifest), 0
    assert progress.news is None
    for skip in ({Phase.PUBLISH: [2]}, {Phase.COMMIT: [0]}):
        world.control()
        while world.view.ended is None:
            hear(world, progress, heard)
            heard = len(world.log)
            agree(progress.news, world.view)
            phase = world.view.opens
            assert phase is not None
            world.phase(skip.get(phase, ()))
            world.control()
        hear(world, progress, heard)
        heard = len(world.log)
        agree(progress.news, world.view)


def test_a_message_of_several_entries_is_one_piece_of_news() -> None:
    """A result for 16,000 coordinates takes five entries: three are of its sums."""
    world = make("signed", dimension=16_000, steps=1, squared_sensitivity=12)
    world.run()
    said = hear(world, RoundProgress(world.manifest))
    assert said[-5:-1] == [None] * 4
    assert said[-6] is not None
    assert said[-1] is not None
    assert isinstance(said[-1].ended, ResultMessage)


@pytest.mark.parametrize("kind", [Kind.CLOSE, Kind.RESULT, Kind.ABORT, Kind.OPEN])
def test_nothing_more_is_said_of_a_round_that_cannot_be_read(kind: Kind) -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    progress = RoundProgress(world.manifest)
    hear(world, progress)
    agree(progress.news, world.view)
    at = len(world.log)
    world.phase()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    world.post(world.organiser, Phase.ORGANISER, due.body[:-1], kind)
    world.post(world.organiser, Phase.ORGANISER, due.body, due.kind)
    assert set(hear(world, progress, at)) == {None}
    assert progress.news is None
    again = OPEN.encode(Open(world.log[-1].leaf, 0, 1))
    world.post(world.organiser, Phase.ORGANISER, again, Kind.OPEN, 2)
    (opened,) = hear(world, progress, len(world.log) - 1)
    assert opened is not None
    assert (opened.round, opened.attempt, opened.opens) == (2, 1, Phase.JOIN)


def test_who_begins_in_the_middle_of_a_round_hears_of_the_next_one() -> None:
    world = make(rounds=2)
    world.run(until=Phase.COMMIT)
    middle = len(world.log)
    world.run()
    world.control()
    progress, fresh = RoundProgress(world.manifest), RoundProgress(world.manifest)
    assert set(hear(world, progress, middle)[:-1]) == {None}
    agree(progress.news, world.view)
    assert any(news is not None and news.round == 1 for news in hear(world, fresh))
    agree(fresh.news, world.view)


NAME = "of this test"


def threads() -> int:
    return sum(each.name == NAME for each in threading.enumerate())


def test_what_still_runs_is_cancelled_and_the_thread_ends() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(endless())
        await asyncio.sleep(0)
        return task

    with Background(NAME) as background:
        task = background.run(begin())
        assert (background.closed, threads(), ended) == (False, 1, [])
    assert (background.closed, threads(), ended) == (True, 0, ["cancelled"])
    assert task.cancelled()
    background.close()
    assert background.closed


def test_errors_are_the_callers() -> None:
    async def fail() -> None:
        raise LookupError

    with Background(NAME) as background, pytest.raises(LookupError):
        background.run(fail())
    assert threads() == 0
