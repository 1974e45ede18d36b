"""Noise statements with witnesses, made from a seed, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group
from tests.randomness import seeded
from wire.randomness import Rng
from zkp.noise import GaussianTable
from zkp.noise.gaussian_table import (
    GaussianNoiseStatement,
    NoiseSeeds,
    NoiseWitness,
    prove_gaussian_noise,
    verify_gaussian_noise,
)
from zkp.range import Interval, RangeStatement
from zkp.transcript import Transcript

DEFAULT = GaussianTable(64, 1)
SMALL = GaussianTable.with_scale("1.5", bits=5, rows=7)
UNIT = Interval(0, 20)


def transcript(context: bytes = b"context") -> Transcript:
    fresh = Transcript(b"tests of noise proofs")
    fresh.absorb(b"context", context)
    return fresh


def commit(group: Group, values: Sequence[int], seed: int | str) -> tuple[Commitment, Opening]:
    reduced = [value % group.order for value in values]
    return Pedersen(group).commit_fresh(group.secret_scalars(reduced), rng=seeded(seed))


@dataclass(frozen=True)
class Party:
    """A statement and all that its prover knows; `noise` is what the draws came to."""

    statement: GaussianNoiseStatement
    witness: NoiseWitness
    noise: list[int]

    def prove(self, onto: Transcript | None = None, *, rng: Rng | None = None) -> bytes:
        return prove_gaussian_noise(
            self.statement, self.witness, onto or transcript(), rng=rng or seeded("proof")
        )

    def verify(self, data: bytes, onto: Transcript | None = None) -> None:
        verify_gaussian_noise(self.statement, data, onto or transcript())


def seeds_of(
    group: Group, table: GaussianTable, halves: Sequence[int], seed: int | str
) -> NoiseSeeds:
    _, opening = commit(group, halves, f"halves {seed}")
    return NoiseSeeds(table, opening)


def party(
    group: Group,
    table: GaussianTable,
    halves: Sequence[int],
    coins: Sequence[int],
    values: Sequence[int] | None = None,
    *,
    seed: int | str = 1,
    claimed: Sequence[int] | None = None,
) -> Party:
    """An honest party; `claimed` replaces the noise in the output, for the dishonest one."""
    seeds = seeds_of(group, table, halves, seed)
    noise = [(y + p) % table.total for y, p in zip(halves, coins, strict=True)]
    noise = [table.noise_at(uniform) for uniform in noise]
    added = noise if claimed is None else claimed
    inputs, opening = None, None
    if values is not None:
        commitment, opening = commit(group, values, f"inputs {seed}")
        inputs = RangeStatement(commitment, (UNIT,) * len(values))
        added = [x + eta for x, eta in zip(values, added, strict=True)]
    output, output_opening = commit(group, added, f"outputs {seed}")
    statement = GaussianNoiseStatement(table, seeds.commitment, tuple(coins), output, inputs)
    return Party(statement, NoiseWitness(seeds, output_opening, opening), list(noise))
