"""Messages in entries: whole, in order, chained; and what everything else shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulletin_board import Submission, sign_entry
from bulletin_board.entry import LARGEST_BODY, Entry, verify_entry
from gopa.contract.bodies import widest_body
from gopa.contract.framing import (
    NO_LEAF,
    Assembled,
    Assembler,
    Broken,
    Equivocation,
    Message,
    MessageSlot,
    Posted,
    party_id,
    sign_message,
)
from gopa.contract.phases import Kind, Phase
from tests.contract.samples import h, signing_key
from tests.pace import examples
from wire.domains import PARTY
from wire.errors import UsageError

SESSION = h(9)
ALICE, BOB = signing_key("alice"), signing_key("bob")


def place(**changes: Any) -> MessageSlot:
    values: dict[str, Any] = {
        "session": SESSION,
        "phase": Phase.PUBLISH,
        "kind": Kind.PUBLISH,
        "round": 1,
        "seq": 0,
        "previous": NO_LEAF,
    }
    return MessageSlot(**values | changes)


def posted(entries: Iterable[bytes], first: int = 0) -> list[Posted]:
    """Entries as the log holds them, from an index on; their signatures are verified."""
    found = []
    for index, raw in enumerate(entries, first):
        submission = Submission.decode(raw)
        verify_entry(submission)
        found.append(Posted(index, submission.leaf, submission.entry))
    return found


def observed(entries: Iterable[Posted]) -> list[Assembled]:
    assembler = Assembler()
    return [found for each in entries for found in assembler.observe(each)]


def bodies(found: Iterable[Assembled]) -> list[bytes]:
    return [each.body for each in found if isinstance(each, Message)]


def changed(at: Posted, **changes: Any) -> Posted:
    """The same entry, signed anew by its author with other fields."""
    key = {each.public: each for each in (ALICE, BOB)}[at.entry.author]
    raw = sign_entry(replace(at.entry, **changes), key)
    submission = Submission.decode(raw)
    return Posted(at.index, submission.leaf, submission.entry)


LONG = bytes(range(256)) * 500
"""Three chunks."""


def long_message(**changes: Any) -> list[Posted]:
    return posted(sign_message(LONG, place(**changes), ALICE).entries)


# From bodies to entries and back


@pytest.mark.parametrize(
    ("size", "chunks"),
    [(0, 1), (1, 1), (LARGEST_BODY, 1), (LARGEST_BODY + 1, 2), (2 * LARGEST_BODY, 2)],
)
def test_messages_are_cut_and_put_together(size: int, chunks: int) -> None:
    body = bytes(size)
    signed = sign_message(body, place(seq=4, previous=h(1)), ALICE)
    entries = posted(signed.entries, 7)
    assert len(entries) == chunks
    assert [each.entry.seq for each in entries] == list(range(4, 4 + chunks))
    assert [each.entry.prev_own_leaf for each in entries] == [
        h(1),
        *(each.leaf for each in entries[:-1]),
    ]
    assert signed.leaf == entries[-1].leaf
    assert signed.next_seq == 4 + chunks
    first = [replace(each, entry=replace(each.entry, seq=i)) for i, each in enumerate(entries)]
    (message,) = observed(first)
    assert message == Message(
        author=ALICE.public.data,
        phase=Phase.PUBLISH,
        kind=Kind.PUBLISH,
        round=1,
        seq=0,
        first=7,
        index=6 + chunks,
        leaf=signed.leaf,
        body=body,
    )


@given(st.binary(max_size=300), st.integers(1, 40))
@settings(max_examples=examples(40), deadline=None)
def test_any_body_comes_back(body: bytes, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gopa.contract.cutting.LARGEST_BODY", most)
        signed = sign_message(body, place(), ALICE)
        assert len(signed.entries) == max(1, -(-len(body) // most))
        assert bodies(observed(posted(signed.entries))) == [body]


def test_what_no_board_takes_is_not_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gopa.contract.cutting.LARGEST_BODY", 1)
    assert len(sign_message(b"ab", place(), ALICE).entries) == 2
    with pytest.raises(UsageError):
        sign_message(bytes(65_536), place(), ALICE)


def test_a_party_is_the_hash_of_its_key() -> None:
    key = ALICE.public.data
    assert party_id(key) == hashlib.sha256(PARTY + key).digest()
    assert party_id(key) != party_id(BOB.public.data)


# Several messages


def test_messages_follow_each_other() -> None:
    first = sign_message(LONG, place(phase=Phase.ORGANISER, kind=Kind.CLOSE), ALICE)
    second = sign_message(
        b"next",
        place(phase=Phase.ORGANISER, kind=Kind.RESULT, seq=first.next_seq, previous=first.leaf),
        ALICE,
    )
    found = observed(posted([*first.entries, *second.entries]))
    assert bodies(found) == [LONG, b"next"]
    assert [each.seq for each in found if isinstance(each, Message)] == [0, 3]
    assert [each.kind for each in found if isinstance(each, Message)] == [Kind.CLOSE, Kind.RESULT]


@given(st.permutations([0, 0, 0, 1, 1, 1, 2, 2, 2, 3]))
@settings(max_examples=examples(40), deadline=None)
def test_streams_do_not_disturb_each_other(order: list[int]) -> None:
    """Authors, phases and rounds interleave in any order."""
    places = [
        (place(), ALICE, LONG),
        (place(), BOB, LONG[::-1]),
        (place(round=2), ALICE, LONG + b"2"),
        (place(phase=Phase.JOIN, kind=Kind.JOIN), ALICE, b"join"),
    ]
    streams = [iter(sign_message(body, where, key).entries) for where, key, body in places]
    found = observed(posted([next(streams[which]) for which in order]))
    assert sorted(bodies(found)) == sorted(body for _, _, body in places)
    assert len(found) == 4


# What is not whole


def test_missing_chunks_complete_nothing() -> None:
    entries = long_message()
    assert bodies(observed(entries)) == [LONG]
    assert observed(entries[:-1]) == []
    for missing in (0, 1):
        kept = [each for each in entries if each.index != missing]
        found = observed(kept)
        assert not bodies(found)
        assert all(isinstance(each, Broken) for each in found)
        assert [each.index for each in found] == [each.index for each in kept[missing:]]


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_chunks_out_of_order_complete_nothing(order: tuple[int, ...]) -> None:
    entries = long_message()
    assert bodies(observed(entries)) == [LONG]
    moved = [replace(entries[which], index=index) for index, which in enumerate(order)]
    found = observed(moved)
    assert found
    assert all(isinstance(each, Broken) for each in found)


CHAIN: dict[str, dict[str, Any]] = {
    "another leaf before it": {"prev_own_leaf": h(1)},
    "no leaf before it": {"prev_own_leaf": NO_LEAF},
    "another kind": {"kind": int(Kind.COMMIT)},
    "more chunks": {"chunks": 4},
    "fewer chunks": {"chunks": 2},
    "the chunk after": {"chunk": 2},
    "an empty chunk": {"body": b""},
    "a chunk that is not full": {"body": b"short"},
}


@pytest.mark.parametrize("name", CHAIN)
def test_chunks_continue_their_message(name: str) -> None:
    entries = long_message()
    assert bodies(observed(entries)) == [LONG]
    wrong = changed(entries[1], **CHAIN[name])
    last = changed(entries[2], prev_own_leaf=wrong.leaf)
    found = observed([entries[0], wrong, last])
    assert not bodies(found)
    assert any(isinstance(each, Broken) for each in found)


def test_the_last_chunk_is_not_empty() -> None:
    """A body of exactly one chunk would else have two encodings."""
    body = bytes(LARGEST_BODY)
    (whole,) = posted(sign_message(body, place(), ALICE).entries)
    assert bodies(observed([whole])) == [body]
    first = changed(whole, chunks=2)
    rest = replace(
        changed(whole, seq=1, chunk=1, chunks=2, body=b"", prev_own_leaf=first.leaf), index=1
    )
    assert observed([first, rest]) == [Broken(ALICE.public.data, Phase.PUBLISH, 1, 1)]


def test_gaps_wait_for_what_is_missing() -> None:
    (one,) = posted(sign_message(b"one", place(), ALICE).entries)
    two = replace(changed(one, seq=1, body=b"two"), index=1)
    assert bodies(observed([one, two])) == [b"one", b"two"]
    found = observed([replace(two, index=0), replace(one, index=1), replace(two, index=2)])
    assert bodies(found) == [b"one"]
    assert isinstance(found[0], Broken)


def test_a_new_message_replaces_one_that_is_not_finished() -> None:
    entries = long_message()
    fresh = changed(entries[1], chunk=0, chunks=1, body=b"fresh")
    assert bodies(observed([entries[0], fresh])) == [b"fresh"]
    late = changed(entries[2], prev_own_leaf=fresh.leaf)
    assert isinstance(observed([entries[0], fresh, late])[-1], Broken)


# Two entries in one slot


def test_a_second_entry_in_a_slot_is_evidence() -> None:
    entries = long_message()
    assert bodies(observed(entries)) == [LONG]
    for at in range(3):
        other = replace(changed(entries[at], seen_size=77), index=3)
        *found, evidence = observed([*entries, other])
        assert bodies(found) == [LONG]
        assert evidence == Equivocation(ALICE.public.data, Phase.PUBLISH, 1, at, 3)


def test_evidence_replaces_nothing_and_breaks_nothing() -> None:
    entries = long_message()
    other = replace(changed(entries[0], body=b"other"), index=1)
    rest = [replace(each, index=each.index + 1) for each in entries[1:]]
    found = observed([entries[0], other, *rest])
    assert bodies(found) == [LONG]
    assert isinstance(found[0], Equivocation)


def test_evidence_of_an_entry_that_belongs_to_nothing() -> None:
    (one,) = posted(sign_message(b"one", place(seq=5), ALICE).entries)
    other = replace(changed(one, body=b"two"), index=1)
    found = observed([one, other])
    assert [type(each) for each in found] == [Broken, Equivocation]


def test_a_log_that_repeats_an_entry_convicts_nobody() -> None:
    entries = long_message()
    repeated = [replace(each, index=each.index + 3) for each in entries]
    assert bodies(observed([*entries, *repeated])) == [LONG]
    assert len(observed([*entries, *repeated])) == 1
    other = replace(changed(entries[0], seen_size=77), index=6)
    assert isinstance(observed([*entries, *repeated, other])[-1], Equivocation)


def test_slots_of_others_are_no_evidence() -> None:
    mine, theirs = (posted(sign_message(b"x", place(), key).entries) for key in (ALICE, BOB))
    found = observed([*mine, replace(theirs[0], index=1)])
    assert len(bodies(found)) == 2


# Bounded memory


def test_nobody_begins_what_is_longer_than_its_kind() -> None:
    """A reader would hold the chunks of a message that can never be one."""
    entries = long_message(phase=Phase.CONFIRM, kind=Kind.CONFIRM)
    assert widest_body(Kind.CONFIRM) < len(LONG)
    found = observed(entries)
    assert [type(each) for each in found] == [Broken] * 3
    unknown = [type(each) for each in observed([changed(each, kind=99) for each in entries])]
    assert unknown == [Broken] * 3
    (short,) = posted(sign_message(b"s", place(kind=Kind.CONFIRM), ALICE).entries)
    assert bodies(observed([changed(short, kind=99)])) == [b"s"]


@pytest.mark.parametrize("kind", [Kind.MANIFEST, Kind.CLOSE, Kind.COMMIT, Kind.PUBLISH])
def test_the_widest_message_of_a_kind_may_begin(kind: Kind) -> None:
    chunks = -(-widest_body(kind) // LARGEST_BODY)
    (one,) = posted(sign_message(b"\xff" * LARGEST_BODY, place(kind=kind), ALICE).entries)
    assert observed([changed(one, chunks=chunks)]) == []
    found = observed([changed(one, chunks=chunks + 1)])
    assert found == [Broken(ALICE.public.data, Phase.PUBLISH, 1, 0)]


def naive(entries: list[Entry]) -> list[bytes]:
    """04-E1 for one stream without evidence: runs of consecutive seq, each continuing the last."""
    found: list[bytes] = []
    expected, run = 0, list[Entry]()
    for entry in entries:
        if entry.seq != expected:
            run = []
            continue
        expected += 1
        if entry.chunk == 0:
            run = [entry]
        elif run and entry.chunk == len(run) and entry.chunks == run[0].chunks:
            run.append(entry)
        else:
            run = []
        if run and len(run) == entry.chunks:
            found.append(b"".join(each.body for each in run))
            run = []
    return found


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 3)),
        max_size=8,
        unique_by=lambda each: each[0],
    )
)
@settings(max_examples=examples(150), deadline=None)
def test_any_stream_is_read_like_the_text(shapes: list[tuple[int, int, int]]) -> None:
    (pattern,) = posted(sign_message(b"x", place(), ALICE).entries)
    stream, previous = [], NO_LEAF
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gopa.contract.cutting.LARGEST_BODY", 1)
        for index, (seq, chunk, chunks) in enumerate(shapes):
            if chunk >= chunks:
                continue
            made = changed(
                pattern, seq=seq, chunk=chunk, chunks=chunks, prev_own_leaf=previous,
                body=bytes([seq]),
            )  # fmt: skip
            previous = made.leaf
            stream.append(replace(made, index=index))
        assert bodies(observed(stream)) == naive([each.entry for each in stream])
