"""Estimates the AUC of secret scores from one private bit of each user, by trees of counts.

Scores are cells of a line of 2^depth; labels are public. Specification: `specs/23-pairwise.md`,
section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.calls import algorithm
from gopa.learning.checks import number, whole
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.history import History
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.pairwise.kernels import AUC, Places, points_of
from gopa.learning.pairwise.local import require_local
from gopa.learning.pairwise.subsampling import shared_out
from gopa.learning.privacy import Charge, Privacy
from gopa.noise import hadamard_bit, subseed
from gopa.support.arrays import Floats
from gopa.support.draws import Draws

_DEEPEST: Final = 20
_PATIENCE: Final = 4.0
"""The factor a of thresholds: Theorem 3.5 wants it above 1."""


@dataclass(frozen=True, slots=True, eq=False)
class CountTree:
    """Counts of cells in a line: `levels[l]` has those of the 2^l nodes at depth l.

    They are exact, or estimates whose variance is at most `variance`; the root is exact.
    """

    levels: tuple[Floats, ...]
    variance: float = 0.0

    @classmethod
    def of(cls, cells: Places, depth: int) -> CountTree:
        """The tree of exact counts of these cells."""
        bottom = np.bincount(cells, minlength=2**depth).astype(np.float64)
        levels = [bottom]
        while len(levels) <= depth:
            levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
        return cls(tuple(reversed(levels)))

    @classmethod
    def reported(
        cls, cells: Places, depth: int, epsilon: float, seed: bytes, *, every_level: bool = False
    ) -> CountTree:
        """Unbiased estimates from one bit of each user, or one bit for each level.

        Level and column are public and say nothing; the bit is (-1)^<node, column>, told wrongly
        by chance.
        """
        many, oracle = len(cells), hadamard_bit(epsilon)
        unbias = 1 / float(2 * oracle.keep - 1)
        draws = Draws(seed, "levels and columns")
        share = 1 if every_level else depth
        chosen = None if every_level else draws.below(depth, many) + 1
        levels = [np.array([float(many)])]
        for level in range(1, depth + 1):
            among = cells if chosen is None else cells[chosen == level]
            columns = draws.below(2**level, len(among))
            bits = oracle.report(among >> (depth - level), columns, subseed(seed, level))
            summed = np.bincount(columns, weights=bits, minlength=2**level).astype(np.float64)
            levels.append(_transformed(summed) * (share * unbias))
        return cls(tuple(levels), share * unbias**2 * many)


def _transformed(values: Floats) -> Floats:
    """The fast Hadamard transform: what all rows of the matrix make of these values."""
    found, half = values.copy(), 1
    while half < len(found):
        paired = found.reshape(-1, 2, half)
        found = np.stack([paired[:, 0] + paired[:, 1], paired[:, 0] - paired[:, 1]], axis=1).ravel()
        half *= 2
    return found


def ordered_pairs(above: CountTree, below: CountTree, patience: float | None = None) -> float:
    """How many pairs have the first in a higher cell than the second: ties count nothing.

    With `patience` a, nodes with fewer pairs than a sqrt(V+ V-) are not looked into; half of their
    pairs are counted. Without, all are.
    """
    if patience is not None and not patience > 0:
        raise UsageError("above 0, or None to look into everything", "patience")
    spread = [math.sqrt(each.variance) for each in (above, below)]
    threshold = -math.inf if patience is None else patience * spread[0] * spread[1]
    floors = [math.sqrt(patience or 0.0) / 2 * each for each in spread]
    found, open_nodes = 0.0, np.zeros(1, dtype=np.int64)
    for level in range(len(above.levels) - 1):
        high, low = (
            np.maximum(tree.levels[level][open_nodes], floor)
            for tree, floor in zip((above, below), floors, strict=True)
        )
        keep = high * low >= threshold
        first, second = (tree.levels[level + 1].reshape(-1, 2) for tree in (above, below))
        closed, open_nodes = open_nodes[~keep], open_nodes[keep]
        found += float((first[closed].sum(axis=1) * second[closed].sum(axis=1)).sum()) / 2
        found += float((first[open_nodes, 1] * second[open_nodes, 0]).sum())
        open_nodes = (2 * open_nodes[:, None] + np.arange(2)).ravel()
    return found


def ranking_error_bound(
    above: int, below: int, *, privacy: Privacy, depth: int, patience: float = _PATIENCE
) -> float:
    """Theorem 3.6 in numbers: no larger is the root mean square error of an AUC from all levels.

    For so many users of both labels, that of `fit_ranking` with `every_level`. With a delta it
    falls as depth sqrt(log(1 / delta) / n) / epsilon, without one as depth^1.5 / (epsilon sqrt(n)).

    Raises:
        UsageError: parts do not fit together.
    """
    whole(depth, "depth", 1, _DEEPEST)
    for many, field in ((above, "above"), (below, "below")):
        whole(many, field)
    if not 1 < number(patience, "patience") < math.inf:
        raise UsageError("above 1, and finite", "patience")
    epsilon = shared_out(privacy, depth, Charge.randomised_response)
    share = float(2 * hadamard_bit(epsilon).keep - 1) ** -2 / depth
    error = tree_error_bound(above, below, depth, share, patience)
    return math.sqrt(error) / (above * below)


def tree_error_bound(above: int, below: int, depth: int, share: float, patience: float) -> float:
    """Theorem 3.5: of the mean square error of `ordered_pairs`, where V = share * n * depth."""
    many = above + below
    last = 21 * math.sqrt(2 * many * share * depth) / (math.sqrt(patience) - 1)
    inside = 2 * many + (4 * patience + 1) * min(above, below) + last
    return share * above * below * depth**2 * inside


@algorithm(labels="signs", points=True, alone="everybody reports once: leave graph and clock out")
def fit_ranking(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    seed: int,
    progress: Progress = None,
    depth: int = 10,
    low: float = 0.0,
    high: float = 1.0,
    patience: float | None = _PATIENCE,
    every_level: bool = False,
) -> Outcome:
    """Estimates the AUC of scores between public ends, from a private bit of each user.

    With `every_level` a user answers for each level of the tree, and all answers together are
    within epsilon and delta; it needs a delta above 0.

    Raises:
        UsageError: parts do not fit together.
    """
    asked, many = require_local(privacy, problem), len(problem)
    whole(depth, "depth", 1, _DEEPEST)
    if patience is not None and not patience > 1:
        raise UsageError("above 1, or None to look into everything", "patience")
    points = points_of(problem.table)[np.concatenate(problem.rows)]
    scores, above = points[:, 0], points[:, 1] > 0
    pairs = AUC.divisor(points[:, 1]) / 2
    if not low < high or not low <= scores.min() <= scores.max() <= high:
        raise UsageError("scores lie between low and high: scale them", "high")
    cells = cells_of(scores, depth, low, high)
    ledger = PrivacyLedger(asked, assumptions=AUC.assumptions)
    run = AlgorithmRun(seed=seed, progress=progress, ledger=ledger, stops=False)
    if every_level and not asked.delta:
        raise UsageError("answers for all levels need a delta above 0", "delta")
    times = depth if every_level else 1
    epsilon = shared_out(asked, times, Charge.randomised_response)
    ledger.charge(Charge.randomised_response(epsilon), times=times, note="bits")
    with run:
        trees = []
        for done, (name, chosen) in enumerate((("above", above), ("below", ~above))):
            run.advance("trees", done, 2)
            own = subseed(seed, "pairwise", "tree", name)
            trees.append(
                CountTree.reported(cells[chosen], depth, epsilon, own, every_level=every_level)
            )
        value = ordered_pairs(trees[0], trees[1], patience) / pairs
        run.advance("trees", 2, 2)
    return run.outcome(
        "AUC from private bits",
        value,
        history=History({"users": [many], "estimate": [value]}),
        messages=many,
        bytes=many * -(-times // 8),
    )


def cells_of(scores: npt.ArrayLike, depth: int, low: float = 0.0, high: float = 1.0) -> Places:
    """The cell of each score, of 2^depth between public ends; what is outside goes to the ends."""
    places = np.floor((np.asarray(scores, dtype=np.float64) - low) / (high - low) * 2**depth)
    return np.asarray(np.clip(places, 0, 2**depth - 1), dtype=np.int64)


def area_under_curve(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The exact AUC, ties counting nothing, however many pairs there are."""
    return concordance(scores, np.asarray(labels) > 0)


def concordance(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The part of the pairs of unlike labels that scores have in this order; ties count nothing."""
    numbers, kinds = finite(scores, "scores"), np.asarray(labels)
    if kinds.shape != numbers.shape or len(np.unique(kinds)) < 2:
        raise UsageError("one for each score, and two of them unlike", "labels")
    right = many = 0
    for kind in np.unique(kinds)[1:]:
        above, below = numbers[kinds == kind], np.sort(numbers[kinds < kind])
        right += int(np.searchsorted(below, above, "left").sum())
        many += len(above) * len(below)
    return right / many
