"""A session whose coins are a published round of drand, with witnesses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from gopa.beacon import QUICKNET
from gopa.messages.manifest import DrandBeacon
from gopa.organiser import Setting
from gopa.rules import BeaconValue
from gopa.simulation import Simulation, Stage, Witnesses
from tests.beacon.rounds import ROUNDS, Published
from tests.randomness import seeded
from tests.simulation.worlds import SCALAR, inputs_for, require_sound
from wire.errors import UsageError

QUICK = next(each for each in ROUNDS if each.chain == QUICKNET)


@dataclass(frozen=True, slots=True)
class OneRound:
    """A beacon of which one round is known."""

    published: Published

    def name(self) -> int:
        return self.published.number

    def value(self, number: int) -> BeaconValue:
        return BeaconValue(number, self.published.signature, self.published.previous or b"")


def session(published: Published, witnesses: Witnesses | None) -> Simulation:
    setting = Setting(beacon=DrandBeacon(published.chain))
    stage = Stage(witnesses=witnesses, beacon=OneRound(published), remember_noise=True)
    terms = replace(SCALAR, beacon="drand")
    return Simulation(terms, rng=seeded(1), setting=setting, stage=stage)


def witnesses_at(published: Published, periods_before: int) -> Witnesses:
    time = published.chain.time_of(published.number) - periods_before * published.chain.period
    return Witnesses.fresh(3, seeded("witnesses"), time=time)


def test_coins_come_from_the_beacon() -> None:
    simulation = session(QUICK, witnesses_at(QUICK, 2))
    inputs = inputs_for(SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert record.sums is not None
    assert record.included == tuple(range(SCALAR.parties))


def test_witnesses_that_come_after_the_value_are_refused() -> None:
    """The list of parties could have been made up when the value was known."""
    simulation = session(QUICK, witnesses_at(QUICK, 1))
    with pytest.raises(UsageError):
        simulation.run_round(inputs_for(SCALAR))


def test_beacon_without_witnesses_is_no_manifest() -> None:
    session(QUICK, witnesses_at(QUICK, 2))
    with pytest.raises(UsageError) as caught:
        session(QUICK, None)
    assert caught.value.field == "policy"
