"""The organiser's entries as a party follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bulletin_board import Submission
from bulletin_board.entry import LARGEST_BODY, Entry
from gopa.contract.framing import NO_LEAF, Message, MessageSlot, Posted, sign_message
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Event, Halted, Party, PartyState, PostedClose, with_root
from gopa.protocol.party.chain import Chain
from gopa.protocol.simulation import Simulation
from gopa.protocol.simulation.setup import permissive
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR, inputs_for, simulate
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


PARTY = 3


@cache
def played() -> Simulation:
    simulation = simulate(SCALAR, toolkit=SWIFT)
    simulation.run_round(inputs_for(SCALAR))
    return simulation


def before_the_roll() -> tuple[Party, PartyState, Posted]:
    """A party that is asked to join, and the close of join: it has no value and will be outside."""
    simulation = played()
    access = simulation.parties[PARTY].access
    rng = seeded("roots")
    party = Party(simulation.manifest, access.key, permissive(SCALAR), rng=rng, toolkit=SWIFT)
    state = party.start()
    organiser = simulation.manifest.organiser
    for posted in access.board.entries:
        if posted.entry.author.data != organiser:
            continue
        if posted.entry.kind == Kind.CLOSE:
            return party, state, posted
        state, _ = party.step(state, posted)
    raise AssertionError("there is a close of join")


def reworded(posted: Posted, **changes: Any) -> Posted:
    """The entry with other fields: a party leaves signatures to its caller."""
    return replace(posted, entry=replace(posted.entry, **changes))


def told(posted: Posted, root: bytes | None = None) -> PostedClose:
    """The close with the log's root at its cut, or with another one."""
    board = played().parties[PARTY].access.board
    return PostedClose(posted, root or board.root_at(CLOSE.decode(posted.entry.body).cut))


def error_of(party: Party, state: PartyState, event: PostedClose) -> Exception | None:
    """Why the party stops, if it does."""
    _, outputs = party.step(state, event)
    return next((each.error for each in outputs if isinstance(each, Halted)), None)


def test_a_close_comes_with_its_root() -> None:
    party, state, posted = before_the_roll()
    assert error_of(party, state, told(posted)) is None
    with pytest.raises(UsageError):
        party.step(state, posted)


def test_a_close_over_another_root_stops_the_party() -> None:
    """Its author has seen the root that it names: a board may have shown it another log."""
    party, state, posted = before_the_roll()
    assert error_of(party, state, told(posted)) is None
    error = error_of(party, state, told(posted, bytes(32)))
    assert isinstance(error, SuspectedPartyOrBoard)
    assert error.party == played().manifest.organiser


@pytest.mark.parametrize("seen", [True, False], ids=["it has seen the log", "it denies it"])
def test_who_has_seen_another_root_than_it_names_is_accused(seen: bool) -> None:
    party, state, posted = before_the_roll()
    close = CLOSE.decode(posted.entry.body)
    assert (posted.entry.seen_size, posted.entry.seen_root) == (close.cut, close.root)
    foreign = reworded(posted, body=CLOSE.encode(replace(close, root=b"\x07" * 32)))
    if not seen:
        foreign = reworded(foreign, seen_size=0)
    assert error_of(party, state, told(posted)) is None
    error = error_of(party, state, told(foreign, close.root))
    assert isinstance(error, FaultyParty if seen else SuspectedPartyOrBoard)
    assert error.party == played().manifest.organiser


def test_a_cut_that_goes_wrong_needs_no_root() -> None:
    """There may be none to be had: the close breaks 04-C2 whatever the log has."""
    party, state, posted = before_the_roll()
    close = CLOSE.decode(posted.entry.body)
    assert state.chain.claim_in(posted) == (close.cut, close.root)
    for cut in (0, state.chain.cut - 1, posted.index + 1, 2**64 - 1):
        wrong = reworded(posted, body=CLOSE.encode(replace(close, cut=cut)))
        assert state.chain.claim_in(wrong) is None
        assert with_root(state.chain, wrong, lambda _: bytes(32)) is wrong
        _, (halted,) = party.step(state, wrong)
        assert isinstance(halted, Halted)
        assert isinstance(halted.error, FaultyParty)


def test_the_last_chunk_brings_the_claim_of_the_first() -> None:
    entry = before_the_roll()[2].entry
    body = bytes(32) + (5).to_bytes(8) + b"r" * 32
    first = replace(entry, body=body.ljust(LARGEST_BODY, b"."), chunk=0, chunks=2)
    chain = Chain(entry.author.data, entry.session, cut=5)
    one, two = _posted(first, 7), _posted(replace(first, body=b"", chunk=1), 8)
    assert chain.claim_in(one) is None
    held = replace(chain, pending=(one,))
    assert held.claim_in(two) == (5, b"r" * 32)
    assert replace(held, cut=6).claim_in(two) is None
    short = _posted(replace(first, body=body[:71], chunks=1), 7)
    assert chain.claim_in(short) is None
    assert chain.claim_in(_posted(replace(first, kind=Kind.OPEN, chunks=1), 7)) is None


def _posted(entry: Entry, index: int) -> Posted:
    return Posted(index, bytes(32), entry)


def as_claimed(state: PartyState, event: Event) -> Event:
    """The event; of a close with the root that it names, as if the log had it at the cut."""
    if not isinstance(event, Posted):
        return event
    claim = state.chain.claim_in(event)
    return event if claim is None else PostedClose(event, claim[1])
