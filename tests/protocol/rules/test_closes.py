"""Cuts and the order of the organiser's messages (04-C1 to 04-C3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import (
    CLOSE,
    OPEN,
    AbortReason,
    Close,
    Members,
    Open,
    RemovalCause,
)
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.closes import RULE_OF
from tests.protocol.rules.worlds import altered, baseline, make, require
from tests.protocol.scribe import World
from wire.errors import UsageError


def close_with(world: World, cut: int) -> None:
    """The close that is due, with a cut that no ledger would give out."""
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    body = altered(CLOSE, due, cut=cut)
    world.post(world.organiser, Phase.ORGANISER, body, due.kind)


def test_a_cut_may_be_its_own_index() -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    close_with(world, len(world.log))
    world.run()
    require(world, included=range(5))


def test_a_ledger_gives_out_no_cut_that_goes_back() -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    with pytest.raises(UsageError) as caught:
        world.ledger.next_control(world.view.cut - 1)
    assert caught.value.field == "cut"


def test_a_cut_may_exclude_honest_entries() -> None:
    """It is the organiser's choice, visible to all: the party counts as absent, and is named."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase(skip=[2])
    cut = len(world.log)
    late = world.parties[2]
    world.say(late, Phase.COMMIT, late.commit(world.view))
    world.control(cut=cut)
    world.run()
    row = (2, Phase.COMMIT, RemovalCause.ABSENT, "04-C6")
    found = require(world, [row], (), [0, 1, 3, 4])
    assert [(note.rule, note.author, note.entries) for note in found.notes] == [
        ("04-C6", late.author, (cut,))
    ]
    assert [row.entry for row in found.rounds[0].removals] == [cut]


def test_nonces_that_were_seen_can_be_cut_off_and_count_as_withheld() -> None:
    baseline()
    world = make()
    world.run(until=Phase.COINS)
    world.phase()
    world.control(cut=len(world.log) - 2)
    assert world.view.withheld == 2
    world.run()
    rows = [(place, Phase.COINS, RemovalCause.ABSENT, "04-C6") for place in (3, 4)]
    require(world, rows, (), [0, 1, 2])


def test_an_open_in_the_middle_of_a_round() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(until=Phase.COMMIT)
    body = OPEN.encode(Open(world.view.acts_on, 1, 0))
    world.post(world.organiser, Phase.ORGANISER, body, Kind.OPEN)
    require(world, (), [("organiser", "04-C1")])


def test_a_close_before_the_round() -> None:
    world = make()
    close = Close(
        world.log[-1].leaf, 1, bytes(32), Phase.COMMIT, b"", Members(b"\x1f", final=False)
    )
    world.post(world.organiser, Phase.ORGANISER, CLOSE.encode(close), Kind.CLOSE, 1)
    assert [fault.rule for fault in world.check().faults] == ["04-X3"]


@pytest.mark.parametrize("kind", [Kind.MANIFEST, Kind.JOIN, 99])
def test_another_kind_of_message(kind: int) -> None:
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    acts_on = world.view.acts_on
    world.post(world.organiser, Phase.ORGANISER, acts_on + bytes(40), kind)  # type: ignore[arg-type]
    require(world, (), [("organiser", "04-C1")])


@pytest.mark.parametrize("change", [lambda body: body + b"\x00", lambda body: body[:-1]])
def test_one_byte_more_or_less(change: object) -> None:
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    body = change(due.body)  # type: ignore[operator]
    world.post(world.organiser, Phase.ORGANISER, body, due.kind)
    require(world, (), [("organiser", "04-C1")])


def test_a_second_close_acts_on_nothing() -> None:
    """Two closes of one phase at two places of one log: the second is out of order."""
    baseline()
    world = make()
    world.run(until=Phase.CONFIRM)
    first = world.said[-1]
    world.post(world.organiser, Phase.ORGANISER, first.body, first.kind)
    found = require(world, (), [("organiser", "04-E4")])
    assert found.rounds[0].final == (0, 1, 2, 3, 4)


def test_a_gap_in_the_organisers_entries_convicts_nobody() -> None:
    """A board may have left an entry out: the session ends, and nothing is proved."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    world.post(world.organiser, Phase.ORGANISER, due.body, due.kind, seq=due.seq + 1)
    found = require(world, (), [("organiser", "04-E1")])
    assert [fault.proved for fault in found.faults] == [False]
    assert world.ledger.state.failed


def test_the_organiser_goes_on_after_a_wrong_close() -> None:
    """Nothing that acts on it counts (04-C3)."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    due = world.control(change=lambda close: replace(close, content=Members(b"\x0f", final=False)))
    leaf, seq = world.log[-1].leaf, due.seq + 1
    close = Close(leaf, len(world.log), bytes(32), Phase.PUBLISH, b"", Members(b"\x0f", final=True))
    world.post(world.organiser, Phase.ORGANISER, CLOSE.encode(close), Kind.CLOSE, seq=seq)
    world.post(world.parties[0].key, Phase.PUBLISH, leaf)
    found = require(world, (), [("organiser", "04-C3")])
    assert {note.rule for note in found.notes} == {"04-C3", "04-E4"}


def test_polling_gives_the_same_close_and_forgets_it_when_entries_come() -> None:
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase(skip=[4])
    size = len(world.log)
    first = world.ledger.next_control(size + 1, root=bytes(32))
    assert world.ledger.next_control(size + 1, root=bytes(32)) == first
    party = world.parties[4]
    world.say(party, Phase.COMMIT, party.commit(world.view))
    second = world.ledger.next_control(size + 1)
    assert second is not None
    assert first is not None
    assert second.body != first.body
    world.control()
    assert world.view.members == (0, 1, 2, 3, 4)


def test_state_says_whom_a_phase_waits_for() -> None:
    world = make()
    world.control()
    authors = [party.author for party in world.parties]
    while world.view.ended is None:
        view = world.view
        assert view.expected == frozenset(authors)
        for number, party in enumerate(world.parties):
            world.phase(skip=[n for n in range(5) if n != number])
            assert world.view.expected == frozenset(authors[number + 1 :])
            assert world.view.posted == number + 1
            assert party.author not in world.view.expected
        world.control()


def test_every_reason_of_an_abort_has_a_rule_that_demands_it() -> None:
    assert set(RULE_OF) == set(AbortReason)
