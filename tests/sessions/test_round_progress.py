"""What people are told of a round agrees with the rules, as long as it can be read."""

from __future__ import annotations

import pytest

from gopa.contract.organiser import OPEN, Open, ResultMessage
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import RoundPicture
from gopa.sessions.contribution import RoundProgress, RoundStatus
from tests.protocol.rules.worlds import make
from tests.protocol.scribe import World


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
