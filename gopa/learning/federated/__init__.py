"""Learning from data that stays with its owners: all that they tell are verified sums.

Read `setting`, `sums` (a session of rounds), `rounds` (one of them), then the algorithms:
`statistics`, `moments`, `clusters`, `training`, `updates`. The estimators are for scikit-learn, and
are imported when they are used: they need the extra `learning`, and nothing else here does.

    >>> from gopa.learning.federated import mean
    >>> from gopa.learning import Privacy, ratings
    >>> users = ratings(16, seed=1)
    >>> found = mean(users, privacy=Privacy(8.0, 1e-5), low=0, high=5, seed=1,
    ...              most_rows=1, session={"corrupt": 1})
    >>> found.audit().missing
    ()

Specification: `specs/22-federated.md`; how to use it: `docs/learning/federated.md`.
"""

from typing import TYPE_CHECKING, Any

from gopa.learning.federated.clusters import kmeans
from gopa.learning.federated.moments import least_squares, pca
from gopa.learning.federated.rounds import (
    AdaptiveClip,
    RoundShape,
    RoundTotal,
    mean_round,
)
from gopa.learning.federated.setting import Setting
from gopa.learning.federated.statistics import (
    contingency_table,
    histogram,
    mean,
    quantiles,
    variance,
)
from gopa.learning.federated.sums import SumSession
from gopa.learning.federated.training import Recipe, fedavg, fedsgd

if TYPE_CHECKING:
    from gopa.learning.federated.estimators import (
        FederatedKMeans,
        FederatedLinearRegression,
        FederatedLogisticRegression,
        FederatedPCA,
    )

__all__ = [
    "AdaptiveClip",
    "FederatedKMeans",
    "FederatedLinearRegression",
    "FederatedLogisticRegression",
    "FederatedPCA",
    "Recipe",
    "RoundShape",
    "RoundTotal",
    "Setting",
    "SumSession",
    "contingency_table",
    "fedavg",
    "fedsgd",
    "histogram",
    "kmeans",
    "least_squares",
    "mean",
    "mean_round",
    "pca",
    "quantiles",
    "variance",
]


def __getattr__(name: str) -> Any:
    if not name.startswith("Federated") or name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gopa.learning.federated import estimators

    return getattr(estimators, name)
