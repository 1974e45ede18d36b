"""Statistics of all pairs of users, and models that learn from losses of pairs.

Read `kernels` (what is estimated), then who sees what: `gossip` (neighbours), `local` (private
reports), `two_party` (circuits of two users), `verified` (histograms), `averaging` and `ranking`.

    >>> from gopa.learning.pairwise import KENDALL, Cells, fit_local, statistic
    >>> from gopa.learning import Privacy, ratings
    >>> users, cells = ratings(300, seed=1), Cells(tuple(range(6)), tuple(range(6)))
    >>> exact = statistic(KENDALL, users)
    >>> hidden = fit_local(users, kernel=KENDALL, privacy=Privacy(4.0), cells=cells, seed=1)
    >>> abs(hidden.model - exact) < 0.3
    True

Specification: `specs/23-pairwise.md`; how to use it: `docs/learning/pairwise.md`.
"""

from typing import TYPE_CHECKING, Any

from gopa.learning.pairwise.answers import PrivateAnswers, WholeKernel
from gopa.learning.pairwise.averaging import OpenRows, Prox, dual_averages, fit_dual_averaging
from gopa.learning.pairwise.gossip import estimates, expected_estimates, fit_pairwise
from gopa.learning.pairwise.kernels import (
    AUC,
    GINI,
    KENDALL,
    RENYI,
    VARIANCE,
    WILCOXON,
    Kernel,
    Pairs,
    renyi_entropy,
    statistic,
)
from gopa.learning.pairwise.local import Cells, exact_variance, fit_local
from gopa.learning.pairwise.losses import METRIC, RANKING, MeanLoss, PairLoss
from gopa.learning.pairwise.ranking import area_under_curve, fit_ranking, ranking_error_bound
from gopa.learning.pairwise.subsampling import (
    PairError,
    PublicLaw,
    answers_within,
    best_rounds,
    pairings,
    shared_out,
)
from gopa.learning.pairwise.two_party import PairRun, Transport, fit_two_party, in_this_process
from gopa.learning.pairwise.verified import fit_verified

if TYPE_CHECKING:
    from gopa.learning.pairwise.scorer import PairwiseScorer

__all__ = [
    "AUC",
    "GINI",
    "KENDALL",
    "METRIC",
    "RANKING",
    "RENYI",
    "VARIANCE",
    "WILCOXON",
    "Cells",
    "Kernel",
    "MeanLoss",
    "OpenRows",
    "PairError",
    "PairLoss",
    "PairRun",
    "Pairs",
    "PairwiseScorer",
    "PrivateAnswers",
    "Prox",
    "PublicLaw",
    "Transport",
    "WholeKernel",
    "answers_within",
    "area_under_curve",
    "best_rounds",
    "dual_averages",
    "estimates",
    "exact_variance",
    "expected_estimates",
    "fit_dual_averaging",
    "fit_local",
    "fit_pairwise",
    "fit_ranking",
    "fit_two_party",
    "fit_verified",
    "in_this_process",
    "pairings",
    "ranking_error_bound",
    "renyi_entropy",
    "shared_out",
    "statistic",
]


def __getattr__(name: str) -> Any:
    if name != "PairwiseScorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gopa.learning.pairwise import scorer

    return scorer.PairwiseScorer
