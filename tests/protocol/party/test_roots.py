"""The root of the log in a close ([C7]): what a caller tells, and what a party makes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bulletin_board.entry import LARGEST_BODY, Entry
from gopa.contract.framing import Posted
from gopa.contract.organiser import CLOSE
from gopa.contract.phases import Kind
from gopa.protocol.party import Halted, Party, PartyState, PostedClose, with_root
from gopa.protocol.party.chain import Chain
from gopa.protocol.simulation import Simulation
from gopa.protocol.simulation.setup import permissive
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR, inputs_for, simulate
from tests.randomness import seeded
from wire.errors import FaultyParty, SuspectedPartyOrBoard, UsageError

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
    """There may be none to be had: the close breaks [C2] whatever the log has."""
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
