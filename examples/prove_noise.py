"""Prove the range of a hidden number and a draw of noise added to it, check both, say the cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

from commitments import Pedersen, backend_status, ristretto255
from wire.errors import InvalidProof
from zkp import (
    GaussianNoiseStatement,
    GaussianTable,
    NoiseSeeds,
    NoiseWitness,
    RangeStatement,
    Transcript,
    prove_gaussian_noise,
    prove_range,
    verify_gaussian_noise,
    verify_range,
)

T = TypeVar("T")

TABLE = GaussianTable.with_scale(8)
LARGEST = 63
INPUT = 42


def main() -> None:
    """Run the demonstration."""
    status = backend_status()
    print(f"backend: {status.active} ({status.details})")
    group = ristretto255()
    key = Pedersen(group)
    commitment, opening = key.commit_fresh(group.secret_scalars([INPUT]), rng=os.urandom)

    small = RangeStatement.up_to(commitment, LARGEST)
    proof = timed(
        f"prove: a number from 0 to {LARGEST}",
        lambda: prove_range(small, opening, context("range"), rng=os.urandom),
    )
    show("range proof", proof)
    timed("verify", lambda: verify_range(small, proof, context("range")))

    # The order is the point: the private half first, then the coins that nobody chose.
    seeds = NoiseSeeds.fresh(group, TABLE, 1, rng=os.urandom)
    coins = (int.from_bytes(os.urandom(TABLE.bits // 8), "little"),)
    noise = seeds.noise(coins)
    output, output_opening = key.commit_fresh(opening.values + noise, rng=os.urandom)
    statement = GaussianNoiseStatement(TABLE, seeds.commitment, coins, output, small)
    witness = NoiseWitness(seeds, output_opening, opening)
    proof = timed(
        "prove: range, draw and sum",
        lambda: prove_gaussian_noise(statement, witness, context("noise"), rng=os.urandom),
    )
    show("noise proof", proof)
    timed("verify", lambda: verify_gaussian_noise(statement, proof, context("noise")))
    print(f"verified: the output hides the number plus noise of variance {TABLE.square}")
    expect_refusal(statement, proof)


def expect_refusal(statement: GaussianNoiseStatement, proof: bytes) -> None:
    """A proof in another context is refused."""
    try:
        verify_gaussian_noise(statement, proof, context("another party"))
    except InvalidProof as error:
        print(f"refused, as it must be: {error}")
    else:
        raise SystemExit("a proof was accepted in a context it was not made for")


def context(purpose: str) -> Transcript:
    """What a proof is bound to besides its statement."""
    transcript = Transcript(b"gopa noise demo 1")
    transcript.absorb(b"purpose", purpose.encode())
    return transcript


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
