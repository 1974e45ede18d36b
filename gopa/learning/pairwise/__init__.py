"""Estimates statistics of all pairs of users, and learns from losses of pairs.

By gossip between neighbours, from private reports, or from verified histograms. Specification:
`specs/23-pairwise.md`.
"""

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
    "PairLoss",
    "Pairs",
    "PrivateRows",
    "Prox",
    "area_under_curve",
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
    "fit_verified",
    "from_counts",
    "gradient_bias",
    "mean_over_pairs",
    "optimality_bound",
    "ordered_pairs",
    "renyi_entropy",
    "rows_of",
    "statistic",
    "tree_error_bound",
    "variance_bound",
]
