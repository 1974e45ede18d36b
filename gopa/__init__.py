"""Verifiable secure aggregation: everything a user needs, in one place.

Many parties compute a mean; nobody learns more than a differentially private result, and anybody
can check it.

    >>> result = gopa.average([0, 1, 1, 1, 0] * 2, epsilon=2, delta=1e-5, corrupt=1, seed=1)
    >>> result.count
    10
    >>> report = gopa.audit(result.transcript.archive("votes.gopa"))

Names are imported when they are first used, because some of their modules are slow. Proofs are in
`zkp`, commitments in `commitments`, the log in `bulletin_board`. The rooms, from below:
`support`, `contract`, `graph`, `rounds`, `accounting`, `noise`, `planning`, `protocol`, `sessions`,
`aggregation`, `auditing`, `adversary`, `learning`, `plugins`, `cli`: `docs/architecture.md`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gopa.support.siblings  # noqa: F401  first of all: it refuses foreign packages of our names

# isort: split
from gopa.support.version import VERSION

_NAMES = {
    "commitments": "backend_status",
    "gopa.aggregation": (
        "Aggregator Histogram InvalidValue InvalidWeight LocalAggregator OutOfRange "
        "Result RoundAborted Variance WeightTooSmall average average_async histogram "
        "histogram_async histograms sum sum_async variance variance_async"
    ),
    "gopa.auditing": "Report audit",
    "gopa.noise": "zero_sum",
    "gopa.protocol.party": "LocalPolicy Refusal",
    "gopa.planning": "Plan PrivacyStatement plan privacy",
    "gopa.sessions": "Client Contribution Membership SessionAggregator SessionOver Ticket Together",
    "wire.errors": (
        "Aborted BackendError FaultyBoard FaultyParty GopaError InvalidProof "
        "InvalidSignature MalformedMessage ProtocolError SuspectedPartyOrBoard "
        "Unattributed UsageError"
    ),
}
"""Modules, and the names that users find here. `__init__.pyi` says the same to type checkers."""

_WHOLE = frozenset({"accounting", "adversary", "graph", "noise"})
"""Modules whose names users call with the module in front: `gopa.noise.rounded_gaussian`."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

_OTHER_NAMES = {"mean": "average", "avg": "average", "var": "variance", "verify": "audit"}
"""What others call these."""

__version__ = VERSION
__all__ = sorted(_MODULES)  # noqa: PLE0605 - made from the table


def __getattr__(name: str) -> Any:
    if name in _WHOLE:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        hint = f": did you mean gopa.{_OTHER_NAMES[name]}?" if name in _OTHER_NAMES else ""
        raise AttributeError(f"module 'gopa' has no attribute {name!r}{hint}", name=name)
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
