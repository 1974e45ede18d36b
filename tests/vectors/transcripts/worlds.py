"""The sessions that transcripts are made of: as few parties and as small proofs as there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from gopa.adversary.setup import EXACT as EXACT_SETUP
from gopa.adversary.setup import FIVE, FOUR, IN_ROWS, ROWS_WEIGHTED, VECTOR, short_vectors
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import DrandBeacon, Mode, TestCoins, Trust
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import BeaconValue
from gopa.protocol.simulation import (
    KnownBeaconValues,
    Script,
    SimulatedWitnesses,
    Simulation,
    SimulationOptions,
)
from tests.contract.beacon.rounds import ROUNDS
from tests.randomness import seeded
from zkp.noise import irwin_hall

RECOVERING: Final = replace(FIVE, loss=1, threshold_numerator=1, threshold_denominator=2)
ROOMIER: Final = replace(RECOVERING, parties=6, survivors=4, loss=2, k=5)
SPARSE: Final = replace(FOUR, parties=7, survivors=6)
ONE_RELEASE: Final = replace(FOUR, charged=0, attempts=1)
WITNESS_TIME: Final = 1_700_000_000


@dataclass(frozen=True, slots=True)
class World:
    """A session up to who misbehaves in it. Randomness follows from `seed` alone."""

    terms: Terms = FOUR
    setting: SessionSetting = field(default_factory=SessionSetting)
    seed: str = "transcripts"
    witnesses: Callable[[], SimulatedWitnesses | None] = lambda: None
    beacon: KnownBeaconValues | None = None

    def simulation(self, script: Script) -> Simulation:
        """The session, with its manifest posted."""
        options = SimulationOptions(
            witnesses=self.witnesses(), beacon=self.beacon, remember_noise=True
        )
        rng, setting = seeded(self.seed), self.setting
        return Simulation(self.terms, rng=rng, setting=setting, script=script, options=options)

    def inputs(self, logical: int) -> list[list[int]]:
        """Inputs on the grid; with weights no coordinate exceeds the last one."""
        terms = self.terms
        if terms.squared_norm:
            return [list(row) for row in short_vectors(terms, weighted=self.setting.weighted)]
        rows = [
            [(3 * party + 2 * i + logical) % (terms.steps + 1) for i in range(terms.dimension)]
            for party in range(terms.parties)
        ]
        return [[min(x, row[-1]) for x in row] for row in rows] if self.setting.weighted else rows


@dataclass(frozen=True, slots=True)
class OneRound:
    """A beacon of which one round is published."""

    value_of: BeaconValue

    def name(self) -> int:
        return self.value_of.round

    def value(self, number: int) -> BeaconValue:
        assert number == self.value_of.round
        return self.value_of


def _witnesses(time: int = WITNESS_TIME) -> SimulatedWitnesses:
    return SimulatedWitnesses.fresh(2, seeded("witnesses of transcripts"), time=time)


_QUICK: Final = next(each for each in ROUNDS if each.chain == QUICKNET)


def drand_witnesses(periods_before: int) -> SimulatedWitnesses:
    """Witnesses that cosign so many periods before the beacon's value is due."""
    time = _QUICK.chain.time_of(_QUICK.number) - periods_before * _QUICK.chain.period
    return _witnesses(time)


def _drand() -> World:
    return World(
        replace(FOUR, beacon="drand"),
        SessionSetting(beacon=DrandBeacon(_QUICK.chain)),
        witnesses=lambda: drand_witnesses(2),
        beacon=OneRound(BeaconValue(_QUICK.number, _QUICK.signature, _QUICK.previous or b"")),
    )


EXACT: Final = World(EXACT_SETUP.terms)
EXACT_RECOVERY: Final = World(
    replace(
        EXACT.terms, parties=5, k=4, survivors=4, threshold_numerator=1, threshold_denominator=2
    )
)
EXACT_VECTORS: Final = World(
    replace(EXACT_RECOVERY.terms, dimension=3, squared_sensitivity=48),
    SessionSetting(weighted=True),
)
EXACT_SIGNED: Final = World(
    replace(EXACT.terms, dimension=3, squared_sensitivity=48), SessionSetting(mode=Mode.SIGNED)
)
PLAIN: Final = World()
LEAVING: Final = World(FIVE)
RECOVERY: Final = World(RECOVERING)
SIX: Final = World(ROOMIER)
TWICE: Final = World(replace(FOUR, rounds=2))
GAUSSIAN: Final = World(replace(FOUR, mask="gaussian", mask_deviation=50))
VECTORS: Final = World(VECTOR)
WEIGHTED: Final = World(VECTOR, SessionSetting(weighted=True))
SIGNED: Final = World(VECTOR, SessionSetting(mode=Mode.SIGNED))
CURIOUS: Final = World(
    replace(FOUR, mask="gaussian", mask_deviation=50),
    SessionSetting(mode=Mode.SIGNED, trust=Trust.HONEST_BUT_CURIOUS),
)
SEEDS: Final = World(
    replace(VECTOR, parties=5, k=4, threshold_numerator=1, threshold_denominator=2)
)
LONG: Final = World(
    replace(
        ONE_RELEASE,
        parties=3,
        loss=0,
        k=2,
        dimension=7496,
        steps=1,
        squared_sensitivity=7496,
        noise=irwin_hall(4, 6),
    ),
    SessionSetting(mode=Mode.SIGNED, word_width=64),
)
"""Values have two chunks, and sums one of their own: in words, as few as that takes."""

SIGNED_SEEDS: Final = World(SEEDS.terms, SessionSetting(mode=Mode.SIGNED))
SIGNED_SEEDS_ONCE: Final = World(
    replace(SEEDS.terms, attempts=1, charged=0), SessionSetting(mode=Mode.SIGNED)
)
SELDOM: Final = World(SPARSE)
ONCE: Final = World(ONE_RELEASE)
COINS: Final = World(FOUR, SessionSetting(beacon=TestCoins()))
WITNESSED: Final = World(witnesses=_witnesses)
DRAND: Final = _drand()
ROWS: Final = World(replace(IN_ROWS, parties=4, k=3, loss=1, late=1))
ROWS_WEIGHING: Final = World(
    replace(ROWS_WEIGHTED.terms, parties=3, k=2, loss=0, late=0, low=Decimal("0.5")),
    SessionSetting(weighted=True),
)
"""Three vectors between a half and one: lengths are measured from three quarters."""

ROWS_RECOVERING: Final = World(replace(ROWS.terms, threshold_numerator=1, threshold_denominator=2))
IMPATIENT: Final = World(FIVE, SessionSetting(max_rollbacks=1))
