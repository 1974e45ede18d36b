"""Verifiable secure aggregation: everything a user needs, in one place.

Names whose modules are slow to import are resolved when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import gopa.siblings  # noqa: F401  first of all: it refuses foreign packages of our names

# isort: split
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

if TYPE_CHECKING:
    from gopa.planning import Outcome, Plan, PrivacyStatement, plan, privacy

__version__ = VERSION

_LATE = dict.fromkeys(("Outcome", "Plan", "PrivacyStatement", "plan", "privacy"), "gopa.planning")

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
    "Outcome",
    "Pedersen",
    "Plan",
    "PrivacyStatement",
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
    "plan",
    "privacy",
    "ristretto255",
    "sigma",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'gopa' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
