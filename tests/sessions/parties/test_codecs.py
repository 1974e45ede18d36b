"""What stands in a journal and a memory, strictly and the same from both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.contract.framing import Posted
from gopa.contract.organiser import ABORT, RESULT, Abort, AbortReason, Released, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.party import Dated, Fetched, Finished, Part, Post, Supplied, TimedOut, Witnessed
from gopa.protocol.party.states import Committed, Done, Stopped
from gopa.sessions.parties import journal as records
from gopa.sessions.parties.journal import (
    EVENT,
    POSTED,
    RECORD,
    JournalRecord,
    Run,
    event_parts,
    posts_parts,
)
from gopa.sessions.parties.memory import (
    FAILURE,
    MEMORY,
    Left,
    PartyMemory,
    RestoreContext,
    memory_of,
    state_of,
)
from tests.pace import examples
from tests.sessions.parties.test_backup import Play
from tests.sessions.parties.test_durable import copies_with, party, played
from wire.codec import opaque, u8
from wire.errors import (
    FaultyBoard,
    FaultyParty,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
    Unattributed,
    UsageError,
)
from wire.secret import SecretBytes


def entries() -> tuple[Posted, ...]:
    return tuple(played().actor.access.board.entries)


def events() -> list[Any]:
    return [
        *played().process.told,
        Supplied(65_535, (0, 2**64 - 1)),
        Fetched(Phase.CONFIRM, ()),
        Fetched(Phase.JOIN, entries()[:40]),
        TimedOut(0),
        Witnessed(2**64 - 1, b"\xff" * 32),
        Dated(0),
        Dated(2**64 - 1),
    ]


def posts() -> tuple[Post, ...]:
    return (
        Post(Phase.JOIN, 1, (b"one", b"t" * 60_000)),
        Post(Phase.RECOVER, 65_535, ()),
        Post(Phase.ACCUSE, 2, tuple(bytes([i]) for i in range(200))),
    )


def test_events_come_back() -> None:
    kinds = set()
    for event in events():
        data = EVENT.encode(event)
        kinds.add(data[0])
        found = EVENT.decode(data)
        assert type(found) is type(event)
        assert EVENT.encode(found) == data
        if not isinstance(event, Supplied):
            assert found == event
    assert kinds == {1, 2, 3, 4, 5, 6, 7}


def test_parts_are_the_encoding() -> None:
    for event in events():
        assert b"".join(event_parts(event)) == EVENT.encode(event)
        for said in ((), posts()[:1], posts()):
            parts = (*event_parts(event), *posts_parts(said))
            assert b"".join(parts) == RECORD.encode(JournalRecord(event, said))
            assert RECORD.decode(b"".join(parts)).posts == said


def test_entries_are_encoded_once_and_never_for_another() -> None:
    one = entries()[3]
    same = replace(one)
    other = replace(one, index=one.index + 1)
    assert event_parts(one)[1] is event_parts(one)[1]
    assert event_parts(same)[1] == event_parts(one)[1]
    assert event_parts(other)[1] == POSTED.encode(other) != event_parts(one)[1]
    fetched = event_parts(Fetched(Phase.COMMIT, entries()[:5]))
    shared = zip(fetched[1:], entries()[:5], strict=True)
    assert all(part is event_parts(posted)[1] for part, posted in shared)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        Supplied(0, ()),
        Supplied(-1, (1,)),
        Supplied(0, (-1,)),
        Supplied(0, (True,)),
        Supplied(0, [1]),  # type: ignore[arg-type]
        TimedOut(65_536),
        Witnessed(0, b"short"),
        Dated(2**64),
        Fetched(Phase.JOIN, [1]),  # type: ignore[arg-type]
        "not an event",
    ],
    ids=["empty", "round", "negative", "bool", "list", "number", "root", "date", "entries", "type"],
)
def test_what_has_no_encoding_is_refused(wrong: Any) -> None:
    assert event_parts(TimedOut(1))
    with pytest.raises(UsageError):
        event_parts(wrong)


def test_decoding_is_strict() -> None:
    run = Run(opaque(1, 9), 2**16)
    data = run.encode((b"one", b"two"))
    assert run.decode(data) == (b"one", b"two")
    for wrong in (data[:-1], data + b"\0", b"", data[:2], b"\0\0\x01" + b"\5", b"\xff" * 3):
        with pytest.raises(MalformedMessage):
            run.decode(wrong)
    with pytest.raises(UsageError):
        Run(u8, 2).encode((1, 2, 3))
    with pytest.raises(UsageError):
        run.encode([b"one"])  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        run.encode((b"one", b""))


@settings(max_examples=examples(300))
@given(data=st.data())
def test_changed_records_decode_to_something_else_or_not(data: st.DataObject) -> None:
    record = played().vault.copies[data.draw(st.integers(5, 30))].journal()
    whole = record[-1] if record else played().vault.copies[20].journal()[-1]
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert RECORD.encode(RECORD.decode(whole)) == whole
    try:
        found = RECORD.decode(bytes(changed))
    except MalformedMessage:
        return
    assert RECORD.encode(found) == bytes(changed)


ERRORS: dict[str, ProtocolError] = {
    "malformed": MalformedMessage("bad", "a.b[3]", 17),
    "malformed nowhere": MalformedMessage("bad"),
    "proof": InvalidProof("bad", "04-K3", (0, 7, 2**32 - 1)),
    "signature": InvalidSignature("bad", "00-E8"),
    "party": FaultyParty("lied", b"\x01" * 32, b"\x02" * 64),
    "suspected": SuspectedPartyOrBoard("odd", b"\x03" * 32),
    "board": FaultyBoard("forked", b"evidence"),
    "nobody": Unattributed("wrong"),
    "umlaut": Unattributed("f\u00e4lsch"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_failures_come_back(name: str) -> None:
    error = ERRORS[name]
    found = FAILURE.decode(FAILURE.encode(error))
    assert type(found) is type(error)
    assert found.args == error.args


def test_failure_of_another_kind_keeps_its_text() -> None:
    class Special(ProtocolError):
        pass

    found = FAILURE.decode(FAILURE.encode(Special("what happened")))
    assert type(found) is Unattributed
    assert "what happened" in str(found)
    long = FAILURE.decode(FAILURE.encode(Unattributed("x" * 10**6)))
    assert len(str(long)) > 10_000


def test_failure_that_says_too_much_is_refused() -> None:
    data = FAILURE.encode(FaultyParty("lied", b"\x01" * 32, b""))
    assert FAILURE.decode(data).args
    for wrong in (
        b"\x07" + data[1:],
        data.replace(b"lied", b"\xff\xfe\xfd\xfc"),
        b"\x09" + data[1:],
    ):
        with pytest.raises(MalformedMessage):
            FAILURE.decode(wrong)


def memories() -> list[PartyMemory]:
    found = {each.memory() or b"" for each in played().vault.copies}
    waiting = [MEMORY.decode(each) for each in found]
    one = waiting[0]
    return [
        *waiting,
        replace(one, stage=Left(b"\x01" * 32, 1, 2, Part.LOST), chain=replace(one.chain, round=9)),
        replace(one, stage=Stopped(ERRORS["party"])),
        replace(one, stage=Done()),
        replace(one, spoken=(3, 9), chain=replace(one.chain, pending=entries()[:3])),
    ]


def session() -> RestoreContext:
    access = played().actor.access
    return RestoreContext(access.manifest, access.session, access.toolkit.group)


def test_memories_come_back() -> None:
    for memory in memories():
        data = MEMORY.encode(memory)
        assert MEMORY.encode(MEMORY.decode(data)) == data
        state = state_of(MEMORY.decode(data), session())
        again = memory_of(
            state,
            session().manifest.terms,
            author=memory.author,
            secret=SecretBytes(memory.secret),
            spoken=frozenset(memory.spoken),
            last=memory.last,
        )
        assert MEMORY.encode(again) == data


def test_last_round_is_kept_with_its_result() -> None:
    last = [each.last for each in memories() if each.last is not None]
    assert {each.round for each in last} == {1, 2, 3}
    assert all(isinstance(each, Finished) for each in last)
    assert all(isinstance(each.outcome, ResultMessage) for each in last)


def test_a_round_ends_with_a_result_or_an_abort() -> None:
    memory = next(each for each in memories() if each.last is not None)
    assert memory.last is not None
    outcome = memory.last.outcome
    assert isinstance(outcome, ResultMessage)
    data, result = MEMORY.encode(memory), RESULT.encode(outcome)
    assert data.endswith(b"\x01" + result + b"\x00")
    without = data[: -len(result) - 2]
    abort = ABORT.encode(
        Abort(outcome.acts_on, outcome.cut, AbortReason.ORGANISER, Released.NONE, ())
    )
    aborted = MEMORY.decode(without + b"\x00\x01" + abort)
    assert aborted.last is not None
    assert isinstance(aborted.last.outcome, Abort)
    for wrong in (without + b"\x00\x00", data[:-1] + b"\x01" + abort):
        with pytest.raises(MalformedMessage):
            MEMORY.decode(wrong)


def test_encodings_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten is encoded again, to the same bytes."""
    monkeypatch.setattr(records, "_KEPT_BYTES", 2_000)
    kept, most = records._Encodings(), 0
    for _ in range(2):
        for posted in entries():
            assert kept.of(posted) == POSTED.encode(posted)
            most = max(most, sum(len(data) for _, data in kept._kept.values()))
    assert 2_000 < most < 2_000 + 2 * max(len(POSTED.encode(each)) for each in entries())


@pytest.mark.parametrize(
    "change",
    [
        lambda memory: replace(memory, version=2),
        lambda memory: replace(memory, spoken=(2, 1)),
        lambda memory: replace(memory, spoken=(2, 2)),
    ],
    ids=["version", "disorder", "twice"],
)
def test_memory_that_cannot_be_is_refused(change: Callable[[PartyMemory], PartyMemory]) -> None:
    memory = memories()[0]
    with pytest.raises(UsageError):
        change(memory)


def test_state_that_cannot_be_is_refused() -> None:
    left = memories()[-4]
    assert state_of(left, session())
    with pytest.raises(MalformedMessage):
        state_of(replace(left, chain=replace(left.chain, round=0)), session())
    play = Play("honest")
    play.process.durable.step(Supplied(1, (4,)))
    play.run()
    given = MEMORY.decode(play.vault.memory() or b"")
    (kept,) = given.inputs
    full = RestoreContext(play.simulation.manifest, play.simulation.session, session().group)
    assert state_of(given, full).inputs[0].values == (4,)
    for wrong in (
        replace(kept, blinding=b""),
        replace(kept, commitment=b""),
        replace(kept, blinding=b"\xff" * 32),
    ):
        with pytest.raises(MalformedMessage):
            state_of(replace(given, inputs=(wrong,)), full)


def test_no_state_in_the_middle_of_a_round_is_written_down() -> None:
    found = party(copies_with(Committed)[0])
    with pytest.raises(UsageError):
        memory_of(
            found.state, found.manifest.terms, author=b"\0" * 32, secret=SecretBytes(b"\0" * 32)
        )
