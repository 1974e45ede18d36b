"""The organiser's entries as a party follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bulletin_board import Submission
from bulletin_board.entry import LARGEST_BODY
from gopa.contract.framing import NO_LEAF, Message, MessageSlot, Posted, sign_message
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party.chain import Chain
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty, SuspectedPartyOrBoard, UsageError

SESSION = bytes(range(32))
KEY = SigningKey.generate(seeded("organiser"))
OTHER = SigningKey.generate(seeded("other"))
START = Chain(KEY.public.data, SESSION)


def message(
    body: bytes, *, number: int = 0, seq: int = 0, key: SigningKey = KEY, previous: bytes = NO_LEAF
) -> tuple[bytes, ...]:
    place = MessageSlot(SESSION, Phase.ORGANISER, Kind.CLOSE, number, seq, previous)
    return sign_message(body, place, key).entries


def posted(raws: Sequence[bytes], first: int = 0) -> list[Posted]:
    decoded = [Submission.decode(raw) for raw in raws]
    return [Posted(first + i, each.leaf, each.entry) for i, each in enumerate(decoded)]


def follow(chain: Chain, entries: Sequence[Posted]) -> tuple[Chain, list[Message]]:
    found = []
    for entry in entries:
        chain, whole = chain.follow(entry)
        found += [whole] if whole is not None else []
    return chain, found


def begun() -> Chain:
    """A chain behind the message that began the session."""
    chain, found = follow(START, posted(message(b"first")))
    return chain.acknowledge(found[0], 0, ends=True)


def test_message_of_several_chunks_is_whole_with_its_last() -> None:
    body = bytes(2 * LARGEST_BODY + 5)
    entries = posted(message(body))
    chain, found = follow(START, entries)
    assert [each.body for each in found] == [body]
    assert (found[0].first, found[0].index, found[0].leaf) == (0, 2, entries[-1].leaf)
    assert not chain.pending


def test_entry_that_was_seen_changes_nothing() -> None:
    entries = posted(message(bytes(LARGEST_BODY + 1)))
    chain, found = follow(START, [entries[0], entries[0], entries[1], entries[1], entries[0]])
    assert len(found) == 1
    assert follow(START, entries) == (chain, found)
    repeated = [replace(entry, index=entry.index + 9) for entry in entries]
    assert follow(chain, repeated) == (chain, [])


def test_entries_of_rounds_that_are_over_change_nothing() -> None:
    chain, found = follow(begun(), posted(message(b"open", number=1), 1))
    chain = chain.acknowledge(found[0], 1)
    assert follow(chain, posted(message(b"first again", seq=3), 2)) == (chain, [])


def test_second_entry_for_one_slot_convicts() -> None:
    chain = begun()
    follow(chain, posted(message(b"open", number=1), 1))
    chain, _ = follow(chain, posted(message(b"open", number=1), 1))
    second = posted(message(b"another", number=1), 2)
    with pytest.raises(FaultyParty) as caught:
        follow(chain, second)
    assert caught.value.party == KEY.public.data
    assert caught.value.evidence == chain.leaves[0] + second[0].leaf


def test_entry_behind_the_end_convicts() -> None:
    chain = begun()
    follow(chain, posted(message(b"open", number=1), 1))
    behind = posted(message(b"x", seq=1), 1)
    with pytest.raises(FaultyParty) as caught:
        follow(chain, behind)
    assert caught.value.evidence == chain.leaf + behind[0].leaf


@pytest.mark.parametrize(
    ("number", "seq"), [(0, 2), (1, 1), (2, 0)], ids=["behind the end", "gap", "ahead"]
)
def test_entry_that_is_not_shown_convicts_nobody(number: int, seq: int) -> None:
    """A board that hides what an honest organiser has posted makes the same gap."""
    follow(begun(), posted(message(b"open", number=1), 1))
    with pytest.raises(SuspectedPartyOrBoard) as caught:
        follow(begun(), posted(message(b"x", number=number, seq=seq), 1))
    assert caught.value.party == KEY.public.data


def test_round_does_not_begin_before_the_last_one_ends() -> None:
    chain, found = follow(START, posted(message(b"first")))
    follow(chain.acknowledge(found[0], 0, ends=True), posted(message(b"open", number=1), 1))
    with pytest.raises(SuspectedPartyOrBoard):
        follow(chain.acknowledge(found[0], 0), posted(message(b"open", number=1), 1))


def test_chunks_that_do_not_continue_convict() -> None:
    body = bytes(LARGEST_BODY + 1)
    first, last = posted(message(body))
    follow(START, [first, last])
    others = posted(message(b"x" + body[1:]))
    broken = {
        "of another message": others[1],
        "a first one again": posted(message(b"x", seq=1), 1)[0],
        "with another leaf": replace(
            last, entry=replace(last.entry, prev_own_leaf=bytes(32)), leaf=bytes(32)
        ),
    }
    for entry in broken.values():
        with pytest.raises(FaultyParty):
            follow(START, [first, entry])


def test_short_chunk_in_front_of_another_convicts() -> None:
    """A body has one cut into chunks, or equal messages would have many forms."""
    first, last = posted(message(bytes(LARGEST_BODY + 1)))
    short = replace(first, entry=replace(first.entry, body=b"short"))
    follow(START, [first, last])
    with pytest.raises(FaultyParty):
        follow(START, [short, last])


def test_only_the_organiser_of_the_session_is_followed() -> None:
    follow(START, posted(message(b"first")))
    with pytest.raises(UsageError):
        follow(START, posted(message(b"first", key=OTHER)))
    elsewhere = replace(START, session=bytes(32))
    with pytest.raises(UsageError):
        follow(elsewhere, posted(message(b"first")))


@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.PUBLISH])
def test_entry_in_a_partys_phase_convicts(phase: Phase) -> None:
    place = MessageSlot(SESSION, phase, Kind.JOIN, 1, 0, NO_LEAF)
    entries = posted(sign_message(b"x", place, KEY).entries, 1)
    with pytest.raises(FaultyParty):
        follow(begun(), entries)


def test_acts_on_and_cut() -> None:
    chain = begun()
    whole = follow(chain, posted(message(b"open", number=1), 7))[1][0]
    chain.require_continues(chain.leaf)
    with pytest.raises(FaultyParty):
        chain.require_continues(bytes(32))
    chain = replace(chain, cut=3)
    for cut in (3, 5, 7):
        chain.require_cut(whole, cut)
    for cut in (2, 8):
        with pytest.raises(FaultyParty):
            chain.require_cut(whole, cut)
