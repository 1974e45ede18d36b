"""Without noise a line and components are those of all rows, however unlike the columns are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from gopa.learning import Outcome, Table, Users, natural
from gopa.learning.federated import fedavg, kmeans, least_squares, mean, moments, pca
from gopa.learning.federated.exact_moments import Units, read
from gopa.learning.federated.moments import MomentSums, line_sums
from gopa.learning.federated.row_sums import RowTotal
from gopa.learning.federated.setting import Mode, Setting
from tests.learning.federated.problems import NEAR, two_sides

Floats = npt.NDArray[np.float64]

EXACT: Final[dict[str, Any]] = {"privacy": None, "seed": 1, "session": NEAR}
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
    outcome = least_squares(raw(name), **EXACT, mode=mode)
    assert off_by(outcome, LinearRegression().fit(x, y), x, y) < 1e-6
    assert outcome.model["ridge"] == 0
    assert outcome.warnings == ()


@pytest.mark.parametrize("name", RAW)
def test_a_ridge_is_the_one_that_was_asked_for(name: str) -> None:
    x, y = RAW[name]
    outcome = least_squares(raw(name), ridge=0.1, **EXACT, mode="off")
    assert off_by(outcome, Ridge(0.1 * len(y), solver="svd").fit(x, y), x, y) < 1e-6


@pytest.mark.parametrize("mode", MODES)
def test_components_of_raw_columns_are_those_of_all_rows(mode: Mode) -> None:
    x, y = RAW["cancer"]
    model = pca(raw("cancer"), components=30, **EXACT, mode=mode).model
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
        lambda **mode: fedavg(problem, rounds=2, **EXACT, **mode).model["coef"],
        lambda **mode: kmeans(problem, clusters=2, rounds=2, **EXACT, **mode).model["centres"],
        lambda **mode: mean(problem, low=-1, high=1, **EXACT, **mode).model["mean"],
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
    assert least_squares(raw("cancer"), **EXACT, mode="off").warnings == ()
    monkeypatch.setattr(moments, "PASSES", 1)
    outcome = least_squares(raw("cancer"), **EXACT, mode="off")
    assert off_by(outcome, LinearRegression().fit(x, y), x, y) > 1e-6
    assert len(outcome.history) == 1
    assert len(outcome.warnings) == 2  # nor are narrow directions told from none


def test_of_columns_that_depend_on_each_other_the_shortest_coefficients_are_taken() -> None:
    x, y = RAW["cancer"]
    asked = EXACT | {"seed": 2}  # by others chance may have it that rounding is warned of, too
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
