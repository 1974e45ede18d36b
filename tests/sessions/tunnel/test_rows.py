"""Vectors that are proved row by row, by parties that are functions of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bulletin_board import Submission
from gopa.contract.phases import Phase
from gopa.plugins.session import HostedSession, new_signer
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.tunnel import (
    MemoryGuard,
    StateReplayed,
    Supply,
    TunnelInput,
    TunnelParty,
    Unguarded,
)
from gopa.sessions.tunnel import host as host_module
from gopa.sessions.tunnel.messages import REPLY, REQUEST, Want
from gopa.sessions.tunnel.packing import unpack
from tests.protocol.simulation.row_worlds import IN_ROWS, RECOVERING, ROWS
from tests.randomness import seeded
from tests.sessions.live.test_rows import (
    MOST,
    PARTIES,
    WEIGHTED,
    WEIGHTS,
    in_a_simulation,
    planned,
    planned_weighted,
    vectors,
)
from tests.sessions.tunnel.test_requests import hiding
from tests.sessions.tunnel.worlds import SECRET, Caller, Tunnelled, slots
from wire.ed25519 import SigningKey


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
    """The same call gives the same bytes; another one with this state leaves nothing (12-N6)."""
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


def weighted(number: int) -> Supply:
    """Gives party `number` its vector and its weight."""
    return lambda _: TunnelInput(vectors()[number].tolist(), WEIGHTS[number])


@pytest.mark.slow
def test_sums_are_those_of_the_simulation() -> None:
    world = Tunnelled(planned_weighted(None).terms, WEIGHTED, max_weight=MOST)
    for number in range(PARTIES):
        world.caller(number).supply = weighted(number)
    (found,) = world.run().findings().rounds
    (expected,) = in_a_simulation(None, WEIGHTS).transcript.check().rounds
    assert found.sums == expected.sums
    assert found.sums is not None


@pytest.mark.slow
def test_a_plug_in_reads_the_mean() -> None:
    """The server's half of all plug-ins, and what their parties answer."""
    keys = [SigningKey.generate(seeded(f"plug-in {each}")) for each in range(PARTIES)]
    ids = [each.public.data for each in keys]
    hosted = HostedSession(
        planned_weighted(None),
        frozenset(ids),
        WEIGHTED,
        new_signer(seeded("log")),
        seeded("hosted"),
    )
    guard, states = MemoryGuard(), dict.fromkeys(ids, b"")

    def told(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        replies = {}
        for key, request in requests.items():
            party = TunnelParty(
                hosted.ticket,
                keys[ids.index(key)],
                permissive(planned_weighted(None).terms),
                secret=SECRET,
                guard=guard,
                max_weight=MOST,
                sums=False,
            )
            supply = weighted(ids.index(key))
            states[key], replies[key] = party.answer(states[key], request, supply)
        return replies

    requests = hosted.open(frozenset(ids))
    while requests:
        requests = hosted.advance(told(requests))
    found, expected = hosted.outcome(str(MOST)), in_a_simulation(None, WEIGHTS)
    assert found.included == set(ids)
    assert found.mean.tobytes() == expected.mean.tobytes()
    assert found.deviation.tobytes() == expected.stderr.tobytes()
    assert found.weight == expected.weight
