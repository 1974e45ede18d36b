"""Closes that carry checkpoints, and coins of a beacon (04-C4, 04-J7, 04-V4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bulletin_board.note import KeyKind, NoteSigner
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.contract.phases import Phase
from gopa.protocol.rules import BeaconValue, outcome_of
from gopa.rounds.toolkit import Toolkit
from tests.contract.samples import POLICY, WITNESS, manifest, signing_key
from tests.protocol.rules.witnesses import DUE, EARLY, QUICK, checkpoint
from tests.protocol.rules.worlds import make, require, small_terms
from tests.protocol.scribe import World
from tests.rounds.doubles import ProofDoubles
from wire.errors import UsageError
from wire.secret import SecretBytes


def witnessed(agreed: Manifest) -> World:
    keys = [signing_key(f"party {number}") for number in range(5)]
    return World(agreed, Toolkit(proofs=ProofDoubles()), signing_key("organiser"), keys)


def plain() -> World:
    return witnessed(manifest(small_terms(), beacon=CommitReveal(), policy=POLICY))


def beaconed() -> World:
    terms = small_terms(beacon="drand")
    return witnessed(manifest(terms, beacon=DrandBeacon(QUICKNET), policy=POLICY))


def run(world: World, until: Phase | None = None) -> None:
    """A round with a checkpoint in every close that needs one."""
    world.control()
    while world.view.ended is None:
        if world.view.opens is until:
            return
        world.phase()
        if world.view.opens is Phase.JOIN:
            world.control()
        else:
            world.control(checkpoint=checkpoint(world))


def test_closes_carry_what_witnesses_signed() -> None:
    world = plain()
    run(world)
    found = require(world, included=range(5))
    assert found.notes == ()
    assert outcome_of(found, 1).witnessed


NOT_ENOUGH: dict[str, Callable[[World], bytes]] = {
    "none": lambda _: b"",
    "no quorum": lambda world: checkpoint(world, signers=()),
    "older than the close before": lambda world: checkpoint(world, size=world.view.opened_at),
    "damaged": lambda world: checkpoint(world)[:-5] + b"AAAA\n",
    "nonsense": lambda _: b"nonsense",
}


@pytest.mark.parametrize("data", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_a_close_without_its_quorum(data: Callable[[World], bytes]) -> None:
    world = plain()
    run(world, until=Phase.COMMIT)
    world.phase()
    with pytest.raises(UsageError) as caught:
        world.ledger.next_control(len(world.log), checkpoint=data(world))
    assert caught.value.field == "checkpoint"
    held = checkpoint(world)
    world.control(change=lambda close: replace(close, checkpoint=data(world)), checkpoint=held)
    require(world, (), [("organiser", "04-C4")])


def test_a_checkpoint_that_covers_just_enough() -> None:
    world = plain()
    run(world, until=Phase.COMMIT)
    world.phase()
    world.control(checkpoint=checkpoint(world, size=world.view.opened_at + 1))
    assert world.ledger.findings().faults == ()
    assert not world.ledger.state.failed


@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.COMMIT])
def test_a_checkpoint_that_nobody_asked_for(phase: Phase) -> None:
    """At the close of join no witness is needed; in other sessions nowhere."""
    world = plain() if phase is Phase.JOIN else make()
    world.run(until=phase)
    world.phase()
    data = checkpoint(world)
    world.control(change=lambda close: replace(close, checkpoint=data))
    require(world, (), [("organiser", "04-C4")])


def test_a_checkpoint_of_another_log_history_is_noted() -> None:
    """It holds under the policy, so log and witnesses have signed two histories."""
    world = plain()
    run(world, until=Phase.COMMIT)
    world.phase()
    other = plain()
    other.log = [replace(world.log[0], leaf=bytes(32)), *world.log[1:]]
    world.control(checkpoint=checkpoint(other))
    found = world.check()
    assert found.faults == ()
    assert [note.rule for note in found.notes] == ["04-E6"]


def test_coins_of_a_beacon() -> None:
    world = beaconed()
    world.control()
    world.phase()
    world.control(beacon=BeaconValue(QUICK.number))
    assert world.view.expected == frozenset()
    seen = checkpoint(world, time=EARLY)
    world.control(checkpoint=seen, beacon=BeaconValue(QUICK.number, QUICK.signature))
    while world.view.ended is None:
        world.phase()
        world.control(checkpoint=checkpoint(world))
    found = require(world, included=range(5))
    assert outcome_of(found, 1).coins == "drand"


def to_coins(world: World | None = None) -> World:
    world = world or beaconed()
    world.control()
    world.phase()
    world.control(beacon=BeaconValue(QUICK.number))
    return world


@pytest.mark.parametrize("time", [EARLY + 1, DUE, 0])
def test_witnesses_that_saw_the_roll_too_late(time: int) -> None:
    world = to_coins()
    value = BeaconValue(QUICK.number, QUICK.signature)
    with pytest.raises(UsageError) as caught:
        world.ledger.next_control(
            len(world.log), checkpoint=checkpoint(world, time=time), beacon=value
        )
    assert caught.value.field == "beacon"
    late = checkpoint(world, time=time)
    world.control(
        change=lambda close: replace(close, checkpoint=late),
        checkpoint=checkpoint(world, time=EARLY),
        beacon=value,
    )
    require(world, (), [("organiser", "04-V4")])


@pytest.mark.parametrize("enough", [True, False])
def test_late_witnesses_beside_a_quorum_do_no_harm(enough: bool) -> None:
    """One early witness of two is enough, or is not: the other one came after the value."""
    tardy = NoteSigner("tests.example/tardy", KeyKind.WITNESS, SecretBytes(b"\x03" * 32))
    policy = POLICY.replace(b"quorum w\n", f"witness v {tardy.verifier}\n".encode())
    policy += b"group g %s w v\nquorum g\n" % (b"any" if enough else b"all")
    terms = small_terms(beacon="drand")
    world = witnessed(manifest(terms, beacon=DrandBeacon(QUICKNET), policy=policy))
    to_coins(world)
    value = BeaconValue(QUICK.number, QUICK.signature)
    both = checkpoint(world, times={WITNESS: EARLY, tardy: DUE + 9})
    if enough:
        world.control(checkpoint=both, beacon=value)
        assert world.view.opens is Phase.COMMIT
        return
    early = checkpoint(world, times={WITNESS: EARLY, tardy: EARLY})
    world.control(
        change=lambda close: replace(close, checkpoint=both), checkpoint=early, beacon=value
    )
    require(world, (), [("organiser", "04-V4")])


def test_a_value_that_the_beacon_did_not_sign() -> None:
    world = to_coins()
    seen = checkpoint(world, time=EARLY)
    wrong = QUICK.signature[:-1] + bytes([QUICK.signature[-1] ^ 1])
    with pytest.raises(UsageError):
        world.ledger.next_control(
            len(world.log), checkpoint=seen, beacon=BeaconValue(QUICK.number, wrong)
        )
    with pytest.raises(UsageError):
        world.ledger.next_control(len(world.log), checkpoint=seen)
    world.control(
        change=lambda c: replace(c, content=replace(c.content, signature=wrong)),
        checkpoint=seen,
        beacon=BeaconValue(QUICK.number, QUICK.signature),
    )
    require(world, (), [("organiser", "04-V4")])


def test_the_close_of_join_names_a_round() -> None:
    world = beaconed()
    world.control()
    world.phase()
    with pytest.raises(UsageError):
        world.ledger.next_control(len(world.log))
    world.control(
        change=lambda c: replace(c, content=replace(c.content, beacon_round=0)),
        beacon=BeaconValue(QUICK.number),
    )
    require(world, (), [("organiser", "04-J7")])
