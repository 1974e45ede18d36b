"""Proofs about hidden bits: CPU time on one thread, sizes, and batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import noise
from bench.measure import Numbers, Scale, cpu_time, ms, require_refused
from bench.randomness import seeded
from commitments import Opening, Pedersen, VectorPedersen, backend_status, ristretto255
from commitments.backends import single_thread
from commitments.group import Group
from zkp.batch import ProofClaim, verify_batch
from zkp.range import (
    Interval,
    LastLargestStatement,
    RangeStatement,
    VectorRangeStatement,
    prove_last_largest,
    prove_range,
    prove_vector_range,
    verify_last_largest,
    verify_range,
    verify_vector_range,
)
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work each number stands for."""

    batch: int = 64
    parties: int = 256
    dimension: int = 1000
    weighed: int = 101
    coordinate_bits: int = 16
    repeat: int = 5
    vector_repeat: int = 2


TINY_SIZES = Sizes(batch=4, parties=4, dimension=10, weighed=3, repeat=1, vector_repeat=1)


def run(scale: Scale) -> Numbers:
    """All numbers. `full` changes nothing here: tiling is said in the output."""
    group = ristretto255()
    status = backend_status()
    usual = Sizes() if status.active == "native" else TINY_SIZES
    sizes = scale.of(TINY_SIZES, usual, usual)
    with single_thread(group):
        numbers = _range(group, sizes) | _vector(group, sizes) | _weighed(group, sizes)
        numbers |= noise.vector_noise(group, sizes.dimension, sizes.vector_repeat)
        numbers |= noise.parties(group, sizes.parties, sizes.repeat)
    return {
        "bench": "zkp",
        "backend": status.active,
        "backend_details": status.details,
        "unit": "CPU time on one thread, best of repeat",
        "repeat": sizes.repeat,
    } | numbers


def _transcript(number: int) -> Transcript:
    transcript = Transcript(b"gopa bench")
    transcript.absorb_int(b"proof", number)
    return transcript


def _range(group: Group, sizes: Sizes) -> Numbers:
    openings, claims = _range_proofs(group, sizes.batch)
    statement, proof = claims[0]
    proving = cpu_time(
        lambda: prove_range(statement, openings[0], _transcript(0), rng=seeded(3)),
        repeat=sizes.repeat,
    )
    verify_range(statement, proving.result, _transcript(0))
    checking = cpu_time(
        lambda: verify_range(statement, proof, _transcript(0)), repeat=sizes.repeat, inner=5
    )
    require_refused(lambda: verify_range(statement, proof, _transcript(1)))

    def batch(first: int) -> None:
        verify_batch(
            (ProofClaim(s, p, _transcript(i)) for i, (s, p) in enumerate(claims, start=first)),
            rng=seeded(4),
        )

    # A batch takes so little that one disturbance covers several: many tries find an idle core.
    together = cpu_time(lambda: batch(0), repeat=4 * sizes.repeat)
    require_refused(lambda: batch(1))
    return {
        "range64_prove_ms": ms(proving.seconds),
        "range64_verify_ms": ms(checking.seconds),
        f"range64_batch{sizes.batch}_verify_ms": ms(together.seconds / sizes.batch),
        "range64_batch_unit": "ms for each proof of the batch, all distinct",
        "range64_bytes": len(proof),
    }


def _range_proofs(
    group: Group, count: int
) -> tuple[list[Opening], list[tuple[RangeStatement, bytes]]]:
    openings, proofs = [], []
    for number in range(count):
        value = group.secret_scalars([2**64 - 1 - number])
        commitment, opening = Pedersen(group).commit_fresh(value, rng=seeded(number))
        statement = RangeStatement.up_to(commitment, 2**64 - 1)
        proof = prove_range(statement, opening, _transcript(number), rng=seeded(number))
        openings.append(opening)
        proofs.append((statement, proof))
    return openings, proofs


def _vector(group: Group, sizes: Sizes) -> Numbers:
    interval = Interval(0, 2**sizes.coordinate_bits - 1)
    values = [number * 7919 % (interval.high + 1) for number in range(sizes.dimension)]
    key = VectorPedersen(group, sizes.dimension)
    commitment, opening = key.commit_fresh(group.secret_scalars(values), rng=seeded(1))
    statement = VectorRangeStatement(commitment, interval)
    return _proved_and_checked(
        f"vec{sizes.dimension}x{sizes.coordinate_bits}",
        lambda: prove_vector_range(statement, opening, _transcript(0), rng=seeded(2)),
        lambda proof, transcript: verify_vector_range(statement, proof, transcript),
        sizes.vector_repeat,
    )


def _weighed(group: Group, sizes: Sizes) -> Numbers:
    """Values under a private weight, the weight being one of the coordinates."""
    maximum = 2**sizes.coordinate_bits - 1
    weight = maximum // 2
    values = [number * 7919 % (weight + 1) for number in range(sizes.weighed - 1)]
    key = VectorPedersen(group, sizes.weighed)
    commitment, opening = key.commit_fresh(group.secret_scalars([*values, weight]), rng=seeded(1))
    statement = LastLargestStatement(commitment, maximum)
    return _proved_and_checked(
        f"weighed{sizes.weighed}x{sizes.coordinate_bits}",
        lambda: prove_last_largest(statement, opening, _transcript(0), rng=seeded(2)),
        lambda proof, transcript: verify_last_largest(statement, proof, transcript),
        sizes.vector_repeat,
    )


def _proved_and_checked(
    name: str,
    prove: Callable[[], bytes],
    verify: Callable[[bytes, Transcript], None],
    repeat: int,
) -> Numbers:
    """Times and size of one proof; one that holds in another context raises."""
    proving = cpu_time(prove, repeat=repeat)
    proof = proving.result
    checking = cpu_time(lambda: verify(proof, _transcript(0)), repeat=repeat)
    require_refused(lambda: verify(proof, _transcript(1)))
    return {
        f"{name}_prove_s": round(proving.seconds, 4),
        f"{name}_verify_s": round(checking.seconds, 4),
        f"{name}_bytes": len(proof),
    }
