"""A model for each user, and who should learn with whom: chapter 2 of Bellet's thesis.

Users send their models to those whom a weighted graph joins them with, and nobody sends data. Read
`facade` (what users call), `objective`, `alternating`, then `regulariser`, `graph_learning` and
`accounts` (privacy).

    >>> from gopa.learning.personalised import Personalised
    >>> from gopa.graph import from_similarity
    >>> from gopa.learning import linear_models
    >>> users = linear_models(10, 5, seed=1)
    >>> graph = from_similarity(users.truth["weights"], 0.01)
    >>> found = Personalised(graph=graph).fit(users)
    >>> found.outcome_.transcript is None  # a simulation
    True

Specification: `specs/20-personalised.md`; how to use it: `docs/learning/personalised.md`.
"""

from typing import TYPE_CHECKING, Any

from gopa.learning.objectives import stumps
from gopa.learning.personalised.admm import fit_admm
from gopa.learning.personalised.alternating import (
    BudgetShares,
    GraphSteps,
    fit_descent,
    fit_jointly,
)
from gopa.learning.personalised.descent import Member
from gopa.learning.personalised.graph_learning import (
    GossipPeers,
    GraphLearner,
    Peers,
    PrivateLosses,
    UniformPeers,
)
from gopa.learning.personalised.objective import (
    Collaboration,
    Convex,
    GraphRegulariser,
    Links,
    log_degrees,
)
from gopa.learning.personalised.release import Accounts
from gopa.learning.personalised.warm import private_alone, propagated

if TYPE_CHECKING:
    from gopa.learning.personalised.facade import Personalised

__all__ = [
    "Accounts",
    "BudgetShares",
    "Collaboration",
    "Convex",
    "GossipPeers",
    "GraphLearner",
    "GraphRegulariser",
    "GraphSteps",
    "Links",
    "Member",
    "Peers",
    "Personalised",
    "PrivateLosses",
    "UniformPeers",
    "fit_admm",
    "fit_descent",
    "fit_jointly",
    "log_degrees",
    "private_alone",
    "propagated",
    "stumps",
]


def __getattr__(name: str) -> Any:
    if name != "Personalised":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gopa.learning.personalised import facade

    return facade.Personalised
