"""Attempts, releases, logical rounds, and who is barred (04-X3 to 04-X5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import OPEN, Abort, Open, ResultMessage
from gopa.contract.party import Commit
from gopa.contract.phases import Kind, Phase
from gopa.graph import from_edges
from tests.protocol.rules.worlds import baseline, blamed, make, require
from tests.protocol.scribe import Change, World, changed


def numbers(world: World) -> list[tuple[int, int, int]]:
    return [(r.number, r.logical, r.attempt) for r in world.check().rounds]


def barred(world: World) -> set[int]:
    """Whom the open round keeps out, by number in the order of keys."""
    return {n for n, party in enumerate(world.parties) if party.author in world.view.barred}


def give_up(world: World) -> None:
    abort = world.ledger.abort(len(world.log))
    assert abort is not None
    world.post(world.organiser, Phase.ORGANISER, abort.body, abort.kind, abort.round)


def test_attempts_of_a_logical_round_are_bounded() -> None:
    world = make(rounds=2)
    for _ in range(4):
        world.control()
        give_up(world)
    assert numbers(world) == [(1, 0, 0), (2, 0, 1), (3, 0, 2), (4, 1, 0)]
    assert not world.check().complete
    for _ in range(2):
        world.control()
        give_up(world)
    assert world.check().complete
    assert world.ledger.state.over
    assert world.ledger.next_control(len(world.log)) is None


def test_releases_of_a_logical_round_are_bounded() -> None:
    """With `charged` 1 the second veto after a final close is the last."""
    world = make(rounds=2, attempts=5)
    world.run(until=Phase.CONFIRM)
    give_up(world)
    assert world.ledger.state.releases == 1
    world.control()
    give_up(world)
    world.run(until=Phase.CONFIRM)
    give_up(world)
    world.control()
    assert numbers(world) == [(1, 0, 0), (2, 0, 1), (3, 0, 2), (4, 1, 0)]
    assert [r.releases for r in world.check().rounds] == [1, 1, 2, 0]


def test_a_result_counts_its_releases() -> None:
    world = make(rounds=1)
    world.run(until=Phase.CONFIRM)
    give_up(world)
    world.run()
    assert isinstance(world.view.ended, ResultMessage)
    assert (world.view.ended.attempt, world.view.ended.releases) == (1, 2)
    require(world, included=range(5), number=2)


@pytest.mark.parametrize(
    "change",
    [
        changed(logical=1),
        changed(attempt=0),
        changed(attempt=2),
        changed(acts_on=bytes(32)),
    ],
    ids=["logical", "again", "skipped", "leaf"],
)
def test_another_round_than_the_next_one(change: Change) -> None:
    world = make(rounds=2)
    world.control()
    give_up(world)
    world.control(change=change)
    found = world.check()
    assert {rule for _, rule in blamed(world, found)} <= {"04-X3", "04-E4"}
    assert len(found.faults) == 1
    assert world.ledger.state.failed


@pytest.mark.parametrize("number", [0, 1, 3, 7])
def test_rounds_are_numbered_in_order(number: int) -> None:
    world = make(rounds=2)
    world.run()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    world.post(world.organiser, Phase.ORGANISER, due.body, Kind.OPEN, number)
    assert world.ledger.state.failed
    assert world.check().rounds[0].sums == world.expected_sums(range(5))


def test_a_session_has_no_more_rounds_than_planned() -> None:
    world = make()
    world.run()
    leaf = world.log[-1].leaf
    world.post(world.organiser, Phase.ORGANISER, OPEN.encode(Open(leaf, 1, 0)), Kind.OPEN, 2)
    found = require(world, (), [("organiser", "04-X3")], range(5))
    assert not found.complete


SKIPS: list[tuple[str, dict[Phase, list[int]], set[int]]] = [
    ("joined late", {Phase.JOIN: [1]}, set()),
    ("withheld", {Phase.COINS: [1]}, set()),
    ("did not commit", {Phase.COMMIT: [1]}, set()),
    ("did not publish", {Phase.PUBLISH: [1]}, {1}),
    ("did not confirm", {Phase.CONFIRM: [1]}, {1}),
]


@pytest.mark.parametrize(("skip", "out"), [c[1:] for c in SKIPS], ids=[c[0] for c in SKIPS])
def test_who_sits_out_a_retry(skip: dict[Phase, list[int]], out: set[int]) -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(skip=skip | {Phase.UNMASK: [4]})
    assert isinstance(world.view.ended, Abort)
    last = world.view.roll[-1].author
    world.control()
    missing = {n for n, party in enumerate(world.parties) if party.author == last} - {4}
    assert barred(world) - missing == out | {4}


def test_who_lost_its_neighbours_comes_back() -> None:
    split = from_edges(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
    world = make(graph=lambda *_: split, loss=0, rounds=1)
    world.run(skip={Phase.PUBLISH: [4], Phase.UNMASK: [0]})
    assert isinstance(world.view.ended, Abort)
    world.control()
    assert barred(world) == {0, 4}


def test_bars_of_a_retry_end_with_the_logical_round() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(skip={Phase.PUBLISH: [1], Phase.UNMASK: [4]})
    world.control()
    assert barred(world) == {1, 4}
    give_up(world)
    world.control()
    assert barred(world) == {1, 4}
    give_up(world)
    world.control()
    assert (world.view.logical, world.view.attempt) == (1, 0)
    assert barred(world) == set()


def bad_proof(commit: Commit) -> Commit:
    return replace(commit, proof=b"\x01" * 32)


def test_an_invalid_proof_bars_for_good() -> None:
    baseline(rounds=3)
    world = make(rounds=3)
    world.run(change={Phase.COMMIT: {1: bad_proof}})
    world.control()
    assert barred(world) == {1}
    world.run()
    world.control()
    assert barred(world) == {1}


def test_an_invalid_possession_bars_for_good() -> None:
    baseline(rounds=3)
    world = make(rounds=3)
    world.run(change={Phase.JOIN: {1: changed(possession=bytes(64))}})
    world.control()
    assert barred(world) == {1}


def test_a_malformed_commit_does_not_bar() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(change={Phase.COMMIT: {1: changed(edges=())}})
    world.control()
    assert barred(world) == set()


def test_the_barred_do_not_join() -> None:
    world = make(rounds=1)
    world.run(skip={Phase.PUBLISH: [1], Phase.UNMASK: [4]})
    world.control()
    party = world.parties[1]
    world.say(party, Phase.JOIN, party.join(world.view))
    world.phase()
    world.control()
    world.run()
    found = world.check()
    assert {(row.rule, row.author) for row in found.rounds[1].removals} == {("04-X5", party.author)}
    assert found.faults == ()
    assert found.rounds[1].sums == world.expected_sums([0, 1, 2])
