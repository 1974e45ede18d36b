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
from zkp import (
    GaussianNoiseStatement,
    GaussianTable,
    Interval,
    L2Statement,
    LastLargestStatement,
    NoiseSeeds,
    NoiseWitness,
    ProofClaim,
    RangeStatement,
    Transcript,
    VectorRangeStatement,
    WeightedBits,
    WeightedNoisePlan,
    WeightedNoiseStatement,
    binomial,
    commit_weighted_noise,
    irwin_hall,
    prove_gaussian_noise,
    prove_l2,
    prove_last_largest,
    prove_range,
    prove_vector_range,
    prove_weighted_noise,
    sigma,
    verify_batch,
    verify_gaussian_noise,
    verify_l2,
    verify_last_largest,
    verify_range,
    verify_vector_range,
    verify_weighted_noise,
)

if TYPE_CHECKING:
    from gopa.aggregation import (
        Aggregator,
        Histogram,
        InvalidValue,
        InvalidWeight,
        LocalAggregator,
        OutOfRange,
        Result,
        RoundAborted,
        Variance,
        WeightTooSmall,
        average,
        average_async,
        histogram,
        histogram_async,
        sum,  # noqa: A004 - the name under which users look for it
        sum_async,
        variance,
        variance_async,
    )
    from gopa.auditing import Report, audit
    from gopa.party import LocalPolicy, Refusal
    from gopa.planning import Plan, PrivacyStatement, RoundFacts, plan, privacy
    from gopa.sessions import (
        Client,
        Contribution,
        Membership,
        SessionAggregator,
        SessionOver,
        Ticket,
        Together,
    )

__version__ = VERSION

_AGGREGATION = (
    "Aggregator",
    "Histogram",
    "InvalidValue",
    "InvalidWeight",
    "LocalAggregator",
    "OutOfRange",
    "Result",
    "RoundAborted",
    "Variance",
    "WeightTooSmall",
    "average",
    "average_async",
    "histogram",
    "histogram_async",
    "sum",
    "sum_async",
    "variance",
    "variance_async",
)
_AUDITING = ("Report", "audit")
_PLANNING = ("RoundFacts", "Plan", "PrivacyStatement", "plan", "privacy")
_PARTY = ("LocalPolicy", "Refusal")
_SESSIONS = (
    "Client",
    "Contribution",
    "Membership",
    "SessionAggregator",
    "SessionOver",
    "Ticket",
    "Together",
)
_LATE = {
    **dict.fromkeys(_AGGREGATION, "gopa.aggregation"),
    **dict.fromkeys(_AUDITING, "gopa.auditing"),
    **dict.fromkeys(_PARTY, "gopa.party"),
    **dict.fromkeys(_PLANNING, "gopa.planning"),
    **dict.fromkeys(_SESSIONS, "gopa.sessions"),
}

__all__ = [
    "Aborted",
    "Aggregator",
    "BackendError",
    "BackendStatus",
    "Client",
    "Commitment",
    "Contribution",
    "FaultyBoard",
    "FaultyParty",
    "GaussianNoiseStatement",
    "GaussianTable",
    "GopaError",
    "Group",
    "Histogram",
    "Interval",
    "InvalidProof",
    "InvalidSignature",
    "InvalidValue",
    "InvalidWeight",
    "L2Statement",
    "LastLargestStatement",
    "LocalAggregator",
    "LocalPolicy",
    "MalformedMessage",
    "Membership",
    "NoiseSeeds",
    "NoiseWitness",
    "Opening",
    "OutOfRange",
    "Pedersen",
    "Plan",
    "PrivacyStatement",
    "ProofClaim",
    "ProtocolError",
    "RangeStatement",
    "Refusal",
    "Report",
    "Result",
    "RevealedOpening",
    "Rng",
    "RoundAborted",
    "RoundFacts",
    "SecretBytes",
    "SessionAggregator",
    "SessionOver",
    "SuspectedPartyOrBoard",
    "Ticket",
    "Together",
    "Transcript",
    "Unattributed",
    "UsageError",
    "Variance",
    "VectorPedersen",
    "VectorRangeStatement",
    "WeightTooSmall",
    "WeightedBits",
    "WeightedNoisePlan",
    "WeightedNoiseStatement",
    "audit",
    "average",
    "average_async",
    "backend_status",
    "binomial",
    "commit_weighted_noise",
    "decode_opening",
    "histogram",
    "histogram_async",
    "irwin_hall",
    "plan",
    "privacy",
    "prove_gaussian_noise",
    "prove_l2",
    "prove_last_largest",
    "prove_range",
    "prove_vector_range",
    "prove_weighted_noise",
    "ristretto255",
    "sigma",
    "sum",
    "sum_async",
    "variance",
    "variance_async",
    "verify_batch",
    "verify_gaussian_noise",
    "verify_l2",
    "verify_last_largest",
    "verify_range",
    "verify_vector_range",
    "verify_weighted_noise",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'gopa' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
