"""What users send for neighbouring data is never farther apart than noise is made for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from gopa import UsageError
from gopa.adversary import distinguish
from gopa.learning import Outcome, Privacy, Table, Users, iid, stacked
from gopa.learning.federated import (
    AdaptiveClip,
    Recipe,
    RoundShape,
    Setting,
    SumSession,
    contingency_table,
    fedavg,
    fedsgd,
    histogram,
    kmeans,
    least_squares,
    mean,
    pca,
    quantiles,
    variance,
)
from gopa.learning.federated.training import Training
from tests.learning.federated.problems import NEAR, OFF, RECORD, USER, two_sides

MOST, USERS = 6, 5


RADII = {"radius": 1.5, "label_radius": 0.7}


Rows = tuple[np.ndarray, np.ndarray]


Algorithm = tuple[Callable[..., Outcome], dict[str, Any]]


ROWS: dict[str, Algorithm] = {
    "k-means": (kmeans, {"clusters": 3, "radius": 1.5, "rounds": 2}),
    "PCA": (pca, {"components": 1, "radius": 1.5}),
    "least squares": (least_squares, RADII),
    "mean": (mean, {"low": -1, "high": [1, 2]}),
    "variance": (variance, {"low": -1, "high": [1, 2]}),
    "histogram": (histogram, {"edges": [-1, 0, 2]}),
    "quantiles": (quantiles, {"at": [0.5], "low": -1, "high": 1, "levels": 3}),
    "table": (contingency_table, {"columns": (-1, -1), "categories": ([-1, 1], [1, -1])}),
    "FedSGD": (fedsgd, {"rounds": 2, "clip": 0.3}),
    "FedSGD, adaptive": (fedsgd, {"rounds": 2, "clip": AdaptiveClip(0.3)}),
}


WHOLE: dict[str, Algorithm] = {
    **ROWS,
    "FedAvg": (fedavg, {"rounds": 2, "clip": 0.5}),
    "FedAvg, adaptive": (fedavg, {"rounds": 2, "clip": AdaptiveClip(0.5)}),
    "FedAvg, unweighted": (fedavg, {"rounds": 2, "clip": AdaptiveClip(0.5), "weighted": False}),
}


class _Seen(Exception):
    pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[np.ndarray, SumSession]]:
    """What the first user sends in the first round, and the session that it is for."""
    found: list[tuple[np.ndarray, SumSession]] = []

    def seen(self: SumSession, vectors: Sequence[np.ndarray]) -> None:
        found.append((np.asarray(vectors[0]), self))
        raise _Seen

    monkeypatch.setattr(SumSession, "sum", seen)

    def run(algorithm: Algorithm, problem: Users, privacy: Any) -> tuple[np.ndarray, SumSession]:
        fit, asked = algorithm
        with pytest.raises(_Seen):
            fit(problem, privacy=privacy, seed=1, most_rows=MOST, **OFF, **asked)
        return found[-1]

    return run


def rows(scale: float, label: int, many: int) -> Rows:
    """Rows that are all alike, outside of all ranges if the scale is large."""
    return np.full((many, 2), scale), np.full(many, label)


def joined(*parts: Rows) -> Rows:
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def farthest(sent: Any, algorithm: Algorithm, privacy: Any) -> float:
    """How far neighbours come apart, as a part of what noise is made for, rounding left out."""
    found: list[float] = []
    label = 1 if algorithm[0] in {fedavg, fedsgd} else -1  # else slopes were the same
    others = [rows(1.0, 1, 3)] * (USERS - 1)
    many = ((1, 1), (MOST, MOST), (MOST + 2, MOST + 2))
    if privacy.unit == "user":
        many = (MOST, MOST), (MOST, 0), (MOST + 4, MOST + 4)
    for scale, (here, there) in product((0.5, 9.0), many):
        both = [rows(scale, 1, here), rows(-scale, label, there)]
        if privacy.unit == "record":
            same = rows(0.1, 1, here - 1)
            both = [joined(rows(scale, 1, 1), same), joined(rows(-scale, label, 1), same)]
        sends = [sent(algorithm, stacked([own, *others], "made up"), privacy) for own in both]
        (first, session), (second, _) = sends
        terms = session.terms
        allowed = math.sqrt(terms.squared_sensitivity) - 2 * math.sqrt(terms.dimension)
        found.append(float(np.linalg.norm(first - second)) * terms.steps / 2 / allowed)
    return max(found)


@pytest.mark.thirds(9)
@pytest.mark.parametrize("name", WHOLE)
def test_no_user_moves_a_sum_by_more(sent: Any, name: str) -> None:
    assert 0.6 < farthest(sent, WHOLE[name], USER) <= 1 + 1e-3


@pytest.mark.thirds(9)
@pytest.mark.parametrize("name", ROWS)
def test_no_record_moves_a_sum_by_more(sent: Any, name: str) -> None:
    assert 0.6 < farthest(sent, ROWS[name], RECORD) <= 1 + 1e-3


ASKED = Privacy(1.0, 1e-5)


DRAWS = 300


def users(first: float, rows: int) -> Users:
    """Four users of twenty rows each, so many of those of the first at one end."""
    whole = iid(Table(np.zeros((80, 1)), np.zeros(80), "zeros"), 4, 1)
    whole.table.features[whole.rows[0][:rows], 0] = first
    return whole


def told(problem: Users, privacy: Privacy, start: int) -> Any:
    """Many runs of a histogram of two bins: the difference of both counts."""

    def run(rng: np.random.Generator, many: int) -> np.ndarray:
        seeds = rng.integers(0, 2**62, many) + start
        found = [
            histogram(
                problem, edges=[-1, 0.5, 2], privacy=privacy, seed=int(seed), most_rows=20, **OFF
            ).model["counts"]
            for seed in seeds
        ]
        return np.diff(np.array(found), axis=1)[:, 0]

    return run


def bound(privacy: Privacy, rows: int) -> float:
    pair = [told(users(value, rows), privacy, place) for place, value in enumerate((0.0, 1.0))]
    return distinguish(pair[0], pair[1], lambda seen: seen, ASKED.delta, DRAWS).epsilon


@pytest.mark.soak
def test_all_rows_of_a_user_are_hidden_and_one_row_with_less_noise() -> None:
    by_record = Privacy(1.0, 1e-5, unit="record")
    assert bound(ASKED, 20) <= 1
    assert bound(by_record, 1) <= 1
    # Noise for one row does not hide a user: the attack would see it.
    assert bound(by_record, 20) > 1


@pytest.mark.parametrize(
    "given",
    [{"kept": [2.0] * 2}, {"kept": [float("nan")] * 2}, {"weights": [float("nan"), 1.0]}],
)
def test_a_side_coordinate_carries_no_more_than_noise_is_made_for(given: dict[str, Any]) -> None:
    shape = RoundShape(2, most=2.0, adaptive=True, unit="record")
    right: dict[str, Any] = {"weights": [1.0, 2.0], "kept": [0.0, 1.0]}
    assert len(shape.vectors(np.ones((2, 2)), bound=2.0, **right)) == 2
    with pytest.raises(UsageError):
        shape.vectors(np.ones((2, 2)), bound=2.0, **{**right, **given})
    with pytest.raises(UsageError):
        shape.vectors(np.full((2, 2), 9.0), bound=2.0, **right)


ROUNDS = 5


SEVERAL = Privacy(2.0, 1e-3)


@pytest.fixture(scope="module")
def training() -> Training:
    setting = Setting(SEVERAL, 1, 8, "off", {"corrupt": 2, "dropout": 0.0})
    recipe = Recipe(clip=AdaptiveClip(1.0))
    return Training(setting, recipe, two_sides(), rounds=ROUNDS)


def colluders(training: Training, side: float, weaker: float = 1.0) -> Any:
    """All rounds, as whoever knows all vectors but one, and the noise of the corrupt, sees them.

    The user's update points to one side as long as it may be, in every round, at full weight.
    """
    terms = training.session.terms
    shape = RoundShape(3, most=8.0, adaptive=True)
    pair = shape.vectors([[1.0, 0, 0], [-1.0, 0, 0]], [8.0, 8.0], 1.0, [1.0, 0.0])
    along = np.rint((pair[0] - pair[1]) * terms.steps / 2)
    law = np.array(terms.noise.masses, dtype=float)
    ladder = np.cumsum(law / law.sum())

    def run(rng: np.random.Generator, many: int) -> np.ndarray:
        total = np.full(many, side * ROUNDS * float(along @ along))
        for step in along[along != 0].tolist() * ROUNDS:
            drawn = np.searchsorted(ladder, rng.random((terms.honest, many)))
            total += weaker * step * (drawn - terms.noise.radius).sum(axis=0)
        return total

    return run


@pytest.mark.soak
def test_colluders_who_see_all_rounds_learn_no_more_than_was_charged(training: Training) -> None:
    """The bound comes near epsilon; half of the noise would exceed it."""
    worlds = [(0.0, 1.0), (1.0, 1.0), (0.0, 0.5), (1.0, 0.5)]
    still, moved, *weak = (colluders(training, *each) for each in worlds)
    found = distinguish(still, moved, lambda seen: seen, SEVERAL.delta, 200_000, at_once=20_000)
    assert 0.6 * SEVERAL.epsilon < found.epsilon <= SEVERAL.epsilon
    less = distinguish(weak[0], weak[1], lambda seen: seen, SEVERAL.delta, 200_000, at_once=20_000)
    assert less.epsilon > SEVERAL.epsilon


Floats = npt.NDArray[np.float64]


RNG = np.random.default_rng(8)


TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


ROWS_NOISE = RNG.normal(0, [3, 1, 0.6], (600, 3)) @ TURN + 1


NUMBERS = ROWS_NOISE @ [1.0, -2.0, 0.5] + 3 + RNG.normal(0, 0.5, 600)


LINE: Final = iid(Table(ROWS_NOISE, NUMBERS, "line"), 60, 1)


SIDES: Final = two_sides(30, 300)


MIDDLES: Final = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 5.0]])


BLOBS: Final = iid(
    Table(np.repeat(MIDDLES, 100, axis=0) + RNG.normal(0, 0.5, (300, 2)), np.zeros(300), "blobs"),
    60,
    1,
)


RECORD_NOISE: Final = Privacy(20.0, 1e-5, unit="record")


FLAT: Final = Privacy(20.0, 1e-5)


TRIED: Final = 60


def sides(ask: Callable[..., Outcome], **recipe: Any) -> tuple[Floats, Floats]:
    asked = {"rounds": 3, "most_rows": 10, "clip": 6.0, **recipe, **OFF}
    exact = ask(SIDES, privacy=None, seed=0, **asked).model
    found = [ask(SIDES, privacy=FLAT, seed=each, **asked).model for each in range(TRIED)]
    apart = np.array([each["coef"] - exact["coef"] for each in found])
    return apart, np.array([[each["stderr"]] for each in found])


def line() -> tuple[Floats, Floats]:
    """Against the line with the same ridge: that is a bias, and no noise."""
    asked: dict[str, Any] = {"radius": 14.0, "label_radius": 20.0, "most_rows": 10, **OFF}
    inner, cross = (
        np.cov(ROWS_NOISE.T, bias=True),
        (ROWS_NOISE - ROWS_NOISE.mean(axis=0)).T @ NUMBERS / len(ROWS_NOISE),
    )
    apart, spread = [], []
    for seed in range(TRIED):
        noisy = least_squares(LINE, privacy=RECORD_NOISE, seed=seed, **asked).model
        exact = np.linalg.solve(inner + noisy["ridge"] * np.eye(3), cross)
        apart.append(noisy["coef"] - exact)
        spread.append(noisy["stderr"])
    return np.array(apart), np.array(spread)


def clusters() -> tuple[Floats, Floats]:
    asked: dict[str, Any] = {"clusters": 3, "rounds": 2, "centres": MIDDLES, "radius": 8.0, **OFF}
    asked |= {"most_rows": 5}
    exact = kmeans(BLOBS, privacy=None, seed=0, **asked).model["centres"]
    found = [kmeans(BLOBS, privacy=FLAT, seed=each, **asked).model for each in range(TRIED)]
    apart = np.array([each["centres"] - exact for each in found])
    return apart, np.array([each["stderr"][:, None] for each in found])


MODELS: Final[dict[str, Callable[[], tuple[Floats, Floats]]]] = {
    "fedavg": lambda: sides(fedavg),
    "fedsgd": lambda: sides(fedsgd),
    "line": line,
    "clusters": clusters,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models_are_as_far_off_as_their_outcomes_say(name: str) -> None:
    """In 95 of 100 of the intervals, and these are not wide for nothing."""
    apart, spread = MODELS[name]()
    off = apart / spread
    assert 0.91 < np.mean(np.abs(off) < 1.96) < 0.995
    assert 0.75 < math.sqrt(float(np.mean(off**2))) < 1.25


@pytest.mark.slow
def test_components_are_turned_by_no_more_than_said() -> None:
    asked: dict[str, Any] = {"components": 1, "radius": 14.0, "most_rows": 10, **OFF}
    exact = pca(LINE, privacy=None, seed=0, components=1, **OFF).model["components"][0]
    found = [pca(LINE, privacy=RECORD_NOISE, seed=each, **asked) for each in range(TRIED)]
    turned = [1 - float(each.model["components"][0] @ exact) ** 2 for each in found]
    said = [each.noise or 0.0 for each in found]
    assert np.mean([one <= most for one, most in zip(turned, said, strict=True)]) > 0.95
    assert 0 < max(said) < 0.2


@pytest.mark.slow
def test_a_model_of_noise_warns() -> None:
    few, many = two_sides(5, 60), two_sides(200, 400)
    asked: dict[str, Any] = {"seed": 1, "rounds": 2, "most_rows": 12, "clip": 9.0, **OFF}
    clear = fedavg(many, privacy=USER, **asked)
    assert clear.noise is not None
    assert clear.noise < 0.5
    assert clear.warnings == ()
    noisy = fedavg(few, privacy=Privacy(0.5, 1e-5), **asked)
    assert noisy.noise is not None
    assert 0.5 < noisy.noise <= 1
    assert len(noisy.warnings) == 1 + bool(noisy.history["shortened"].sum())
    exact = fedavg(few, privacy=None, **asked)
    assert exact.noise is None
    assert exact.warnings == ()


def test_without_noise_nothing_has_to_be_shortened() -> None:
    """Nor is the grid that of a bound that means nothing."""
    problem = two_sides()
    asked: dict[str, Any] = {"privacy": None, "seed": 1, "rounds": 3, **OFF}
    near = fedavg(problem, clip=16.0, **asked)
    assert near.warnings == ()
    free = fedavg(problem, clip=None, **asked)
    assert np.allclose(free.model["coef"], near.model["coef"], rtol=0, atol=1e-6)
    assert free.warnings == ()
    assert (free.history["bound"] < 16).all()
    wide = fedavg(problem, clip=1e9, **asked)
    assert np.abs(wide.model["coef"] - near.model["coef"]).max() > 0.01
    assert len(wide.warnings) == 1
    middles = kmeans(BLOBS, clusters=3, radius=1e9, centres=MIDDLES, privacy=None, seed=1, **OFF)
    assert len(middles.warnings) == 1
    assert kmeans(BLOBS, clusters=3, centres=MIDDLES, privacy=None, seed=1, **OFF).warnings == ()


@pytest.mark.parametrize(
    ("privacy", "clip"), [(None, math.inf), (None, 0.0), (USER, None), (USER, math.inf)]
)
def test_a_bound_that_is_none_is_refused(privacy: Privacy | None, clip: float | None) -> None:
    asked: dict[str, Any] = {"seed": 1, "rounds": 1, "most_rows": 12, **OFF}
    assert fedavg(two_sides(), privacy=privacy, clip=2.0, **asked)
    with pytest.raises(UsageError) as caught:
        fedavg(two_sides(), privacy=privacy, clip=clip, **asked)
    assert caught.value.field == "clip"


@pytest.mark.slow
def test_a_session_that_asks_for_lengths_is_in_the_outcome() -> None:
    outcome = fedavg(two_sides(4, 12), privacy=None, seed=1, rounds=2, clip=None, session=NEAR)
    assert outcome.transcript is not None
    assert len(outcome.transcript) == 4
    assert len({each.session for each in outcome.transcript}) == 2
