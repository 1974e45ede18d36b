"""Noise proofs of parties and of vectors, in the units of `bench.zkp`."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from unittest.mock import patch

from bench.measure import Numbers, cpu_time, ms, require, require_refused
from bench.randomness import seeded
from commitments import Commitment, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from wire.errors import InvalidProof
from zkp.batch import ProofClaim, verify_batch, verify_items
from zkp.bits import Openings
from zkp.noise import GaussianTable, irwin_hall
from zkp.noise.gaussian_table import (
    GaussianNoiseStatement,
    NoiseSeeds,
    NoiseWitness,
    prove_gaussian_noise,
    verify_gaussian_noise,
)
from zkp.noise.weighted_bits import (
    WeightedNoisePlan,
    WeightedNoiseStatement,
    commit_weighted_noise,
    prove_weighted_noise,
    verify_weighted_noise,
)
from zkp.range import RangeStatement
from zkp.transcript import Transcript

TABLE = GaussianTable(64, 1)
INPUT_BITS = 6
LAW = irwin_hall(4, 4)
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Received:
    """A party's proof as it crosses to a worker: numbers and bytes only."""

    number: int
    coin: int
    commitments: bytes
    proof: bytes

    def statement(self, group: Group) -> GaussianNoiseStatement:
        points = Pedersen(group).decode(self.commitments, 3).points
        seed, given, output = (Commitment(Pedersen(group), points[i : i + 1]) for i in range(3))
        inputs = RangeStatement.up_to(given, (1 << INPUT_BITS) - 1)
        return GaussianNoiseStatement(TABLE, seed, (self.coin,), output, inputs)


def load(item: Received) -> ProofClaim:
    """The claim of an item, in the worker that checks it."""
    return ProofClaim(item.statement(ristretto255()), item.proof, transcript(item.number))


def transcript(number: int) -> Transcript:
    fresh = Transcript(b"gopa bench noise")
    fresh.absorb_int(b"party", number)
    return fresh


@dataclass(frozen=True, slots=True)
class Party:
    """One party's statement and what it knows."""

    number: int
    statement: GaussianNoiseStatement
    witness: NoiseWitness

    @classmethod
    def make(cls, group: Group, number: int, input_bits: int = INPUT_BITS) -> Party:
        rng = seeded(number)
        seeds = NoiseSeeds.fresh(group, TABLE, 1, rng=rng)
        coins = (int.from_bytes(rng(6), "little"),)
        value = group.secret_scalars([number % (1 << input_bits)])
        given, opening = Pedersen(group).commit_fresh(value, rng=rng)
        total = opening.values + seeds.noise(coins)
        output, output_opening = Pedersen(group).commit_fresh(total, rng=rng)
        inputs = RangeStatement.up_to(given, (1 << input_bits) - 1)
        statement = GaussianNoiseStatement(TABLE, seeds.commitment, coins, output, inputs)
        return cls(number, statement, NoiseWitness(seeds, output_opening, opening))

    def prove(self) -> bytes:
        return prove_gaussian_noise(
            self.statement, self.witness, transcript(self.number), rng=seeded(self.number)
        )

    def verify(self, proof: bytes) -> None:
        verify_gaussian_noise(self.statement, proof, transcript(self.number))

    def received(self) -> Received:
        statement = self.statement
        inputs = b"" if statement.inputs is None else statement.inputs.commitment.to_bytes()
        points = statement.seeds.to_bytes() + inputs + statement.output.to_bytes()
        return Received(self.number, statement.coins[0], points, self.prove())


def parties(group: Group, batch: int, repeat: int) -> Numbers:
    """The full statement of one party: input range, draw, and their sum."""
    one, wide = Party.make(group, 5), Party.make(group, 5, input_bits=30)
    proving = cpu_time(one.prove, repeat=repeat)
    checking = cpu_time(lambda: one.verify(proving.result), repeat=repeat)
    wide_proving = cpu_time(wide.prove, repeat=repeat)
    wide.verify(wide_proving.result)
    proofs = [Party.make(group, number).received() for number in range(batch)]
    together = cpu_time(
        lambda: verify_batch(map(load, proofs), rng=seeded(4)), repeat=min(repeat, 2)
    )
    _require_named(proofs)
    return {
        "party_prove_ms": ms(proving.seconds),
        "party_verify_ms": ms(checking.seconds),
        f"party_batch{batch}_verify_ms": ms(together.seconds / batch),
        "party_batch_unit": "ms for each proof of the batch, all distinct, decoding included",
        "party_bytes": len(proving.result),
        "party_table": f"{TABLE.rows} rows, {TABLE.bits} bits, {INPUT_BITS}-bit input",
        "party30_prove_ms": ms(wide_proving.seconds),
        "party30_bytes": len(wide_proving.result),
    } | _many(proofs, 10_000 if batch >= 256 else batch)


def _require_named(proofs: list[Received]) -> None:
    """A proof in another party's place is found among all the others."""
    last = len(proofs) - 1
    moved = Received(last + 1, proofs[last].coin, proofs[last].commitments, proofs[last].proof)
    try:
        verify_batch(map(load, [*proofs[:last], moved]), rng=seeded(4))
    except InvalidProof as error:
        require(error.culprits == (last,), "the wrong proof was named")
        return
    require(False, "a proof in another party's place was accepted")


def _many(proofs: list[Received], count: int) -> Numbers:
    """Wall time and memory of a big session: distinct proofs, repeated up to the count."""
    # Workers begin from nothing and inherit no threads; each keeps to one core.
    context = multiprocessing.get_context("spawn")
    with (
        patch.dict(os.environ, GOPA_THREADS="1"),
        ProcessPoolExecutor(WORKERS, mp_context=context) as executor,
    ):
        _check_tiled(executor, proofs, 2 * len(proofs))
        start = time.perf_counter()
        _check_tiled(executor, proofs, count)
        seconds = time.perf_counter() - start
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        f"verify_us_per_party_{count}": round(seconds / count * 1e6, 1),
        "verify_many_unit": f"wall on {WORKERS} processes, {len(proofs)} distinct proofs tiled",
        "peak_mb": round((own + WORKERS * largest) / 1024),
        "peak_unit": f"this process and {WORKERS} times the largest worker, all benchmarks so far",
    }


def _check_tiled(executor: Executor, proofs: list[Received], count: int) -> None:
    items = (proofs[i % len(proofs)] for i in range(count))
    verify_items(load, items, rng=seeded(6), executor=executor)


def vector_noise(group: Group, dimension: int, repeat: int) -> Numbers:
    """Noise from 16 weighted bits for every coordinate of one vector commitment."""
    plan = WeightedNoisePlan(group, LAW, dimension)
    coins = bytes(byte & 1 for byte in seeded(1)(plan.coin_count))
    key = VectorPedersen(group, dimension)

    def prove() -> tuple[WeightedNoiseStatement, bytes]:
        hidden = commit_weighted_noise(plan, None, transcript(0), rng=seeded(2))
        output, opening = key.commit_fresh(hidden.noise(coins), rng=seeded(3))
        statement = WeightedNoiseStatement(plan, hidden.point, coins, output)
        openings = Openings(vectors=[opening])
        return statement, prove_weighted_noise(
            statement, hidden, openings, transcript(0), rng=seeded(4)
        )

    proving = cpu_time(prove, repeat=repeat)
    statement, proof = proving.result
    checking = cpu_time(
        lambda: verify_weighted_noise(statement, proof, transcript(0)), repeat=repeat
    )
    require_refused(lambda: verify_weighted_noise(statement, proof, transcript(1)))
    name = f"vec{dimension}_noise"
    return {
        f"{name}_prove_s": round(proving.seconds, 4),
        f"{name}_verify_s": round(checking.seconds, 4),
        f"{name}_bytes": len(proof),
        f"{name}_unit": "both commitments and the proof, 16 weighted bits for each coordinate",
    }
