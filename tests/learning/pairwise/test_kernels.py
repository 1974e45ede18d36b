"""Kernels: symmetric, within their range, as smooth as they say, divided by what they say."""

from __future__ import annotations

import math
import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from examples import pairwise, pairwise_strangers
from gopa import UsageError
from gopa.learning import DataNotFound, stacked
from gopa.learning.experiments import FigureRun
from gopa.learning.pairwise import (
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
from gopa.learning.pairwise.kernels import KERNELS
from tests.learning.pairwise.samples import by_hand, users


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.name)
def test_a_kernel_is_what_it_says(kernel: Kernel) -> None:
    """On a fine grid of all pairs of points: symmetric, its ends are reached, its slope is kept."""
    numbers = np.linspace(0, 1, 21)
    labels = (-1, 1) if kernel.labels == "public" else numbers
    points = np.array(list(product(numbers, labels)))
    table = kernel.value(points[:, None], points)
    assert (table == table.T).all()
    assert (table.min(), table.max()) == (kernel.low, kernel.high)
    assert kernel.spans == kernel.high - kernel.low
    by_number = table.reshape(21, -1, len(points))
    slope = np.abs(np.diff(by_number, axis=0)).max() * 20
    if kernel.lipschitz < math.inf:
        assert 0.9 * kernel.lipschitz <= slope <= kernel.lipschitz * (1 + 1e-9)
    else:
        assert slope >= 10


@pytest.mark.parametrize("kernel", [AUC, WILCOXON], ids=lambda each: each.name)
def test_labels_of_a_third_kind_are_not_taken_for_one_of_two(kernel: Kernel) -> None:
    assert kernel.divisor([1, -1, 1]) == 4
    for labels in ([1, -1, 2], [1, -1, 0], [1, 1, 1], [1, 2, 3]):
        with pytest.raises(UsageError) as caught:
            kernel.divisor(labels)
        assert caught.value.field == "problem"


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.name)
def test_a_statistic_is_the_mean_over_all_pairs(kernel: Kernel, each: int) -> None:
    among = users(9, each=each)
    assert statistic(kernel, among) == pytest.approx(by_hand(kernel, among), rel=1e-12, abs=0)


def test_statistics_are_those_of_others() -> None:
    among = users(40, 2)
    numbers, labels = among.table.features[:, 0], among.table.labels
    assert statistic(VARIANCE, among) == pytest.approx(numbers.var(ddof=1))
    assert statistic(replace(VARIANCE, normalisation="n^2"), among) == pytest.approx(numbers.var())
    above, below = numbers[labels > 0], numbers[labels < 0]
    rank = stats.mannwhitneyu(above, below).statistic / (len(above) * len(below))
    assert statistic(WILCOXON, among) == pytest.approx(rank)
    rng = np.random.default_rng(1)
    pairs = np.column_stack([rng.permutation(30), rng.permutation(30)])
    untied = stacked([(row[:1, None].astype(float), row[1:]) for row in pairs], "made up")
    tau = stats.kendalltau(pairs[:, 0], pairs[:, 1]).statistic
    assert statistic(KENDALL, untied) == pytest.approx(tau)
    ordered = np.sort(numbers)
    gini = 2 * ((2 * np.arange(1, 41) - 41) * ordered).sum() / (40 * 39)
    assert statistic(GINI, among) == pytest.approx(gini)
    assert renyi_entropy(statistic(RENYI, among)) == -math.log(statistic(RENYI, among))
    assert renyi_entropy(0.0) == math.inf


def test_users_with_several_points_have_theirs_together() -> None:
    """Also among themselves; a user without any has nothing with anybody."""
    among = users(5, each=2)
    pairs = Pairs(AUC, among)
    table = pairs.between(np.arange(5)[:, None], np.arange(5))
    assert (table == table.T).all()
    assert table.mean() == pytest.approx(by_hand(AUC, among))
    emptied = replace(among, rows=(np.array([], dtype=np.int64), *among.rows[1:]))
    assert not Pairs(AUC, emptied).between(np.array([0]), np.arange(5)).any()


def test_nothing_is_divided_by_nothing() -> None:
    one_kind = stacked([(np.array([[0.1]]), np.array([1])) for _ in range(3)], "made up")
    assert statistic(GINI, one_kind) == 0
    with pytest.raises(UsageError, match="both labels"):
        statistic(AUC, one_kind)
    with pytest.raises(UsageError, match="two points"):
        statistic(GINI, users(1))
    several = stacked([(np.array([[0.1]]), np.array([y])) for y in (1, -1, 0)], "made up")
    with pytest.raises(UsageError, match="alone"):
        statistic(AUC, several)
    worded = stacked([(np.array([[0.1]]), np.array(["yes"])) for _ in range(3)], "made up")
    with pytest.raises(UsageError, match="labels are numbers"):
        statistic(GINI, worded)


SETS = dict.fromkeys(pairwise.figures.names, pairwise.figures)


SETS |= dict.fromkeys(pairwise_strangers.figures.names, pairwise_strangers.figures)


def made(name: str, folder: Path) -> FigureRun:
    try:
        return SETS[name].make(name, folder, quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    "name",
    [
        "depth",
        *(pytest.param(name, marks=pytest.mark.soak) for name in SETS if name != "depth"),
    ],
)
def test_a_figure_is_made(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made(name, tmp_path)
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) > 3


PAGE = (Path(__file__).resolve().parents[3] / "docs/learning/pairwise.md").read_text()


def test_its_first_program_runs() -> None:
    program, *_ = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    said = StringIO()
    with redirect_stdout(said):
        exec(compile(program, "pairwise.md", "exec"), {})  # noqa: S102 - ours
    assert "no claim: nothing is hidden by noise" in said.getvalue()
    assert "epsilon 4 for all data of one user" in said.getvalue()
