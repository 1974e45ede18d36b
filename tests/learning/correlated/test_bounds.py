"""Runs of every method stay below the bound of 18-C11, and what it assumes is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import numpy as np
import pytest

from gopa import UsageError
from gopa.graph import (
    MixingMatrix,
    equal_neighbour,
    fixed,
    from_edges,
    metropolis,
    path,
    ring,
    star,
)
from gopa.learning.clipping import DEVIATION
from gopa.learning.clocks import Steps, constant, harmonic
from gopa.learning.correlated import (
    METHODS,
    Method,
    descend,
    disguised_bound,
    optimum,
    spread_bound,
)
from gopa.learning.correlated.disguises import Disguise, InFunctions, InStates, mixed
from gopa.learning.objectives import Objective, Quadratic
from gopa.support.arrays import Floats
from tests.learning.correlated.networks import GRAPHS, points, tumours

RADIUS: Final = 2.0
NOISE: Final = {"dgd": 0.0, "rss": 0.5, "rss-lb": 0.5, "functions": 0.5}
RUNS: Final = 3


class Walk:
    """A run of a method step by step, and what the bound asks about it."""

    def __init__(self, objective: Objective, name: str, method: Method, steps: Steps) -> None:
        self.graph = GRAPHS[name]
        # "rss-lb" takes equal weights only.
        self.mixing = (fixed if method == "rss-lb" else metropolis)(self.graph)
        self.objective, self.best = objective, optimum(objective, radius=RADIUS)
        noise: dict[str, Any] = {"noise": NOISE[method]} if NOISE[method] else {}
        walk = descend(
            objective, self.graph, method=method, mixing=self.mixing, steps=steps, seed=3,
            radius=RADIUS, runs=RUNS, **noise,
        )  # fmt: skip
        self.models = np.stack([each.models for each in islice(walk, 121)])
        how: dict[str, Any] = {"noise": NOISE[method], "seed": 3, "runs": RUNS}
        disguise = Disguise(self.mixing)
        if method == "functions":
            disguise = InFunctions(self.graph, self.mixing, objective=objective, **how)
        elif method != "dgd":
            how |= {"dimension": objective.dimension, "to_each": method == "rss-lb"}
            disguise = InStates(self.graph, self.mixing, **how)
        self.parts = self.met(disguise, steps(np.arange(1, 121)))

    def met(self, disguise: Disguise, lengths: Floats) -> dict[str, float]:
        """The largest gradients and noise that there were, in the mean of squares over agents."""
        slopes, noises = [], [0.0]
        for number, (models, step) in enumerate(zip(self.models, lengths.tolist(), strict=False)):
            heard, plain = disguise.heard(models, step, number), mixed(self.mixing.matrix, models)
            noise = (heard - plain) / step
            assert np.abs(noise.sum(axis=0)).max() < 1e-9
            noises.append(largest(noise))
            for at in (heard, np.broadcast_to(models.mean(axis=0), models.shape)):
                own = self.objective.gradient(at.transpose(1, 0, 2)).transpose(1, 0, 2)
                slopes.append(largest(own + disguise.bent(at)))
        found = {"slope": max(slopes), "noise": max(noises) * (1 + 1e-9)}
        if isinstance(disguise, InFunctions):
            # Beside quadratic functions the gradient of what is added is bend x + tilt.
            ends = (np.full(self.models.shape[1:], value) for value in (0.0, 1.0))
            tilt, moved = (np.asarray(disguise.bent(each)) for each in ends)
            smooth = float(self.objective.smoothness().max())
            found["smoothness"] = smooth + float(np.abs(moved - tilt).max())
        return found

    def squares(self) -> Floats:
        """The mean over agents of squared distances from the optimum: by step and run."""
        return np.asarray(((self.models - self.best) ** 2).sum(axis=-1).mean(axis=1))

    def spreads(self) -> Floats:
        """How far all agents together are from their average: by step and run."""
        apart = self.models - self.models.mean(axis=1, keepdims=True)
        return np.asarray(np.sqrt((apart**2).sum(axis=(1, 3))))

    def above(self) -> Floats:
        """The mean loss of the average model above the least: by step and run."""
        models = self.models.mean(axis=1)[..., None, :].repeat(self.objective.agents, axis=-2)
        least = np.tile(self.best, (self.objective.agents, 1))
        found = self.objective.value(models).mean(axis=-1)
        return np.asarray(found - self.objective.value(least).mean())


def largest(vectors: Floats) -> float:
    """Of all runs, the root of the mean over agents of squared lengths."""
    return float(np.sqrt((vectors**2).sum(axis=-1).mean(axis=0)).max())


def walk(problem: str, name: str, method: Method, steps: Steps) -> Walk:
    agents = GRAPHS[name].parties
    objective = points(agents) if problem == "points" else tumours(agents, 60)
    return Walk(objective, name, method, steps)


CASES = [
    *(("points", name, method) for name in GRAPHS for method in METHODS),
    *(("tumours", "cycle", method) for method in METHODS[:3]),
]


@pytest.mark.parametrize("steps", [harmonic(1.0), constant(0.1)], ids=["falling", "constant"])
@pytest.mark.parametrize(("problem", "name", "method"), CASES)
def test_every_run_stays_below_the_bound(
    problem: str, name: str, method: Method, steps: Steps
) -> None:
    """Lemmas 2 and 5 in each single step, from where the run is; then all steps together."""
    found = walk(problem, name, method, steps)
    squares, spreads, above = found.squares(), found.spreads(), found.above()
    lengths = steps(np.arange(1, 121))
    for number in range(0, 120, 11):
        step = constant(float(lengths[number]))
        for run in range(RUNS):
            distance = math.sqrt(squares[number, run]) + 1e-12
            bound = disguised_bound(
                found.mixing, step, 1, distance=distance, spread=spreads[number, run], **found.parts
            )
            fell = squares[number + 1, run] + 2 * lengths[number] * above[number, run]
            assert fell <= bound.distance[0] ** 2
    start = float(np.sqrt(squares[0].max()))
    bound = disguised_bound(found.mixing, steps, 120, distance=start, **found.parts)
    assert (np.sqrt(squares[1:]) <= bound.distance[:, None]).all()
    mean = np.cumsum(lengths[:, None] * above[:-1], axis=0) / np.cumsum(lengths)[:, None]
    assert (mean <= bound.loss[:, None]).all()
    slope, noise = found.parts["slope"], found.parts["noise"]
    spread = spread_bound(found.mixing, steps, 120, slope=slope, noise=noise)
    assert (spreads[1:] <= spread[:, None]).all()


def test_the_bound_is_that_of_its_theorem() -> None:
    """Written down again from the page; without M it is a sum of spreads alone."""
    mixing, steps, n = metropolis(star(5)), Steps(0.4, 0.7, 1.0), 5
    L, N, r = 0.7, 0.3, 2.0
    rho = float(np.linalg.norm(mixing.matrix.toarray() - 1 / n, 2))
    for M in (0.0, 1.3):
        how: dict[str, Any] = {"slope": L, "noise": N, "spread": 1.5, "smoothness": M}
        bound = disguised_bound(mixing, steps, 40, distance=r, **how)
        U, other, s, walked = r**2, r**2, 1.5 / math.sqrt(n), 0.0
        for k in range(40):
            a, after = (float(steps(k + each)) for each in (1, 2))
            heard, q = U + 2 * a * N * rho * s + a**2 * N**2, rho * s + a * N
            U = heard + 2 * a * q * (L + M * math.sqrt(heard)) + a**2 * L**2
            walked += a
            before, s = s, rho * s + a * (L + N)
            other += s**2 - (rho * before) ** 2
            assert bound.distance[k] == pytest.approx(math.sqrt(U), rel=1e-9)
            assert bound.loss[k] == pytest.approx(U / (2 * walked), rel=1e-9)
            assert bound.apart[k] == pytest.approx(rho * s + after * N, rel=1e-9)
        assert (other == pytest.approx(U)) == (M == 0)


def test_the_bound_is_reached_and_gradients_may_not_be_longer() -> None:
    """Two agents at the optimum, who are pulled away from it with all that is allowed."""
    pulled, mixing = Quadratic([[-1.0], [1.0]]), fixed(path(2), 0.25)
    walk = descend(pulled, path(2), method="dgd", mixing=mixing, steps=constant(0.3), seed=1)
    off = math.sqrt(float((next(islice(walk, 1, None)).models ** 2).mean()))
    bounds = {
        slope: disguised_bound(mixing, constant(0.3), 1, slope=slope, distance=0.0).distance[0]
        for slope in (2.0, 1.9)
    }
    assert off == pytest.approx(bounds[2.0])
    assert off > bounds[1.9]


@pytest.mark.parametrize("cancels", [True, False])
def test_noise_that_does_not_cancel_breaks_the_bound(
    cancels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All agents push one way, where every second should push back."""
    flat, graph, noise = Quadratic(np.zeros((6, 1)), scale=1e-300), ring(6), 1.0
    signs = np.array([1, -1, 1, -1, 1, -1]) if cancels else np.ones(6)
    pushed = np.rint(signs * DEVIATION).astype(np.int64)[:, None, None]
    monkeypatch.setattr(InStates, "drawn", lambda *_: pushed)
    walk = descend(flat, graph, method="rss", noise=noise, steps=constant(0.1), start=1.0, seed=1)
    bound = disguised_bound(fixed(graph), constant(0.1), 60, slope=0.0, noise=noise, distance=1.0)
    far = [math.sqrt(float((each.models**2).mean())) for each in islice(walk, 1, 61)]
    assert (np.array(far) <= bound.distance + 1e-9).all() == cancels
    assert (far[0] <= bound.distance[0] + 1e-9) == cancels


@pytest.mark.parametrize("weights", [fixed, metropolis])
def test_what_is_balanced_cancels_under_equal_weights_only(
    weights: Callable[..., MixingMatrix],
) -> None:
    """Assumption 4 of "rss-lb": an agent tells one neighbour 1 more, and another 1 less."""
    mixing = weights(from_edges(5, [(0, 1), (0, 2), (0, 3), (3, 4)]))
    told = np.zeros((5, 5))
    told[3, 0], told[3, 4] = 1.0, -1.0
    assert not told.sum(axis=1).any()
    fused = (mixing.matrix.toarray() * told.T).sum(axis=1)
    bound = disguised_bound(
        mixing, constant(1.0), 1, slope=0.0, noise=np.abs(fused).max(), distance=100.0
    )
    far = max(float(((100.0 + sign * fused) ** 2).mean()) for sign in (1, -1))
    assert (far <= bound.distance[0] ** 2) == (weights is fixed)


@pytest.mark.parametrize("doubly", [True, False])
def test_columns_of_the_matrix_sum_to_one(doubly: bool) -> None:
    """Else the model of one whom everybody hears counts more than that of others."""
    graph = star(12)
    mixing = metropolis(graph) if doubly else equal_neighbour(graph)
    start = np.zeros((12, 1))
    start[np.argmax(graph.degrees)] = 1.0
    claimed = MixingMatrix("own", mixing.matrix, np.full(12, 1 / 12), doubly_stochastic=True)
    bound = disguised_bound(claimed, constant(1.0), 1, slope=0.0, distance=math.sqrt(1 / 12))
    far = float((mixed(mixing.matrix, start) ** 2).mean())
    assert (far <= bound.distance[0] ** 2) == doubly


def test_functions_that_are_not_convex_need_their_smoothness() -> None:
    """Two agents at 1 and -1, a hill and a valley that cancel: both walk away from -w."""
    mixing, step, bend, far = fixed(path(2), 0.25), 0.1, 1.0, 50.0
    models = np.array([[1.0], [-1.0]])
    heard = mixed(mixing.matrix, models)
    after = heard - step * bend * np.array([[-1.0], [1.0]]) * heard
    square = float(((after + far) ** 2).mean())
    how: dict[str, Any] = {
        "slope": bend * float(np.abs(heard).max()),
        "distance": math.sqrt(float(((models + far) ** 2).mean())),
        "spread": math.sqrt(2.0),
    }
    plain = disguised_bound(mixing, constant(step), 1, **how)
    bent = disguised_bound(mixing, constant(step), 1, smoothness=bend, **how)
    assert plain.distance[0] ** 2 < square <= bent.distance[0] ** 2


@pytest.mark.slow
def test_steps_have_squares_of_a_finite_sum_and_no_sum() -> None:
    """Lemma 3: distances have a limit then. Else noise stays, or the way is too short."""
    objective, graph = points(6), ring(6)
    best, start = objective.centres.mean(), 3.0

    def last(steps: Steps) -> float:
        walk = descend(objective, graph, steps=steps, noise=0.5, start=start, seed=2, radius=4.0)
        return float(np.abs(next(islice(walk, 1500, None)).models - best).max())

    def bound(steps: Steps, iterations: int) -> Any:
        return disguised_bound(fixed(graph), steps, iterations, slope=1.0, noise=1.0, distance=1.0)

    falling, always, short = harmonic(1.0), constant(0.1), Steps(0.1, 2.0)
    assert last(falling) < 0.01 < last(always)
    assert last(short) > 1.0
    one, two = bound(falling, 1500), bound(falling, 3000)
    assert two.distance[-1] < one.distance[-1] * 1.001
    assert two.loss[-1] < one.loss[-1]
    one, two = bound(always, 1500), bound(always, 3000)
    assert two.distance[-1] > one.distance[-1] * 1.3
    kept = 1 - fixed(graph).spectral_gap()
    assert two.loss[-1] > 0.1 * 2**2 * (1 + kept) / (1 - kept) / 2
    assert bound(short, 3000).loss[-1] > bound(short, 1500).loss[-1] * 0.999


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("mixing", {"mixing": equal_neighbour(star(12))}),
        ("slope", {"slope": math.inf}),
        ("distance", {"distance": -1.0}),
        ("noise", {"noise": math.nan}),
        ("spread", {"spread": "0"}),
        ("smoothness", {"smoothness": -1.0}),
        ("iterations", {"iterations": 0}),
    ],
)
def test_a_bound_is_of_what_was_proved(field: str, how: dict[str, Any]) -> None:
    right: dict[str, Any] = {
        "mixing": fixed(ring(12)), "steps": harmonic(1.0), "iterations": 2, "slope": 1.0,
        "distance": 1.0, "noise": 1.0, "spread": 1.0, "smoothness": 1.0,
    }  # fmt: skip
    disguised_bound(**right)
    with pytest.raises(UsageError) as caught:
        disguised_bound(**{**right, **how})
    assert caught.value.field == field
