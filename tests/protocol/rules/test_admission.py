"""What a board takes: every honest entry, and nothing that cannot count."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bulletin_board import (
    Accepted,
    Entry,
    RefusalReason,
    Refused,
    Sequencer,
    Submission,
    first_checkpoint,
)
from bulletin_board.admission import AdmissionPolicy
from bulletin_board.entry import LARGEST_BODY, sign_entry
from bulletin_board.storage.memory import memory_storage
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.limits import largest_body
from gopa.contract.manifest import CommitReveal, OpenAdmission, Roster, session_id
from gopa.contract.organiser import (
    ABORT,
    CLOSE,
    OPEN,
    Abort,
    AbortReason,
    Close,
    Members,
    Open,
    Released,
)
from gopa.contract.party import About
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.admission import places as admission_places
from gopa.protocol.admission.places import OpenSessions
from gopa.protocol.admission.policy import LARGEST_MANIFEST, Limits, ProtocolAdmission
from gopa.protocol.admission.view import Sessions
from gopa.protocol.simulation import Script
from tests.board.tools import new_board
from tests.board.tools import signer as log_signer
from tests.contract.samples import LOG, POLICY, manifest, signing_key
from tests.protocol.rules.worlds import KINDS, altered, make, small_terms
from tests.protocol.scribe import World
from tests.protocol.simulation.row_worlds import ROWS, simulate_rows, vectors_for
from wire.ed25519 import SigningKey


def admit_all(policy: AdmissionPolicy, raws: list[bytes]) -> None:
    for index, raw in enumerate(raws):
        entry = Submission.decode(raw).entry
        policy.admit(entry)
        policy.observe(index, entry)


def test_a_board_takes_everything_of_a_session_of_rows() -> None:
    simulation = simulate_rows(ROWS, Script().drop(2, before=Phase.PROVE))
    record = simulation.run_round(vectors_for(ROWS))
    assert record.sums is not None
    policy, raws = ProtocolAdmission(), list(simulation.log().entries())
    phases = []
    for index, raw in enumerate(raws):
        entry = Submission.decode(raw).entry
        policy.admit(entry)
        policy.observe(index, entry)
        phases.append(entry.phase)
    assert phases.count(Phase.PROVE) == 2 * (ROWS.parties - 1)
    last = max(index for index, phase in enumerate(phases) if phase == Phase.PROVE)
    early = ProtocolAdmission()
    first = phases.index(Phase.PUBLISH)
    admit_all(early, raws[: first + 1])
    with pytest.raises(Refused):
        early.admit(Submission.decode(raws[last]).entry)


def retried() -> World:
    world = make()
    world.run(skip={Phase.PUBLISH: [1], Phase.ROLLBACK: [2]}, until=Phase.ROLLBACK)
    world.phase(skip=[2])
    world.control()
    world.run(skip={Phase.UNMASK: [3]})
    world.run()
    return world


def accused() -> World:
    world = make("recovery")
    world.run(until=Phase.PUBLISH)
    world.phase()
    for about in About:
        accusation = world.at(3).accusation(world.view, 1, about)
        world.say(world.at(3), Phase.ACCUSE, accusation)
    world.run()
    return world


def recovered() -> World:
    world = make("recovery")
    world.run(skip={Phase.UNMASK: [3]})
    return world


def long() -> World:
    """Values of two chunks."""
    world = make("signed", dimension=16_000, steps=1, squared_sensitivity=12)
    world.run()
    return world


def ran(kind: str) -> Callable[[], World]:
    def run() -> World:
        world = make(kind, rounds=2)
        world.run()
        world.run()
        return world

    return run


LOGS: dict[str, Callable[[], World]] = {
    **{kind: ran(kind) for kind in KINDS},
    "retried": retried,
    "accused": accused,
    "recovered": recovered,
    "chunks": long,
}


@pytest.mark.thirds
@pytest.mark.parametrize("made", LOGS.values(), ids=LOGS)
def test_honest_logs_are_taken_by_a_real_board(made: Callable[[], World]) -> None:
    world = made()
    sessions = Sessions()
    sequencer = Sequencer(memory_storage(first_checkpoint(LOG)), LOG, sessions.policy)
    for raw in world.raws:
        outcome = sequencer.append([Submission.decode(raw)])[0]
        assert isinstance(outcome, Accepted)
        assert not outcome.barrier
    sequencer.close()


def test_a_reopened_log_goes_on_where_it_stood() -> None:
    world = make(rounds=2)
    world.run()
    for at in range(len(world.raws)):
        policy = ProtocolAdmission()
        for index, raw in enumerate(world.raws[:at]):
            policy.observe(index, Submission.decode(raw).entry)
        admit = Submission.decode(world.raws[at]).entry
        policy.admit(admit)


def standing(until: Phase, **options: Any) -> tuple[World, ProtocolAdmission]:
    """A session whose phase has just opened."""
    world = make(**options)
    world.run(until=until)
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    return world, policy


def attempt(  # noqa: PLR0917 - a place in the log
    policy: ProtocolAdmission,
    world: World,
    key: SigningKey,
    phase: int,
    body: bytes,
    kind: int | None = None,
    number: int = 1,
    seq: int = 0,
) -> RefusalReason | None:
    """Why the first entry of a message is refused; None if it is not."""
    place = MessageSlot(
        session=world.session,
        phase=phase,  # type: ignore[arg-type]
        kind=KIND_IN.get(phase, Kind.OPEN) if kind is None else kind,  # type: ignore[arg-type, call-overload]
        round=number,
        seq=seq,
        previous=NO_LEAF,
    )
    entry = Submission.decode(sign_message(body, place, key).entries[0]).entry
    try:
        policy.admit(entry)
    except Refused as refusal:
        return refusal.reason
    return None


def test_only_the_open_phase_takes_messages() -> None:
    world, policy = standing(Phase.COMMIT)
    key, body = world.parties[1].key, world.view.acts_on
    assert attempt(policy, world, key, Phase.COMMIT, body) is None
    for phase in set(KIND_IN) - {Phase.COMMIT}:
        assert attempt(policy, world, key, phase, body) is RefusalReason.PHASE
    assert attempt(policy, world, key, Phase.COMMIT, body, number=2) is RefusalReason.PHASE
    assert attempt(policy, world, key, Phase.COMMIT, body, Kind.JOIN) is RefusalReason.MALFORMED
    assert attempt(policy, world, key, 77, body) is RefusalReason.MALFORMED
    assert attempt(policy, world, key, Phase.ORGANISER, body) is RefusalReason.MALFORMED


def test_accusations_are_heard_while_values_are_published() -> None:
    world, policy = standing(Phase.PUBLISH)
    key, body = world.parties[1].key, world.view.acts_on
    assert attempt(policy, world, key, Phase.ACCUSE, body) is None
    assert attempt(policy, world, key, Phase.PUBLISH, body) is None
    assert attempt(policy, world, key, Phase.ROLLBACK, body) is RefusalReason.PHASE


def test_only_parties_of_the_last_list_go_on() -> None:
    world = make()
    world.run(skip={Phase.COMMIT: [4]}, until=Phase.PUBLISH)
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    body = world.view.acts_on
    assert attempt(policy, world, world.parties[1].key, Phase.PUBLISH, body) is None
    assert (
        attempt(policy, world, world.parties[4].key, Phase.PUBLISH, body)
        is RefusalReason.UNREGISTERED
    )
    stranger = signing_key("stranger")
    assert attempt(policy, world, stranger, Phase.PUBLISH, body) is RefusalReason.UNREGISTERED
    organiser = attempt(policy, world, world.organiser, Phase.PUBLISH, body)
    assert organiser is RefusalReason.UNREGISTERED


def test_one_message_in_a_phase() -> None:
    world, policy = standing(Phase.CONFIRM)
    party, body = world.parties[1], world.view.acts_on
    posted = world.post(party.key, Phase.CONFIRM, body)
    policy.admit(posted.entry)
    policy.observe(posted.index, posted.entry)
    assert attempt(policy, world, party.key, Phase.CONFIRM, body, seq=1) is RefusalReason.SEQUENCE
    assert (
        attempt(policy, world, world.parties[2].key, Phase.CONFIRM, body, seq=1)
        is RefusalReason.SEQUENCE
    )
    assert attempt(policy, world, world.parties[2].key, Phase.CONFIRM, body) is None


def test_one_opening_for_each_rollback() -> None:
    world = make()
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    at = len(world.raws)
    world.phase(skip=[4])
    for posted in world.log[at:]:
        policy.admit(posted.entry)
        policy.observe(posted.index, posted.entry)
    party = world.parties[0]
    body = world.view.acts_on + bytes(100)
    assert attempt(policy, world, party.key, Phase.ROLLBACK, body, seq=1) is RefusalReason.SEQUENCE
    world.control()
    policy.observe(world.log[-1].index, world.log[-1].entry)
    assert attempt(policy, world, party.key, Phase.ROLLBACK, body, seq=1) is None
    assert (
        attempt(policy, world, world.parties[4].key, Phase.ROLLBACK, body)
        is RefusalReason.UNREGISTERED
    )


def test_accusations_are_counted() -> None:
    world, policy = standing(Phase.PUBLISH)
    key, body = world.parties[1].key, world.view.acts_on
    for number in range(8):
        assert attempt(policy, world, key, Phase.ACCUSE, body, seq=number) is None
        posted = world.post(key, Phase.ACCUSE, body)
        policy.observe(posted.index, posted.entry)
    assert attempt(policy, world, key, Phase.ACCUSE, body, seq=8) is RefusalReason.SEQUENCE


def test_evidence_changes_nothing() -> None:
    """The board shows a second entry for a slot to the policy: the first one stands."""
    world, policy = standing(Phase.CONFIRM)
    party = world.parties[1]
    first = world.post(party.key, Phase.CONFIRM, world.view.acts_on)
    policy.observe(first.index, first.entry)
    second = world.post(party.key, Phase.CONFIRM, bytes(32), seq=0)
    policy.observe(second.index, second.entry)
    assert (
        attempt(policy, world, party.key, Phase.CONFIRM, bytes(32), seq=1) is RefusalReason.SEQUENCE
    )


@pytest.mark.parametrize(
    "phase",
    [p for p in KIND_IN if p not in {Phase.ACCUSE, Phase.ROLLBACK, Phase.RECOVER, Phase.PROVE}],
)
def test_no_message_is_larger_than_the_manifest_allows(phase: Phase) -> None:
    world, policy = standing(phase)
    key = world.parties[1].key
    assert attempt(policy, world, key, phase, bytes(32)) is None
    for size in (20_000, 2 * LARGEST_BODY):
        body = b"\xff" * size  # no head, which would have an entry of its own
        assert attempt(policy, world, key, phase, body) is RefusalReason.TOO_LARGE


def test_what_follows_a_head_is_no_larger_than_the_manifest_allows() -> None:
    world, policy = standing(Phase.COMMIT)
    largest = largest_body(world.manifest, Phase.COMMIT)
    place = MessageSlot(world.session, Phase.COMMIT, Kind.COMMIT, 1, 0, NO_LEAF)
    raws = sign_message(bytes(largest + LARGEST_BODY), place, world.parties[1].key).entries
    head, tail, *_ = [Submission.decode(raw).entry for raw in raws]
    head, tail = (replace(each, chunks=2) for each in (head, tail))
    policy.admit(head)
    policy.observe(len(world.log), head)
    policy.admit(replace(tail, body=tail.body[: largest - len(head.body)]))
    with pytest.raises(Refused) as caught:
        policy.admit(replace(tail, body=tail.body[: largest - len(head.body) + 1]))
    assert caught.value.reason is RefusalReason.TOO_LARGE


def test_chunks_continue_each_other() -> None:
    world, policy = standing(
        Phase.PUBLISH, kind="signed", dimension=16_000, steps=1, squared_sensitivity=12
    )
    key = world.parties[1].key
    place = MessageSlot(world.session, Phase.PUBLISH, Kind.PUBLISH, 1, 0, NO_LEAF)
    raws = sign_message(bytes(64_030), place, key).entries
    entries = [Submission.decode(raw).entry for raw in raws]
    assert len(entries) == 2

    def reason(entry: Any) -> RefusalReason | None:
        try:
            policy.admit(entry)
        except Refused as refusal:
            return refusal.reason
        return None

    assert reason(entries[1]) is RefusalReason.SEQUENCE
    assert reason(replace(entries[0], body=b"short")) is RefusalReason.MALFORMED
    assert reason(entries[0]) is None
    policy.observe(len(world.log), entries[0])
    assert reason(replace(entries[1], chunks=3)) is RefusalReason.SEQUENCE
    assert reason(replace(entries[1], seq=0)) is RefusalReason.SEQUENCE
    assert reason(entries[1]) is None


# The organiser


def test_the_organiser_keeps_its_order() -> None:
    world, policy = standing(Phase.COMMIT)
    world.phase()
    for posted in world.log[-5:]:
        policy.observe(posted.index, posted.entry)
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    key = world.organiser

    def control(
        body: bytes, kind: Kind, seq: int = due.seq, number: int = 1
    ) -> RefusalReason | None:
        return attempt(policy, world, key, Phase.ORGANISER, body, kind, number, seq)

    assert control(due.body, Kind.CLOSE) is None
    assert control(due.body, Kind.CLOSE, seq=due.seq + 1) is RefusalReason.SEQUENCE
    assert control(due.body, Kind.CLOSE, number=2) is RefusalReason.PHASE
    assert control(due.body, Kind.OPEN) is RefusalReason.MALFORMED
    assert control(due.body[:-1], Kind.CLOSE) is RefusalReason.MALFORMED
    assert control(bytes(34) + b"\x00\x00", Kind.OPEN) is RefusalReason.PHASE
    later = altered(CLOSE, due, cut=len(world.log) + 1)
    assert control(later, Kind.CLOSE) is RefusalReason.MALFORMED
    other = altered(CLOSE, due, phase=Phase.PUBLISH)
    assert control(other, Kind.CLOSE) is RefusalReason.PHASE


def test_a_round_begins_after_the_last_one() -> None:
    world = make(rounds=2)
    world.run()
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    key = world.organiser
    assert attempt(policy, world, key, Phase.ORGANISER, due.body, Kind.OPEN, 2) is None
    assert (
        attempt(policy, world, key, Phase.ORGANISER, due.body, Kind.OPEN, 3) is RefusalReason.PHASE
    )
    assert (
        attempt(policy, world, key, Phase.ORGANISER, due.body, Kind.OPEN, 1, 99)
        is RefusalReason.PHASE
    )


def test_closes_wait_for_witnesses_where_the_session_asks_for_them() -> None:
    with_quorum = World(
        manifest(small_terms(), beacon=CommitReveal(), policy=POLICY),
        make().toolkit,
        signing_key("organiser"),
        [],
    )
    for world, expected in ((with_quorum, True), (make(), False)):
        policy = ProtocolAdmission()
        admit_all(policy, world.raws)
        world.control()
        assert policy.is_barrier(world.log[-1].entry) is expected
        assert not policy.is_barrier(world.log[0].entry)


# Who may begin sessions


def first_of(world: World) -> Any:
    return world.log[0].entry


def refusal(policy: ProtocolAdmission, entry: Any) -> RefusalReason | None:
    try:
        policy.admit(entry)
    except Refused as refused:
        return refused.reason
    return None


def test_sessions_begin_with_their_manifest() -> None:
    world = make()
    world.control()
    policy = ProtocolAdmission()
    assert refusal(policy, world.log[1].entry) is RefusalReason.SESSION
    assert refusal(policy, first_of(world)) is None
    assert refusal(policy, replace(first_of(world), session=bytes(32))) is RefusalReason.MALFORMED
    other = make(rounds=2)
    swapped = replace(first_of(other), session=world.session)
    assert refusal(policy, swapped) is RefusalReason.MALFORMED
    assert refusal(policy, replace(first_of(world), kind=int(Kind.OPEN))) is RefusalReason.SESSION


def large() -> World:
    """A manifest of two chunks: its roster does not fit into one."""
    keys = sorted(
        hashlib.sha256(bytes([number % 256, number >> 8])).digest() for number in range(2100)
    )
    agreed = manifest(
        small_terms(parties=len(keys)), beacon=CommitReveal(), admission=Roster(tuple(keys))
    )
    return World(agreed, make().toolkit, signing_key("organiser"), [])


def test_a_manifest_of_several_entries_is_its_authors() -> None:
    """Nobody else can go on with it, nor can it be longer than any manifest is."""
    world = large()
    first, last = (posted.entry for posted in world.log)
    policy = ProtocolAdmission()
    longest = -(-LARGEST_MANIFEST // LARGEST_BODY)
    assert refusal(policy, last) is RefusalReason.SEQUENCE
    assert refusal(policy, replace(first, chunks=longest)) is None
    assert refusal(policy, replace(first, chunks=longest + 2)) is RefusalReason.TOO_LARGE
    assert refusal(policy, first) is None
    policy.observe(0, first)
    assert policy.sessions == {}
    somebody = signing_key("somebody").public
    assert refusal(policy, replace(last, author=somebody)) is RefusalReason.SESSION
    assert refusal(policy, first) is RefusalReason.SEQUENCE
    assert refusal(policy, last) is None
    policy.observe(1, last)
    assert policy.sessions.keys() == {world.session}


def test_a_manifest_names_its_author() -> None:
    """Else somebody could begin a session in the organiser's name, and close its phases."""
    entry = first_of(make())
    policy = ProtocolAdmission()
    assert refusal(policy, entry) is None
    strange = replace(entry, author=signing_key("somebody").public)
    assert refusal(policy, strange) is RefusalReason.MALFORMED
    policy.observe(0, strange)
    assert policy.sessions == {}


def test_what_an_older_policy_let_in_changes_nothing() -> None:
    """A log may hold entries that this policy refuses: they are not what a session stands on."""
    world, policy = standing(Phase.COMMIT)
    party, organiser = world.parties[1], world.organiser
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    body, session = world.view.acts_on, policy.sessions[world.session]
    controls = Phase.ORGANISER, due.body, due.kind
    before = deepcopy(session)
    refused: list[tuple[SigningKey, Phase, bytes, Kind, int, int, RefusalReason]] = [
        (organiser, *controls, 2, 0, RefusalReason.PHASE),
        (organiser, *controls, 1, due.seq + 1, RefusalReason.SEQUENCE),
        (organiser, *controls, 1, due.seq - 1, RefusalReason.SEQUENCE),
        (organiser, Phase.COMMIT, body, Kind.COMMIT, 1, 0, RefusalReason.UNREGISTERED),
        (party.key, Phase.COMMIT, body, Kind.COMMIT, 2, 0, RefusalReason.PHASE),
        (
            signing_key("stranger"),
            Phase.COMMIT,
            body,
            Kind.COMMIT,
            1,
            0,
            RefusalReason.UNREGISTERED,
        ),
    ]
    assert attempt(policy, world, organiser, *controls, 1, due.seq) is None
    for key, phase, said, kind, number, seq, reason in refused:
        assert attempt(policy, world, key, phase, said, kind, number, seq) is reason
        world.post(key, phase, said, kind, number, seq)
        policy.observe(world.log[-1].index, world.log[-1].entry)
        assert session == before
    assert attempt(policy, world, organiser, *controls, 1, due.seq) is None
    early = ProtocolAdmission()
    two = large()
    for posted in two.log[::-1]:  # the second half first: it begins nothing
        early.observe(1 - posted.index, posted.entry)
    assert early.sessions == {}
    early.observe(2, two.log[1].entry)
    assert early.sessions.keys() == {two.session}


@pytest.mark.parametrize("kind", [Kind.CLOSE, Kind.RESULT, Kind.ABORT, Kind.JOIN])
def test_a_session_goes_no_further_than_it_can_be_read(kind: Kind) -> None:
    """The organiser of a log from before this policy may have said anything."""
    world, policy = standing(Phase.COMMIT)
    world.phase()
    session = policy.sessions[world.session]
    seq = len([each for each in world.log if each.entry.phase == Phase.ORGANISER]) - 1
    place = MessageSlot(world.session, Phase.ORGANISER, kind, 1, seq, NO_LEAF)
    (raw,) = sign_message(world.view.acts_on, place, world.organiser).entries
    entry = Submission.decode(raw).entry
    assert refusal(policy, entry) is RefusalReason.MALFORMED
    broken = [session.broken]
    policy.observe(len(world.log), entry)
    assert [*broken, session.broken] == [False, True]
    assert attempt(
        policy, world, world.organiser, Phase.ORGANISER, b"", Kind.CLOSE, 1, seq + 1
    ) is (RefusalReason.PHASE)
    assert attempt(policy, world, world.parties[1].key, Phase.COMMIT, bytes(32)) is None


@pytest.mark.parametrize("kind", [Kind.CLOSE, Kind.ABORT])
def test_a_round_that_did_not_open_has_no_end(kind: Kind) -> None:
    world = make()
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    key = world.parties[1].key
    assert attempt(policy, world, key, Phase.JOIN, bytes(32)) is RefusalReason.PHASE
    bodies = {
        Kind.CLOSE: CLOSE.encode(
            Close(world.log[0].leaf, 1, bytes(32), Phase.COMMIT, b"", Members(b"\x1f", final=False))
        ),
        Kind.ABORT: ABORT.encode(
            Abort(world.log[0].leaf, 1, AbortReason.ORGANISER, Released.NONE, ())
        ),
    }
    body = bodies[kind]
    assert (
        attempt(policy, world, world.organiser, Phase.ORGANISER, body, kind) is RefusalReason.PHASE
    )
    posted = world.post(world.organiser, Phase.ORGANISER, body, kind, 1)
    policy.observe(posted.index, posted.entry)
    assert policy.sessions[world.session].round is None
    policy.observe(2, world.post(key, Phase.JOIN, bytes(32), number=1).entry)
    assert policy.sessions[world.session].round is None


def test_who_did_not_join_says_nothing_in_the_round() -> None:
    world = make()
    world.run(skip={Phase.JOIN: [4]}, until=Phase.COINS)
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    body = world.view.acts_on
    assert attempt(policy, world, world.parties[1].key, Phase.COINS, body) is None
    assert (
        attempt(policy, world, world.parties[4].key, Phase.COINS, body)
        is RefusalReason.UNREGISTERED
    )


def test_operators_limit_who_begins_sessions() -> None:
    world = make()
    entry = first_of(world)
    own = world.organiser.public.data
    assert refusal(ProtocolAdmission(Limits.of(organisers=[own])), entry) is None
    assert refusal(ProtocolAdmission(Limits.of(organisers=[])), entry) is RefusalReason.SESSION
    assert refusal(ProtocolAdmission(Limits.of(sessions=[world.session])), entry) is None
    assert refusal(ProtocolAdmission(Limits.of(sessions=[])), entry) is RefusalReason.SESSION


def test_open_sessions_are_limited_and_not_those_that_are_over() -> None:
    """Else a board would close for ever once there had been so many."""
    world, other = make(), first_of(make(rounds=2))
    world.run()
    policy = ProtocolAdmission(Limits.of(most_sessions=1))
    entries = [Submission.decode(raw).entry for raw in world.raws]
    for index, entry in enumerate(entries):
        assert refusal(policy, other) is (RefusalReason.FULL if index > 1 else None)
        policy.admit(entry)
        policy.observe(index, entry)
    assert policy.sessions[world.session].over
    assert refusal(policy, other) is None
    again = Open(world.log[-1].leaf, 1, 0)
    assert refusal(policy, control(world, OPEN.encode(again), Kind.OPEN, 2)) is RefusalReason.PHASE


def control(world: World, body: bytes, kind: Kind, number: int) -> Entry:
    """The organiser's first entry in a round."""
    organiser = world.organiser
    place = MessageSlot(world.session, Phase.ORGANISER, kind, number, 0, NO_LEAF, 0, bytes(32))
    (raw,) = sign_message(body, place, organiser).entries
    return Submission.decode(raw).entry


def beginnings(count: int) -> list[Entry]:
    """First entries of manifests that strangers never go on with."""
    entry = first_of(large())
    return [
        replace(entry, session=number.to_bytes(32), author=signing_key(f"squatter {number}").public)
        for number in range(count)
    ]


def test_manifests_that_stand_still_give_way() -> None:
    """Whoever begins many and goes on with none keeps nobody out, and whoever goes on stays."""
    first, last = (posted.entry for posted in large().log)
    squatters = beginnings(200)
    policy = ProtocolAdmission(Limits.of(most_pending=20))
    index = 0
    for each in [*squatters[:100], first, *squatters[100:119]]:
        policy.admit(each)
        policy.observe(index, each)
        index += 1
    assert refusal(policy, last) is None
    for each in squatters[119:]:
        policy.admit(each)
        policy.observe(index, each)
        index += 1
    assert refusal(policy, last) is RefusalReason.SEQUENCE
    assert len(policy._pending.known) == 20


def test_the_memory_of_manifests_on_their_way_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_places, "MOST_PENDING_BYTES", 3 * LARGEST_BODY)
    first, last = (posted.entry for posted in large().log)
    policy = ProtocolAdmission()
    for index, each in enumerate([*beginnings(9), first]):
        policy.admit(each)
        policy.observe(index, each)
    assert len(policy._pending.known) == 3
    policy.admit(last)
    policy.observe(10, last)
    assert policy.sessions.keys() == {first.session}
    assert policy._pending._bytes == 2 * LARGEST_BODY


def test_a_restart_with_organisers_frees_a_board_that_strangers_filled() -> None:
    """The log is replayed under the limits of today: what strangers began counts no more."""
    stranger, world = make(), make(rounds=2)
    stranger.control()
    squatters = beginnings(30)
    entries = [*(posted.entry for posted in stranger.log), *squatters]

    def replayed(limits: Limits) -> ProtocolAdmission:
        policy = ProtocolAdmission(limits)
        for index, entry in enumerate(entries):
            policy.observe(index, entry)
        return policy

    open_to_all = replayed(Limits.of(most_sessions=1))
    assert refusal(open_to_all, first_of(world)) is RefusalReason.FULL
    own = [signing_key("another organiser").public.data]
    closed = replayed(Limits.of(own, most_sessions=1))
    assert closed.sessions == {}
    assert not closed._pending.known
    assert refusal(closed, first_of(world)) is RefusalReason.SESSION
    own.append(world.organiser.public.data)
    assert replayed(Limits.of(own)).sessions.keys() == {stranger.session}
    registered = replayed(Limits.of(sessions=[world.session]))
    assert registered.sessions == {}
    assert refusal(registered, first_of(world)) is None


def whole(count: int) -> list[Entry]:
    """Small manifests with nothing wrong, of organisers whom nobody knows."""
    entry, agreed = first_of(make()), make().manifest
    found = []
    for number in range(count):
        key = signing_key(f"whole {number}").public
        body = replace(agreed, organiser=key.data, salt=number.to_bytes(32)).to_bytes()
        found.append(replace(entry, session=session_id(body), author=key, body=body))
    return found


def taken(policy: ProtocolAdmission, *entries: Entry) -> None:
    """All of them enter the log."""
    for entry in entries:
        policy.admit(entry)
        policy.observe(policy._size, entry)


def test_sessions_without_a_round_give_way() -> None:
    """However many whole manifests strangers bring, a newcomer begins a session and goes on."""
    world = make()
    world.run()
    crowd = whole(100)
    policy = ProtocolAdmission(Limits.of(most_sessions=10))
    taken(policy, *crowd[:40])
    manifest_, opening, *others = (posted.entry for posted in world.log)
    taken(policy, manifest_, *crowd[40:44], opening, *crowd[44:], *others)
    assert policy.sessions[world.session].over
    assert len(policy._open.waiting) == 9
    assert len(policy.sessions) == 10


def test_a_crowd_puts_out_nobody_who_came_before_it() -> None:
    """Of those without a round the older half stays, and the oldest of the younger gives way."""
    world, late = make(), make(rounds=2)
    for each in (world, late):
        each.control()
    crowd = whole(200)
    policy = ProtocolAdmission(Limits.of(most_sessions=10))
    taken(policy, *crowd[:4], first_of(world), *crowd[4:100], first_of(late), *crowd[100:104])
    openings = [world.log[1].entry, late.log[1].entry]
    assert [refusal(policy, each) for each in openings] == [None, None]
    taken(policy, *crowd[104:])
    assert [refusal(policy, each) for each in openings] == [None, RefusalReason.SESSION]
    assert late.session not in policy.sessions
    taken(policy, openings[0])
    assert policy._open.going_on == {world.session}


@pytest.mark.parametrize("places", [1, 2, 3, 9, 10])
def test_who_waits_early_enough_stays_however_many_manifests_come(places: int) -> None:
    """With p before it and g rounds: exactly while g <= places - 2(p + 1)."""
    for going_on in range(places):
        for before in range(places - going_on):
            found = OpenSessions(places)
            for number in range(places):
                found.begin(bytes([number]))
            for number in range(places - going_on, places):  # a crowd behind it opens rounds
                found.go_on(bytes([number]))
            honest = bytes([before])
            assert honest in found.waiting
            for number in range(2 * places):
                found.begin(bytes([1, number]))
            assert (honest in found.waiting) == (going_on <= places - 2 * (before + 1))
            assert bytes([1, number]) in found.waiting


def test_a_board_is_full_when_rounds_go_on_in_all_sessions() -> None:
    worlds = [make(), make(rounds=2)]
    policy = ProtocolAdmission(Limits.of(most_sessions=2))
    newcomer = whole(1)[0]
    for world in worlds:
        world.control()
        assert refusal(policy, newcomer) is None
        taken(policy, *(posted.entry for posted in world.log))
    assert refusal(policy, newcomer) is RefusalReason.FULL


@pytest.mark.parametrize("made", [make, large])
def test_two_entries_in_one_slot_bring_back_nothing(made: Callable[[], World]) -> None:
    """Of what gave way nothing is known, and evidence in its first slot looks like a beginning."""
    first, *rest = (posted.entry for posted in made().log)
    crowd = beginnings(1) if rest else whole(1)
    once = Limits.of(most_sessions=1, most_pending=1)
    policy, fresh = ProtocolAdmission(once), ProtocolAdmission(once)
    taken(policy, first, *crowd)
    again = replace(first, seen_root=bytes([1]) * 32)
    before = deepcopy((policy.sessions, policy._pending.known))
    policy.observe(2, again, evidence=True)
    assert (policy.sessions, policy._pending.known) == before
    fresh.observe(0, again)
    assert first.session in {*fresh.sessions, *fresh._pending.known}


@pytest.mark.parametrize("snapshots", [True, False])
def test_what_gave_way_on_a_board_does_not_come_back(snapshots: bool, tmp_path: Path) -> None:
    """Neither by a second entry in its slot, nor when the board starts again."""
    place = new_board(tmp_path / "log")

    def opened() -> tuple[Sequencer, ProtocolAdmission]:
        policy = ProtocolAdmission(Limits.of(most_sessions=1))
        return Sequencer(place.storage(), log_signer(), lambda: policy), policy

    mine, theirs = signing_key("whole 0"), signing_key("whole 1")
    entry, newer = whole(2)
    log, _ = opened()
    second = sign_entry(replace(entry, seen_root=bytes([1]) * 32), mine)
    posts = [sign_entry(entry, mine), sign_entry(newer, theirs), second]
    answers = log.append([Submission.decode(each) for each in posts])
    assert [isinstance(each, Accepted) for each in answers] == [True, True, False]
    assert log.signed.size == 3
    log.close()
    if not snapshots:
        (place.root / "state" / "snapshot").unlink()
    log, policy = opened()
    assert policy.sessions.keys() == {newer.session}
    log.close()


def test_open_admission_is_bounded() -> None:
    agreed = manifest(small_terms(), beacon=CommitReveal(), admission=OpenAdmission(4))
    keys = [signing_key(f"somebody {number}") for number in range(9)]
    world = World(agreed, make().toolkit, signing_key("organiser"), keys)
    world.control()
    policy = ProtocolAdmission()
    admit_all(policy, world.raws)
    for number in range(8):
        party = world.parties[number]
        posted = world.say(party, Phase.JOIN, party.join(world.view))
        assert refusal(policy, posted.entry) is None
        policy.observe(posted.index, posted.entry)
    last = world.parties[8]
    assert (
        refusal(policy, world.say(last, Phase.JOIN, last.join(world.view)).entry)
        is RefusalReason.FULL
    )
