"""Estimates statistics of all pairs of users, and learns from losses of pairs.

By gossip between neighbours, from private reports, from circuits of two users each, or from
verified histograms. Specification:
`specs/23-pairwise.md`.
"""

from gopa.learning.pairwise.answers import PrivateAnswers, WholeKernel
from gopa.learning.pairwise.averaging import (
    DualIterate,
    OpenRows,
    Prox,
    dual_averages,
    fit_dual_averaging,
    gradient_bias,
    optimality_bound,
)
from gopa.learning.pairwise.gossip import (
    METHODS,
    Method,
    estimates,
    estimation_bound,
    expected_estimates,
    fit_pairwise,
)
from gopa.learning.pairwise.kernels import (
    AUC,
    GINI,
    KENDALL,
    KERNELS,
    RENYI,
    VARIANCE,
    WILCOXON,
    Kernel,
    Pairs,
    mean_over_pairs,
    renyi_entropy,
    statistic,
)
from gopa.learning.pairwise.local import (
    Cells,
    default_cells,
    error_bound,
    exact_variance,
    fit_local,
    variance_bound,
)
from gopa.learning.pairwise.losses import METRIC, RANKING, MeanLoss, PairLoss, rows_of
from gopa.learning.pairwise.private_rows import PrivateRows
from gopa.learning.pairwise.ranking import (
    CountTree,
    area_under_curve,
    cells_of,
    exact_tree_variance,
    fit_ranking,
    ordered_pairs,
    tree_error_bound,
)
from gopa.learning.pairwise.subsampling import (
    PairError,
    PublicLaw,
    answers_within,
    best_rounds,
    pairings,
    shared_out,
)
from gopa.learning.pairwise.two_party import PairRun, Transport, fit_two_party, in_this_process
from gopa.learning.pairwise.verified import fit_verified, from_counts

__all__ = [
    "AUC",
    "GINI",
    "KENDALL",
    "KERNELS",
    "METHODS",
    "METRIC",
    "RANKING",
    "RENYI",
    "VARIANCE",
    "WILCOXON",
    "Cells",
    "CountTree",
    "DualIterate",
    "Kernel",
    "MeanLoss",
    "Method",
    "OpenRows",
    "PairError",
    "PairLoss",
    "PairRun",
    "Pairs",
    "PrivateAnswers",
    "PrivateRows",
    "Prox",
    "PublicLaw",
    "Transport",
    "WholeKernel",
    "answers_within",
    "area_under_curve",
    "best_rounds",
    "cells_of",
    "default_cells",
    "dual_averages",
    "error_bound",
    "estimates",
    "estimation_bound",
    "exact_tree_variance",
    "exact_variance",
    "expected_estimates",
    "fit_dual_averaging",
    "fit_local",
    "fit_pairwise",
    "fit_ranking",
    "fit_two_party",
    "fit_verified",
    "from_counts",
    "gradient_bias",
    "in_this_process",
    "mean_over_pairs",
    "optimality_bound",
    "ordered_pairs",
    "pairings",
    "renyi_entropy",
    "rows_of",
    "shared_out",
    "statistic",
    "tree_error_bound",
    "variance_bound",
]
