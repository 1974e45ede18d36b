"""Trees of counts: exact where there is no noise, of known variance where there is some."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from examples.pairwise import exact_tree_variance
from gopa import UsageError
from gopa.graph import ring
from gopa.learning import Charge, Privacy, Users, stacked
from gopa.learning.pairwise import (
    AUC,
    PairwiseScorer,
    area_under_curve,
    fit_dual_averaging,
    fit_ranking,
    ranking_error_bound,
    shared_out,
    statistic,
)
from gopa.learning.pairwise.ranking import (
    CountTree,
    cells_of,
    concordance,
    ordered_pairs,
    tree_error_bound,
)
from gopa.noise import hadamard_bit, subseed
from tests.learning.pairwise.samples import users
from tests.learning.pairwise.test_local import exp_below


def trees(above: Any, below: Any, depth: int, epsilon: float, run: int) -> list[CountTree]:
    return [
        CountTree.reported(np.asarray(cells), depth, epsilon, subseed(run, name))
        for cells, name in ((above, "above"), (below, "below"))
    ]


def scored(many: int, seed: int) -> Users:
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(many) < 0.5, 1, -1)
    scores = np.clip(0.5 + 0.15 * labels + rng.normal(0, 0.15, many), 0, 1)
    return stacked(
        [(np.array([[s]]), np.array([y])) for s, y in zip(scores, labels, strict=True)], "made up"
    )


def test_exact_trees_give_the_exact_number_of_pairs() -> None:
    rng = np.random.default_rng(1)
    for depth in (1, 3, 6):
        above, below = (rng.integers(0, 2**depth, many) for many in (17, 23))
        found = ordered_pairs(CountTree.of(above, depth), CountTree.of(below, depth))
        assert found == (above[:, None] > below).sum()
        labels = np.repeat([1, -1], [17, 23])
        area = area_under_curve(np.concatenate([above, below]), labels)
        assert found == pytest.approx(area * 17 * 23)
    among = users(30)
    points = among.table
    assert statistic(AUC, among) == pytest.approx(
        area_under_curve(points.features[:, 0], points.labels)
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(2)])
def test_no_bit_tells_more_than_epsilon(epsilon: Fraction) -> None:
    """Level, column and bit of every cell: all outputs, in fractions."""
    depth, keep = 3, hadamard_bit(epsilon).keep

    def law(cell: int) -> dict[tuple[int, int, int], Fraction]:
        found = {}
        for level in range(1, depth + 1):
            for column in range(2**level):
                true = 1 - 2 * ((cell >> (depth - level) & column).bit_count() % 2)
                chance = Fraction(1, depth * 2**level)
                found[level, column, true] = chance * keep
                found[level, column, -true] = chance * (1 - keep)
        return found

    laws = [law(cell) for cell in range(2**depth)]
    assert all(sum(each.values()) == 1 for each in laws)
    worst = max(one[out] / two[out] for one, two in product(laws, laws) for out in one)
    assert exp_below(epsilon * Fraction(999, 1000)) <= worst
    assert worst <= exp_below(epsilon) + Fraction(1, 10**30)


def test_answers_for_all_levels_are_within_delta() -> None:
    """All outputs of all cells at all columns of two levels, in fractions; a little more is not."""
    depth, delta = 2, Fraction(1, 1000)
    epsilon = Fraction(shared_out(Privacy(1.0, float(delta)), depth, Charge.randomised_response))
    grown = exp_below(Fraction(1))

    def lost(each: Fraction) -> Fraction:
        keep, worst = hadamard_bit(each).keep, Fraction(0)
        for columns in product(range(2), range(4)):
            truths = [
                [
                    (cell >> (1 - level) & column).bit_count() % 2
                    for level, column in enumerate(columns)
                ]
                for cell in range(4)
            ]
            laws = [
                [math.prod(keep if b == t else 1 - keep for b, t in zip(bits, truth, strict=True))
                 for bits in product(range(2), repeat=depth)]
                for truth in truths
            ]  # fmt: skip
            pairs = product(laws, laws)
            for two in pairs:
                gaps = (x - grown * y for x, y in zip(*two, strict=True))
                worst = max(worst, sum((each for each in gaps if each > 0), Fraction(0)))
        return worst

    assert lost(epsilon) <= delta < lost(epsilon * Fraction(101, 100))


def test_what_is_shared_out_is_not_refused() -> None:
    """A share that is rounded upwards does not fit any more: here to six digits."""
    asked = Privacy(0.44, 1e-3)
    outcome = fit_ranking(scored(40, 1), privacy=asked, seed=1, depth=2, every_level=True)
    assert 0.439 < outcome.spent.epsilon <= 0.44


def test_estimates_are_right_in_expectation_and_of_the_exact_variance() -> None:
    """400 runs of eleven users: counts of all nodes, and pairs in order."""
    rng = np.random.default_rng(4)
    above, below, runs = rng.integers(0, 8, 6), rng.integers(0, 8, 5), 400
    found, levels = np.empty(runs), np.empty((runs, 8))
    for run in range(runs):
        first, second = trees(above, below, 3, 2.0, run)
        found[run], levels[run] = ordered_pairs(first, second), first.levels[3]
    exact = exact_tree_variance(above, below, 3, 2.0)
    assert abs(found.mean() - (above[:, None] > below).sum()) < 4 * math.sqrt(exact / runs)
    assert found.var() == pytest.approx(exact, rel=0.35)
    off = np.abs(levels.mean(axis=0) - CountTree.of(above, 3).levels[3])
    assert (off < 4 * levels.std(axis=0) / math.sqrt(runs)).all()
    assert (levels.var(axis=0) <= first.variance * 1.3).all()
    share = first.variance / 6 / 3
    assert exact < tree_error_bound(6, 5, 3, share, 4.0)


@pytest.mark.soak
def test_the_exact_variance_is_met_within_five_percent() -> None:
    rng = np.random.default_rng(5)
    above, below = rng.integers(0, 64, 60), rng.integers(0, 64, 50)
    found = []
    for run in range(12_000):
        first, second = trees(above, below, 6, 1.0, run)
        found.append(ordered_pairs(first, second))
    assert np.var(found) == pytest.approx(exact_tree_variance(above, below, 6, 1.0), rel=0.05)


def test_pruning_pays_where_trees_are_deep() -> None:
    """40,000 users, epsilon 1, 2^14 cells: below 0.1 with it, above 0.3 without."""
    rng = np.random.default_rng(6)
    many, depth, runs = 20_000, 14, 8
    above = cells_of(rng.beta(4, 2, many), depth)
    below = cells_of(rng.beta(2, 4, many), depth)
    truth = ordered_pairs(CountTree.of(above, depth), CountTree.of(below, depth)) / many**2
    missed: dict[float | None, list[float]] = {None: [], 4.0: []}
    for run in range(runs):
        first, second = trees(above, below, depth, 1.0, run)
        for patience, listed in missed.items():
            listed.append(ordered_pairs(first, second, patience) / many**2 - truth)
    error = {name: math.sqrt(np.mean(np.square(each))) for name, each in missed.items()}
    assert error[4.0] < 0.1
    assert error[4.0] ** 2 < tree_error_bound(many, many, depth, 4.7, 4.0) / many**4
    assert math.sqrt(exact_tree_variance(above, below, depth, 1.0)) / many**2 > 0.3
    assert error[None] > 0.2


def test_bits_of_all_levels_are_within_the_bound_of_their_theorem() -> None:
    rng, depth, runs = np.random.default_rng(7), 8, 12
    for asked, many in ((Privacy(1.0, 1e-6), 4000), (Privacy(4.0, 1e-3), 1000)):
        above = cells_of(rng.beta(4, 2, many), depth)
        below = cells_of(rng.beta(2, 4, many // 2), depth)
        truth = ordered_pairs(CountTree.of(above, depth), CountTree.of(below, depth))
        each = shared_out(asked, depth, Charge.randomised_response)
        missed = []
        for run in range(runs):
            first, second = (
                CountTree.reported(cells, depth, each, subseed(run, name), every_level=True)
                for cells, name in ((above, "above"), (below, "below"))
            )
            missed.append((ordered_pairs(first, second, 4.0) - truth) / (many * (many // 2)))
        bound = ranking_error_bound(many, many // 2, privacy=asked, depth=depth)
        assert bound / 100 < math.sqrt(np.mean(np.square(missed))) < bound


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_the_bound_falls_as_theorem_3_6_says(epsilon: float, delta: float) -> None:
    """With the constant of [P21], and without delta as epsilon / depth for each level says."""
    many, patience = 10**9, 4.0
    for depth in (1, 5, 20):
        first = shared_out(Privacy(epsilon, delta), depth, Charge.randomised_response)
        most = 8 * (math.log(1 / delta) + epsilon) / epsilon**2 * (1 + first**2 / 12) ** 2
        bound = ranking_error_bound(many, many, privacy=Privacy(epsilon, delta), depth=depth)
        assert bound**2 <= tree_error_bound(many, many, depth, most, patience) / many**4
        # So many that only the first terms count.
        assert bound**2 * 2 * many < 42.5 * most * depth**2
        pure = ranking_error_bound(many, many, privacy=Privacy(epsilon), depth=depth)
        share = 1 / math.tanh(epsilon / depth / 2) ** 2 / depth
        assert pure**2 == pytest.approx(
            tree_error_bound(many, many, depth, share, patience) / many**4, rel=1e-6
        )
    assert ranking_error_bound(100 * many, 100 * many, privacy=Privacy(epsilon), depth=20) == (
        pytest.approx(pure / 10, rel=0.02)
    )


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("above", {"above": 0}),
        ("below", {"below": 1.5}),
        ("depth", {"depth": 21}),
        ("depth", {"depth": 0}),
        ("patience", {"patience": 1.0}),
        ("patience", {"patience": math.inf}),
    ],
)
def test_a_bound_of_errors_is_of_what_can_be_asked(field: str, change: dict[str, Any]) -> None:
    right: dict[str, Any] = {"above": 9, "below": 4, "privacy": Privacy(1.0, 1e-6), "depth": 3}
    ranking_error_bound(**right)
    with pytest.raises(UsageError) as caught:
        ranking_error_bound(**{**right, **change})
    assert caught.value.field == field


@pytest.mark.parametrize("patience", [0.0, -1.0, math.nan])
def test_patience_is_above_0(patience: float) -> None:
    counts = CountTree.of(np.array([0, 1, 3]), 2)
    assert ordered_pairs(counts, counts, 1.0) == ordered_pairs(counts, counts)
    with pytest.raises(UsageError) as caught:
        ordered_pairs(counts, counts, patience)
    assert caught.value.field == "patience"


def test_a_bit_of_one_level_and_of_all_lead_to_the_curve() -> None:
    among = scored(1500, 1)
    points = among.table
    truth = area_under_curve(points.features[:, 0], points.labels)
    asked = Privacy(4.0, 1e-6)
    sampled = fit_ranking(among, privacy=asked, seed=1, depth=5)
    everywhere = fit_ranking(among, privacy=asked, seed=1, depth=5, every_level=True)
    assert sampled.spent.epsilon == pytest.approx(4.0)
    assert everywhere.spent.within(asked)
    assert everywhere.spent.epsilon > 3.9
    for each in (sampled, everywhere):
        assert each.model == pytest.approx(truth, abs=0.15)
    with pytest.raises(UsageError) as caught:
        fit_ranking(among, privacy=Privacy(4.0), seed=1, depth=5, every_level=True)
    assert caught.value.field == "delta"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"privacy": None}, "privacy"),
        ({"graph": ring(40)}, "graph"),
        ({"depth": 0}, "depth"),
        ({"depth": 21}, "depth"),
        ({"patience": 1.0}, "patience"),
        ({"low": 1.0}, "high"),
        ({"low": 0.0, "high": 0.0}, "high"),
        ({"high": 0.4}, "high"),
        ({"low": 0.6}, "high"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"privacy": Privacy(1.0), "seed": 1, "depth": 3}
    fit_ranking(scored(40, 1), **right)
    with pytest.raises(UsageError) as caught:
        fit_ranking(scored(40, 1), **{**right, **change})
    assert caught.value.field == field


def test_labels_that_are_no_sides_are_refused() -> None:
    among, asked = scored(40, 1), {"privacy": Privacy(1.0), "seed": 1, "depth": 3}
    right = fit_ranking(among, **asked)
    for same in ((among.table.labels + 1) // 2, np.where(among.table.labels > 0, "yes", "no")):
        other = replace(among, table=replace(among.table, labels=same))
        assert fit_ranking(other, **asked).model == right.model
    for labels, field in ((np.abs(among.table.labels), "problem"), (np.arange(40), "labels")):
        other = replace(among, table=replace(among.table, labels=labels))
        with pytest.raises(UsageError) as caught:
            fit_ranking(other, **asked)
        assert caught.value.field == field


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong_with_the_scorer() -> None:
    check_estimator(PairwiseScorer(), on_skip=None)


def test_a_scorer_learns_the_order_of_labels() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 3))
    y = np.digitize(x @ [2.0, -1.0, 0.0], [-1, 0, 1])
    model = PairwiseScorer(random_state=1).fit(x, y)
    assert model.score(x, y) > 0.9
    assert model.score(x, y > 1) == pytest.approx(area_under_curve(model.predict(x), y > 1))
    same = fit_dual_averaging(
        stacked([(each[None], np.array([kind])) for each, kind in zip(x, y, strict=True)], "rows"),
        graph="complete", seed=1, steps=1600,
    )  # fmt: skip
    assert np.array_equal(same.model, model.coef_)
    copied = pickle.loads(pickle.dumps(clone(model).fit(x, y)))  # noqa: S301 - our own
    assert np.array_equal(copied.predict(x), model.predict(x))
    asked = Privacy(8.0)
    hidden = PairwiseScorer(privacy=asked, codebook=rng.normal(size=(4, 3)), random_state=1)
    assert hidden.fit(x, y).outcome_.spent.within(asked)
    with pytest.raises(ValueError, match="codebook"):
        PairwiseScorer(privacy=asked).fit(x, y)
    with pytest.raises(TypeError, match="random_state"):
        PairwiseScorer(seed=1)
    for labels in (np.zeros(80), np.arange(79)):
        with pytest.raises(UsageError):
            concordance(x[:, 0], labels)
