"""Provides the group ristretto255 and commitments over it."""

from commitments.backends import BackendStatus, backend_status, ristretto255
from commitments.commitment import (
    Commitment,
    CommitmentKey,
    Opening,
    RevealedOpening,
    decode_opening,
)
from commitments.generators import derive_generators
from commitments.pedersen import Pedersen
from commitments.vector_pedersen import VectorPedersen

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
