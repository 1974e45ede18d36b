"""Sums that a party does not ask for are not sent to it, and nothing else hides with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from bulletin_board import Submission
from bulletin_board.tree import subset_proof
from gopa.messages.framing import Posted
from gopa.messages.organiser import ResultMessage
from gopa.messages.phases import Kind, Phase
from gopa.sessions.tunnel import Unguarded
from gopa.sessions.tunnel.hiding import restored
from gopa.sessions.tunnel.messages import (
    REQUEST,
    HiddenEntry,
    Shown,
    TunnelEntry,
    TunnelRequest,
)
from tests.sessions.tunnel.test_checkpoints import EXACT
from tests.sessions.tunnel.worlds import Caller, Tunnelled
from tests.simulation.worlds import FEW, SIGNED
from wire.errors import InvalidProof

LONG = 22_600
"""Four entries of sums, of which the first and the last are shown."""


@cache
def held() -> Tunnelled:
    """Two rounds of long vectors; every call can be made again."""
    terms = replace(
        FEW, attempts=1, rounds=2, dimension=LONG, squared_sensitivity=400 * LONG, **EXACT
    )
    return Tunnelled(terms, SIGNED, guard=Unguarded(), sums=False).run()


def shown_result(caller: Caller) -> tuple[bytes, TunnelRequest]:
    """The state and the request of the call that hears the first result."""
    for state, request, _ in caller.seen:
        shown = REQUEST.decode(request)
        if any(isinstance(each, HiddenEntry) for each in shown.shown):
            return state, shown
    raise AssertionError


def chunks(shown: TunnelRequest) -> list[int]:
    """Where the entries of the result stand in a request."""
    found = []
    for place, each in enumerate(shown.shown):
        if isinstance(each, TunnelEntry):
            entry = Submission.decode(each.raw).entry
            if (entry.phase, entry.kind) == (Phase.ORGANISER, Kind.RESULT):
                found.append(place)
        elif isinstance(each, HiddenEntry):
            found.append(place)
    return found


@pytest.mark.slow
def test_rounds_go_on_without_their_sums() -> None:
    world = held()
    findings = world.findings()
    assert findings.faults == ()
    assert [each.sums is not None for each in findings.rounds] == [True, True]
    for caller in world.callers.values():
        sizes = [len(request) for _, request, _ in caller.seen]
        _, shown = shown_result(caller)
        first, *hidden, last = chunks(shown)
        assert [isinstance(shown.shown[at], HiddenEntry) for at in hidden] == [True] * 2
        assert not isinstance(shown.shown[first], HiddenEntry)
        assert not isinstance(shown.shown[last], HiddenEntry)
        assert max(sizes) < 8 * LONG / 2
        assert len(caller.state) < 8 * LONG / 2
        ended = caller.party().standing(caller.state).last
        assert ended is not None
        assert ended.logical == 1
        assert isinstance(ended.outcome, ResultMessage)
        assert ended.outcome.sums == ()


def changed(shown: TunnelRequest, at: int, other: Shown) -> TunnelRequest:
    """With another thing in one place, and a proof that the log has it there if it has."""
    made = (*shown.shown[:at], other, *shown.shown[at + 1 :])
    return _proved(replace(shown, shown=made))


def _proved(shown: TunnelRequest) -> TunnelRequest:
    reader = held().board.reader()
    size = int(shown.checkpoint.split(b"\n")[1])
    indexes = [each.index for each in shown.shown]
    return replace(shown, proof=tuple(subset_proof(indexes, size, reader.node)))


def hide(at: int) -> Callable[[TunnelRequest, list[int]], TunnelRequest]:
    """One entry of the result is shown by its leaf, which is right."""

    def lie(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
        place = places[at]
        each = shown.shown[place]
        assert isinstance(each, TunnelEntry)
        leaf = Submission.decode(each.raw).leaf
        return changed(shown, place, HiddenEntry(each.index, leaf))

    return lie


def cut_behind(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """What is behind the hidden entries is left out."""
    return _proved(replace(shown, shown=shown.shown[: places[-1]]))


def one_less(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """A hidden entry is left out."""
    at = places[2]
    return _proved(replace(shown, shown=shown.shown[:at] + shown.shown[at + 1 :]))


def alone(shown: TunnelRequest, places: list[int]) -> TunnelRequest:
    """The first entry, which says how long the sums are, is left out."""
    at = places[0]
    return _proved(replace(shown, shown=shown.shown[:at] + shown.shown[at + 1 :]))


LIES = {
    "the first": hide(0),
    "the last": hide(-1),
    "no end": cut_behind,
    "one less": one_less,
    "no beginning": alone,
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_nothing_else_is_hidden_and_nobody_is_blamed(lie: str) -> None:
    caller = held().caller(0)
    state, shown = shown_result(caller)
    assert caller.party().answer(state, REQUEST.encode(_proved(shown)), caller.supply)
    with pytest.raises(InvalidProof):
        caller.party().answer(state, REQUEST.encode(LIES[lie](shown, chunks(shown))), caller.supply)


@pytest.mark.slow
def test_hidden_leaves_lead_to_what_is_shown_behind_them() -> None:
    """A host that shows another leaf would else have the organiser blamed."""
    world = held()
    made = [Submission.decode(raw) for raw in world.board.reader().entries()]
    said = [
        Posted(index, each.leaf, each.entry)
        for index, each in enumerate(made)
        if each.entry.kind == Kind.RESULT and each.entry.round == 1
    ]
    first, *between, last = said
    hidden = [HiddenEntry(each.index, each.leaf) for each in between]
    organiser = first.entry.author.data
    right = restored([first, *hidden, last], organiser)
    assert [each.leaf for each in right] == [each.leaf for each in said]
    wrong = replace(hidden[-1], leaf=hidden[0].leaf)
    later = replace(last, entry=replace(last.entry, round=2))
    lies: tuple[list[Posted | HiddenEntry], ...] = (
        [first, *hidden[:-1], wrong, last],
        [first, *hidden, later],
        [first, *hidden[1:], last],
        [first, *hidden, hidden[-1], last],
    )
    for lie in lies:
        with pytest.raises(InvalidProof):
            restored(lie, organiser)
    with pytest.raises(InvalidProof):
        restored([first, *hidden, last], bytes(32))
    assert restored([first, last], bytes(32)) == (first, last)


@pytest.mark.slow
def test_what_is_hidden_may_be_shown_and_then_a_party_that_asks_has_the_sums() -> None:
    world, caller = held(), held().caller(0)
    state, shown = shown_result(caller)
    world.sums = True
    try:
        asking = world.maker(0)()
    finally:
        world.sums = False
    with pytest.raises(InvalidProof):
        asking.answer(state, REQUEST.encode(shown), caller.supply)
    before = asking.standing(caller.state).last  # another setting finds no sums either
    assert before is not None
    assert isinstance(before.outcome, ResultMessage)
    assert before.outcome.sums == ()
    entries = list(world.board.reader().entries())
    whole = tuple(
        TunnelEntry(each.index, entries[each.index]) if isinstance(each, HiddenEntry) else each
        for each in shown.shown
    )
    following, _ = asking.answer(state, REQUEST.encode(replace(shown, shown=whole)), caller.supply)
    ended = asking.standing(following).last
    assert ended is not None
    assert isinstance(ended.outcome, ResultMessage)
    assert ended.outcome.sums == world.findings().rounds[0].sums
