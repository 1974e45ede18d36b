"""Commit to ten values, prove relations among them, verify, and say what it cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from commitments import Commitment, Opening, Pedersen, backend_status, ristretto255
from commitments.group import Group
from wire.errors import InvalidProof
from zkp import Transcript, sigma

T = TypeVar("T")

VALUES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
TOTAL = sum(VALUES)


def main() -> None:
    """Run the demonstration."""
    status = backend_status()
    print(f"backend: {status.active} ({status.details}), because {status.reason}")
    if status.hint is not None:
        print(f"for the fast backend: {status.hint}")

    group = ristretto255()
    key = Pedersen(group)
    commitment, opening = timed(
        "commit to ten values",
        lambda: key.commit_fresh(group.secret_scalars(VALUES), rng=os.urandom),
    )
    show("commitments", commitment.to_bytes())

    statements = relations(key, commitment)
    witnesses = secrets(group, opening)

    def prove(name: str) -> bytes:
        return sigma.prove(
            statements[name], witnesses[name], context(commitment, name), rng=os.urandom
        )

    proofs = {name: timed(f"prove: {name}", partial(prove, name)) for name in statements}
    for name, proof in proofs.items():
        show(name, proof)

    timed("verify all in one batch", lambda: verify(group, commitment, statements, proofs))
    print("verified: the ten hidden values satisfy every relation")
    expect_refusal(statements["the values add up to 39"], proofs, commitment)


def relations(key: Pedersen, commitment: Commitment) -> dict[str, sigma.Statement]:
    """What an onlooker learns about the ten values, and nothing else."""
    points = commitment.points
    zero_or_one = [
        sigma.opens_to(key.group, key, points[1], key.group.scalar(bit)) for bit in (0, 1)
    ]
    return {
        "the values add up to 39": sigma.linear_among_values(
            key.group, key, points, [1] * 10, TOTAL
        ),
        "the second is 0 or 1": sigma.AnyOf(1, tuple(zero_or_one)),
        "the first equals the last": sigma.equal_values(
            key.group, [(key, points[0]), (key, points[9])]
        ),
        "the first times the first is the sixth": sigma.product(
            key.group, key, points[0], points[0], points[5]
        ),
    }


def secrets(group: Group, opening: Opening) -> dict[str, sigma.Witness]:
    """The witness of each relation."""
    v, r = opening.values, opening.blindings
    return {
        "the values add up to 39": sigma.witness(group, r.sum()),
        "the second is 0 or 1": sigma.ChildWitnesses(None, sigma.witness(group, r[1])),
        "the first equals the last": sigma.witness(group, v[0], r[0], r[9]),
        "the first times the first is the sixth": sigma.product_witness(
            group, (v[0], r[0]), (v[0], r[0]), r[5]
        ),
    }


def context(commitment: Commitment, name: str) -> Transcript:
    """What every proof is bound to: the purpose, the commitments, the relation."""
    transcript = Transcript(b"gopa demo 1")
    transcript.absorb_points(b"commitments", commitment.points)
    transcript.absorb(b"relation", name.encode())
    return transcript


def verify(
    group: Group,
    commitment: Commitment,
    statements: dict[str, sigma.Statement],
    proofs: dict[str, bytes],
) -> None:
    """Check all proofs together; raises if one of them does not hold."""
    batch = sigma.BatchVerifier(group, rng=os.urandom)
    for name, statement in statements.items():
        batch.add(statement, proofs[name], context(commitment, name))
    batch.verify()


def expect_refusal(
    statement: sigma.Statement, proofs: dict[str, bytes], commitment: Commitment
) -> None:
    """A proof moved to another relation is refused."""
    name = "the values add up to 39"
    sigma.verify(statement, proofs[name], context(commitment, name))
    try:
        sigma.verify(statement, proofs[name], context(commitment, "another relation"))
    except InvalidProof as error:
        print(f"refused, as it must be: {error}")
    else:
        raise SystemExit("a proof was accepted in a context it was not made for")


def timed(what: str, work: Callable[[], T]) -> T:
    """Run and print how long it took."""
    start = time.perf_counter()
    result = work()
    print(f"{what:<48} {1000 * (time.perf_counter() - start):8.2f} ms")
    return result


def show(what: str, data: bytes) -> None:
    """Print the size of something posted."""
    print(f"{what:<48} {len(data):8d} bytes")


if __name__ == "__main__":
    main()
