"""Vectors that are proved row by row, by parties that are functions of bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bulletin_board import Submission
from gopa.contract.phases import Phase
from gopa.sessions.tunnel import (
    StateReplayed,
    Supply,
    TunnelInput,
    Unguarded,
)
from gopa.sessions.tunnel import host as host_module
from gopa.sessions.tunnel.messages import REPLY, REQUEST, Want
from gopa.sessions.tunnel.packing import unpack
from tests.protocol.simulation.row_worlds import IN_ROWS, RECOVERING, ROWS
from tests.sessions.live.test_rows import planned
from tests.sessions.tunnel.test_requests import hiding
from tests.sessions.tunnel.worlds import Caller, Tunnelled, slots


def short(number: int, dimension: int) -> Supply:
    """Gives party `number` a vector of length 1/8."""
    vector = np.zeros(dimension)
    vector[number % dimension] = 0.125
    return lambda _: TunnelInput(vector.tolist())


@dataclass
class InRows(Tunnelled):
    """A session whose parties have vectors of the length that they are proved to have."""

    leaving: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, each in enumerate(self.identities):
            caller = self.callers[each.public.data]
            caller.supply = short(number, self.terms.dimension)

    def published(self) -> bool:
        """Whether all have; then some of them leave."""
        entries = [Submission.decode(raw).entry for raw in self.raws()]
        found = {each.author.data for each in entries if each.phase == Phase.PUBLISH}
        if len(found) < self.terms.parties:
            return False
        for number in self.leaving:
            self.caller(number).silent = True
        return True


def require_one_voice(world: Tunnelled) -> None:
    assert all(len(each) == 1 for each in slots(world.raws()).values())


@pytest.mark.slow
def test_parties_are_called_with_their_states() -> None:
    """Two rounds, so that a memory of rows is between them."""
    world = InRows(replace(ROWS, rounds=2), IN_ROWS).run()
    findings = world.findings()
    assert findings.faults == ()
    assert [each.final for each in findings.rounds] == [(0, 1, 2, 3, 4)] * 2
    require_one_voice(world)


@pytest.mark.slow
def test_who_leaves_behind_publish_is_out_and_its_edges_are_opened() -> None:
    world = InRows(replace(RECOVERING, rounds=1), IN_ROWS, leaving=(2,))
    world.run(until=world.published)
    world.run()
    findings = world.findings()
    assert findings.faults == ()
    assert findings.rounds[0].final == (0, 1, 3, 4, 5, 6, 7)
    require_one_voice(world)


@pytest.mark.slow
def test_before_a_party_opens_edges_it_is_shown_what_all_its_neighbours_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A host that hides one of them, and so a dispute, is asked again, and nothing leaves."""
    monkeypatch.setattr(host_module, "AHEAD_BYTES", 0)
    world = InRows(ROWS, IN_ROWS, guard=Unguarded(), leaving=(2,))
    world.run(until=world.published)
    world.run()
    caller, party = world.caller(0), world.caller(0).party()
    replies = [REPLY.decode(reply) for *_, reply in caller.seen]
    ((at, fetch),) = [
        (at, each.fetch)
        for at, each in enumerate(replies)
        if each.fetch is not None and each.fetch.phase is Phase.PROVE
    ]
    assert len(fetch.authors) == 3
    state, request, said = caller.seen[at + 1]
    posts = REPLY.decode(party.answer(state, request)[1]).posts
    assert [Submission.decode(raw).entry.phase for raw in posts] == [Phase.ROLLBACK]
    assert posts == REPLY.decode(said).posts
    for author in fetch.authors:
        hidden = hiding(world, REQUEST.decode(request), author)
        again = REPLY.decode(party.answer(state, REQUEST.encode(hidden))[1])
        assert (again.want, again.fetch, again.posts) == (Want.ENTRIES, fetch, ())


def at_phase(world: Tunnelled, phase: Phase) -> tuple[Caller, bytes]:
    """Party 0 before the call in which it posts in this phase, and the request of that call."""
    caller = world.caller(0)
    while True:
        request = unpack(world.next_request(0), world.dictionaries)
        peek = world.maker(0, Unguarded())()
        _, reply = peek.answer(caller.state, request, caller.supply)
        if any(Submission.decode(raw).entry.phase == phase for raw in REPLY.decode(reply).posts):
            return caller, request
        world.host.turn(tuple(world.callers), world.send)


@pytest.mark.parametrize("phase", [Phase.COMMIT, Phase.PROVE])
def test_a_state_answers_for_a_pad_once(phase: Phase) -> None:
    """The same call gives the same bytes; another one with this state leaves nothing ([N6])."""
    world = InRows(ROWS, IN_ROWS)
    caller, request = at_phase(world, phase)
    party = world.maker(0)()
    answer = party.answer(caller.state, request, caller.supply)
    assert party.answer(caller.state, request, caller.supply) == answer
    with pytest.raises(StateReplayed):
        party.leave(caller.state)
    assert REPLY.decode(party.position(answer[0])).posts == REPLY.decode(answer[1]).posts
    party.leave(answer[0])
    with pytest.raises(StateReplayed):
        party.answer(caller.state, request, caller.supply)


@pytest.mark.slow
def test_states_hold_seeds_in_the_place_of_vectors() -> None:
    """What a party of 1,000 numbers holds besides its posts is less than noise and carries are."""
    world = InRows(planned(5, 1_000), IN_ROWS)
    sizes: dict[Phase, int] = {}
    for phase in (Phase.COMMIT, Phase.PUBLISH, Phase.PROVE):
        caller, request = at_phase(world, phase)
        state, reply = world.maker(0, Unguarded())().answer(caller.state, request, caller.supply)
        posts = REPLY.decode(reply).posts
        sizes[phase] = len(caller.state)
        assert len(state) - len(caller.state) < sum(map(len, posts)) + 8_000
    assert sizes[Phase.PROVE] < 40_000


@pytest.mark.soak
@pytest.mark.parametrize("dimension", [50, 1_000])
def test_twenty_parties(dimension: int) -> None:
    world = InRows(planned(20, dimension), IN_ROWS, leaving=(7,))
    world.run(until=world.published)
    world.run()
    findings = world.findings()
    assert findings.faults == ()
    assert findings.rounds[-1].final == tuple(each for each in range(20) if each != 7)
    require_one_voice(world)
