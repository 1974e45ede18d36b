"""Whatever the hostile sign and boards order: nothing raises, no honest party is blamed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gopa.contract.organiser import ResultMessage
from gopa.contract.phases import KIND_IN, Kind, Phase
from tests.contract.samples import signing_key
from tests.pace import examples
from tests.protocol.rules.worlds import baseline, blamed, make, require
from tests.protocol.scribe import World

QUIET = [HealthCheck.too_slow]
OPEN_PHASES = [
    p
    for p in Phase
    if p not in {Phase.ORGANISER, Phase.ACCUSE, Phase.RECOVER, Phase.ROLLBACK, Phase.PROVE}
]


@dataclass(frozen=True)
class Junk:
    """An entry of a hostile author, posted when a phase opens."""

    when: Phase
    author: int
    phase: int
    kind: int
    number: int
    seq: int
    body: bytes
    acts_on: bool


JUNK = st.builds(
    Junk,
    when=st.sampled_from(OPEN_PHASES),
    author=st.sampled_from([4, 5]),
    phase=st.sampled_from([*Phase, 11, 255]),
    kind=st.sampled_from([*Kind, 0, 200]),
    number=st.sampled_from([0, 1, 1, 1, 2, 65_535]),
    seq=st.integers(0, 3),
    body=st.binary(max_size=200),
    acts_on=st.booleans(),
)


def post(world: World, junk: Junk) -> None:
    key = world.parties[4].key if junk.author == 4 else signing_key("stranger")
    body = (world.view.acts_on if junk.acts_on else b"") + junk.body
    world.post(key, junk.phase, body, junk.kind, junk.number, junk.seq)  # type: ignore[arg-type]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=QUIET)
@given(st.lists(JUNK, max_size=12))
def test_a_hostile_party_blames_nobody_but_itself(plan: list[Junk]) -> None:
    baseline()
    world = make()
    world.control()
    while world.view.ended is None:
        phase = world.view.opens
        for junk in plan:
            if junk.when is phase:
                post(world, junk)
        world.phase()
        world.control()
    found = world.check()
    assert found == world.ledger.findings()
    assert {who for who, _ in blamed(world, found) if who != "stranger"} <= {4}
    assert isinstance(world.view.ended, ResultMessage) or world.view.ended.culprits == (4,)
    one = found.rounds[0]
    if one.sums is not None:
        assert one.final is not None
        assert set(one.final) >= {0, 1, 2, 3}
        assert one.sums == world.expected_sums(one.final)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=QUIET)
@given(
    st.sampled_from(OPEN_PHASES),
    st.binary(max_size=120),
    st.sampled_from([*Kind]),
    st.integers(0, 3),
    st.booleans(),
)
def test_a_hostile_organiser_blames_nobody_but_itself(
    when: Phase, body: bytes, kind: Kind, number: int, acts_on: bool
) -> None:
    baseline()
    world = make()
    world.run(until=when)
    world.phase()
    start = world.view.acts_on if acts_on else b""
    world.post(world.organiser, Phase.ORGANISER, start + body, kind, number)
    found = world.check()
    assert found == world.ledger.findings()
    assert {who for who, _ in blamed(world, found)} == {"organiser"}
    assert world.ledger.state.failed


@settings(max_examples=examples(30), deadline=None, suppress_health_check=QUIET)
@given(st.data())
def test_a_board_that_reorders_and_omits_blames_no_party(data: st.DataObject) -> None:
    """The board is free to order entries; only equivocation of parties would convict them."""
    world = make()
    world.run()
    order = list(range(1, len(world.raws)))
    kept = data.draw(st.lists(st.sampled_from(order), unique=True, max_size=len(order)))
    some = data.draw(st.booleans())
    chosen = sorted(kept) if some else kept
    other = make()
    other.forget()
    for at in [0, *chosen]:
        other.append(world.raws[at])
    found = other.ledger.findings()
    assert {fault.author for fault in found.faults} <= {world.organiser.public.data}


@pytest.mark.parametrize("phase", sorted(set(KIND_IN) - {Phase.RECOVER}))
def test_bodies_of_one_phase_in_another(phase: Phase) -> None:
    """Party 4 answers every open phase with a message of this one."""
    baseline()
    world = make()
    world.control()
    while world.view.ended is None:
        opens = world.view.opens
        assert opens is not None
        if opens is phase:
            world.phase()
        else:
            world.phase(skip=[4])
            if world.parties[4].author in world.view.expected:
                world.post(world.parties[4].key, opens, world.view.acts_on, KIND_IN[phase])
        world.control()
    found = world.check()
    assert {who for who, _ in blamed(world, found)} == {4}


def test_replays_from_another_session_are_not_of_this_one() -> None:
    """The session is signed with everything else: bodies can be copied, entries cannot."""
    honest = make()
    honest.run()
    require(honest, included=range(5))
    other = make(rounds=2)
    copied = [each.entry for each in honest.log if each.entry.phase == Phase.JOIN]
    other.control()
    for party, entry in zip(other.parties, copied, strict=True):
        other.post(party.key, Phase.JOIN, entry.body)
    other.control()
    found = other.check()
    assert {(row.rule, row.cause.name) for row in found.rounds[0].removals} == {
        ("04-E4", "INVALID")
    }
    assert found.faults == ()
