"""Logs at the edges of the text: what it says about each was written down before they were made.

Chunks that start anew, accusations and openings in the wrong place, bodies that do not decode, in
sessions whose entries are posted one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from bulletin_board import sign_entry
from bulletin_board.entry import LARGEST_BODY, VERSION, Entry
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import NO_LEAF
from gopa.contract.party import (
    ACCUSATION,
    OPENING,
    RECOVER,
    About,
    Accusation,
    EdgeOpenings,
    OpenedEdge,
    Recover,
    RecoveredShare,
)
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.graph import from_edges
from tests.contract.samples import LOG
from tests.protocol.rules.worlds import make
from tests.protocol.scribe import CODECS, ScribeParty, World, changed
from tests.verifier.answers import Answer, anchors_of, first, report, second
from tests.verifier.mutations import Material

Faults = Collection[tuple[int | str, str]]
Rows = Collection[tuple[int, str, str]]


def material(world: World) -> Material:
    """The log of a world with its keys."""
    digest = sha256(world.manifest.to_bytes()).hexdigest()
    anchors = anchors_of(str(LOG.verifier), digest)
    return Material(world.name, b"", tuple(world.raws), world.session, LOG, {}, anchors)


def require(world: World, faults: Faults, out: Rows, included: Sequence[int] | None) -> Answer:
    """Both find exactly these faults and removals, by positions in the order of keys."""
    given = material(world)
    archive = given.packed(list(given.entries))
    found = second(archive, given.anchors)
    assert found == first(archive, given.anchors)
    numbers: dict[str, int | str] = {p.author.hex(): n for n, p in enumerate(world.parties)}
    numbers[world.organiser.public.data.hex()] = "organiser"
    assert {(numbers[author], rule) for _, author, rule in found.faults} == set(faults)
    told = report(archive, given.anchors)["faults"]
    assert {(each["author"], each["rule"], each["proved"]) for each in told} == {
        (each.author.hex(), each.rule, each.proved) for each in world.check().faults
    }
    last = found.rounds[-1]
    assert {(numbers[author], phase, cause) for author, phase, cause in last.removed} == set(out)
    if included is None:
        assert last.sums is None
    else:
        assert last.included == tuple(world.parties[each].author.hex() for each in included)
        places = [world.place(world.parties[each].author) for each in included]
        assert last.sums == world.expected_sums(places)
    return found


def chunk(
    world: World,
    party: ScribeParty,
    body: bytes,
    seq: int,
    *,
    number: int,
    of: int,
    after: bytes = NO_LEAF,
    seen: tuple[int, bytes] = (0, NO_LEAF),
    phase: Phase = Phase.PUBLISH,
    round_: int = 1,
    kind: Kind | None = None,
) -> bytes:
    """Post one chunk, in publish unless another phase is named; its leaf."""
    entry = Entry(
        version=VERSION,
        session=world.session,
        phase=int(phase),
        kind=int(kind or KIND_IN.get(phase, Kind.PUBLISH)),
        round=round_,
        chunk=number,
        chunks=of,
        author=party.key.public,
        seq=seq,
        prev_own_leaf=after,
        seen_size=seen[0],
        seen_root=seen[1],
        body=body,
    )
    raw = sign_entry(entry, party.key)
    world.append(raw)
    return leaf_hash(raw)


# Chunks: a session in which an honest value takes two


def long_values(silent: int) -> tuple[World, ScribeParty, bytes]:
    """Everybody but one has published; that one, and what it would publish."""
    world = make("signed", real=True, dimension=15_100, squared_sensitivity=10)
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[silent])
    party = world.parties[silent]
    body = CODECS[Phase.PUBLISH].encode(party.publish(world.view))
    assert LARGEST_BODY < len(body) < 2 * LARGEST_BODY
    return world, party, body


GONE = {"publish": [(1, "publish", "absent")]}


@pytest.mark.slow
def test_two_chunks_make_a_message() -> None:
    world, party, body = long_values(1)
    leaf = chunk(world, party, body[:LARGEST_BODY], 0, number=0, of=2)
    chunk(world, party, body[LARGEST_BODY:], 1, number=1, of=2, after=leaf)
    world.control()
    world.run()
    require(world, [], [], range(5))


@pytest.mark.slow
def test_a_message_that_starts_anew_stands_at_its_own_number() -> None:
    world, party, body = long_values(1)
    chunk(world, party, body[:LARGEST_BODY], 0, number=0, of=2)
    leaf = chunk(world, party, body[:LARGEST_BODY], 1, number=0, of=2)
    chunk(world, party, body[LARGEST_BODY:], 2, number=1, of=2, after=leaf)
    world.control()
    world.run()
    require(world, [(1, "04-E2")], [(1, "publish", "invalid")], [0, 2, 3, 4])


@pytest.mark.slow
def test_too_many_chunks_break_what_they_interrupt_and_use_their_number() -> None:
    """Not even what would be the next chunk, but for the number of chunks, continues."""
    world, party, body = long_values(1)
    leaf = chunk(world, party, body[:LARGEST_BODY], 0, number=0, of=2)
    leaf = chunk(world, party, body[LARGEST_BODY:], 1, number=1, of=9, after=leaf)
    chunk(world, party, body[LARGEST_BODY:], 2, number=1, of=2, after=leaf)
    world.control()
    world.run()
    require(world, [(1, "04-S4")], GONE["publish"], [0, 2, 3, 4])


@pytest.mark.slow
def test_a_gap_is_never_closed() -> None:
    world, party, body = long_values(1)
    leaf = chunk(world, party, body[:LARGEST_BODY], 0, number=0, of=2)
    chunk(world, party, body[LARGEST_BODY:], 2, number=1, of=2, after=leaf)
    chunk(world, party, body[LARGEST_BODY:], 1, number=1, of=2, after=leaf)
    chunk(world, party, body[:100], 3, number=0, of=1)
    world.control()
    world.run()
    require(world, [], GONE["publish"], [0, 2, 3, 4])


@pytest.mark.slow
def test_a_taken_slot_interrupts_nothing() -> None:
    """The message is whole all the same: its author is struck, and not absent."""
    world, party, body = long_values(1)
    leaf = chunk(world, party, body[:LARGEST_BODY], 0, number=0, of=2)
    chunk(world, party, body[:100], 0, number=0, of=1)
    chunk(world, party, body[LARGEST_BODY:], 1, number=1, of=2, after=leaf)
    again = chunk(world, party, body[:100], 2, number=0, of=1)
    assert again
    world.control()
    world.run()
    faults = [(1, "04-E3"), (1, "04-E2")]  # the last one is a second message
    require(world, faults, [(1, "publish", "struck")], [0, 2, 3, 4])


@pytest.mark.parametrize(
    ("cut", "chunks"),
    [(LARGEST_BODY - 1, 2), (LARGEST_BODY, 3)],
    ids=["the first is not full", "another number of chunks"],
)
def test_chunks_that_do_not_fit_together(cut: int, chunks: int) -> None:
    world, party, body = long_values(1)
    leaf = chunk(world, party, body[:cut], 0, number=0, of=2)
    chunk(world, party, body[cut:], 1, number=1, of=chunks, after=leaf)
    world.control()
    world.run()
    faults = [(1, "04-S4")] if chunks > 2 else []
    require(world, faults, GONE["publish"], [0, 2, 3, 4])


def test_a_message_that_begins_before_its_phase_takes_the_slot_and_is_no_fault() -> None:
    """Its first chunk stands in front of the close of commit: it may act on another one."""
    world = make("signed", real=True, dimension=15_100, squared_sensitivity=10)
    world.run(until=Phase.COMMIT)
    world.phase()
    party, whole = world.parties[1], bytes(LARGEST_BODY)
    leaf = chunk(world, party, whole, 0, number=0, of=2)
    world.control()
    chunk(world, party, bytes(100), 1, number=1, of=2, after=leaf)
    world.phase(skip=[1])
    world.control()
    world.run()
    require(world, [], [(1, "publish", "invalid")], [0, 2, 3, 4])


# Bodies that do not decode, in each phase


UNDECODABLE: dict[Phase, str] = {
    Phase.JOIN: "04-J2",
    Phase.COINS: "04-V1",
    Phase.COMMIT: "04-K1",
    Phase.ACCUSE: "04-A1",
    Phase.PUBLISH: "04-P2",
    Phase.ROLLBACK: "04-O1",
    Phase.CONFIRM: "04-F1",
    Phase.UNMASK: "04-U1",
    Phase.RECOVER: "04-U3",
}


def short(world: World, phase: Phase) -> bytes:
    """Too short for anything; a confirmation is the leaf alone, so it has nothing to lack."""
    return world.view.acts_on + (b"" if phase is Phase.CONFIRM else b"\x00")


@pytest.mark.slow
def test_each_phase_has_a_rule_that_an_undecodable_body_breaks() -> None:
    """Fourteen parties; number i fails in phase i + 1, but in confirm, where nothing can."""
    terms: dict[str, Any] = {
        "parties": 14,
        "k": 13,
        "loss": 6,
        "survivors": 8,
        "threshold_numerator": 1,
        "threshold_denominator": 5,
    }
    world = make(real=True, **terms)
    world.control()
    order = [*UNDECODABLE]
    while world.view.ended is None:
        phase = world.view.opens
        assert phase is not None
        liar = world.parties[order.index(phase)]
        world.phase(skip=[] if phase is Phase.CONFIRM else [order.index(phase)])
        if phase is Phase.PUBLISH:
            accuser = world.parties[order.index(Phase.ACCUSE)]
            world.post(accuser.key, Phase.ACCUSE, short(world, Phase.ACCUSE))
        if phase is not Phase.CONFIRM:
            world.post(liar.key, phase, short(world, phase))
        world.control()
    faults = [
        (number, rule)
        for number, (phase, rule) in enumerate(UNDECODABLE.items())
        if phase is not Phase.CONFIRM
    ]
    out = [
        (0, "join", "invalid"),
        (1, "coins", "invalid"),
        (2, "commit", "invalid"),
        (3, "publish", "convicted"),
        (4, "publish", "invalid"),
        (5, "rollback", "invalid"),
    ]
    require(world, faults, out, range(6, 14))


# Accusations


def accusing(
    world: World, number: int, neighbour: int, **fields: Any
) -> tuple[ScribeParty, Accusation]:
    party = world.parties[number]
    return party, replace(party.accusation(world.view, neighbour), **fields)


@pytest.mark.parametrize(
    ("fields", "extra", "rule"),
    [
        ({"accused": 5}, b"", "04-A1"),
        ({"accused": 1}, b"", "04-A1"),
        ({"about": About.SHARE}, b"", "04-A1"),
        ({}, b"", "04-A1"),
        ({"proof": b""}, b"\x00", "04-A1"),
        ({}, b"\x00", "04-S4"),
        ({"acts_on": bytes(32)}, b"", None),
        ({"acts_on": bytes(32)}, b"\x00", None),
    ],
    ids=[
        "beyond the roll",
        "of itself",
        "a share without recovery",
        "a live edge",
        "a byte too many",
        "too long",
        "another close",
        "another close, too long",
    ],
)
def test_what_is_no_accusation_convicts_by_the_first_rule(
    fields: dict[str, Any], extra: bytes, rule: str | None
) -> None:
    """Party 1 accuses party 0, whose edge is live: there is nothing to accuse it of."""
    world = make(real=True)
    world.run(until=Phase.PUBLISH)
    party, said = accusing(world, 1, 0, **fields)
    world.post(party.key, Phase.ACCUSE, ACCUSATION.encode(said) + extra)
    world.run()
    out = [(1, "publish", "convicted")] if rule else []
    stay = [0, 2, 3, 4] if rule else [0, 1, 2, 3, 4]
    require(world, [(1, rule)] if rule else [], out, stay)


@pytest.mark.parametrize(
    "fields",
    [{"shared": bytes(32)}, {"shared": b"\xff" * 32}, {"proof": b""}, {"proof": bytes(96)}],
    ids=["identity", "no point", "no proof", "zeros"],
)
def test_a_key_that_is_not_shown_convicts_the_accuser(fields: dict[str, Any]) -> None:
    world = make("recovery", real=True)
    world.run(until=Phase.PUBLISH)
    party, said = accusing(world, 1, 0, about=About.SHARE, **fields)
    world.post(party.key, Phase.ACCUSE, ACCUSATION.encode(said))
    world.run()
    require(world, [(1, "04-A2")], [(1, "publish", "convicted")], [0, 2, 3, 4])


# Openings


def opened_rollback() -> World:
    """Party 2 of five has left before publish; all others owe the edge to it."""
    world = make(real=True)
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    return world


LEFT = (2, "publish", "absent")


@pytest.mark.parametrize("first_of_all", [True, False])
def test_another_kind_in_rollback_counts_where_it_comes_first(first_of_all: bool) -> None:
    world = opened_rollback()
    body = OPENING.encode(world.at(0).opening(world.view))
    strange = bytes(32)
    messages = [(Kind.UNMASK, strange), (Kind.OPENING, body)]
    for kind, said in messages if first_of_all else messages[::-1]:
        world.post(world.at(0).key, Phase.ROLLBACK, said, kind)
    world.phase(skip=[0])
    world.run()
    if first_of_all:
        require(world, [(0, "04-E2")], [LEFT, (0, "rollback", "invalid")], [1, 3, 4])
    else:
        require(world, [], [LEFT], [0, 1, 3, 4])


@pytest.mark.slow
def test_openings_around_the_confirmation() -> None:
    """Four say it again: in front of it, behind it, an edge inside, and one that is silent."""
    world = make("recovery", real=True, parties=7, k=6, survivors=5, loss=2)
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    close = world.view.acts_on
    bodies = {
        each: OPENING.encode(world.at(each).opening(world.view)) for each in range(7) if each != 2
    }
    for each, body in bodies.items():
        world.post(world.at(each).key, Phase.ROLLBACK, body)
    world.post(world.at(0).key, Phase.ROLLBACK, bodies[0])
    world.control()
    world.phase(skip=[4])
    world.post(world.at(1).key, Phase.ROLLBACK, bodies[1])
    key = world.at(3)._edge_key(5).reveal()
    inside = EdgeOpenings(close, (OpenedEdge(5, key),))
    world.post(world.at(3).key, Phase.ROLLBACK, OPENING.encode(inside))
    world.post(world.at(4).key, Phase.ROLLBACK, bodies[4])
    world.post(world.at(5).key, Phase.ROLLBACK, bytes(32) + bodies[5][32:])
    world.run(skip={Phase.CONFIRM: range(7)})
    faults = [(1, "04-F3"), (3, "04-F3"), (3, "04-O5")]
    require(world, faults, [LEFT], [0, 1, 3, 4, 5, 6])


def test_an_opening_of_who_owes_nothing_is_invalid() -> None:
    """A path: party 0 has no edge to party 2, which left."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3), (1, 4), (0, 3)]
    graph = from_edges(5, edges)
    world = make(graph=lambda *_: graph)
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    assert 0 not in world.view.owed
    world.phase()
    opening = EdgeOpenings(world.view.acts_on, (OpenedEdge(2, bytes(32)),))
    world.say(world.at(0), Phase.ROLLBACK, opening)
    world.run()
    faults = {(fault.author, fault.rule) for fault in world.check().faults}
    assert faults == {(world.parties[0].author, "04-O1")}


# Places


@pytest.mark.parametrize("size", [0, 3])
def test_a_size_of_zero_claims_nothing_about_the_root(size: int) -> None:
    """A wrong value convicts its author, unless it names a root that the log never had."""
    world = make(real=True)
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[1])
    said = world.parties[1].publish(world.view)
    wrong = replace(said, value=bytes(len(said.value)))
    body = CODECS[Phase.PUBLISH].encode(wrong)
    chunk(world, world.parties[1], body, 0, number=0, of=1, seen=(size, b"\x01" * 32))
    world.control()
    world.run()
    require(world, [(1, "04-P1")], [(1, "publish", "invalid")], [0, 2, 3, 4])
    assert [fault.proved for fault in world.check().faults] == [size == 0]


def test_who_is_not_listed_is_not_judged_but_for_a_second_message() -> None:
    """Party 1 withheld its nonce: its commits are nobody's business, two of them are."""
    world = make(real=True)
    world.run(skip={Phase.COINS: [1]}, until=Phase.COMMIT)
    world.post(world.parties[1].key, Phase.COMMIT, b"\x00", Kind.PUBLISH)
    world.post(world.parties[1].key, Phase.COMMIT, b"\x01")
    world.run()
    require(world, [(1, "04-E2")], [(1, "coins", "absent")], [0, 2, 3, 4])


def test_a_second_message_is_a_fault_until_the_close_stands_there() -> None:
    world = make(real=True)
    world.run(until=Phase.PUBLISH)
    world.phase()
    cut = len(world.log)
    again = CODECS[Phase.PUBLISH].encode(world.parties[1].publish(world.view))
    world.post(world.parties[1].key, Phase.PUBLISH, again)
    world.control(cut)
    world.post(world.parties[3].key, Phase.PUBLISH, again)
    world.run()
    require(world, [(1, "04-E2")], [], range(5))


@pytest.mark.parametrize("seq", [0, 7])
def test_the_organiser_among_the_parties(seq: int) -> None:
    world = make(real=True)
    world.run(until=Phase.COMMIT)
    world.post(world.organiser, Phase.COMMIT, b"", seq=seq)
    world.run()
    found = require(world, [("organiser", "04-E2")], [], range(5))
    assert found.verdict == "INVALID"


@pytest.mark.parametrize(
    ("body", "kind", "rule"),
    [
        (RECOVER.encode(Recover(bytes(32), (RecoveredShare(3, bytes(64)),)))[32:], None, "04-U3"),
        (b"\x00", None, "04-U3"),
        (b"", Kind.UNMASK, "04-E2"),
    ],
    ids=["a share", "undecodable", "another kind"],
)
def test_shares_of_who_did_not_confirm(body: bytes, kind: Kind | None, rule: str) -> None:
    world = make("recovery", real=True)
    world.run(skip={Phase.CONFIRM: [0], Phase.UNMASK: [3]}, until=Phase.RECOVER)
    key = world.at(0).key
    world.post(key, Phase.RECOVER, world.view.acts_on + body, kind or KIND_IN[Phase.RECOVER])
    world.run()
    require(world, [(0, rule)], [], range(5))


# Sessions without noise, in all shapes that they have


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exact", "exact vector", "exact weights", "exact words"])
def test_without_noise_both_find_the_sum_of_the_values(kind: str) -> None:
    """Also when somebody leaves; and nobody posts anything about noise."""
    for left in ([], [2]):
        world = make(kind, real=True)
        world.run(skip={Phase.PUBLISH: left})
        stay = [number for number in range(5) if number not in left]
        found = require(world, [], [LEFT] if left else [], stay)
        values = zip(*(world.parties[number].values for number in stay), strict=True)
        assert found.rounds[-1].sums == tuple(map(sum, values))


@pytest.mark.parametrize(
    ("phase", "fields"),
    [(Phase.JOIN, {"seed": bytes(32)}), (Phase.COMMIT, {"output": bytes(32)})],
    ids=["seed", "output"],
)
def test_without_noise_whatever_is_posted_for_it_convicts(
    phase: Phase, fields: dict[str, bytes]
) -> None:
    world = make("exact", real=True)
    world.run(change={phase: {1: changed(**fields)}})
    out = [(1, phase.name.lower(), "invalid")]
    require(world, [(1, "04-S4")], out, [0, 2, 3, 4])
