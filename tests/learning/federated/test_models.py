"""Components, lines and clusters from sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from gopa.aggregation.result import WeightTooSmall
from gopa.learning import Outcome, Privacy, PrivacyLedger, Table, Users, iid, natural
from gopa.learning.federated import (
    contingency_table,
    fedavg,
    histogram,
    kmeans,
    least_squares,
    mean,
    moments,
    pca,
    quantiles,
    variance,
)
from gopa.learning.federated.clusters import nearest
from gopa.learning.federated.exact_moments import Units, read
from gopa.learning.federated.moments import MomentSums, line_sums
from gopa.learning.federated.row_sums import RowSums, RowTotal
from gopa.learning.federated.setting import Mode, Setting
from tests.learning.federated.problems import NEAR, OFF, RECORD, USER, two_sides
from wire.errors import UsageError

RNG = np.random.default_rng(8)


ROWS = RNG.normal(0, [3, 1, 0.3], (200, 3)) @ np.linalg.qr(RNG.normal(size=(3, 3)))[0] + 1


NUMBERS = ROWS @ [1.0, -2.0, 0.5] + 3 + RNG.normal(0, 0.1, 200)


PROBLEM: Users = iid(Table(ROWS, NUMBERS, "made up"), 20, 1)


EXACT: dict[str, Any] = {"privacy": None, "seed": 1, **OFF}


def blobs() -> Users:
    middles = np.array([[4.0, 0], [-4, 0], [0, 5]])
    rows = np.concatenate([RNG.normal(each, 0.5, (100, 2)) for each in middles])
    return iid(Table(rows, np.repeat([0, 1, 2], 100), "blobs"), 60, 1)


def test_exact_components_are_those_of_all_rows() -> None:
    model = pca(PROBLEM, components=2, **EXACT).model
    values, vectors = np.linalg.eigh(np.cov(ROWS.T, bias=True))
    assert np.allclose(model["variance"], values[::-1][:2], rtol=1e-5)
    along = np.abs((model["components"] * vectors.T[::-1][:2]).sum(axis=1))
    assert np.allclose(along, 1, atol=1e-6)
    assert np.allclose(model["mean"], ROWS.mean(axis=0), atol=1e-5)


def test_an_exact_line_is_that_of_all_rows() -> None:
    model = least_squares(PROBLEM, **EXACT).model
    wide = np.hstack([ROWS, np.ones((200, 1))])
    expected = np.linalg.lstsq(wide, NUMBERS, rcond=None)[0]
    assert np.allclose([*model["coef"], model["intercept"]], expected, atol=1e-4)
    assert model["ridge"] == 0


def test_records_are_hidden_and_the_model_is_still_near() -> None:
    asked: dict[str, Any] = {"privacy": RECORD, "seed": 1, "radius": 8.0, **OFF}
    outcome = pca(PROBLEM, components=1, **asked)
    exact = pca(PROBLEM, components=1, **EXACT).model["components"][0]
    assert abs(outcome.model["components"][0] @ exact) > 0.95
    assert outcome.spent.within(RECORD)
    line = least_squares(PROBLEM, label_radius=20.0, **asked)
    guessed = ROWS @ line.model["coef"] + line.model["intercept"]
    assert np.mean((guessed - NUMBERS) ** 2) < 0.5 * NUMBERS.var()
    assert line.model["ridge"] > 0
    short = pca(PROBLEM, components=1, **{**asked, "radius": 2.0})
    assert short.warnings == ("rows were shortened to the radius",)
    moved = least_squares(PROBLEM, label_radius=1.0, **asked)
    assert "labels were moved to the label radius" in moved.warnings


def test_two_rows_are_no_farther_apart_than_noise_is_made_for() -> None:
    """The largest distance, at an angle of 120 degrees, is reached and never exceeded."""
    setting = Setting(RECORD, 1, None, "off", NEAR)
    ball = two_sides(20, 100)
    found = MomentSums("moments", setting, ball, reading=asdict, radius=1.0)
    angles = np.linspace(0, 2 * np.pi, 181)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    told = np.concatenate([found.row(rows * size, angles) for size in (0.0, 0.5, 1.0)])
    apart = np.linalg.norm(told[:, None] - told, axis=2).max()
    assert apart == pytest.approx(math.sqrt(4.5), rel=1e-4)
    assert apart <= math.sqrt(4.5) * (1 + 1e-9)


def test_clusters_are_found_and_counted() -> None:
    problem = blobs()
    for seed in range(4):
        outcome = kmeans(problem, clusters=3, **{**EXACT, "seed": seed})
        assert outcome.converged
        centres = outcome.model["centres"]
        order = nearest(np.array([[4.0, 0], [-4, 0], [0, 5]]), centres)
        assert sorted(order.tolist()) == [0, 1, 2]
        means = [problem.table.features[100 * k : 100 * k + 100].mean(axis=0) for k in range(3)]
        assert np.allclose(centres[order], means, atol=1e-4)
        assert np.allclose(outcome.model["counts"], 100, atol=1e-3)
    short = kmeans(problem, clusters=3, rounds=1, **EXACT)
    assert short.converged is False


def test_private_clusters_are_near_and_an_empty_one_moves() -> None:
    problem = blobs()
    asked: dict[str, Any] = {"privacy": USER, "seed": 1, "radius": 7.0, "most_rows": 5, **OFF}
    outcome = kmeans(problem, clusters=3, rounds=5, **asked)
    rows, labels = problem.table.features, problem.table.labels
    found = nearest(rows, outcome.model["centres"])
    assert all(np.bincount(found[labels == each]).max() > 90 for each in range(3))
    counts, noise = outcome.model["counts"], float(outcome.history["noise"][-1])
    assert (np.abs(counts - np.rint(counts)) > 1e-6).any()  # exact ones would not be hidden
    assert np.abs(counts - 100).max() < 5 * noise
    assert outcome.spent.within(USER)
    assert outcome.converged is None
    far = [[4.0, 0.0], [-4.0, 0.0], [0.0, -6.9]]
    moved = kmeans(problem, clusters=3, centres=far, **EXACT)
    assert moved.history["empty"][0] == 1
    assert moved.history["empty"][-1] == 0


def test_every_session_of_a_run_is_in_its_outcome() -> None:
    outcome = pca(two_sides(4, 12), components=1, privacy=None, seed=1, session=NEAR)
    assert outcome.transcript is not None
    assert len({each.session for each in outcome.transcript}) == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"clusters": 0}, "clusters"),
        ({"rounds": 0}, "rounds"),
        ({"radius": -1.0}, "radius"),
        ({"privacy": USER, "most_rows": 5}, "radius"),
        ({"centres": [[0.0, 0.0]]}, "centres"),
    ],
)
def test_mistakes_about_clusters_are_named(changes: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"clusters": 2, "rounds": 1, **EXACT}
    assert kmeans(two_sides(), **right)
    with pytest.raises(UsageError) as caught:
        kmeans(two_sides(), **{**right, **changes})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"components": 4}, "components"),
        ({"radius": 0}, "radius"),
        ({"privacy": RECORD}, "radius"),
        ({"privacy": USER, "radius": 8.0}, "most_rows"),
    ],
)
def test_mistakes_about_components_are_named(changes: dict[str, Any], field: str) -> None:
    right: dict[str, Any] = {"components": 1, **EXACT}
    assert pca(PROBLEM, **right)
    with pytest.raises(UsageError) as caught:
        pca(PROBLEM, **{**right, **changes})
    assert caught.value.field == field


Floats = npt.NDArray[np.float64]


EXACT_MOMENTS: Final[dict[str, Any]] = {"privacy": None, "seed": 1, "session": NEAR}


MODES: Final = (
    "off",
    pytest.param("signed", marks=pytest.mark.slow),
    pytest.param("full", marks=pytest.mark.slow),
)


RAW: Final = {
    "diabetes": load_diabetes(return_X_y=True, scaled=False),
    "cancer": load_breast_cancer(return_X_y=True),
}


"""As they come: variances of columns are up to 10^5 and 10^11 times one another."""


def raw(name: str, users: int = 10) -> Users:
    x, y = RAW[name]
    return natural(Table(x, y, name), np.arange(len(y)) % users)


def off_by(outcome: Outcome, expected: Any, x: Floats, y: Floats) -> float:
    """Of coefficients as a part of their length, of predictions as a part of the deviation."""
    coef = np.asarray(outcome.model["coef"])
    apart = np.linalg.norm(coef - expected.coef_) / np.linalg.norm(expected.coef_)
    wrong = np.abs(x @ coef + outcome.model["intercept"] - expected.predict(x)).max() / y.std()
    return float(max(apart, wrong))


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("mode", MODES)
def test_a_line_over_raw_columns_is_that_of_all_rows(name: str, mode: Mode) -> None:
    x, y = RAW[name]
    outcome = least_squares(raw(name), **EXACT_MOMENTS, mode=mode)
    assert off_by(outcome, LinearRegression().fit(x, y), x, y) < 1e-6
    assert outcome.model["ridge"] == 0
    assert outcome.warnings == ()


@pytest.mark.parametrize("name", RAW)
def test_a_ridge_is_the_one_that_was_asked_for(name: str) -> None:
    x, y = RAW[name]
    outcome = least_squares(raw(name), ridge=0.1, **EXACT_MOMENTS, mode="off")
    assert off_by(outcome, Ridge(0.1 * len(y), solver="svd").fit(x, y), x, y) < 1e-6


@pytest.mark.parametrize("mode", MODES)
def test_components_of_raw_columns_are_those_of_all_rows(mode: Mode) -> None:
    x, y = RAW["cancer"]
    model = pca(raw("cancer"), components=30, **EXACT_MOMENTS, mode=mode).model
    expected = PCA(30).fit(x)
    assert np.allclose(
        model["variance"], expected.explained_variance_ * (len(y) - 1) / len(y), rtol=1e-6
    )
    along = np.abs((model["components"] * expected.components_).sum(axis=1))
    assert np.allclose(along, 1, atol=1e-9)
    assert np.allclose(model["mean"], x.mean(axis=0), rtol=1e-7)


@pytest.mark.slow
def test_other_sums_without_noise_are_as_fine_in_full_as_in_the_arithmetic_alone() -> None:
    problem = two_sides()
    asks: list[Any] = [
        lambda **mode: fedavg(problem, rounds=2, **EXACT_MOMENTS, **mode).model["coef"],
        lambda **mode: kmeans(problem, clusters=2, rounds=2, **EXACT_MOMENTS, **mode).model[
            "centres"
        ],
        lambda **mode: mean(problem, low=-1, high=1, **EXACT_MOMENTS, **mode).model["mean"],
    ]
    for ask in asks:
        assert np.allclose(ask(mode="full"), ask(mode="off"), rtol=0, atol=1e-7)
    means = problem.table.features.mean(axis=0)
    assert np.allclose(asks[-1](mode="full"), means, rtol=0, atol=1e-7)


class Watched(MomentSums):
    """Remembers what every sum published and in which units, and that all vectors fitted."""

    def __init__(self, problem: Users, **changes: Any) -> None:
        self.seen: list[tuple[Units, RowTotal]] = []
        self.longest = self.largest = 0.0
        given: dict[str, Any] = {"radius": 1024.0, "label_radius": 512.0, **changes}
        session = given.pop("session", NEAR)
        setting = Setting(None, 1, mode="off", session=session)
        super().__init__(
            "sums", setting, problem, reading=lambda e: e.line(0.0), labelled=True, **given
        )

    def _summed(self, problem: Users, units: Units | None) -> RowTotal:
        assert units is not None
        for x, y in problem.pairs():
            share = min(len(x) / self._sums.most, 1.0)
            told = np.append(self.row(x, y, units).mean(axis=0) * share, share)
            self.largest = max(self.largest, float(np.abs(told).max()))
            self.longest = max(self.longest, float(np.linalg.norm(told)))
        total = super()._summed(problem, units)
        self.seen.append((units, total))
        return total


def test_further_sums_publish_further_digits_of_the_same_moments() -> None:
    """Each is computed here from the moments of all rows and the sums before it, and no row."""
    x, y = RAW["diabetes"]
    run = Watched(raw("diabetes"))
    run.carried_out(raw("diabetes"), 1)
    assert len(run.seen) > 1
    ball = np.column_stack([x / 1024, y / 512]) / np.sqrt(2)
    rows = np.column_stack([np.ones(len(y)), ball]).astype(np.longdouble)
    everything = rows.T @ rows
    units = Units.first(11)
    for used, total in run.seen:
        assert all(
            np.array_equal(getattr(used, name), getattr(units, name))
            for name in ("centre", "into", "back")
        )
        turned = np.column_stack([-used.into @ used.centre, used.into]).astype(np.longdouble)
        square = (turned @ everything @ turned.T)[run._upper] * run._scale
        sums = np.concatenate([turned @ everything[0], square])
        expected = np.asarray(sums, dtype=float) * used.share(run._sums.most)
        assert np.allclose(total.total, expected, rtol=0, atol=1e-5 * run._sums.most / 45)
        assert total.rows == pytest.approx(len(y), abs=1e-4)
        share = used.share(run._sums.most)
        found = read(
            used, *run._parts(total.mean() / share), total.stderr / total.rows / share, total.rows
        )
        units = found.next_units()


@pytest.mark.parametrize("seed", range(6))
def test_what_users_tell_fits_into_the_sum_whoever_has_which_rows(seed: int) -> None:
    """Else it would be cut off without a word: one user has nearly all rows, or the longest."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(2, (120, 4)) * 10.0 ** rng.integers(-3, 3, 4) + rng.normal(0, 9, 4)
    x[:, 3] = x[:, 0] + 1e-3 * rng.normal(size=120)
    owners = np.where(rng.random(120) < 0.8, 0, rng.integers(0, 6, 120))
    longest = 2 * float(np.linalg.norm(x, axis=1).max())
    problem = natural(Table(x, rng.normal(size=120), "made up"), owners)
    run = Watched(problem, radius=longest, label_radius=8.0)
    outcome = run.carried_out(problem, 1)
    assert len(run.seen) > 1
    assert run.largest <= 1
    assert run.longest <= float(np.sqrt(4.5))
    expected = LinearRegression(tol=1e-12).fit(x, problem.table.labels)
    assert off_by(outcome, expected, x, problem.table.labels) < 1e-6


def test_a_party_that_comes_back_is_in_the_model_with_all_its_rows() -> None:
    """Units were made without it: what does not fit into them would be cut off."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 2)) * [1.0, 30.0]
    owners = np.arange(60) % 6
    x[owners == 5] *= 40
    y = np.where(owners == 5, 3.0, 0.1) * x[:, 0] / 40
    problem = natural(Table(x, y, "made up"), owners)
    lost = {
        "corrupt": 1,
        "dropout": 0.2,
        "script": lambda number: {5: "JOIN"} if number < 2 else {},
    }
    run = Watched(problem, radius=8192.0, session=lost)
    outcome = run.carried_out(problem, 1)
    assert [each.result.count for _, each in run.seen][:2] == [5, 6]
    # Both sums are exact: what they differ by are the moments of the one.
    (warning,) = outcome.warnings
    assert "difference" in warning
    again = Watched(problem, radius=8192.0).carried_out(problem, 1)
    assert again.warnings == ()
    assert off_by(outcome, LinearRegression().fit(x, y), x, y) < 1e-6


def test_what_rounding_leaves_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RAW["cancer"]
    assert least_squares(raw("cancer"), **EXACT_MOMENTS, mode="off").warnings == ()
    monkeypatch.setattr(moments, "PASSES", 1)
    outcome = least_squares(raw("cancer"), **EXACT_MOMENTS, mode="off")
    assert off_by(outcome, LinearRegression().fit(x, y), x, y) > 1e-6
    assert len(outcome.history) == 1
    assert len(outcome.warnings) == 2  # nor are narrow directions told from none


def test_of_columns_that_depend_on_each_other_the_shortest_coefficients_are_taken() -> None:
    x, y = RAW["cancer"]
    asked = EXACT_MOMENTS | {"seed": 2}  # by others chance may have it that rounding is warned of
    twice = np.column_stack([x[:, :3], 2 * x[:, 0], np.full(len(y), 7.0)])
    problem = natural(Table(twice, y, "twice"), np.arange(len(y)) % 10)
    outcome = least_squares(problem, **asked, mode="off")
    assert off_by(outcome, LinearRegression().fit(twice, y), twice, y) < 1e-6
    assert outcome.model["rank"] == 3
    assert len(outcome.warnings) == 1
    assert least_squares(problem, ridge=1e-3, **asked, mode="off").warnings == ()
    constant = two_sides().table
    for value in (0.0, 1.0, 7e6):
        table = Table(np.full_like(constant.features, value), constant.labels, "constant")
        model = least_squares(Users(table, two_sides().rows), **asked, mode="off").model
        assert np.allclose(model["coef"], 0, rtol=0, atol=1e-6)
        assert model["intercept"] == pytest.approx(constant.labels.mean(), abs=1e-6)
        assert model["rank"] == 0


def test_rows_of_several_calls_add_up() -> None:
    x, y = RAW["cancer"]
    setting = Setting(None, 1, 99, "off", NEAR)
    run = line_sums(setting, raw("cancer"), 0.0, radius=8192.0, label_radius=1.0, rounds=3)
    owners = np.arange(len(y)) % 10
    for part in np.array_split(np.arange(len(y)), 3):
        run.round(natural(Table(x[part], y[part], "part"), owners[part]))
    assert off_by(run.outcome(), LinearRegression().fit(x, y), x, y) < 1e-6


RNG_STATISTICS = np.random.default_rng(5)


ROWS_STATISTICS = np.round(RNG_STATISTICS.normal(2, 1, (300, 2)), 3)


LABELS = RNG_STATISTICS.integers(0, 3, 300)


PROBLEM_STATISTICS: Users = iid(Table(ROWS_STATISTICS, LABELS, "made up"), 30, 1)


EDGES = [-1.0, 1.0, 2.0, 5.0]


def test_means_and_variances_are_those_of_all_rows() -> None:
    found = variance(PROBLEM_STATISTICS, low=[-2, -3], high=6, **EXACT).model
    assert np.allclose(found["mean"], ROWS_STATISTICS.mean(axis=0), atol=1e-5)
    assert np.allclose(found["variance"], ROWS_STATISTICS.var(axis=0), atol=1e-5)
    assert found["rows"] == pytest.approx(300, abs=1e-4)
    outcome = mean(PROBLEM_STATISTICS, low=[-2, -3], high=6, **EXACT)
    assert np.allclose(outcome.model["mean"], ROWS_STATISTICS.mean(axis=0), atol=1e-5)
    assert outcome.warnings == ()
    narrow = mean(PROBLEM_STATISTICS, low=1, high=3, **EXACT)
    assert np.allclose(narrow.model["mean"], np.clip(ROWS_STATISTICS, 1, 3).mean(axis=0), atol=1e-5)
    assert narrow.warnings == ("rows outside of the range were moved to its ends",)


def test_histograms_and_tables_count_all_rows() -> None:
    outcome = histogram(PROBLEM_STATISTICS, edges=EDGES, column=1, **EXACT)
    assert np.allclose(
        outcome.model["counts"], np.histogram(ROWS_STATISTICS[:, 1], EDGES)[0], atol=1e-4
    )
    assert ("do not count" in str(outcome)) == bool((np.abs(ROWS_STATISTICS[:, 1] - 2) > 3).any())
    last = histogram(PROBLEM_STATISTICS, edges=[0, ROWS_STATISTICS[:, 0].max()], **EXACT)
    assert round(float(last.model["counts"][0])) == (ROWS_STATISTICS[:, 0] >= 0).sum()
    high = replace(
        PROBLEM_STATISTICS,
        table=replace(PROBLEM_STATISTICS.table, features=(ROWS_STATISTICS > 2).astype(float)),
    )
    table = contingency_table(high, columns=(0, -1), categories=([1, 0], [0, 1, 2]), **EXACT)
    expected = [
        [((ROWS_STATISTICS[:, 0] > 2) == one) & (each == LABELS) for each in range(3)]
        for one in (1, 0)
    ]
    assert np.allclose(table.model["counts"], np.sum(expected, axis=2), atol=1e-4)
    part = contingency_table(high, columns=(0, -1), categories=([1], [0, 1, 2]), **EXACT)
    assert part.warnings == ("rows that are in none of the cells do not count",)


def test_quantiles_are_as_fine_as_the_halving() -> None:
    at = [0.1, 0.5, 0.9, 1.0]
    found = quantiles(PROBLEM_STATISTICS, at=at, low=-2, high=6, levels=8, **EXACT).model[
        "quantiles"
    ]
    assert np.abs(found - np.quantile(ROWS_STATISTICS[:, 0], at)).max() < 3 * 8 / 2**8
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("privacy", [USER, RECORD], ids=["user", "record"])
def test_noise_is_what_is_claimed_and_records_cost_less(privacy: Privacy) -> None:
    asked: dict[str, Any] = {"privacy": privacy, "most_rows": 10, **OFF}
    truth = np.histogram(ROWS_STATISTICS[:, 0], EDGES)[0]
    scores = []
    for seed in range(20):
        model = histogram(PROBLEM_STATISTICS, edges=EDGES, seed=seed, **asked).model
        scores.append((model["counts"] - truth) / model["stderr"])
    assert abs(np.mean(scores)) < 4 / math.sqrt(60)
    assert 0.75 < np.std(scores) < 1.25
    one = histogram(PROBLEM_STATISTICS, edges=EDGES, seed=1, **asked)
    assert one.spent.within(privacy)
    other = replace(privacy, unit="record" if privacy.unit == "user" else "user")
    two = histogram(PROBLEM_STATISTICS, edges=EDGES, seed=1, **{**asked, "privacy": other})
    more, less = sorted([one.model["stderr"], two.model["stderr"]])[::-1]
    assert more / less == pytest.approx(10, rel=0.15)


def row_sums(diameter: float, unit: Any) -> RowSums:
    asked = Privacy(8.0, 1e-4, unit=unit)
    setting = Setting(asked, 1, 4, "off", {"corrupt": 1, "dropout": 0.0})
    return RowSums("sums", setting, PROBLEM_STATISTICS, width=2, diameter=diameter)


def test_no_user_and_no_record_moves_a_sum_by_more_than_noise_is_made_for() -> None:
    """Squared distances on the grid stay within the plan's, and come near it."""
    rng = np.random.default_rng(3)
    for unit in ("user", "record"):
        sums = row_sums(2 * math.sqrt(2), unit)
        farthest = 0.0
        for _ in range(400):
            rows, other = (np.repeat(rng.choice([-1.0, 1.0], (1, 2)), 4, axis=0) for _ in range(2))
            other = other[: rng.integers(0, 5)]
            if unit == "record":
                other = np.concatenate([-rows[:1], rows[1:]])
            apart = sums.vector(rows) - sums.vector(other)
            farthest = max(farthest, float(np.linalg.norm(apart)))
        terms = sums.session.terms
        allowed = math.sqrt(terms.squared_sensitivity) * 2 / terms.steps
        assert 0.8 * allowed < farthest < allowed


def test_rows_that_may_be_none_are_not_divided_by() -> None:
    few = iid(Table(ROWS_STATISTICS[:6], LABELS[:6], "few"), 6, 1)
    with pytest.raises(WeightTooSmall) as caught:
        mean(few, low=-2, high=6, privacy=Privacy(1.0, 1e-5), seed=1, most_rows=9, **OFF)
    assert caught.value.result.count == 6


WRONG: list[tuple[Callable[..., Outcome], dict[str, Any], dict[str, Any], str]] = [
    (mean, {"low": 0, "high": 1}, {"low": 2}, "high"),
    (mean, {"low": 0, "high": 1}, {"low": [0, 0, 0]}, "low"),
    (mean, {"low": 0, "high": 1}, {"high": math.inf}, "high"),
    (mean, {"low": 0, "high": 1}, {"privacy": USER}, "most_rows"),
    (mean, {"low": 0, "high": 1}, {"most_rows": 0}, "most_rows"),
    (histogram, {"edges": EDGES}, {"edges": [1, 1]}, "edges"),
    (histogram, {"edges": EDGES}, {"edges": [1]}, "edges"),
    (histogram, {"edges": EDGES}, {"column": 2}, "column"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"at": [1.5]}, "at"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"low": 1}, "high"),
    (quantiles, {"at": [0.5], "low": 0, "high": 1}, {"levels": 0}, "levels"),
    (
        contingency_table,
        {"columns": (0, -1), "categories": ([0, 1], [0])},
        {"categories": ([0, 0], [0])},
        "categories",
    ),
]


@pytest.mark.parametrize(("ask", "right", "changes", "field"), WRONG)
def test_mistakes_are_named(
    ask: Callable[..., Outcome], right: dict[str, Any], changes: dict[str, Any], field: str
) -> None:
    assert ask(PROBLEM_STATISTICS, **EXACT, **right)
    with pytest.raises(UsageError) as caught:
        ask(PROBLEM_STATISTICS, **{**EXACT, **right, **changes})
    assert caught.value.field == field


def test_in_a_simulation_one_seed_is_one_noise_until_an_account_is_shared() -> None:
    """As the page says: the difference of two such fits tells what is between their data."""
    asked: dict[str, Any] = {"edges": [-2, 0, 2], "seed": 1, "most_rows": 12, **OFF}

    def apart(**more: Any) -> Any:
        one, other = (
            histogram(two_sides(seed=seed), **asked, **more).model["counts"] for seed in (0, 3)
        )
        return other - one

    exact, account = apart(privacy=None), PrivacyLedger(Privacy(99.0, 1e-3))
    assert np.abs(exact).max() > 0.9
    assert np.abs(apart(privacy=USER) - exact).max() < 0.1
    assert np.abs(apart(privacy=USER, ledger=account) - exact).max() > 1.0
