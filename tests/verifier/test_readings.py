"""Logs of which two readers could make different lists: both verifiers read them as the text says.

Gaps in seq, chunks in other places, second messages, used seeds of noise, proofs of another length,
convictions around the cut. A party could post each of these on purpose, so that an honest
organiser's list is right for one reader and wrong for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gopa.contract.organiser import Abort
from gopa.contract.party import ACCUSATION, JOIN, About
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import Findings
from tests.protocol.rules.test_retry import give_up
from tests.protocol.rules.worlds import baseline, make
from tests.protocol.scribe import CODECS, ScribeParty, World
from tests.verifier.answers import first, second
from tests.verifier.test_shapes import chunk, material, require

ALL = range(5)
OTHERS = [0, 2, 3, 4]
SLOW = pytest.mark.slow


def publishing(silent: int = 1) -> tuple[World, ScribeParty, bytes]:
    """Everybody else has published; that one, and what it would publish in one entry."""
    baseline()
    world = make(real=True)
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[silent])
    party = world.parties[silent]
    return world, party, CODECS[Phase.PUBLISH].encode(party.publish(world.view))


def faults_of(world: World) -> set[tuple[str, int, tuple[int, ...]]]:
    """Rule, round and entries of every fault; the second verifier names the same."""
    given = material(world)
    archive = given.packed(list(given.entries))
    assert first(archive, given.anchors) == second(archive, given.anchors)
    found: Findings = world.check()
    return {(each.rule, each.round, each.entries) for each in found.faults}


# 04-E1: behind and in a gap


ABSENT = [(1, "publish", "absent")]
INVALID = [(1, "publish", "invalid")]


@pytest.mark.parametrize(
    ("seqs", "faults", "out"),
    [
        ((0,), [], []),
        ((1, 0), [], []),
        ((1, 0, 2), [], []),
        ((1, 2), [], ABSENT),
        ((2, 0), [], []),
        ((2, 0, 1), ["04-E2"], []),
        ((0, 2, 1), ["04-E2"], []),
        ((0, 2, 3), [], []),
        ((2, 1), [], ABSENT),
    ],
    ids=str,
)
def test_what_comes_into_a_gap_is_read_and_nothing_behind_it_is(
    seqs: Sequence[int], faults: Sequence[str], out: Sequence[tuple[int, str, str]]
) -> None:
    world, party, body = publishing()
    for seq in seqs:
        chunk(world, party, body if seq == min(seqs) else b"", seq, number=0, of=1)
    world.control()
    world.run()
    require(world, [(1, rule) for rule in faults], out, OTHERS if out else ALL)


def test_the_slot_behind_a_gap_is_used() -> None:
    """Two entries in it convict, though none of them is part of a message."""
    world, party, body = publishing()
    for seq, said in ((1, b"a"), (0, body), (1, b"b")):
        chunk(world, party, said, seq, number=0, of=1)
    world.control()
    world.run()
    require(world, [(1, "04-E3")], [(1, "publish", "struck")], OTHERS)


def test_a_join_in_a_gap_is_on_the_roll() -> None:
    world = make(real=True)
    world.control()
    said = world.parties[1].join(world.view)
    world.post(world.parties[1].key, Phase.JOIN, b"behind", seq=1)
    world.say(world.parties[1], Phase.JOIN, said, seq=0)
    world.phase(skip=[1])
    world.run()
    require(world, [], [], ALL)


# 04-E2: messages of one chunk, and second messages


@pytest.mark.parametrize(
    ("phase", "number", "seq", "faults"),
    [
        (Phase.ORGANISER, 1, 0, [(1, "04-E2")]),
        (Phase.ORGANISER, 1, 1, []),
        (Phase.PUBLISH, 2, 0, []),
        (Phase.PUBLISH, 2, 1, []),
    ],
    ids=["phase 0", "behind a gap", "the next round", "behind a gap there"],
)
def test_what_is_read_nowhere_is_one_message_an_entry(
    phase: Phase, number: int, seq: int, faults: list[tuple[int, str]]
) -> None:
    """It says that it is the third of three chunks: nobody asks."""
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    party = world.parties[1]
    chunk(world, party, b"", seq, number=2, of=3, phase=phase, round_=number)
    world.run()
    require(world, faults, [], ALL)


@pytest.mark.parametrize("more", [0, 1])
def test_what_came_before_its_phase_is_no_first_message(more: int) -> None:
    """It takes the slot, so the party is out; of those in time a second is one too many."""
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    party = world.parties[1]
    world.post(party.key, Phase.PUBLISH, b"early")
    world.phase()
    world.control()
    body = CODECS[Phase.PUBLISH].encode(party.publish(world.view))
    for _ in range(1 + more):
        world.post(party.key, Phase.PUBLISH, body)
    world.run()
    require(world, [(1, "04-E2")] * more, INVALID, OTHERS)


def test_a_second_opening_is_no_second_message() -> None:
    world = make(real=True)
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    body = CODECS[Phase.ROLLBACK].encode(world.at(0).opening(world.view))
    for _ in range(2):
        world.post(world.at(0).key, Phase.ROLLBACK, body)
    world.phase(skip=[0])
    world.run()
    require(world, [], [(2, "publish", "absent")], [0, 1, 3, 4])


# 04-S4: who may announce too many chunks


def test_too_many_chunks_in_a_taken_slot_and_off_the_roll() -> None:
    world = make(real=True)
    world.control()
    world.phase(skip=[4])
    world.control()
    for number in (1, 4):
        chunk(world, world.parties[number], b"", 0, number=0, of=9, phase=Phase.JOIN)
    world.run()
    found = {rule for rule, _, _ in faults_of(world)}
    assert found == {"04-S4", "04-E3"}
    require(world, [(1, "04-S4"), (1, "04-E3"), (4, "04-S4")], [(1, "coins", "struck")], [0, 2, 3])


@pytest.mark.slow
def test_too_many_chunks_behind_the_end_of_a_round() -> None:
    world = make(real=True, rounds=2)
    world.run()
    chunk(world, world.parties[1], b"", 1, number=0, of=9)
    last = len(world.log) - 1
    world.control()
    chunk(world, world.parties[1], b"", 2, number=0, of=9)
    world.run()
    assert faults_of(world) == {("04-S4", 1, (last,))}


# 04-C3: the organiser


def test_a_body_that_is_too_short_acts_on_another() -> None:
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    world.phase()
    last = world.post(world.organiser, Phase.ORGANISER, b"\x00", Kind.CLOSE, 1)
    assert faults_of(world) == {("04-E4", 1, (last.index,))}


def test_behind_the_end_what_continues_nothing_is_a_fault_each_time() -> None:
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    world.phase()
    seq = world.ledger.next_control(len(world.log)).seq  # type: ignore[union-attr]
    places = [seq + 1, seq, seq + 2]
    posted = [
        world.post(world.organiser, Phase.ORGANISER, b"", Kind.CLOSE, 1, each).index
        for each in places
    ]
    expected = {("04-E1", 1, (posted[0],)), ("04-E1", 1, (posted[2],))}
    assert faults_of(world) == expected


def test_an_organisers_entry_with_too_many_chunks_breaks_two_rules() -> None:
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    seq = world.ledger.next_control(len(world.log)).seq  # type: ignore[union-attr]
    key = replace(world.parties[0], key=world.organiser)
    place: dict[str, Any] = {"phase": Phase.ORGANISER, "round_": 1, "kind": Kind.CLOSE}
    chunk(world, key, b"", seq, number=0, of=999, **place)
    last = len(world.log) - 1
    assert faults_of(world) == {("04-S4", 1, (last,)), ("04-E1", 1, (last,))}


def test_a_message_of_a_round_that_is_not_due_has_the_round_that_it_names() -> None:
    world = make(real=True)
    world.run()
    last = world.post(world.organiser, Phase.ORGANISER, bytes(36), Kind.OPEN, 7)
    assert faults_of(world) == {("04-X3", 7, (last.index,))}


# 04-J5: what uses up a seed of noise


Copying = Callable[[World, ScribeParty, bytes], None]


def copy_of(world: World, party: ScribeParty, seed: bytes, **fields: bytes) -> bytes:
    """A join of this party with somebody else's seed."""
    return JOIN.encode(replace(party.join(world.view), seed=seed, **fields))


def right(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed))


def without_input(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed, input=bytes(32)))


def without_hash(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed, nonce_hash=b""))


def too_long(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed) + b"\x00")


def unproved(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed, possession=bytes(64)))


def of_another_kind(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed), Kind.COMMIT)


def of_another_round(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed, acts_on=bytes(32)))


def as_a_second(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, JOIN.encode(party.join(world.view)))
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed))


def behind_a_gap(world: World, party: ScribeParty, seed: bytes) -> None:
    world.post(party.key, Phase.JOIN, copy_of(world, party, seed), seq=1)


@pytest.mark.parametrize(
    ("copy", "rule", "stays"),
    [
        (right, "", False),
        (unproved, "04-J3", False),
        (of_another_kind, "04-E2", False),
        (of_another_round, "", False),
        (as_a_second, "04-E2", False),
        (without_input, "04-J2", True),
        (without_hash, "04-J2", True),
        (too_long, "04-S4", True),
        (behind_a_gap, "", True),
    ],
    ids=lambda each: each.__name__ if callable(each) else str(each),
)
def test_a_join_uses_up_its_seed_exactly_if_it_keeps_j2(
    copy: Copying, rule: str, stays: bool
) -> None:
    """Party 1 comes before party 4 with the commitment to its seed, which it could not open."""
    baseline()
    world = make(real=True)
    world.control()
    honest = [party.join(world.view) for party in world.parties]
    copy(world, world.parties[1], honest[4].seed)
    for number in (0, 2, 3, 4):
        world.say(world.parties[number], Phase.JOIN, honest[number])
    world.control()
    roll = [each.author for each in world.view.roll]
    assert (world.parties[4].author in roll) is stays
    assert {rule for rule, _, _ in faults_of(world)} == ({rule} if rule else set())


# 04-K1, 04-K3, 04-K6: proofs of another length


@pytest.mark.parametrize(
    ("kind", "field", "change", "rule"),
    [
        ("scalar", "proof", lambda data: data[:-1], "04-K3"),
        ("scalar", "proof", lambda data: data[:-32], "04-K3"),
        ("scalar", "proof", lambda data: data[:1], "04-K3"),
        ("scalar", "proof", lambda _: b"", "04-K1"),
        pytest.param("vector", "proof", lambda data: data[:-32], "04-K3", marks=SLOW),
        pytest.param("weighted", "weighing", lambda data: data[:-1], "04-K3", marks=SLOW),
        ("weighted", "weighing", lambda _: b"", "04-K6"),
        ("weighted", "proof", lambda data: data[:-32], "04-K3"),
        ("signed", "proof", lambda _: bytes(32), "04-S4"),
    ],
)
def test_a_proof_of_another_length_does_not_hold(
    kind: str, field: str, change: Callable[[bytes], bytes], rule: str
) -> None:
    baseline(kind)
    world = make(kind, real=True)

    def lie(said: Any) -> Any:
        return replace(said, **{field: change(getattr(said, field))})

    world.run(change={Phase.COMMIT: {1: lie}})
    out = [(1, "commit", "invalid")]
    require(world, [(1, rule)], out, OTHERS)


# 04-A5: the cut of publish


def false(world: World, number: int, fields: dict[str, Any] | None = None) -> int:
    """Party `number` accuses party 0 of an edge that is live; where that stands."""
    said = world.parties[number].accusation(world.view, 0)
    body = ACCUSATION.encode(replace(said, **fields or {}))
    return world.post(world.parties[number].key, Phase.ACCUSE, body).index


def test_one_conviction_below_the_cut_and_one_above_it() -> None:
    world = make(real=True, rounds=2)
    world.run(until=Phase.PUBLISH)
    world.phase()
    below = [false(world, 1), false(world, 1, {"about": About.SHARE})]
    cut = len(world.log)
    above = [false(world, 1), false(world, 1, {"about": About.SHARE})]
    world.control(cut)
    world.run()
    assert faults_of(world) == {("04-A1", 1, (below[0],)), ("04-A1", 1, (above[0],))}


@pytest.mark.parametrize("own", [False, True], ids=["by the rules", "for no reason"])
def test_an_abort_ends_publish_as_a_close_does(own: bool) -> None:
    """The accusation is below the cut that the rules demand, and above any other."""
    world = make(real=True, rounds=2)
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[] if own else [2, 3, 4])
    at = false(world, 1)
    (give_up if own else World.control)(world)
    assert isinstance(world.view.ended, Abort)
    world.control()
    assert faults_of(world) == {("04-A1", 1, (at,))}
    assert world.parties[1].author in world.view.barred
    removed = {row.author for row in world.check().rounds[0].removals}
    assert (world.parties[1].author in removed) is not own
