"""What parties post where long vectors are proved row by row.

`specs/14-long-vectors.md`, section 5. The other messages of parties are those of
`gopa.contract.party`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gopa.contract.party import LARGEST_VALUE, MOST_NEIGHBOURS
from wire.codec import Codec, fixed, opaque, record, vector
from zkp.rows.product_tests import TEST_SIZE
from zkp.rows.shape import TESTS

MOST_ROWS: Final = 2**15
MOST_PAD_ROWS: Final = 12
TESTS_SIZE: Final = TESTS * TEST_SIZE
LARGEST_ROW_PROOF: Final = 65_535
NOT_LIVE: Final = bytes(32)
"""Stands for the edge of a neighbour that masks nothing."""


@dataclass(frozen=True, slots=True)
class RowJoin:
    """A fresh key, and the rows of the vector, the noise and the pads, before the coins."""

    acts_on: bytes
    key: bytes
    possession: bytes
    nonce_hash: bytes
    input: tuple[bytes, ...]
    noise: tuple[bytes, ...]
    pads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class RowCommit:
    """Hashes of all masks' keys, the tests of vector and noise, and the proof of them."""

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes
    coefficients: tuple[bytes, ...]
    shares: tuple[bytes, ...]
    tests: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class RowPublish:
    """The masked words, and the rows of carries and pads."""

    acts_on: bytes
    value: bytes
    carries: tuple[bytes, ...]
    pads: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Prove:
    """Commitments to the masks at a few points, and the proof that words are made of them.

    `edges` has one for each neighbour, in increasing position: zeros where the edge is not live.
    """

    acts_on: bytes
    edges: tuple[bytes, ...]
    self_mask: bytes
    tests: bytes
    proof: bytes


_LEAF = fixed(32)
_POINT = fixed(32)
_ROWS = vector(_POINT, 1, MOST_ROWS)
_PADS = vector(_POINT, 1, MOST_PAD_ROWS)
_EDGES = vector(_POINT, 0, MOST_NEIGHBOURS)
_PROOF = opaque(0, LARGEST_ROW_PROOF)

ROW_JOIN: Codec[RowJoin] = record(
    RowJoin,
    acts_on=_LEAF,
    key=fixed(32),
    possession=fixed(64),
    nonce_hash=opaque(0, 32),
    input=_ROWS,
    noise=_ROWS,
    pads=_PADS,
)
ROW_COMMIT: Codec[RowCommit] = record(
    RowCommit,
    acts_on=_LEAF,
    edges=_EDGES,
    self_mask=fixed(32),
    coefficients=_EDGES,
    shares=vector(fixed(64), 0, MOST_NEIGHBOURS),
    tests=fixed(TESTS_SIZE),
    proof=_PROOF,
)
ROW_PUBLISH: Codec[RowPublish] = record(
    RowPublish, acts_on=_LEAF, value=opaque(1, LARGEST_VALUE), carries=_ROWS, pads=_PADS
)
PROVE: Codec[Prove] = record(
    Prove,
    acts_on=_LEAF,
    edges=_EDGES,
    self_mask=_POINT,
    tests=fixed(TESTS_SIZE),
    proof=_PROOF,
)
