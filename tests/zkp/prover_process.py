"""A prover in a process of its own, whose memory a test reads when it is done.

Prints a line when everything secret has been dropped, and waits for its input to close.
The witness comes from a seeded stream inside of the core, so that no bytes of Python
ever held it. `leak` makes such bytes and drops them: what the test must be able to find.
"""

from __future__ import annotations

import gc
import sys

from commitments import Opening, Pedersen, ristretto255
from tests.randomness import seeded
from wire.secret import SecretBytes
from zkp import bits, sigma
from zkp.bits import BitForm, BitStatement, CommittedValue, ConstraintShape
from zkp.sigma.statements import opening
from zkp.transcript import Transcript

SEED, DOMAIN = bytes(range(32)), bytes(12)


def transcript() -> Transcript:
    bound = Transcript(b"tests of memory")
    bound.absorb(b"context", b"context")
    return bound


def prove(kind: str) -> bytes:
    """A proof of the knowledge of the first two scalars of the stream."""
    group = ristretto255("native")
    key = Pedersen(group)
    secret = group.stream(SecretBytes(SEED), DOMAIN).scalars(2)
    if kind in {"sigma", "leak"}:
        point = key.commit(secret[:1], secret[1:]).points[0]
        return sigma.prove(opening(group, key, point), secret, transcript(), rng=seeded("memory"))
    # A bit argument: the value is one bit, its blinding the planted secret.
    one = group.secret_scalars([1])
    commitment = key.commit(one, secret[1:])
    statement = BitStatement.of(
        ConstraintShape(group, 1, [CommittedValue(BitForm(((0, 1),)))]),
        constants=[0],
        commitments=[commitment],
    )
    openings = bits.Openings(commitments=[Opening(key, one, secret[1:])])
    return bits.prove(statement, one, openings, transcript(), rng=seeded("memory"))


def leak() -> None:
    """Make bytes of Python of the witness, and drop them."""
    secret = ristretto255("native").stream(SecretBytes(SEED), DOMAIN).scalars(2)
    copy = secret.reveal().to_bytes()
    del copy


def main() -> None:
    proof = prove(sys.argv[1])
    if sys.argv[1] == "leak":
        leak()
    gc.collect()
    sys.stdout.write(proof.hex() + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
