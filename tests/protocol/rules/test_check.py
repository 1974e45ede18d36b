"""Whole logs: determinism, executors, several sessions, signatures, other views of the log."""

from __future__ import annotations

import io
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

import pytest

from bulletin_board import (
    ArchiveReader,
    LogReader,
    Sequencer,
    Submission,
    TrustPolicy,
    first_checkpoint,
    write_archive,
)
from bulletin_board.admission import Anyone
from bulletin_board.storage.memory import memory_storage
from bulletin_board.tree import EMPTY_ROOT, RightEdge
from gopa.contract.framing import MessageSlot, sign_message
from gopa.contract.organiser import CLOSE, Members
from gopa.contract.party import Publish
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.rules import Findings, check, check_log, read_session
from tests.contract.samples import LOG
from tests.protocol.rules.worlds import altered, baseline, make
from tests.protocol.scribe import CODECS, Change, ScribeParty, World, changed
from tests.randomness import seeded
from wire.errors import InvalidSignature, MalformedMessage


def shifted(publish: Publish) -> Publish:
    return replace(publish, value=bytes([publish.value[0] ^ 1]) + publish.value[1:])


def broken_world(*, real: bool = False) -> World:
    """One fault of each batched kind."""
    world = make(real=real, parties=7, k=6, survivors=3, loss=4)
    changes: dict[Phase, dict[int, Change]] = {
        Phase.JOIN: {0: changed(possession=bytes(64))},
        Phase.COMMIT: {1: lambda c: replace(c, proof=c.proof[:-1] + b"\x00")},
        Phase.PUBLISH: {2: shifted, 3: shifted},
    }
    world.run(change=changes)
    return world


@pytest.fixture(scope="module")
def broken() -> World:
    return broken_world(real=True)


def test_findings_do_not_depend_on_randomness(broken: World) -> None:
    found = [broken.check(rng=seeded(f"weights {number}")) for number in range(4)]
    assert {fault.rule for fault in found[0].faults} == {"04-J3", "04-K3", "04-P1"}
    assert all(each == found[0] for each in found)
    assert all(each.to_json() == found[0].to_json() for each in found)


@pytest.mark.parametrize(
    "pool",
    [lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2)],
    ids=["threads", "processes"],
)
def test_findings_do_not_depend_on_the_executor(broken: World, pool: type[Executor]) -> None:
    with pool() as executor:
        assert broken.check(executor=executor) == broken.check()


def board_of(world: World) -> LogReader:
    """A real log with the entries of a session."""
    storage = memory_storage(first_checkpoint(LOG))
    sequencer = Sequencer(storage, LOG, lambda: Anyone(10_000))
    sequencer.append([Submission.decode(raw) for raw in world.raws])
    return LogReader(storage.public, sequencer.signed)


def test_sessions_share_a_log() -> None:
    """Cuts are indexes of the log, so a session is made where it stands."""
    worlds = [make(name="one"), make("test coins", name="two")]
    worlds[0].control()
    worlds[0].phase()
    worlds[1].run()
    log = [*worlds[0].raws, *worlds[1].raws[:3]]
    found = check_log(log, worlds[0].toolkit, rng=seeded("two sessions"))
    assert found.session == worlds[0].session
    assert found.faults == ()
    other = check_log(log, worlds[0].toolkit, rng=seeded("two sessions"), session=worlds[1].session)
    assert other.session == worlds[1].session
    assert other.manifest == worlds[1].manifest
    nobody = check_log(log, worlds[0].toolkit, rng=seeded("none"), session=bytes(32))
    assert (nobody.session, nobody.manifest, nobody.complete) == (bytes(32), None, False)


def test_logs_and_archives_are_read_as_streams() -> None:
    world = make()
    world.run()
    reader = board_of(world)
    expected = world.check()
    assert check_log(reader.entries(), world.toolkit, rng=seeded("log")) == expected
    out = io.BytesIO()
    write_archive(reader, out)
    archive = ArchiveReader(io.BytesIO(out.getvalue()), TrustPolicy.single_log(LOG.verifier))
    assert check_log(archive.entries(), world.toolkit, rng=seeded("archive")) == expected


def test_bad_signatures_are_named() -> None:
    world = make()
    world.run()
    raws = list(world.raws)
    assert len(list(read_session(raws))) == len(raws)
    for at in (3, 20):
        raws[at] = raws[at][:-1] + bytes([raws[at][-1] ^ 1])
    with pytest.raises(InvalidSignature) as caught:
        list(read_session(raws))
    assert caught.value.culprits == (3, 20)
    raws = [*world.raws, b"no entry"]
    with pytest.raises(MalformedMessage) as malformed:
        list(read_session(raws))
    assert malformed.value.field == f"entry {len(world.raws)}"


def test_the_manifest_is_the_expected_one() -> None:
    world = make()
    world.run()
    digest = sha256(world.manifest.to_bytes()).digest()
    assert world.check(manifest_hash=digest) == world.check()
    found = world.check(manifest_hash=bytes(32))
    assert [(fault.rule, fault.proved) for fault in found.faults] == [("04-S1", False)]
    assert not found.complete


# What authors have seen of the log


def say_seen(  # noqa: PLR0917 - a message with its place
    world: World,
    party: ScribeParty,
    body: bytes,
    size: int,
    root: bytes,
    phase: Phase = Phase.PUBLISH,
    seq: int = 0,
) -> None:
    """The party posts this and says that it has seen this root."""
    place = MessageSlot(
        session=world.session,
        phase=phase,
        kind=KIND_IN[phase],
        round=world.view.number,
        seq=seq,
        previous=world._previous[party.author],
        seen_size=size,
        seen_root=root,
    )
    signed = sign_message(body, place, party.key)
    world._previous[party.author] = signed.leaf
    for raw in signed.entries:
        world.append(raw)


def root_at(world: World, size: int) -> bytes:
    edge = RightEdge()
    edge.extend(posted.leaf for posted in world.log[:size])
    return edge.root()


def publish_seen(size: int | None, root: bytes | None, change: Change) -> tuple[World, Findings]:
    """Party 2 publishes and says what it has seen."""
    world = make()
    world.run(until=Phase.PUBLISH)
    world.phase(skip=[2])
    message = change(world.parties[2].publish(world.view))
    seen = len(world.log) if size is None else size
    shown = root_at(world, seen) if root is None else root
    body = CODECS[Phase.PUBLISH].encode(message)
    say_seen(world, world.parties[2], body, seen, shown)
    world.control()
    world.run()
    return world, world.check()


def test_a_true_view_of_the_log() -> None:
    _, found = publish_seen(None, None, lambda each: each)
    assert found.notes == ()
    _, found = publish_seen(None, None, shifted)
    assert [(fault.rule, fault.proved) for fault in found.faults] == [("04-P1", True)]


@pytest.mark.parametrize("size", [None, 10**6], ids=["another root", "a larger log"])
def test_who_was_shown_another_log_is_not_convicted_by_this_one(size: int | None) -> None:
    """Its neighbours may have committed to other bytes there."""
    _, found = publish_seen(size, bytes(32), lambda each: each)
    assert [note.rule for note in found.notes] == ["04-E6"]
    assert found.faults == ()
    world, found = publish_seen(size, bytes(32), shifted)
    assert [(fault.rule, fault.proved) for fault in found.faults] == [("04-P1", False)]
    assert found.rounds[0].sums == world.expected_sums([0, 1, 3, 4])


@pytest.mark.parametrize("shown_another", [False, True])
def test_the_order_of_openings_convicts_in_the_log_that_was_seen(shown_another: bool) -> None:
    """A board with two histories can put an honest opening behind the confirmation in one."""
    world = make()
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)
    opening = world.at(0).opening(world.view)
    world.phase(change={0: lambda _: opening})
    world.control()
    world.phase()
    body, party, size = CODECS[Phase.ROLLBACK].encode(opening), world.at(0), len(world.log)
    root = bytes(32) if shown_another else root_at(world, size)
    say_seen(world, party, body, size, root, Phase.ROLLBACK, seq=1)
    world.run()
    found = world.check()
    assert [(fault.rule, fault.proved) for fault in found.faults] == [("04-F3", not shown_another)]


def test_equivocation_convicts_whatever_was_seen() -> None:
    world, _ = publish_seen(None, bytes(32), shifted)
    world.post(world.parties[2].key, Phase.PUBLISH, bytes(40), seq=0)
    found = world.check()
    assert {(fault.rule, fault.proved) for fault in found.faults} == {
        ("04-E3", True),
        ("04-P1", False),
    }


def test_an_organiser_that_was_shown_another_log_is_not_convicted() -> None:
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    body = altered(CLOSE, due, content=Members(b"\x0f", final=False))
    place = MessageSlot(
        session=world.session,
        phase=Phase.ORGANISER,
        kind=Kind.CLOSE,
        round=1,
        seq=due.seq,
        previous=due.previous,
        seen_size=len(world.log),
        seen_root=EMPTY_ROOT,
    )
    world.append(sign_message(body, place, world.organiser).entries[0])
    found = world.check()
    assert [(fault.rule, fault.proved) for fault in found.faults] == [("04-C3", False)]


def test_views_are_compared_only_with_a_whole_log() -> None:
    world, _ = publish_seen(None, bytes(32), lambda each: each)
    gap = [replace(each, index=each.index + 5) for each in world.log]
    found = check(gap, world.toolkit, rng=seeded("gap"))
    assert "04-E6" not in {note.rule for note in found.notes}
