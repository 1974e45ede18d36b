"""Components, lines and clusters from sums."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.learning import Table, Users, iid
from gopa.learning.federated import kmeans, least_squares, pca
from gopa.learning.federated.clusters import nearest
from gopa.learning.federated.moments import MomentSums
from gopa.learning.federated.setting import Setting
from tests.learning.federated.problems import NEAR, OFF, RECORD, USER, two_sides

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
