"""The group ristretto255 and Pedersen commitments over it, to one value or to a vector.

A group has two backends that share no code: the Rust core (`native`) and Python (`reference`);
`backends` chooses. Read `group` (what a backend offers), `commitment`, then `pedersen`.
Commitments add up as their values do:

    >>> import os
    >>> from commitments import Pedersen, ristretto255
    >>> group = ristretto255()
    >>> key = Pedersen(group)
    >>> two, open_two = key.commit_fresh(group.secret_scalars([2]), rng=os.urandom)
    >>> three, open_three = key.commit_fresh(group.secret_scalars([3]), rng=os.urandom)
    >>> both = open_two + open_three
    >>> key.commit(both.values, both.blindings) == two + three
    True

Specification: `specs/01-group-and-commitments.md`.
"""

from commitments.backends import BackendStatus, backend_status, ristretto255
from commitments.commitment import (
    Commitment,
    CommitmentKey,
    Opening,
    RevealedOpening,
    decode_opening,
)
from commitments.generators import derive_generators
from commitments.pedersen import Pedersen, VectorPedersen

__all__ = [
    "BackendStatus",
    "Commitment",
    "CommitmentKey",
    "Opening",
    "Pedersen",
    "RevealedOpening",
    "VectorPedersen",
    "backend_status",
    "decode_opening",
    "derive_generators",
    "ristretto255",
]
