"""Sigma proofs: one equality of logarithms at a time, and a thousand in one batch."""

from __future__ import annotations

from bench.measure import cpu_time, require
from bench.randomness import seeded
from commitments.group import Group
from wire.errors import InvalidProof
from zkp import Transcript, sigma

BATCH = 1_000


def measure(group: Group, *, distinct: int, repeat: int) -> dict[str, object]:
    """CPU microseconds for a proof that two pairs of points share a logarithm."""
    statements, secrets = _statements(group, distinct)
    proving = cpu_time(
        lambda: sigma.prove(statements[0], secrets[0], _context(0), rng=seeded(1)),
        repeat=repeat,
        inner=20,
    )
    proofs = [
        sigma.prove(statement, secret, _context(index), rng=seeded(index))
        for index, (statement, secret) in enumerate(zip(statements, secrets, strict=True))
    ]
    verifying = cpu_time(
        lambda: sigma.verify(statements[0], proofs[0], _context(0)), repeat=repeat, inner=20
    )
    batching = cpu_time(lambda: _verify_batch(group, statements, proofs), repeat=repeat)
    require(_refuses_a_bad_proof(group, statements, proofs), "a bad proof passed the batch")
    return {
        "dleq_prove_us": proving.us_per(1),
        "dleq_verify_us": verifying.us_per(1),
        "dleq_bytes": len(proofs[0]),
        f"sigma_batch_verify_us_per_proof_{BATCH}": batching.us_per(BATCH),
        "sigma_batch_distinct": distinct,
    }


def _statements(group: Group, count: int) -> tuple[list[sigma.LinearRelation], list[sigma.Witness]]:
    bases = group.map_to_points(seeded(2)(64 * count))
    logarithms = group.random_scalars(count, seeded(3))
    images = bases * logarithms
    keys = group.fixed_bases(group.points([group.generator])).combine(logarithms)
    statements = [
        sigma.dleq(group, group.points([keys[i], images[i]]), bases[i : i + 1])
        for i in range(count)
    ]
    return statements, [logarithms[i : i + 1] for i in range(count)]


def _context(index: int) -> Transcript:
    transcript = Transcript(b"gopa bench")
    transcript.absorb_int(b"index", index)
    return transcript


def _verify_batch(group: Group, statements: list[sigma.LinearRelation], proofs: list[bytes]) -> int:
    """Distinct proofs are used again in turn until the batch is full."""
    batch = sigma.BatchVerifier(group, rng=seeded(4))
    for position in range(BATCH):
        index = position % len(proofs)
        batch.add(statements[index], proofs[index], _context(index))
    batch.verify()
    return len(batch)


def _refuses_a_bad_proof(
    group: Group, statements: list[sigma.LinearRelation], proofs: list[bytes]
) -> bool:
    try:
        _verify_batch(group, statements, [*proofs[:-1], proofs[0]])
    except InvalidProof as error:
        return error.culprits == tuple(range(len(proofs) - 1, BATCH, len(proofs)))
    return False
