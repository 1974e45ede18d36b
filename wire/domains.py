"""Every domain-separation label of the project, in one place.

A label keeps one use of a hash, a stream or a signature apart from all others.
Labels look like `gopa/v1/<area>/<purpose>`. No label is a prefix of another, so
they stay apart even where nothing frames them. A new use gets a new constant
here, never a literal elsewhere; a test holds the tree to that.

Changing a label changes what is hashed: old transcripts no longer verify.
"""

from __future__ import annotations

import hashlib
from typing import Final, NewType

Domain = NewType("Domain", bytes)
"""A label; only this module makes them."""

STREAM_DOMAIN_SIZE: Final = 12

GENERATORS: Final = Domain(b"gopa/v1/commitments/generators")
"""Bases of commitments, hashed to the group."""

TRANSCRIPT: Final = Domain(b"gopa/v1/zkp/transcript")
"""The first thing every Fiat-Shamir transcript absorbs."""

PROVER_NONCES: Final = Domain(b"gopa/v1/zkp/prover-nonces")
"""Hedged nonces: fresh randomness, witness and transcript together."""

BATCH_WEIGHTS: Final = Domain(b"gopa/v1/zkp/batch-weights")
"""Random weights that merge many verification equations into one."""

SIGMA_BATCH_WEIGHTS: Final = Domain(b"gopa/v1/zkp/sigma-batch-weights")
"""The same for batches of Sigma proofs."""

BIT_SHAPE: Final = Domain(b"gopa/v1/zkp/bit-shape")
"""The hash that names the fixed part of a statement about hidden bits."""

NOISE_TABLE: Final = Domain(b"gopa/v1/zkp/noise-table")
"""The hash that names a noise law in statements and manifests."""

GRAPH: Final = Domain(b"gopa/v1/protocol/graph")
"""The stream from which a party's neighbours are drawn."""

TEST_STREAMS: Final = Domain(b"gopa/v1/tests/streams")
"""Reproducible values for tests and published vectors, never for a session."""

ENTRY_PAYLOAD_TYPE: Final = "application/vnd.gopa.entry.v1"
"""The role in which a party signs an entry of the board (`wire.pae`)."""


def stream_domain(label: Domain) -> bytes:
    """The 12 bytes that stand for a label where a stream cipher takes a nonce.

    The first bytes of SHA-256 of the label. Twelve bytes do not resist a search
    for collisions, and need not: all labels are constants of this module, and a
    test shows that no two of them share these bytes.
    """
    return hashlib.sha256(label).digest()[:STREAM_DOMAIN_SIZE]
