"""Outcomes say how much of a model is noise, and how much the grid of its sums rounds away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from gopa import UsageError
from gopa.learning import Outcome, Privacy, Table, iid
from gopa.learning.federated import fedavg, fedsgd, kmeans, least_squares, pca
from tests.learning.federated.problems import NEAR, OFF, USER, two_sides

Floats = npt.NDArray[np.float64]

RNG = np.random.default_rng(8)
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
ROWS = RNG.normal(0, [3, 1, 0.6], (600, 3)) @ TURN + 1
NUMBERS = ROWS @ [1.0, -2.0, 0.5] + 3 + RNG.normal(0, 0.5, 600)
LINE: Final = iid(Table(ROWS, NUMBERS, "line"), 60, 1)
SIDES: Final = two_sides(30, 300)
MIDDLES: Final = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 5.0]])
BLOBS: Final = iid(
    Table(np.repeat(MIDDLES, 100, axis=0) + RNG.normal(0, 0.5, (300, 2)), np.zeros(300), "blobs"),
    60,
    1,
)
RECORD: Final = Privacy(20.0, 1e-5, unit="record")
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
    inner, cross = np.cov(ROWS.T, bias=True), (ROWS - ROWS.mean(axis=0)).T @ NUMBERS / len(ROWS)
    apart, spread = [], []
    for seed in range(TRIED):
        noisy = least_squares(LINE, privacy=RECORD, seed=seed, **asked).model
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
    found = [pca(LINE, privacy=RECORD, seed=each, **asked) for each in range(TRIED)]
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
