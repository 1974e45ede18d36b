"""Verifiable secure aggregation: everything a user needs, in one place."""

from commitments import (
    BackendStatus,
    Commitment,
    Opening,
    Pedersen,
    RevealedOpening,
    VectorPedersen,
    backend_status,
    decode_opening,
    ristretto255,
)
from commitments.group import Group
from gopa.version import VERSION
from wire.errors import (
    Aborted,
    BackendError,
    FaultyBoard,
    FaultyParty,
    GopaError,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
    Unattributed,
    UsageError,
)
from wire.randomness import Rng
from wire.secret import SecretBytes
from zkp import Transcript, sigma

__version__ = VERSION

__all__ = [
    "Aborted",
    "BackendError",
    "BackendStatus",
    "Commitment",
    "FaultyBoard",
    "FaultyParty",
    "GopaError",
    "Group",
    "InvalidProof",
    "InvalidSignature",
    "MalformedMessage",
    "Opening",
    "Pedersen",
    "ProtocolError",
    "RevealedOpening",
    "Rng",
    "SecretBytes",
    "SuspectedPartyOrBoard",
    "Transcript",
    "Unattributed",
    "UsageError",
    "VectorPedersen",
    "backend_status",
    "decode_opening",
    "ristretto255",
    "sigma",
]
