"""Accusations: liars are convicted, false accusers too, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gopa.contract.organiser import Abort, RemovalCause
from gopa.contract.party import About, Accusation, Commit
from gopa.contract.phases import Phase
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, World

ANOTHER = bytes(31) + b"\x01"


def lie(world: World, other: int, place: int, data: bytes | None = None) -> Change:
    """Post other bytes for the edge to `other`: another point by default."""

    def change(commit: Commit) -> Commit:
        at = world.neighbours(place).index(other)
        edges = list(commit.edges)
        group = world.toolkit.group
        edges[at] = data or (group.generator * group.scalar(place + 7)).to_bytes()
        return replace(commit, edges=tuple(edges))

    return change


def accuse(
    world: World,
    accuser: int,
    accused: int,
    about: About = About.EDGE,
    change: Change | None = None,
) -> int:
    """Post an accusation; its index."""
    view = world.view
    accusation = world.at(accuser).accusation(view, accused, about)
    if change is not None:
        accusation = change(accusation)
    return world.say(world.at(accuser), Phase.ACCUSE, accusation).index


def to_publish(world: World, liars: Iterable[tuple[int, int]]) -> None:
    """All commits are in; each liar lied about the edge to the other."""
    world.run(until=Phase.COMMIT)
    changes: dict[int, Change] = {place: lie(world, other, place) for place, other in liars}
    world.phase(change=changes)
    world.control()


def convicted(place: int, rule: str) -> tuple[int, Phase, RemovalCause, str]:
    return place, Phase.PUBLISH, RemovalCause.CONVICTED, rule


@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
@pytest.mark.parametrize("kind", ["scalar", "vector", "signed"])
def test_who_lied_about_an_edge_is_convicted(kind: str, real: bool) -> None:
    baseline(kind)
    world = make(kind, real=real)
    world.run(until=Phase.COMMIT)
    assert world.view.void == world.view.live == frozenset()
    world.phase(change={1: lie(world, 3, 1)})
    world.control()
    pairs = {(u, v) for v in range(5) for u in range(v)}
    assert world.view.void == {(1, 3)}
    assert world.view.live == pairs - {(1, 3)}
    accuse(world, 3, 1)
    world.run()
    found = require(world, [convicted(1, "04-A3")], [(1, "04-A3")], [0, 2, 3, 4])
    assert found.rounds[0].void == ((1, 3),)
    assert found.rounds[0].opened == ((0, 1), (1, 2), (1, 4))


def test_who_is_convicted_sits_out_all_that_follows() -> None:
    """04-X5: it failed in publish, which bars from retries; the conviction bars for good."""
    baseline(rounds=2)
    world = make(rounds=2)
    to_publish(world, [(1, 3)])
    accuse(world, 3, 1)
    world.run()
    require(world, [convicted(1, "04-A3")], [(1, "04-A3")], [0, 2, 3, 4])
    world.control()
    assert world.view.barred == {world.parties[1].author}


def test_both_can_be_convicted() -> None:
    baseline()
    world = make()
    to_publish(world, [(1, 3), (3, 1)])
    accuse(world, 3, 1)
    world.run()
    rows = [convicted(1, "04-A3"), convicted(3, "04-A3")]
    require(world, rows, [(1, "04-A3"), (3, "04-A3")], [0, 2, 4])


def test_an_accuser_that_lied_itself_is_convicted_alone() -> None:
    baseline()
    world = make()
    to_publish(world, [(1, 3)])
    accuse(world, 1, 3)
    world.run()
    require(world, [convicted(1, "04-A3")], [(1, "04-A3")], [0, 2, 3, 4])


def test_an_edge_that_nobody_accuses_of_stays_void() -> None:
    baseline()
    world = make()
    to_publish(world, [(1, 3)])
    world.run()
    found = require(world, included=range(5))
    assert found.rounds[0].void == ((1, 3),)


@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
@pytest.mark.parametrize("what", ["proof", "key", "no point"])
def test_a_wrong_equality_convicts_the_accuser(what: str, real: bool) -> None:
    """The edge is void because of party 1: still, party 3 lies about the shared key."""
    baseline()
    world = make(real=real)
    to_publish(world, [(1, 3)])
    changes: dict[str, Change] = {
        "proof": lambda a: replace(a, proof=bytes(96)),
        "key": lambda a: replace(a, shared=world.toolkit.group.generator.to_bytes()),
        "no point": lambda a: replace(a, shared=b"\xff" * 32),
    }
    accuse(world, 3, 1, change=changes[what])
    world.run()
    require(world, [convicted(3, "04-A2")], [(3, "04-A2")], [0, 1, 2, 4])


def test_an_accuser_that_is_not_listed_is_blamed_and_removed_once() -> None:
    """It left with the close of commit: the close of publish has nobody to remove."""
    baseline()
    world = make()
    world.run(skip={Phase.COMMIT: [1]}, until=Phase.PUBLISH)
    accuse(world, 1, 3)
    world.run()
    gone = (1, Phase.COMMIT, RemovalCause.ABSENT, "04-K4")
    require(world, [gone], [(1, "04-A1")], [0, 2, 3, 4])


def test_no_accusation_at_all_is_a_false_one() -> None:
    baseline()
    world = make()
    to_publish(world, [])
    world.post(world.parties[2].key, Phase.ACCUSE, world.view.acts_on + b"\x09")
    world.run()
    require(world, [convicted(2, "04-A1")], [(2, "04-A1")], [0, 1, 3, 4])


def test_an_accusation_on_another_close_is_nobodys_fault() -> None:
    """Whoever was shown another log accuses on another close: it is void, and no crime."""
    baseline()
    world = make()
    to_publish(world, [(1, 3)])
    accuse(world, 3, 1, change=lambda a: replace(a, acts_on=bytes(32)))
    world.run()
    require(world, included=range(5))


RECOVERING = ("recovery", "one vector, recovery", "vector, recovery", "signed, recovery")


def test_late_accusations_are_reported_and_bar_from_later_rounds() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    to_publish(world, [(1, 3)])
    world.phase()
    cut = len(world.log)
    accuse(world, 3, 1)
    world.control(cut=cut)
    world.run()
    require(world, (), [(1, "04-A3")], range(5))
    world.control()
    assert world.view.barred == {world.parties[1].author}
    assert world.parties[1].author not in world.view.expected
    world.run()
    found = require(world, (), [(1, "04-A3")], [0, 1, 2, 3], number=2)
    assert world.parties[1].author not in found.rounds[1].roll


def test_an_accusation_after_the_round_counts_below_the_next_open() -> None:
    world = make(rounds=3)
    to_publish(world, [(1, 3)])
    accusation = world.at(3).accusation(world.view, 1)
    world.run()
    world.say(world.at(3), Phase.ACCUSE, accusation)
    require(world, (), [(1, "04-A3")], range(5))
    world.control()
    assert world.view.barred == {world.parties[1].author}


def test_an_accusation_after_the_next_open_is_only_late() -> None:
    world = make(rounds=3)
    to_publish(world, [(1, 3)])
    accusation: Accusation = world.at(3).accusation(world.view, 1)
    accuser = world.at(3)
    world.run()
    world.control()
    world.say(accuser, Phase.ACCUSE, accusation, number=1)
    world.run()
    assert [note.rule for note in require(world, included=range(5), number=2).notes] == ["04-C2"]
    world.control()
    assert world.view.barred == frozenset()


def test_accusations_count_below_an_abort() -> None:
    world = make()
    to_publish(world, [(1, 3)])
    accuse(world, 3, 1)
    abort = world.ledger.abort(len(world.log))
    assert abort is not None
    world.post(world.organiser, Phase.ORGANISER, abort.body, abort.kind, abort.round)
    assert isinstance(world.view.ended, Abort)
    world.control()
    assert world.view.barred == {world.parties[1].author}


def test_a_repeated_accusation_convicts_once() -> None:
    baseline()
    world = make()
    to_publish(world, [(1, 3)])
    first = accuse(world, 3, 1)
    accuse(world, 3, 1)
    world.run()
    found = require(world, [convicted(1, "04-A3")], [(1, "04-A3")], [0, 2, 3, 4])
    assert [fault.entries for fault in found.faults] == [(first,)]
