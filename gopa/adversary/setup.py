"""Sessions in which attacks are tried: few parties, small proofs, everything real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from gopa.contract.manifest import Mode
from gopa.contract.row_terms import origin
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import (
    KnownBeaconValues,
    Script,
    SimulatedWitnesses,
    Simulation,
    SimulationOptions,
)
from gopa.protocol.simulation.setup import SeededStreams
from wire.brief import Brief
from zkp.noise import GaussianTable, NoNoise, binomial

_WITNESS_TIME: Final = 1_700_000_000

_SEED: Final = b"adversary's ground3"

_ENTRIES: Final = 24
"""So many of a vector, and the last one: short enough for clients, who leave room for rounding."""


@dataclass(frozen=True, slots=True, repr=False)
class SessionSetup(Brief):
    """A session up to who misbehaves in it: terms, setting, rounds that run, witnesses.

    Witnesses cosign at `witness_time`, in seconds since 1970.

    Everything in it follows from `seed`, so an attack and its honest twin are the same
    session up to the first lie.
    """

    terms: Terms
    setting: SessionSetting = field(default_factory=SessionSetting)
    rounds: int = 1
    witnesses: int = 0
    beacon: KnownBeaconValues | None = None
    seed: bytes = _SEED
    witness_time: int = _WITNESS_TIME

    def simulation(self, script: Script) -> Simulation:
        """The session with its manifest posted, for these liars."""
        witnesses = self.cosigners(self.witness_time) if self.witnesses else None
        options = SimulationOptions(witnesses=witnesses, beacon=self.beacon, remember_noise=True)
        rng = SeededStreams(self.seed).named("session")
        return Simulation(self.terms, rng=rng, setting=self.setting, script=script, options=options)

    def cosigners(self, time: int) -> SimulatedWitnesses:
        """The witnesses, with their clocks at another time."""
        return SimulatedWitnesses.fresh(
            self.witnesses, SeededStreams(self.seed).named("witnesses"), time=time
        )

    def inputs(self) -> Sequence[Sequence[int]]:
        """What the parties have, on the grid; with weights the last coordinate is the largest."""
        terms = self.terms
        if terms.squared_norm:
            zero, rows = origin(terms), short_vectors(terms, weighted=self.setting.weighted)
            return [[*row[:_ENTRIES], *[zero] * len(row[_ENTRIES:-1]), row[-1]] for row in rows]
        rows = [
            [(3 * party + 2 * i) % (terms.steps + 1) for i in range(terms.dimension)]
            for party in range(terms.parties)
        ]
        return [[min(x, row[-1]) for x in row] for row in rows] if self.setting.weighted else rows


def short_vectors(terms: Terms, *, weighted: bool) -> Sequence[Sequence[int]]:
    """Vectors of entries next to the origin; a weight is measured from 0."""
    zero = origin(terms)
    rows = [
        [zero + (party + i) % 3 - 1 for i in range(terms.dimension)]
        for party in range(terms.parties)
    ]
    if weighted:
        rows = [[*row[:-1], 10 + party] for party, row in enumerate(rows)]
    return rows


FOUR: Final = Terms(
    parties=4,
    corrupt=1,
    survivors=3,
    loss=1,
    k=3,
    dimension=1,
    low=Decimal(0),
    high=Decimal(1),
    steps=4,
    squared_sensitivity=16,
    noise=GaussianTable.with_scale("1", bits=8, rows=7),
    mask="uniform",
    mask_deviation=0,
    epsilon=Decimal(100),
    delta=Decimal("0.999"),
    beta=Decimal("0.1"),
    rounds=1,
    charged=1,
    attempts=3,
    beacon="commit-reveal",
    threshold_numerator=0,
    threshold_denominator=1,
)
"""The least that a session can be: four parties on a complete graph, one of whom may be lost."""

FIVE: Final = replace(FOUR, parties=5, k=4, loss=2)
VECTOR: Final = replace(FOUR, dimension=3, squared_sensitivity=48, noise=binomial(8))

SMALL: Final = SessionSetup(FOUR)
"""Four parties, no recovery."""

ROOMY: Final = SessionSetup(FIVE)
"""Five parties of whom two may be lost, no recovery."""

RECOVERING: Final = SessionSetup(
    replace(FIVE, loss=1, threshold_numerator=1, threshold_denominator=2), seed=b"r0"
)
"""Five parties of whom one may be lost; half of a party's neighbours can open its self-mask."""

SPARE: Final = SessionSetup(
    replace(
        FOUR,
        parties=7,
        survivors=5,
        loss=2,
        k=6,
        threshold_numerator=1,
        threshold_denominator=2,
    )
)
"""Seven parties with recovery: each has neighbours left when it has lost two, and two again."""

EXACT: Final = SessionSetup(
    replace(FOUR, noise=NoNoise(), epsilon=None, charged=0, delta=Decimal("0.5"))
)
"""Four parties without noise: the exact sum is released."""

TWO_ROUNDS: Final = SessionSetup(replace(FOUR, rounds=2), rounds=2)
"""Two results from the same parties."""

VECTORS: Final = SessionSetup(VECTOR)
"""Vectors of three coordinates, with noise from weighted bits."""

WEIGHTED: Final = SessionSetup(VECTOR, SessionSetting(weighted=True))
"""The same, with a private weight as the last coordinate."""

SIGNED: Final = SessionSetup(VECTOR, SessionSetting(mode=Mode.SIGNED))
"""Without proofs: inputs and noise are as the parties say."""

SIGNED_ROOMY: Final = SessionSetup(
    replace(VECTOR, parties=5, k=4, loss=2), SessionSetting(mode=Mode.SIGNED)
)
"""The same with five parties of whom two may be lost."""

_SEEDS: Final = replace(VECTOR, parties=5, k=4, threshold_numerator=1, threshold_denominator=2)

RECOVERING_VECTORS: Final = SessionSetup(_SEEDS)
"""Five vectors, of which one may be lost; half of a party's neighbours can open its self-mask."""

RECOVERING_SIGNED: Final = SessionSetup(_SEEDS, SessionSetting(mode=Mode.SIGNED))
"""The same without proofs."""

SIGNED_TWICE: Final = SessionSetup(
    replace(VECTOR, rounds=2), SessionSetting(mode=Mode.SIGNED), rounds=2
)
"""Two results without proofs."""

STRICT: Final = SessionSetup(replace(FOUR, loss=0))
"""Four parties; if one is lost the round aborts, and three are enough for the next attempt."""

IMPATIENT: Final = SessionSetup(FIVE, SessionSetting(max_rollbacks=1))
"""Five parties; whoever leaves does so before the one rollback that there is."""

SPARSE: Final = SessionSetup(
    replace(FOUR, parties=7, survivors=5, beta=Decimal("0.15"), attempts=2, charged=1),
    seed=b"sparse ground 197",
)
"""Seven parties; the neighbours of party 0 are parties 1, 2 and 3 in the first round."""

WITNESSED: Final = SessionSetup(FOUR, witnesses=2)
"""Closes rest on checkpoints that two witnesses have cosigned."""

IN_ROWS: Final = replace(
    FIVE,
    dimension=40,
    low=Decimal(-1),
    steps=40,
    squared_sensitivity=400,
    squared_norm=100,
    noise=GaussianTable.with_scale("10", bits=24, rows=57),
    noise_square=14_468,
    spike=38,
    epsilon=Decimal(30),
    late=2,
)
"""Vectors of length 10 at most; two of five parties may go missing behind publish."""

ROWS: Final = SessionSetup(IN_ROWS)
"""Five vectors that are proved row by row."""

ROWS_TWICE: Final = SessionSetup(replace(IN_ROWS, rounds=2), rounds=2)
"""Two results from the same parties."""

ROWS_SPARE: Final = SessionSetup(replace(IN_ROWS, parties=7, k=6, survivors=4, loss=3, late=3))
"""Seven parties, of whom three may leave one after the other."""

ROWS_RECOVERING: Final = SessionSetup(
    replace(IN_ROWS, loss=1, threshold_numerator=1, threshold_denominator=2)
)
"""Five, of whom one may be lost; half of a party's neighbours can open its self-mask."""

ROWS_WEIGHTED: Final = SessionSetup(
    replace(
        IN_ROWS,
        steps=20,
        weight_length=1,
        weight_scale=4,
        squared_norm=1300,
        squared_sensitivity=864,
        noise=GaussianTable.with_scale("16", bits=24, rows=99),
        noise_square=39_476,
        spike=65,
    ),
    SessionSetting(weighted=True),
)
"""Five with a private weight as the last coordinate, which says how long the others may be."""
