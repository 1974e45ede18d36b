"""Objectives: gradients against differences, constants against search, padding against loops."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gopa import UsageError
from gopa.learning.clipping import clip, length
from gopa.learning.objectives import (
    HINGE,
    LOGISTIC,
    SQUARED,
    Boosting,
    Linear,
    Objective,
    Quadratic,
    RowLoss,
    Softmax,
)
from gopa.learning.rows import AgentRows

Floats = npt.NDArray[np.float64]
NORMS = (1, 2, math.inf)
DUAL = {1: math.inf, 2: 2, math.inf: 1}
LABEL = 1.5


def datasets(seed: int, width: int, signs: bool) -> list[tuple[Floats, Floats]]:
    """Users with few rows, many and none."""
    rng = np.random.default_rng(seed)
    made = []
    for rows in (3, 1, 0, 7):
        x = rng.standard_normal((rows, width)) * rng.uniform(0.1, 3, (rows, 1))
        y = np.sign(rng.standard_normal(rows)) if signs else rng.standard_normal(rows)
        made.append((x, y))
    return made


def linear(loss: RowLoss, seed: int = 1, **regularisers: Any) -> Linear:
    rows = AgentRows.of(datasets(seed, 4, loss.labels == "signs")).clipped(2, 2.0, labels=LABEL)
    return Linear(loss, rows, **regularisers)


def softmax(classes: int, width: int, **regularisers: Any) -> Softmax:
    """Of classes that are numbered in order."""
    made = [(x, np.arange(len(x)) % classes) for x, _ in datasets(6, width, True)]
    return Softmax(AgentRows.of(made).clipped(2, 2.0, labels=LABEL * 2), classes, **regularisers)


OBJECTIVES: dict[str, Objective] = {
    "logistic": linear(LOGISTIC),
    "logistic, ridge": linear(LOGISTIC, ridge=[0.1, 0.0, 2.0, 0.5]),
    "squared": linear(SQUARED, ridge=0.3),
    "hinge": linear(HINGE, ridge=0.1),
    "hinge, lasso": linear(HINGE, lasso=0.7),
    "softmax": softmax(2, 2),
    "softmax, ridge": softmax(4, 1, ridge=[0.1, 0.0, 2.0, 0.5]),
    "boosting": Boosting(AgentRows.of(datasets(2, 4, True)), ridge=0.2),
    "boosting, lasso": Boosting(AgentRows.of(datasets(2, 4, True)), lasso=0.2),
    "quadratic": Quadratic(np.random.default_rng(3).standard_normal((4, 4)), scale=1.5),
}


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=list(OBJECTIVES))
def test_gradients_are_those_of_differences(objective: Objective) -> None:
    models = np.random.default_rng(4).standard_normal((5, 4, 4))
    found = objective.gradient(models)
    assert found.shape == models.shape
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        difference = (objective.value(models + step) - objective.value(models - step)) / 2e-6
        assert found[..., i] == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=list(OBJECTIVES))
def test_runs_and_some_agents_are_slices_of_the_whole(objective: Objective) -> None:
    models = np.random.default_rng(5).standard_normal((3, 4, 4))
    value, gradient = objective.value(models), objective.gradient(models)
    assert value.shape == (3, 4)
    for run in range(3):
        assert np.array_equal(objective.value(models[run]), value[run])
        assert np.array_equal(objective.gradient(models[run]), gradient[run])
    who = np.array([3, 0, 0, 2, 1])
    among = models[1, who]
    assert objective.value(among, who) == pytest.approx(value[1, who], rel=1e-12, abs=0)
    assert objective.gradient(among, who) == pytest.approx(gradient[1, who], rel=1e-12, abs=0)
    again = pickle.loads(pickle.dumps(objective))  # noqa: S301
    assert np.array_equal(again.gradient(models), gradient)
    assert (objective.agents, objective.dimension) == (4, 4)


def by_hand(loss: RowLoss, x: Floats, y: Floats, model: Floats) -> float:
    formulas: dict[str, Callable[[float, float], float]] = {
        "logistic": lambda z, label: math.log1p(math.exp(-label * z)),
        "hinge": lambda z, label: max(0.0, 1 - label * z),
        "squared": lambda z, label: (z - label) ** 2 / 2,
    }
    losses = [
        formulas[loss.name](float(row @ model), label)
        for row, label in zip(x, y.tolist(), strict=True)
    ]
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("loss", [LOGISTIC, HINGE, SQUARED], ids=lambda loss: loss.name)
def test_padding_counts_for_nothing(loss: RowLoss) -> None:
    data = datasets(6, 4, loss.labels == "signs")
    objective = Linear(loss, AgentRows.of(data), ridge=0.5, lasso=0.25)
    models = np.random.default_rng(7).standard_normal((4, 4))
    for value, (x, y), model in zip(objective.value(models), data, models, strict=True):
        added = 0.25 * model @ model + 0.25 * np.abs(model).sum()
        assert value == pytest.approx(by_hand(loss, x, y, model) + added)
    plain = Linear(loss, AgentRows.of(data))
    rows = plain.row_gradients(models)
    for (x, _), own, mean in zip(data, rows, plain.gradient(models), strict=True):
        assert not own[len(x) :].any()
        assert own[: len(x)].sum(axis=0) / max(len(x), 1) == pytest.approx(mean)


def test_boosting_is_the_logarithm_of_exponentials() -> None:
    data = datasets(8, 4, True)
    models = np.random.default_rng(9).standard_normal((4, 4))
    found = Boosting(AgentRows.of(data)).value(models)
    for value, (x, _), model in zip(found, data, models, strict=True):
        expected = math.log(sum(math.exp(-float(row @ model)) for row in x)) if len(x) else 0.0
        assert value == pytest.approx(expected)


@pytest.mark.parametrize("loss", [LOGISTIC, HINGE], ids=lambda loss: loss.name)
def test_far_models_overflow_nothing(loss: RowLoss) -> None:
    rows = AgentRows.of([(np.array([[1.0], [-2.0]]), np.array([1.0, 1.0]))])
    for objective in (Linear(loss, rows), Boosting(rows)):
        for far in (-1e6, 1e6):
            assert np.isfinite(objective.value(np.array([[far]]))).all()
            assert np.isfinite(objective.gradient(np.array([[far]]))).all()


def searched(
    make: Callable[[AgentRows], Objective], norm: float, radius: float, signs: bool
) -> tuple[float, float]:
    """Largest ratios found to what the bounds say: of gradients, and of their differences.

    Rows are drawn at the bound and in corners of the ball, models too, far ones and near ones.
    """
    rng, dual, width = np.random.default_rng(10), DUAL[norm], 3
    steepest = steepest_change = 0.0
    for draw in range(90):
        corner = np.zeros(width)
        corner[rng.integers(width)] = 1.0
        row = [corner, rng.choice([-1.0, 1.0], width), rng.standard_normal(width)][draw % 3]
        x = np.tile(row * 100, (2, 1)) * np.array([[1.0], [rng.choice([-1.0, 1.0])]])
        y = rng.choice([-1.0, 1.0], 2) * (1.0 if signs else LABEL)
        objective = make(AgentRows.of([(x, y)]).clipped(norm, 2.0, labels=LABEL))
        # The model that the row is longest along, in the dual norm.
        along = {1: np.sign(row), 2: row, math.inf: corner * np.sign(row)}[norm]
        away = along * rng.choice([-1.0, 1.0]) + 0.1 * rng.standard_normal(width) * (draw % 2)
        model = clip(away * 1e6, dual, radius)[None]
        gradient = objective.gradient(model)
        steepest = max(
            steepest, float((length(gradient, norm) / objective.gradient_bound(norm, radius))[0])
        )
        step = along * rng.choice([1e-3, 1e-2, 1.0])
        start = rng.standard_normal((1, width)) * rng.choice([0.0, 1.0])
        change = objective.gradient(start + step) - objective.gradient(start)
        bend = float(objective.smoothness(norm)[0])
        if bend < math.inf:
            ratio = float(length(change, norm)[0] / (bend * length(step, dual)))
            steepest_change = max(steepest_change, ratio)
    return steepest, steepest_change


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("name", ["logistic", "hinge", "squared", "boosting", "quadratic"])
def test_constants_are_never_exceeded_and_nearly_reached(
    name: str, norm: float, ridge: float
) -> None:
    losses = {"logistic": LOGISTIC, "hinge": HINGE, "squared": SQUARED}

    def make(rows: AgentRows) -> Objective:
        if name == "quadratic":
            return Quadratic(rows.x[:, 0], scale=1 + ridge)
        if name == "boosting":
            return Boosting(rows, ridge=ridge)
        return Linear(losses[name], rows, ridge=ridge)

    steepest, change = searched(make, norm, 20.0, name != "squared")
    assert steepest <= 1 + 1e-9
    assert change <= 1 + 1e-9
    # Where a model pulls against its row the two parts of a gradient do not add up.
    assert steepest >= (0.9 if not ridge else 0.6)
    assert name == "hinge" or change >= (0.95 if not ridge else 0.6)


def test_exchanging_a_row_changes_the_gradient_by_what_is_said() -> None:
    rng, rows_of_each = np.random.default_rng(11), 5
    for norm in NORMS:
        worst = 0.0
        for _ in range(200):
            x = rng.choice([-1.0, 1.0], (rows_of_each, 3)) * 100 * rng.integers(0, 2, 3)
            y = rng.choice([-1.0, 1.0], rows_of_each)
            other = x.copy(), y.copy()
            other[0][0], other[1][0] = x[0] * rng.choice([-1.0, 1.0]), -y[0]
            both = AgentRows.of([(x, y), other]).clipped(norm, 2.0)
            objective = Linear(LOGISTIC, both, ridge=0.1)
            model = np.tile(rng.standard_normal(3) * 0.01, (2, 1))
            first, second = objective.gradient(model)
            charged = 2 * objective.row_gradient_bound(norm) / rows_of_each
            worst = max(worst, float(length(first - second, norm)) / charged)
        # At a model near 0 the slope is a half.
        assert 0.45 < worst <= 0.51


@pytest.mark.parametrize("name", ["logistic, ridge", "squared", "boosting", "quadratic"])
def test_functions_bend_at_least_as_said(name: str) -> None:
    objective = OBJECTIVES[name]
    rng, least = np.random.default_rng(12), objective.strong_curvature()
    nearest = np.full(4, np.inf)
    for _ in range(200):
        one, other = rng.standard_normal((2, 4, 4)) * 5
        apart = one - other
        growth = (objective.gradient(one) - objective.gradient(other)) * apart
        found = growth.sum(axis=1) / (apart * apart).sum(axis=1)
        assert (found >= least - 1e-9).all()
        nearest = np.minimum(nearest, found)
    # A user without rows has nothing but the regulariser.
    assert nearest[2] == pytest.approx(least[2])


@pytest.mark.parametrize("declared", NORMS)
@pytest.mark.parametrize("wanted", NORMS)
def test_bounds_in_other_norms_hold_and_are_reached(declared: float, wanted: float) -> None:
    rows = [np.eye(4)[0] * 9, np.ones(4) * 9, np.array([9.0, -9.0, 0.0, 1.0])]
    clipped = AgentRows.of([(np.array(rows), np.ones(3))]).clipped(declared, 2.0)
    longest = length(clipped.x[0], wanted).max()
    assert longest <= clipped.bound(wanted) * (1 + 1e-12)
    assert longest >= clipped.bound(wanted) * (1 - 1e-12)
    both = clipped.clipped(wanted, 1.0)
    assert both.bound(wanted) == 1.0
    assert both.bound(declared) <= 2.0
    assert both.clipped(wanted, 3.0).bound(wanted) == 1.0


def test_undeclared_bounds_are_not_measured() -> None:
    rows = AgentRows.of(datasets(1, 4, True))
    assert Linear(LOGISTIC, rows.clipped(2, 1.0)).smoothness() == pytest.approx([0.25] * 4)
    for objective in (Linear(LOGISTIC, rows), Boosting(rows)):
        assert objective.gradient(np.zeros((4, 4))).any()
        for constant in (objective.smoothness, objective.gradient_bound):
            with pytest.raises(UsageError) as refused:
                constant()
            assert refused.value.field == "rows"


def test_what_has_no_bound_is_infinite() -> None:
    rows = AgentRows.of(datasets(1, 4, True)).clipped(2, 1.0)
    assert np.isinf(Linear(HINGE, rows).smoothness()).all()
    assert np.isinf(Linear(LOGISTIC, rows, lasso=0.1).smoothness()).all()
    assert np.isinf(Linear(LOGISTIC, rows, ridge=0.1).gradient_bound()).all()
    assert np.isinf(Linear(SQUARED, rows).gradient_bound()).all()
    assert np.isinf(Linear(SQUARED, rows).gradient_bound(radius=1.0)).all()
    labelled = rows.clipped(2, 1.0, labels=1.0)
    assert Linear(SQUARED, labelled).gradient_bound(radius=3.0) == pytest.approx([4.0] * 4)
    assert Linear(LOGISTIC, rows, lasso=0.1).gradient_bound() == pytest.approx([1.2] * 4)


X, Y = np.ones((2, 3)), np.array([1.0, -1.0])
WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "nobody": (AgentRows.of, ([(X, Y)],), ([],)),
    "unequal widths": (
        AgentRows.of,
        ([(X, Y), (X[:0], Y[:0])],),
        ([(X, Y), (np.ones((2, 4)), Y)],),
    ),
    "no feature": (AgentRows.of, ([(X[:, :1], Y)],), ([(X[:, :0], Y)],)),
    "a label missing": (AgentRows.of, ([(X, Y)],), ([(X, Y[:1])],)),
    "a row as a table": (AgentRows.of, ([(X[:1], Y[:1])],), ([(X[0], Y[:1])],)),
    "rows of nothing": (AgentRows.of, ([(X, Y)],), ([(X * np.nan, Y)],)),
    "endless labels": (AgentRows.of, ([(X, Y)],), ([(X, Y * np.inf)],)),
    "words": (AgentRows.of, ([(X, Y)],), ([(X, ["yes", "no"])],)),
    "no label bound": (AgentRows.of([(X, Y)]).clipped, (2, 1.0), (2, float("nan"))),
    "labels 0 and 1": (
        Linear,
        (LOGISTIC, AgentRows.of([(X, Y)])),
        (LOGISTIC, AgentRows.of([(X, Y == 1)])),
    ),
    "labels 1 and 2": (
        Linear,
        (SQUARED, AgentRows.of([(X, Y + 3)])),
        (HINGE, AgentRows.of([(X, Y + 3)])),
    ),
    "a length below 0": (
        Linear(SQUARED, AgentRows.of([(X, Y)]).clipped(2, 1.0, labels=1.0)).gradient_bound,
        (2, 0.0),
        (2, -1.0),
    ),
    "no length": (Quadratic(X).gradient_bound, (2, 1.0), (2, float("nan"))),
    "models of others": (
        Linear(SQUARED, AgentRows.of([(X, Y)] * 2)).gradient,
        (np.ones((2, 3)),),
        (np.ones((4, 3)),),
    ),
    "false bounds": (
        AgentRows,
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2]), {2: 2.0, 1: 4.0}),
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2]), {2: 2.0, 1: 3.9}),
    ),
    "false label bounds": (
        AgentRows,
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2]), {}, 1.0),
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2]), {}, 0.9),
    ),
    "labels of others": (
        AgentRows,
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2])),
        (np.ones((1, 2, 4)), np.ones((1, 3)), np.array([2])),
    ),
    "rows that are not there": (
        AgentRows,
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([2])),
        (np.ones((1, 2, 4)), np.ones((1, 2)), np.array([3])),
    ),
    "narrow models": (OBJECTIVES["squared"].gradient, (np.ones(4),), (np.ones(1),)),
    "narrow points": (OBJECTIVES["quadratic"].value, (np.ones(4),), (np.ones(1),)),
    "no centre": (Quadratic, (X,), (X[:0],)),
    "one centre": (Quadratic, (X[:1],), (X[0],)),
    "centres of nothing": (Quadratic, (X,), (X * np.nan,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_are_refused(name: str) -> None:
    call, right, wrong = WRONG[name]
    assert call(*right) is not None
    with pytest.raises(UsageError):
        call(*wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"ridge": -0.1}, {"ridge": [0.1, 0.2]}, {"ridge": np.nan}, {"lasso": -1}, {"lasso": np.inf}],
)
def test_wrong_regularisers_are_refused(wrong: dict[str, Any]) -> None:
    rows = AgentRows.of([(X, Y)])
    for make in (
        lambda **given: Linear(LOGISTIC, rows, **given),
        lambda **given: Boosting(rows, **given),
    ):
        assert make(ridge=[0.5], lasso=0.1).agents == 1
        with pytest.raises(UsageError):
            make(**wrong)
    assert rows.clipped(2, 1.0, labels=1e-9).clipped(2, 0.5).label_bound == 1e-9
    with pytest.raises(UsageError):
        rows.clipped(2, 1.0, labels=0.0)
    with pytest.raises(UsageError):
        Quadratic(X, scale=0.0)


def test_a_softmax_of_two_classes_is_the_logistic_loss_of_their_difference() -> None:
    made = datasets(3, 4, True)
    rows = AgentRows.of(made).clipped(2, 2.0)
    coded = AgentRows.of([(x, (y + 1) / 2) for x, y in made]).clipped(2, 2.0)
    models = np.random.default_rng(8).standard_normal((4, 8))
    apart = models[:, 4:] - models[:, :4]
    one, other = Linear(LOGISTIC, rows), Softmax(coded, 2)
    assert other.value(models) == pytest.approx(one.value(apart))
    slope = one.gradient(apart)
    assert other.gradient(models) == pytest.approx(np.hstack([-slope, slope]))
    for wrong in (rows, AgentRows.of([(np.eye(2), [0, 2])])):
        with pytest.raises(UsageError) as caught:
            Softmax(wrong, 2)
        assert caught.value.field == "labels"
    with pytest.raises(UsageError):
        other.value(apart)


@pytest.mark.parametrize("name", ["logistic, ridge", "softmax, ridge"])
def test_a_gradient_of_all_rows_drawn_once_is_the_whole_one(name: str) -> None:
    """And of single rows it is that row's: what `batch=` draws is unbiased."""
    found: Any = OBJECTIVES[name]
    models = np.random.default_rng(2).standard_normal((3, 4, found.dimension))
    regular = found.gradient(models) - (
        found.row_gradients(models) * found.rows.shares[..., None]
    ).sum(axis=-2)
    for agent, many in enumerate(found.rows.counts):
        if many:
            places = (
                np.broadcast_to(np.arange(many), (3, 4, many))
                % np.maximum(found.rows.counts, 1)[:, None]
            )
            whole = found.drawn_gradient(models, places)[:, agent]
            assert whole == pytest.approx(found.gradient(models)[:, agent])
    first = found.drawn_gradient(models, np.zeros((3, 4, 2), dtype=int))
    assert first == pytest.approx(found.row_gradients(models)[..., 0, :] + regular)


@pytest.mark.parametrize("norm", NORMS)
def test_no_gradient_of_a_row_is_longer_than_the_bound_of_a_softmax(norm: float) -> None:
    """Noise is measured by it: what a row adds to the weights of all classes together."""
    found, rng = softmax(3, 4), np.random.default_rng(9)
    longest = 0.0
    for scale in (0.1, 1.0, 30.0):
        gradients = found.row_gradients(scale * rng.standard_normal((40, 4, 12)))
        longest = max(longest, float(length(gradients, norm).max()))
        mean = (gradients * found.rows.shares[..., None]).sum(axis=-2)
        assert mean.shape == (40, 4, 12)
    bound = found.row_gradient_bound(norm)
    assert 0.3 * bound < longest <= bound
