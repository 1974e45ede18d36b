"""A checkpoint says what a replay would have said, and no other one is ever gone on from.

The states here have slots: the input, and what was posted.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any

import pytest

from bulletin_board import Submission
from gopa.contract.manifest import Mode
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Event
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.parties.stepped import Attempt, SteppedParty
from gopa.sessions.tunnel import (
    MemoryGuard,
    StateOfAnother,
    StateReplayed,
    Supply,
    TunnelInput,
    Unguarded,
    checkpoint,
)
from gopa.sessions.tunnel import call as call_module
from gopa.sessions.tunnel import state as state_module
from gopa.sessions.tunnel.called import CalledParty
from gopa.sessions.tunnel.checkpoint import read_state, write_state
from gopa.sessions.tunnel.messages import REPLY
from gopa.sessions.tunnel.packing import unpack
from gopa.sessions.tunnel.slots import NAME_SIZE, Slots
from gopa.sessions.tunnel.state import StatePlace, unseal
from gopa.sessions.vault import SealingKey, VaultDamaged, VaultError
from gopa.sessions.vault.guard import MARK
from gopa.sessions.vault.interface import StateDiverged
from gopa.support.version import VERSION
from tests.protocol.simulation.worlds import FEW, FULL, RECOVERING, SIGNED, VECTOR
from tests.sessions.tunnel.worlds import SECRET, Caller, Tunnelled, slots
from wire.domains import TUNNEL_ANSWER
from wire.errors import GopaError, UsageError
from wire.secret import SecretBytes
from zkp.noise import NoNoise

EXACT: dict[str, Any] = {
    "noise": NoNoise(),
    "epsilon": None,
    "charged": 0,
    "survivors": 4,
    "loss": 1,
}
WIDE = replace(FEW, dimension=1_200, rounds=2, attempts=1, squared_sensitivity=480_000, **EXACT)


def wide(**settings: Any) -> Tunnelled:
    return Tunnelled(WIDE, SIGNED, **settings)


@cache
def held() -> Tunnelled:
    """A session that is over."""
    world = wide().run()
    assert world.findings().faults == ()
    assert [each.final for each in world.findings().rounds] == [(0, 1, 2, 3, 4)] * 2
    return world


@dataclass
class State:
    """A state taken apart."""

    core: bytes
    slots: list[tuple[bytes, bytes]]

    @classmethod
    def of(cls, data: bytes, party: Caller) -> State:
        place = StatePlace(held().manifest.session, party.party().key)
        names = unseal(data, place, SECRET).content.slots
        found, at = [], len(data)
        for name in reversed(names):
            begin = data.rindex(name, 0, at) + NAME_SIZE
            found.append((name, data[begin + 4 : at]))
            assert int.from_bytes(data[begin : begin + 4]) == at - begin - 4
            at = begin - NAME_SIZE
        return cls(data[:at], found[::-1])

    def data(self) -> bytes:
        behind = [name + len(box).to_bytes(4) + box for name, box in self.slots]
        return b"".join([self.core, *behind])


def at_phase(world: Tunnelled, phase: Phase) -> tuple[Caller, bytes]:
    """Party 0 before the call in which it posts in this phase, and the request of that call."""
    caller = world.caller(0)
    while True:
        request = unpack(world.next_request(0), world.dictionaries)
        peek = world.maker(0, Unguarded())()
        said = peek.answer(caller.state, request, caller.supply)
        found = REPLY.decode(said[1]).posts
        if any(Submission.decode(raw).entry.phase == phase for raw in found):
            return caller, request
        world.host.turn(tuple(world.callers), world.send)


def test_large_values_stand_in_slots_and_are_sealed_once() -> None:
    seen = [State.of(state, held().caller(0)) for state, *_ in held().caller(0).seen[1:]]
    assert [len(each.slots) for each in seen].count(0) >= 1
    assert max(len(each.slots) for each in seen) >= 3
    assert max(len(each.core) for each in seen) < 7_000
    boxes: dict[bytes, bytes] = {}
    for each in seen:
        assert State.of(each.data(), held().caller(0)).data() == each.data()
        for name, box in each.slots:
            assert boxes.setdefault(name, box) == box
    firsts = {each.slots[0][0] for each in seen if each.slots}
    assert len(firsts) >= 2, "an input of each round"


@pytest.mark.parametrize("wrong", ["none", "one more", "exchanged", "cut", "renamed", "twice"])
def test_slots_are_those_that_the_core_names(wrong: str) -> None:
    caller = max_slots()
    found = State.of(caller.state, caller)
    assert caller.party().standing(found.data()).counter
    first, second, *rest = found.slots
    changed = {
        "none": [],
        "one more": [*found.slots, first],
        "exchanged": [second, first, *rest],
        "cut": [*found.slots[:-1], (found.slots[-1][0], found.slots[-1][1][:-1])],
        "renamed": [(second[0], first[1]), (first[0], second[1]), *rest],
        "twice": [first, first, *rest],
    }
    data = State(found.core, changed[wrong]).data()
    if wrong == "cut":
        data = found.data()[:-1]
    with pytest.raises(VaultDamaged):
        caller.party().standing(data)


@cache
def max_slots() -> Caller:
    """Party 0 where its state has most slots."""
    found = held().caller(0)
    states = [state for state, *_ in found.seen[1:]]
    most = max(states, key=lambda state: len(State.of(state, found).slots))
    return replace(found, state=most)


def test_an_input_that_was_changed_or_comes_from_elsewhere_is_refused_where_it_is_needed() -> None:
    world = wide()
    caller, request = at_phase(world, Phase.COMMIT)
    place = StatePlace(world.manifest.session, caller.party().key)
    names = unseal(caller.state, place, SECRET).content.slots
    assert len(names) == 1
    at = caller.state.index(names[0], 200) + NAME_SIZE + 4
    mine = caller.state[at:]
    theirs = world.caller(1).state[-len(mine) :]
    flipped = bytes([mine[0] ^ 1]) + mine[1:]
    mark = world.guard.last(str(place))
    for box in (theirs, flipped, bytes(len(mine))):
        with pytest.raises(VaultDamaged, match="slot"):
            caller.party().answer(caller.state[:at] + box, request, caller.supply)
    assert world.guard.last(str(place)) == mark
    world.run()
    assert world.findings().faults == ()
    assert world.findings().rounds[0].final == (0, 1, 2, 3, 4)


def test_an_input_of_an_older_round_is_refused() -> None:
    world = wide(guard=Unguarded())
    world.caller(0).supply = lambda number: TunnelInput([(1 + number) / 20] * WIDE.dimension)
    caller, _ = at_phase(world, Phase.COMMIT)
    old = caller.state
    world.run(
        lambda: len(world.findings().rounds) > 1 and world.findings().rounds[0].sums is not None
    )
    caller, request = at_phase(world, Phase.COMMIT)
    place = StatePlace(world.manifest.session, caller.party().key)
    for state in (old, caller.state):
        assert len(unseal(state, place, SECRET).content.slots) in {1, 2}
    name, older = unseal(caller.state, place, SECRET).content.slots[-1], unseal(old, place, SECRET)
    slot = caller.state.index(name, 200)
    before = old.index(older.content.slots[0], 200)
    size = 4 + int.from_bytes(caller.state[slot + NAME_SIZE : slot + NAME_SIZE + 4])
    box = old[before + NAME_SIZE : before + NAME_SIZE + size]
    start = slot + NAME_SIZE
    forged = caller.state[:start] + box + caller.state[start + size :]
    assert len(forged) == len(caller.state)
    assert caller.party().answer(caller.state, request, caller.supply)[1]
    with pytest.raises(VaultDamaged):
        caller.party().answer(forged, request, caller.supply)
    # Under its old name it is not a slot of this core.
    renamed = (
        caller.state[:slot] + old[before : before + NAME_SIZE + size] + caller.state[start + size :]
    )
    with pytest.raises(VaultDamaged):
        caller.party().answer(renamed, request, caller.supply)


def test_a_checkpoint_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = wide(guard=Unguarded())
    caller, request = at_phase(world, Phase.COMMIT)
    assert caller.party().answer(caller.state, request, caller.supply)
    monkeypatch.setattr(checkpoint, "VERSION", VERSION + "x")
    with pytest.raises(StateDiverged):
        caller.party().answer(caller.state, request, caller.supply)


def test_states_of_other_parties_sessions_and_rounds_are_refused_with_and_without_a_guard() -> None:
    caller, other = held().caller(0), held().caller(1)
    for number in (3, 5, 9):
        state, request, _ = caller.seen[number]
        with pytest.raises(StateReplayed):
            caller.party().answer(state, caller.seen[-1][1])
        foreign = State.of(other.seen[number][0], other)
        with pytest.raises(StateOfAnother):
            held().maker(0, Unguarded())().answer(other.seen[number][0], request)
        if foreign.slots:
            own = State.of(state, caller)
            spliced = State(
                own.core,
                [
                    (name, box)
                    for (name, _), (_, box) in zip(own.slots, foreign.slots, strict=False)
                ],
            )
            with suppress(VaultDamaged):
                party = held().maker(0, Unguarded())()
                assert (
                    party.answer(spliced.data(), request, caller.supply)[1]
                    == caller.seen[number][2]
                )


def test_whatever_a_host_splices_a_party_says_one_thing_for_each_slot() -> None:
    """Cores with slots of other calls, of other parties and damaged, and two messages at once."""
    world, source = wide(guard=MemoryGuard()), random.Random(5)
    caller, replies = world.caller(0), list[bytes]()
    refused: list[type[GopaError]] = []

    def tried(state: bytes, request: bytes, value: float) -> None:
        try:
            party = caller.party()
            given = [value] * WIDE.dimension
            plain = unpack(request, world.dictionaries)
            replies.append(party.answer(state, plain, lambda _: TunnelInput(given))[1])
        except GopaError as error:
            refused.append(type(error))

    def first(requests: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        key = caller.party().key
        if key in requests and caller.state:
            with suppress(VaultError):
                tried(spliced(caller.state, source, world), requests[key], 0.0)
        made = world.send(requests)
        if key in made:
            states, shown = [[each[at] for each in caller.seen] for at in (0, 1)]
            for _ in range(3):
                state = source.choice([each for each in states if each] or [b""])
                tried(spliced(state, source, world) if state else b"", source.choice(shown), 1.0)
            tried(states[-1], shown[-1], 1.0)
        return made

    everybody = tuple(world.callers)
    for _ in range(40):
        over = world.act()
        if not world.host.turn(everybody, first) and type(over).__name__ == "Over":
            break
    said = [
        raw
        for reply in [*replies, *(r for *_, r in caller.seen)]
        for raw in REPLY.decode(reply).posts
    ]
    assert all(len(each) == 1 for each in slots(said).values())
    assert world.findings().faults == ()
    assert {StateReplayed, VaultDamaged} <= set(refused)


def spliced(state: bytes, source: random.Random, world: Tunnelled) -> bytes:
    """A state with a slot box of somebody, or a byte, exchanged."""
    place = StatePlace(world.manifest.session, world.caller(0).party().key)
    names = unseal(state, place, SECRET).content.slots
    if not names:
        return state
    at = state.index(source.choice(names), 200) + NAME_SIZE + 4
    data = bytearray(state)
    data[at : at + 16] = source.randbytes(16)
    return bytes(data)


CASES: Mapping[str, tuple[Terms, SessionSetting]] = {
    "signed": (WIDE, SIGNED),
    "proved, a table": (replace(FEW, rounds=2), FULL),
    "proved, weighted bits": (replace(VECTOR, rounds=1), FULL),
    "proved, exact": (
        replace(FEW, rounds=1, dimension=3, squared_sensitivity=1_200, **EXACT),
        FULL,
    ),
    "recovering": (replace(RECOVERING, rounds=1), SessionSetting(mode=Mode.SIGNED)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_party_from_a_checkpoint_says_what_one_says_that_was_never_written_down(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins: dict[bytes, CalledParty] = {}
    stages: set[str] = set()

    class Watched(CalledParty):
        """Steps a twin beside itself, which lives as long as the session."""

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            stages.add(type(self._state.stage).__name__)
            twin = twins.setdefault(self._author, self)
            if twin is not self:
                assert twin.checkpoint()[0] == self.checkpoint()[0]

        def attempt(self, event: Event) -> Attempt:
            mine = super().attempt(event)
            twin = twins[self._author]
            if twin is self:
                return mine
            beside = SteppedParty.attempt(twin, event)

            def keep() -> None:
                mine.keep()
                twin._rng = lambda _: self._secret.reveal()
                beside.keep()

            assert [*map(_words, mine.outputs)] == [*map(_words, beside.outputs)]
            return Attempt(mine.outputs, keep)

    monkeypatch.setattr(call_module, "CalledParty", Watched)
    world = Tunnelled(*CASES[name]).run()
    assert len(twins) == world.terms.parties
    assert {"BetweenRounds", "Joined", "Enrolled", "Committed", "Published", "Confirmed"} <= stages
    assert all(each.sums is not None for each in world.findings().rounds)
    assert world.findings().faults == ()


def _words(output: Any) -> object:
    return getattr(output, "entries", type(output))


def test_what_is_read_is_what_was_written_down_to_its_end() -> None:
    caller = max_slots()
    place = StatePlace(held().manifest.session, caller.party().key)
    opened = unseal(caller.state, place, SECRET)
    machine = opened.content.machine
    party = CalledParty(
        held().manifest,
        held().identities[0],
        permissive(WIDE),
        rng=bytes,
        slots=opened.slots,
        checkpoint=machine,
    )
    given = party._surroundings
    assert write_state(read_state(machine, given), given)[0] == machine
    for wrong in (machine[:-1], machine + b"\0", machine[:40]):
        with pytest.raises(StateDiverged):
            read_state(wrong, given)


def test_rounds_in_which_the_key_has_spoken_are_written_down() -> None:
    made: dict[str, Any] = {"rng": bytes, "slots": Slots(SECRET, b"place")}
    given = held().manifest, held().identities[0], permissive(WIDE)
    party = CalledParty(*given, **made)
    party._spoken = frozenset({3, 1})
    data, _ = party.checkpoint()
    assert CalledParty(*given, **made, checkpoint=data)._spoken == {1, 3}


def giving(value: float) -> Supply:
    return lambda _: TunnelInput([value] * WIDE.dimension)


def test_two_values_given_with_one_state_share_no_chance_afterwards() -> None:
    world = wide(guard=Unguarded())
    caller, request = at_phase(world, Phase.JOIN)
    place, seeds = StatePlace(world.manifest.session, caller.party().key), set[bytes]()
    for value in (0.5, 0.5, 1.0):
        state, _ = caller.party().answer(caller.state, request, giving(value))
        seeds.add(unseal(state, place, SECRET).content.seed)
    assert len(seeds) == 2


def test_a_mark_is_of_core_and_reply() -> None:
    caller = held().caller(0)
    place = StatePlace(held().manifest.session, caller.party().key)
    core, reply = State.of(caller.state, caller).core, caller.seen[-1][2]
    hashed = sha256(TUNNEL_ANSWER + len(core).to_bytes(8) + core + reply).digest()
    assert MARK.decode(held().guard.last(str(place))).digest == hashed


def test_a_slot_opens_for_one_place_and_secret() -> None:
    one, other = Slots(SECRET, b"one"), Slots(SECRET, b"other")
    third = Slots(SealingKey(SecretBytes(bytes(32))), b"one")
    name = one.put(b"content" * 1_000)
    data = memoryview(b"".join(one.written([name])))
    for place, opens in ((Slots(SECRET, b"one"), True), (other, False), (third, False)):
        place.read(data, [name])
        if opens:
            assert place.get(name) == b"content" * 1_000
        else:
            with pytest.raises(VaultDamaged):
                place.get(name)
    assert len({each.put(b"content" * 1_000) for each in (one, other, third)}) == 3


def test_a_state_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    world = wide(guard=Unguarded())
    caller, request = at_phase(world, Phase.COMMIT)
    monkeypatch.setattr(state_module, "LARGEST_STATE", len(caller.state))
    with pytest.raises(UsageError, match="too large"):
        caller.party().answer(caller.state, request, caller.supply)
