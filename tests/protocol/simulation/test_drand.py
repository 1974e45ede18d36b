"""A session whose coins are a published round of drand, with witnesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest

from bulletin_board.note import SignedNote
from gopa.adversary.deeds.organising import AlteredClose
from gopa.contract.beacon import QUICKNET, latest_cosignature_time
from gopa.contract.manifest import DrandBeacon
from gopa.contract.organiser import Close, Coins
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Dated, Part
from gopa.protocol.rules import BeaconValue
from gopa.protocol.simulation import (
    RoundRecord,
    Script,
    SimulatedWitnesses,
    Simulation,
    SimulationOptions,
)
from tests.contract.beacon.rounds import ROUNDS, Published
from tests.protocol.simulation.worlds import FEW, inputs_for, require_sound
from tests.randomness import seeded
from wire.errors import FaultyParty, UsageError

QUICK = next(each for each in ROUNDS if each.chain == QUICKNET)


@dataclass(frozen=True, slots=True)
class OneRound:
    """A beacon of which one round is known."""

    published: Published

    def name(self) -> int:
        return self.published.number

    def value(self, number: int) -> BeaconValue:
        return BeaconValue(number, self.published.signature, self.published.previous or b"")


def session(
    published: Published,
    witnesses: SimulatedWitnesses | None,
    script: Script | None = None,
    roll_time: int | None = None,
) -> Simulation:
    setting = SessionSetting(beacon=DrandBeacon(published.chain))
    options = SimulationOptions(
        witnesses=witnesses,
        beacon=OneRound(published),
        remember_noise=True,
        roll_time=roll_time,
    )
    terms = replace(FEW, beacon="drand")
    return Simulation(terms, rng=seeded(1), setting=setting, script=script, options=options)


def witnesses_at(published: Published, periods_before: int) -> SimulatedWitnesses:
    time = published.chain.time_of(published.number) - periods_before * published.chain.period
    return SimulatedWitnesses.fresh(3, seeded("witnesses"), time=time)


def test_coins_come_from_the_beacon() -> None:
    simulation = session(QUICK, witnesses_at(QUICK, 2))
    inputs = inputs_for(FEW)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert record.sums is not None
    assert record.included == tuple(range(FEW.parties))


def test_witnesses_that_come_after_the_value_are_refused() -> None:
    """The list of parties could have been made up when the value was known."""
    simulation = session(QUICK, witnesses_at(QUICK, 1))
    with pytest.raises(UsageError):
        simulation.run_round(inputs_for(FEW))


@pytest.mark.thirds
@pytest.mark.parametrize("late", [1, 3, 3600])
def test_whoever_hears_of_the_roll_when_the_value_may_be_known_leaves(late: int) -> None:
    """Its leaf may be the best of many: witnesses sign that it was there, not that it was alone."""
    last = latest_cosignature_time(QUICK.chain, QUICK.number)
    in_time = session(QUICK, witnesses_at(QUICK, 2), roll_time=last)
    assert in_time.run_round(inputs_for(FEW)).sums is not None
    simulation = session(QUICK, witnesses_at(QUICK, 2), roll_time=last + late)
    record = simulation.run_round(inputs_for(FEW))
    assert record.sums is None
    assert not record.halted
    assert not record.findings.faults
    attempts = {len(actor.finished) for actor in simulation.parties}
    assert attempts == {len(record.attempts)} == {simulation.manifest.terms.attempts}
    parts = {each.part for actor in simulation.parties for each in actor.finished}
    assert parts == {Part.UNDATED}
    lists = [each for attempt in record.attempts for each in attempt.lists]
    assert {each.phase for each in lists} == {Phase.JOIN, Phase.COINS}


def test_whoever_has_no_clock_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_for(FEW)
    assert honest().sums is not None
    monkeypatch.setattr(Simulation, "_roll_time", None)
    assert session(QUICK, witnesses_at(QUICK, 2)).run_round(inputs).sums is None


@pytest.mark.parametrize("time", [-1, 1.5, True])
def test_a_time_is_a_whole_number_of_seconds(time: object) -> None:
    simulation = session(QUICK, witnesses_at(QUICK, 2))
    actor = simulation.parties[0]
    assert actor.party.step(actor.state, Dated(1)) == (actor.state, ())
    with pytest.raises(UsageError) as caught:
        actor.party.step(actor.state, Dated(time))  # type: ignore[arg-type]
    assert caught.value.field == "time"


def test_beacon_without_witnesses_is_no_manifest() -> None:
    session(QUICK, witnesses_at(QUICK, 2))
    with pytest.raises(UsageError) as caught:
        session(QUICK, None)
    assert caught.value.field == "policy"


@pytest.mark.parametrize("part", ["witnesses", "beacon"])
def test_what_the_manifest_names_has_to_be_given(
    part: str,
) -> None:
    simulation = session(QUICK, witnesses_at(QUICK, 2))
    assert getattr(simulation._options, part) is not None
    simulation._options = replace(simulation._options, **{part: None})  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        simulation.run_round(inputs_for(FEW))
    assert caught.value.field == f"options.{part}"


@lru_cache(maxsize=1)
def honest() -> RoundRecord:
    """Pairings take seconds: once is enough."""
    return session(QUICK, witnesses_at(QUICK, 2)).run_round(inputs_for(FEW))


def close_with(lie: Callable[[bytes], bytes]) -> RoundRecord:
    """The round with another checkpoint in its close of coins; without the lie all is well."""

    def change(close: Close) -> Close:
        return replace(close, checkpoint=lie(close.checkpoint))

    inputs = inputs_for(FEW)
    assert honest().sums is not None
    script = Script().organise(AlteredClose(Phase.COINS, change))
    return session(QUICK, witnesses_at(QUICK, 2), script).run_round(inputs)


def cosigned_late(checkpoint: bytes) -> bytes:
    """The log's own signature, and witnesses that were one period too late."""
    note = SignedNote.parse(checkpoint)
    bare = SignedNote(note.text, note.signatures[:1])
    return witnesses_at(QUICK, 1).cosigned(bare.to_bytes())


LIES: dict[str, Callable[[bytes], bytes]] = {
    "cosigned too late": cosigned_late,
    "no checkpoint": lambda _: b"",
    "no cosignatures": lambda data: SignedNote(
        SignedNote.parse(data).text, SignedNote.parse(data).signatures[:1]
    ).to_bytes(),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_parties_stop_at_a_close_without_timely_witnesses(lie: Callable[[bytes], bytes]) -> None:
    """Nobody draws noise from coins that somebody may have known when the list was made."""
    record = close_with(lie)
    assert record.halted.keys() == set(range(5))
    assert {type(error) for error in record.halted.values()} == {FaultyParty}
    assert record.sums is None


@pytest.mark.slow
def test_signature_of_another_round_of_the_beacon_stops_everybody() -> None:
    def change(close: Close) -> Close:
        assert isinstance(close.content, Coins)
        other = next(each for each in ROUNDS if each.chain == QUICKNET and each != QUICK)
        return replace(close, content=replace(close.content, signature=other.signature))

    script = Script().organise(AlteredClose(Phase.COINS, change))
    record = session(QUICK, witnesses_at(QUICK, 2), script).run_round(inputs_for(FEW))
    assert record.halted.keys() == set(range(5))
