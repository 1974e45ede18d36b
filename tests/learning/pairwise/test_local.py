"""Private reports: exact laws of all outputs, exact variances, and bounds above them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import complete
from gopa.learning import Privacy, PrivacyLedger, Table, Users, ratings, stacked
from gopa.learning.pairwise import (
    AUC,
    GINI,
    KENDALL,
    RENYI,
    Cells,
    Kernel,
    exact_variance,
    fit_local,
    fit_pairwise,
    fit_verified,
)
from gopa.learning.pairwise.kernels import TablePairs
from gopa.learning.pairwise.local import (
    debiased,
    default_cells,
    kernels_between,
    reported_pairs,
    reports_of,
    weights_of,
)
from gopa.learning.pairwise.losses import RANKING
from gopa.learning.pairwise.private_rows import PrivateRows
from gopa.learning.pairwise.verified import from_counts
from gopa.learning.privacy import CLASSES
from gopa.noise import RandomisedResponse, randomised_response, subseed
from tests.learning.pairwise.samples import users

RATINGS = Cells(tuple(range(6)), tuple(range(6)))


def exp_below(epsilon: Fraction) -> Fraction:
    """A fraction below e^epsilon: the exponential series, cut off."""
    term, found = Fraction(1), Fraction(0)
    for k in range(60):
        found += term
        term *= epsilon / (k + 1)
    return found


def law_of_reports(cells: Cells, epsilon: Fraction, point: np.ndarray) -> list[Fraction]:
    """The exact chance of every report, of somebody with this point."""
    response = randomised_response(cells.count, epsilon)
    inside = [Fraction(0)] * cells.count
    if cells.rounding == "random":
        below, share = cells.share_above(point[:1])
        inside[int(below[0]) + 1] = Fraction(int(share[0]), 2**53)
        inside[int(below[0])] = 1 - inside[int(below[0]) + 1]
    else:
        inside[int(cells.of(point[None], 1)[0])] = Fraction(1)
    kept, other = response.keep, response.other
    return [other + (kept - other) * chance for chance in inside]


LINES = [Cells.even(k, rounding=r) for k in (2, 5) for r in ("nearest", "random")]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
@pytest.mark.parametrize(
    "cells", [*LINES, RATINGS], ids=lambda each: f"{each.count} {each.rounding}"
)
def test_no_report_tells_more_than_epsilon(cells: Cells, epsilon: Fraction) -> None:
    """All outputs of all inputs of a grid, in fractions; the worst comes close to epsilon."""
    numbers, labels = (
        (np.linspace(0, 1, 31), [0.0]) if cells is not RATINGS else (range(6), range(6))
    )
    laws = [law_of_reports(cells, epsilon, np.array(each)) for each in product(numbers, labels)]
    assert all(sum(law) == 1 for law in laws)
    # Of each output the largest and the smallest chance: the worst two inputs.
    worst = max(max(each) / min(each) for each in zip(*laws, strict=True))
    assert worst <= exp_below(epsilon) + Fraction(1, 10**30)
    assert worst >= exp_below(epsilon * Fraction(999, 1000))


@pytest.mark.parametrize("rounding", ["nearest", "random"])
def test_reports_have_the_law_that_was_enumerated(rounding: Any) -> None:
    """Of 30,000 users with one point, chi-square of four degrees; users draw independently."""
    cells, epsilon, many = Cells.even(5, rounding=rounding), Fraction(1), 30_000
    among = Users(
        Table(np.full((many, 1), 0.4), np.ones(many, int), "made up"),
        tuple(np.arange(many)[:, None]),
    )
    ledger = PrivacyLedger(Privacy(float(epsilon)))
    rows = reports_of(among, GINI, cells, ledger, seed=1)._rows
    law = np.array(law_of_reports(cells, epsilon, np.array([0.4])), dtype=float)
    expected = many * law
    assert ((np.bincount(rows, minlength=5) - expected) ** 2 / expected).sum() < 20
    together = np.bincount(5 * rows[::2] + rows[1::2], minlength=25)
    expected = many / 2 * np.outer(law, law).ravel()
    assert ((together - expected) ** 2 / expected).sum() < 55
    assert ledger.spent().epsilon == epsilon


def test_points_and_rows_are_reported_by_streams_of_their_own() -> None:
    """Else two algorithms with one seed would make the same mistakes, and betray each other."""
    among, asked = users(200), Privacy(1.0)
    points = reports_of(among, GINI, Cells.even(4), PrivacyLedger(asked), seed=1)._rows
    book = np.array(Cells.even(4).values)[:, None]
    rows = PrivateRows.of(RANKING, among, book, PrivacyLedger(asked), seed=1).weights.argmax(axis=1)
    truth = Cells.even(4).of(among.table.features, 1)
    assert 0.2 < np.mean((points - truth) % 4 == (rows - truth) % 4) < 0.5


@pytest.mark.parametrize("count", [3, 8])
def test_random_rounding_keeps_numbers_on_average(count: int) -> None:
    cells = Cells.even(count, -1.0, 3.0, rounding="random")
    numbers = np.linspace(-1, 3, 9)
    below, share = cells.share_above(numbers)
    values = np.array(cells.values)
    mean = values[below] + share / 2**53 * (values[below + 1] - values[below])
    assert np.allclose(mean, numbers, rtol=1e-12)
    drawn = values[cells.of(np.full((4000, 2), 0.3), 7)]
    spread = np.diff(values)[0]
    assert len(set(drawn)) == 2
    assert np.abs(drawn - 0.3).max() < spread
    assert abs(drawn.mean() - 0.3) < 4 * spread / 2 / math.sqrt(4000)


@pytest.mark.parametrize("kernel", [GINI, RENYI, AUC, KENDALL], ids=lambda each: each.name)
def test_reports_are_right_in_expectation(kernel: Kernel) -> None:
    """Over all answers of two users, each with its exact chance, for all pairs of cells."""
    cells = Cells((0.1, 0.5, 0.9), (1.0, 2.0) if kernel is KENDALL else ())
    response = randomised_response(cells.count, 1.0)
    kernels = kernels_between(kernel, cells, np.array([-1.0, 1.0] if kernel is AUC else [0.0]))
    clean = debiased(kernels, response)
    law = np.full((cells.count,) * 2, float(response.other))
    np.fill_diagonal(law, float(response.keep))
    assert np.allclose(np.einsum("ai,ghij,bj->ghab", law, clean, law), kernels, atol=1e-12)
    assert np.allclose(law @ weights_of(np.arange(cells.count), response), np.eye(cells.count))


@pytest.mark.parametrize("kernel", [GINI, AUC, KENDALL], ids=lambda each: each.name)
def test_the_statistic_is_the_mean_over_all_pairs_of_reports(kernel: Kernel) -> None:
    """From counts as pair by pair, and as gossip sees it."""
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 2, 9) if kernel is AUC else np.zeros(9, dtype=np.int64)
    cells = Cells((0.1, 0.5, 0.9), (1.0, 2.0) if kernel is KENDALL else ())
    kernels = kernels_between(kernel, cells, np.array([-1.0, 1.0] if kernel is AUC else [0.0]))
    response, reported = randomised_response(cells.count, 1.0), rng.integers(0, cells.count, 9)
    pairs, clean = (
        reported_pairs(reported, groups, kernels, response, 40.0),
        debiased(kernels, response),
    )
    expected = sum(
        clean[groups[u], groups[v], reported[u], reported[v]]
        for u in range(9)
        for v in range(9)
        if u != v
    )
    assert pairs.mean() == pytest.approx(expected / 40)
    everybody = np.arange(9)
    table = pairs.between(everybody[:, None], everybody)
    assert table.mean() == pytest.approx(pairs.mean())
    assert not np.diag(table).any()


def variance_bound(users: int, share_lost: float) -> float:
    """Theorem 3.3 of the thesis, for kernels from 0 to 1: a bound, and a loose one."""
    kept = 1 - share_lost
    lost = (1 + share_lost) ** 2 / (2 * users * (users - 1) * kept**4)
    return 1 / (users * kept**2) + lost


def test_the_exact_variance_is_that_of_all_outcomes() -> None:
    """Four users with three kinds of reports: all 81 outcomes with their chances."""
    rng = np.random.default_rng(1)
    law, table = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 3))
    table += table.T
    chances, means = [], []
    for drawn in product(range(3), repeat=4):
        chances.append(math.prod(law[list(drawn)]))
        means.append(TablePairs(table * 16 / 12, np.array(drawn)).mean())
    mean = np.dot(chances, means)
    variance = np.dot(chances, (np.array(means) - mean) ** 2)
    assert exact_variance(law, table, 4) == pytest.approx(variance, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (GINI, 4),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in [(GINI, 12), (RENYI, 6)]),
    ],
)
def test_the_variance_is_that_of_hoeffding_and_below_the_bound(kernel: Kernel, count: int) -> None:
    """Real reports of 40,000 samples within 5 %, four standard errors; Theorem 3.3 is above."""
    many, runs, epsilon = 60, 40_000, 1.0
    rng = np.random.default_rng(count)
    cells, law = Cells.even(count), rng.dirichlet(np.ones(count))
    response = randomised_response(count, epsilon)
    kernels = kernels_between(kernel, cells, np.zeros(1))
    truth = rng.choice(count, (runs, many), p=law)
    reported = response.report(truth, subseed(7, "runs", count)) + count * np.arange(runs)[:, None]
    counts = np.bincount(reported.ravel(), minlength=runs * count).reshape(runs, count)
    clean = debiased(kernels, response)[0, 0]
    everything = np.einsum("ri,ij,rj->r", counts, clean, counts) - counts @ np.diag(clean)
    found = everything / (many * (many - 1))
    first = reported_pairs(reported[0], np.zeros(many, int), kernels, response, many * (many - 1.0))
    assert first.mean() == pytest.approx(found[0])
    exact = exact_variance(law_of(response, law), clean, many)
    spread = math.sqrt((np.mean((found - found.mean()) ** 4) / exact**2 - 1) / runs)
    assert 4 * spread < 0.05
    assert found.var() == pytest.approx(exact, rel=0.05)
    assert abs(found.mean() - law @ kernels[0, 0] @ law) < 4 * math.sqrt(exact / runs)
    assert exact < variance_bound(many, count * float(response.other)) / 2


def law_of(response: RandomisedResponse, law: np.ndarray) -> np.ndarray:
    """Of the reports of values with this law."""
    kept, other = float(response.keep), float(response.other)
    return np.asarray(other + (kept - other) * law)


def test_errors_of_a_continuous_law_are_below_the_bound() -> None:
    """Theorem 3.4: uniform numbers, for which Gini's mean difference is 1/3."""
    epsilon, many = 1.0, 2000
    count = default_cells(many, epsilon, GINI.lipschitz)
    assert count == 7
    cells, response = Cells.even(count), randomised_response(count, epsilon)
    kernels = kernels_between(GINI, cells, np.zeros(1))
    clean = debiased(kernels, response)[0, 0]
    rounded = float(kernels[0, 0].mean()) - 1 / 3
    error = exact_variance(np.full(count, 1 / count), clean, many) + rounded**2
    assert error < (variance_bound(many, count * float(response.other)) + 1 / (2 * count**2)) / 2
    among = stacked([(np.array([[x]]), np.array([1])) for x in np.linspace(0, 1, many)], "made up")
    runs = [
        float(fit_local(among, kernel=GINI, privacy=Privacy(epsilon), seed=seed).model)
        for seed in range(40)
    ]
    assert np.mean(np.square(np.array(runs) - 1 / 3)) < 2 * error


def test_a_kernel_that_spans_two_is_estimated_as_well() -> None:
    among = ratings(20_000, seed=1)
    outcome = fit_local(among, kernel=KENDALL, privacy=Privacy(3.0), seed=1, cells=RATINGS)
    assert outcome.model == pytest.approx(among.truth["tau"], abs=0.05)
    assert outcome.spent.epsilon == pytest.approx(3.0)
    assert outcome.spent.delta == 0
    assert outcome.spent.within(Privacy(3.0))


def test_reports_travel_in_gossip() -> None:
    """Remark 3.5: what is spent is that of the reports, and estimates come to theirs."""
    among, asked = users(60, 2), Privacy(4.0)
    right: dict[str, Any] = {"kernel": GINI, "privacy": asked, "seed": 1, "cells": Cells.even(4)}
    direct = fit_local(among, **right)
    outcome = fit_pairwise(among, graph=complete(60), steps=8000, **right)
    assert outcome.spent.within(asked)
    with_labels = fit_pairwise(among, graph=complete(60), steps=20, **{**right, "kernel": AUC})
    assert with_labels.spent.assumptions == ("labels are public", CLASSES)
    assert outcome.model.mean() == pytest.approx(direct.model, rel=0.05)


def test_verified_counts_lead_to_the_statistic() -> None:
    """Noise of counts is taken out; and sessions can be audited."""
    cells = Cells.even(3)
    kernels = kernels_between(GINI, cells, np.zeros(1))
    rng = np.random.default_rng(1)
    counts = np.array([[4.0, 7.0, 9.0]])
    same = replace(GINI, value=lambda x, y: np.ones(np.broadcast_shapes(x.shape, y.shape)[:-1]))
    ones = kernels_between(same, cells, np.zeros(1))
    assert from_counts(ones, counts, np.zeros((1, 3))) == 20 * 19
    noisy = [
        from_counts(ones + kernels, counts + rng.normal(0, 2, (1, 3)), np.full((1, 3), 2.0))
        for _ in range(20_000)
    ]
    exact = from_counts(ones + kernels, counts, np.zeros((1, 3)))
    assert np.mean(noisy) == pytest.approx(exact, abs=float(4 * np.std(noisy) / math.sqrt(20_000)))
    among, asked = users(9), Privacy(60.0, 1e-5)
    outcome = fit_verified(
        among, kernel=AUC, privacy=asked, seed=1, cells=Cells.even(2), mode="signed", corrupt=1
    )
    assert outcome.spent.within(asked)
    assert outcome.spent.assumptions[0] == "labels are public"
    assert any("corrupt" in each for each in outcome.spent.assumptions)
    with pytest.raises(UsageError) as caught:
        fit_verified(among, kernel=AUC, privacy=asked, seed=1, cells=Cells.even(2), mode="off")
    assert caught.value.field == "mode"
    assert len(outcome.transcript or ()) == 2
    assert outcome.audit().rounds == 2
    halves = Cells.even(2)
    inside = halves.of(among.table.features, 1)
    exactly = np.array([np.bincount(inside[among.table.labels == y], minlength=2) for y in (-1, 1)])
    table = kernels_between(AUC, halves, np.array([-1.0, 1.0]))
    rounded = from_counts(table, exactly, np.zeros((2, 2))) / AUC.divisor(among.table.labels)
    assert outcome.model == pytest.approx(rounded, abs=0.25)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"privacy": None}, "privacy"),
        ({"privacy": Privacy(1.0, relation="add-remove")}, "privacy"),
        ({"graph": complete(7)}, "graph"),
        ({"kernel": KENDALL}, "cells"),
        ({"kernel": RENYI, "cells": None}, "cells"),
        ({"cells": RATINGS}, "cells"),
        ({"cells": 8}, "cells"),
        ({"cells": Cells.even(3, 0.0, 0.5)}, "cells"),
        ({"cells": Cells.even(3, 0.3, 2.0, "random")}, "cells"),
        ({"seed": -1}, "seed"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"kernel": GINI, "privacy": Privacy(1.0), "seed": 1}
    right["cells"] = Cells.even(3)
    fit_local(users(), **right)
    for fit in (fit_local, fit_verified):
        with pytest.raises(UsageError) as caught:
            fit(users(), **{**right, **change})
        assert caught.value.field == field


def test_labels_outside_of_their_cells_are_refused() -> None:
    """Else what noise is planned for would be another point, with no word of it."""
    cells = Cells((0.1, 0.5, 0.9), (1.0, 2.0))
    points = np.array([[0.5, 1.0], [0.9, 2.0]])
    assert cells.of(points, 1).tolist() == [2, 5]
    points[1, 1] = 3.0
    with pytest.raises(UsageError) as caught:
        cells.of(points, 1)
    assert caught.value.field == "cells"


def test_cells_that_mean_nothing_are_refused() -> None:
    Cells((0.0, 1.0))
    for wrong in (
        lambda: Cells((1.0, 0.0)),
        lambda: Cells((0.0, math.nan)),
        lambda: Cells((0.5,)),
        lambda: Cells((0.0, 1.0), (1.0, 1.0)),
        lambda: Cells((0.0, 1.0), (1.0, 2.0), "random"),
        lambda: Cells.even(3, 1.0, 1.0),
        lambda: Cells.even(1),
        lambda: Cells.even(3, rounding="up"),  # type: ignore[arg-type]
        lambda: default_cells(10, 1.0, math.inf),
        lambda: exact_variance([0.5, 0.6], np.ones((2, 2)), 5),
        lambda: exact_variance([0.5, 0.5], np.ones((1, 1)), 5),
        lambda: Cells.even(3, "0", "1"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(UsageError):
        fit_local(users(each=2), kernel=GINI, privacy=Privacy(1.0), seed=1)
