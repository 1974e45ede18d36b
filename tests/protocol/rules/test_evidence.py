"""Equivocation, replays, late and early entries, second messages, sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bulletin_board.entry import LARGEST_BODY
from gopa.contract.organiser import RemovalCause
from gopa.contract.party import CONFIRM, REVEAL, Confirm, Reveal
from gopa.contract.phases import Kind, Phase
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import CODECS, World

EVERY = [
    p
    for p in Phase
    if p not in {Phase.ORGANISER, Phase.ACCUSE, Phase.RECOVER, Phase.ROLLBACK, Phase.PROVE}
]


def second(world: World, number: int, phase: Phase) -> int:
    """Another entry for the slot of the party's message; its index."""
    party = world.parties[number]
    body = world.view.acts_on + b"\x01"
    return world.post(party.key, phase, body, seq=0).index


@pytest.mark.parametrize("phase", EVERY)
def test_equivocation_below_the_cut_strikes(phase: Phase) -> None:
    """Until the final close: afterwards evidence changes nothing in the round."""
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(until=phase)
    world.phase()
    first = next(
        each.index
        for each in reversed(world.log)
        if each.entry.author.data == world.parties[2].author
    )
    index = second(world, 2, phase)
    world.control()
    if world.view.ended is None:
        world.run()
    place = None if phase is Phase.JOIN else 2
    rows = [] if phase > Phase.PUBLISH else [(place, phase, RemovalCause.STRUCK, "04-E3")]
    everybody = [0, 1, 2, 3] if phase is Phase.JOIN else [0, 1, 3, 4]
    included = range(5) if phase > Phase.PUBLISH else everybody
    found = require(world, rows, [(2, "04-E3")], included)
    assert [fault.entries for fault in found.faults] == [(first, index)]
    world.control()
    assert world.view.barred == {world.parties[2].author}


def test_equivocation_above_the_cut_changes_nothing_in_the_phase() -> None:
    """It counts for the next list that is formed."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    cut = len(world.log)
    second(world, 2, Phase.COMMIT)
    world.control(cut=cut)
    assert world.view.members == (0, 1, 2, 3, 4)
    world.run()
    row = (2, Phase.PUBLISH, RemovalCause.STRUCK, "04-E3")
    require(world, [row], [(2, "04-E3")], [0, 1, 3, 4])


def test_a_struck_party_in_rollback() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    world.phase()
    second(world, 4, Phase.ROLLBACK)
    world.control()
    world.run()
    rows = [
        (2, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2"),
        (4, Phase.ROLLBACK, RemovalCause.STRUCK, "04-E3"),
    ]
    require(world, rows, [(4, "04-E3")], [0, 1, 3])


def test_the_same_entry_twice_is_not_its_authors_doing() -> None:
    """A board could log an honest entry again to have its author struck."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    world.append(world.raws[-1])
    world.control()
    world.run()
    found = require(world, (), (), range(5))
    assert [(note.rule, note.count) for note in found.notes] == [("04-E1", 1)]


def test_equivocation_of_the_organiser_is_named_and_the_first_entry_stands() -> None:
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    due = world.control()
    seq = due.seq
    world.post(world.organiser, Phase.ORGANISER, due.body + b"", due.kind, seq=seq)
    body = due.body[:-1] + b"\x01"
    world.post(world.organiser, Phase.ORGANISER, body, due.kind, seq=seq)
    world.run()
    found = world.check()
    assert {fault.rule for fault in found.faults} == {"04-E3"}
    assert found.rounds[0].sums == world.expected_sums(range(5))


def test_evidence_in_a_later_round_waits_for_it() -> None:
    """Two entries for a slot of round 2 while round 1 goes on: barred from round 2."""
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(until=Phase.COMMIT)
    party = world.parties[2]
    for tail in (b"a", b"b"):
        world.post(party.key, Phase.JOIN, bytes(32) + tail, number=2, seq=0)
    world.run()
    require(world, (), [(2, "04-E3")], range(5))
    world.control()
    assert world.view.barred == {party.author}


@pytest.mark.parametrize(
    "phase", [Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK]
)
def test_a_message_before_its_phase_takes_the_slot(phase: Phase) -> None:
    """It cannot act on a close that is not there; nobody can be blamed for it."""
    baseline()
    world = make()
    world.run(until=Phase.JOIN)
    world.post(world.parties[2].key, phase, bytes(32))
    world.run()
    found = world.check()
    assert found.faults == ()
    rows = {(row.phase, row.cause, row.rule) for row in found.rounds[0].removals}
    if phase < Phase.CONFIRM:
        assert rows == {(phase, RemovalCause.INVALID, "04-E4")}
        assert found.rounds[0].sums == world.expected_sums([0, 1, 3, 4])
    else:
        assert rows == set()


def test_a_replay_of_an_earlier_round_is_invalid() -> None:
    """The same body in the next round acts on another close."""
    baseline(rounds=2)
    world = make(rounds=2)
    world.run()
    old = next(
        each.entry.body
        for each in world.log
        if each.entry.phase == Phase.JOIN and each.entry.author.data == world.parties[2].author
    )
    world.control()
    world.post(world.parties[2].key, Phase.JOIN, old)
    world.phase()
    world.control()
    world.run()
    rows = [(None, Phase.JOIN, RemovalCause.INVALID, "04-E4")]
    require(world, rows, (), [0, 1, 2, 3], number=2)


def test_messages_of_rounds_that_never_come_are_one_note() -> None:
    """Whoever counts on ever other rounds to be remembered is counted, and nothing else."""
    baseline()
    world = make()
    terms = world.manifest.terms
    most = terms.rounds * terms.attempts
    world.control()
    for number in (most, *range(most + 1, most + 6)):
        body = world.view.acts_on
        world.post(world.parties[2].key, Phase.JOIN, body, Kind.JOIN, number)
    world.run()
    found = require(world, (), (), range(5))
    early = {(note.round, note.count) for note in found.notes if note.rule == "04-E4"}
    assert early == {(most, 1), (0, 5)}


def test_a_second_message_in_a_phase_is_named_and_ignored() -> None:
    baseline()
    world = make()
    world.run(until=Phase.CONFIRM)
    world.phase()
    party = world.parties[2]
    world.post(party.key, Phase.CONFIRM, CONFIRM.encode(Confirm(world.view.acts_on)))
    world.run()
    require(world, (), [(2, "04-E2")], range(5))


def test_another_kind_of_message() -> None:
    baseline()
    world = make()
    world.run(until=Phase.COINS)
    world.phase(skip=[2])
    party = world.parties[2]
    body = REVEAL.encode(Reveal(world.view.acts_on, party.nonce))
    world.post(party.key, Phase.COINS, body, Kind.JOIN)
    world.control()
    world.run()
    row = (2, Phase.COINS, RemovalCause.INVALID, "04-E2")
    require(world, [row], [(2, "04-E2")], [0, 1, 3, 4])


def test_a_party_in_the_organisers_phase() -> None:
    baseline()
    world = make()
    world.control()
    world.post(world.parties[2].key, Phase.ORGANISER, bytes(40), Kind.OPEN)
    world.run()
    require(world, (), [(2, "04-E2")], range(5))


@pytest.mark.parametrize("phase", EVERY)
def test_longer_messages_than_the_manifest_allows(phase: Phase) -> None:
    baseline()
    world = make()
    world.run(until=phase)
    world.phase(skip=[2])
    party = world.parties[2]
    world.post(party.key, phase, world.view.acts_on + bytes(30_000))
    world.control()
    world.run()
    found = world.check()
    assert {(fault.author, fault.rule) for fault in found.faults} == {(party.author, "04-S4")}


def test_a_huge_message_takes_no_memory_and_blames_nobody_else() -> None:
    baseline()
    world = make()
    world.run(until=Phase.CONFIRM)
    world.phase(skip=[2])
    party = world.parties[2]
    world.post(party.key, Phase.CONFIRM, world.view.acts_on + bytes(3 * LARGEST_BODY))
    assert world.ledger._assembler._partial == {}
    world.control()
    world.run()
    found = world.check()
    assert found.rounds[0].sums == world.expected_sums(range(5))
    assert {(fault.author, fault.rule) for fault in found.faults} == {(party.author, "04-S4")}


def test_chunks_that_do_not_continue_are_no_message() -> None:
    long: dict[str, Any] = {"dimension": 16_000, "steps": 1, "squared_sensitivity": 12}
    baseline("signed", **long)
    world = make("signed", **long)
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[2])
    party = world.parties[2]
    message = CODECS[Phase.PUBLISH].encode(party.publish(world.view))
    assert len(message) > LARGEST_BODY
    posted = len(world.log)
    world.post(party.key, Phase.PUBLISH, message)
    assert len(world.log) == posted + 2
    # The same log with the chunks in the other order.
    other = make("signed", **long)
    other.forget()
    for raw in [*world.raws[:posted], world.raws[posted + 1], world.raws[posted]]:
        other.append(raw)
    due = other.ledger.next_control(len(other.log))
    assert due is not None
    found = other.ledger.findings()
    assert found.faults == ()
    assert {note.rule for note in found.notes} == {"04-E1"}


def test_late_messages_are_noted_and_change_nothing() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(skip={Phase.COMMIT: [2]}, until=Phase.PUBLISH)
    party = world.parties[2]
    view = replace(world.view, acts_on=world.said[-1].previous)
    world.say(party, Phase.COMMIT, party.commit(view))
    world.run()
    row = (2, Phase.COMMIT, RemovalCause.ABSENT, "04-K4")
    found = require(world, [row], (), [0, 1, 3, 4])
    assert [(note.rule, note.count) for note in found.notes] == [("04-C2", 1)]
