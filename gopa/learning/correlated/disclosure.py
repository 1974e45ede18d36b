"""Bounds what colluding agents learn of one other agent, from all that they hear.

Specification: `specs/18-correlated-noise.md`, section 4, with proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.accounting import Loss
from gopa.graph import Graph, MixingMatrix
from gopa.learning.checks import whole
from gopa.learning.clipping import DEVIATION, length
from gopa.learning.clocks import Steps
from gopa.learning.correlated.disguises import Method, require_fitting
from gopa.learning.objectives import Linear, Objective, Quadratic, Softmax
from gopa.learning.outcome import Progress, told
from gopa.learning.privacy import Unit, View
from gopa.support.arrays import Floats

_MOST_COALITIONS: Final = 5_000

_BARE: Final = {
    "dgd": "models are sent without noise",
    "functions": "the sum of all functions has no noise, and models lead to its minimum",
}
_SUM: Final = "whoever hears everybody adds up all models, and their sum has no noise"
_UNBOUNDED: Final = "gradients of other data may differ by any amount"
_ALONE: Final = {
    "rss": "some agent has no honest agent near it whom no colluder hears",
    "rss-lb": "all neighbours of some agent may collude",
}


@dataclass(frozen=True, slots=True, eq=False)
class Disclosure:
    """What colluders learn at most, in deviations of normal noise, for the worst of them.

    `each` is what a step shows by itself, `composed` what all messages up to that step show; both
    are infinite where `reason` says why nothing is hidden. A step takes so many `draws`.
    """

    each: Floats
    composed: Floats
    draws: int
    reason: str = ""

    def epsilon(self, delta: float, step: int = -1) -> float:
        """The epsilon of messages up to this step, all by default; infinite if nothing hides."""
        shift = float(self.composed[step])
        if shift in (0.0, math.inf):
            return shift
        return Loss.gaussian(1.0, shift).epsilon(delta)


def disclosure(  # noqa: PLR0913 - what is seen depends on many parts
    objective: Objective,
    graph: Graph,
    *,
    method: Method,
    mixing: MixingMatrix | None = None,
    steps: Steps,
    iterations: int,
    noise: float,
    colluders: int = 1,
    coalitions: Iterable[Sequence[int]] | None = None,
    unit: Unit = "user",
    view: View = "neighbour",
    progress: Progress = None,
) -> Disclosure:
    """What the worst coalition learns of the agent that it learns most of.

    `coalitions` lists those that are feared, by default all of so many `colluders`.
    """
    weights = require_fitting(objective, graph, method, mixing, noise).matrix.toarray()
    degrees = graph.degrees
    draws = objective.dimension * (
        int((degrees * (degrees - 1)).sum() // 2) if method == "rss-lb" else graph.edge_count
    )
    nothing = np.full(whole(iterations, "iterations"), math.inf)
    moved = _sensitivity(objective, unit)
    reason = _BARE.get(method, _SUM if view == "everything" else "")
    reason = reason or ("" if np.isfinite(moved).all() else _UNBOUNDED)
    if reason:
        return Disclosure(nothing, nothing, draws, reason)
    pace = steps(np.arange(1, iterations + 1))
    kept, links = _kept(objective, pace), graph.adjacency().toarray()
    look = _hidden if method == "rss" else _balanced
    each, composed = np.zeros(iterations), np.zeros(iterations)
    feared = _listed(graph, colluders, coalitions)
    with told(progress) as advance:
        for done, coalition in enumerate(feared):
            advance("coalitions", done, len(feared))
            honest = np.setdiff1d(np.arange(graph.parties), coalition)
            for agents in _pieces(graph, honest):
                heard = links[agents][:, coalition].sum(axis=1)
                inside = np.ix_(agents, agents)
                around = look(weights[inside], links[inside], heard, math.sqrt(objective.dimension))
                if around is None:
                    return Disclosure(nothing, nothing, draws, _ALONE[method])
                found = around.shifts(
                    pace, noise / DEVIATION, pace[:, None] * moved[agents], kept[:, agents]
                )
                each, composed = np.maximum(each, found[0]), np.maximum(composed, found[1])
    return Disclosure(_upward(each), _upward(composed), draws)


def _upward(shifts: Floats) -> Floats:
    """Rounded up to seven digits: linear algebra is less exact, and not the same everywhere."""
    above = np.nextafter(shifts.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    return np.where(shifts > 0, above, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Surroundings:
    """How a difference of models spreads among honest agents while colluders hear the same.

    Differences `spread` from those who have them, and hiding them from colluders costs their
    quadratic form `cost`, both for noise of one step of the grid; rounding adds `slack` to each
    agent's difference and `edge_slack` to the root of the cost, in steps of the grid.
    """

    spread: Floats
    cost: Floats
    slack: Floats
    edge_slack: float

    @classmethod
    def rounded(
        cls, spread: Floats, cost: Floats, rounded: Floats, edges: float, root: float
    ) -> _Surroundings:
        """The same with what rounding adds (section 4, 18-C6)."""
        more = root * (math.sqrt(edges) + math.sqrt(cost.sum()))
        return cls(spread, cost, root * (1 + rounded), more)

    def shifts(
        self, pace: Floats, unit: float, moves: Floats, kept: Floats
    ) -> tuple[Floats, Floats]:
        """The shifts of each step alone and of all so far, for the agent that is worst off.

        Column u of a difference says how far every agent may be off if agent u has other data.
        """
        agents = len(self.slack)
        alone, composed, squares = np.zeros(len(pace)), np.zeros(len(pace)), np.zeros(agents)
        differ = fresh = np.zeros((agents, agents))
        for number, step in enumerate(pace.tolist()):
            grid = step * unit
            alone[number] = self._shift(fresh, grid).max()
            squares += self._shift(differ, grid) ** 2
            composed[number] = math.sqrt(squares.max())
            fresh = np.diag(moves[number])
            if number:
                moved = self.spread @ differ + grid * self.slack[:, None]
                differ = kept[number][:, None] * moved
            differ = differ + fresh
        return alone, composed

    def _shift(self, differ: Floats, grid: float) -> Floats:
        """The deviations by which one step's noise has to move to hide these differences."""
        squares = np.einsum("iu,ij,ju->u", differ, self.cost, differ)
        steps = np.sqrt(np.maximum(squares, 0.0)) / grid + self.edge_slack
        return np.where(differ.any(axis=0) & self.cost.any(), steps / DEVIATION, 0.0)


def _hidden(weights: Floats, among: Floats, heard: Floats, root: float) -> _Surroundings | None:
    """All say the same to everybody: differences flow to those whom no colluder hears."""
    open_, hidden = np.flatnonzero(heard), np.flatnonzero(heard == 0)
    if not len(hidden):
        return None
    degrees = among.sum(axis=1)
    inner = np.diag(degrees)[np.ix_(open_, open_)] - among[np.ix_(open_, open_)]
    inverse = np.linalg.inv(inner)
    # Where a random walk on honest agents that starts at an open one first meets a hidden one.
    carried = among[np.ix_(hidden, open_)] @ inverse
    moved = np.zeros_like(weights)
    moved[np.ix_(hidden, hidden)] = np.eye(len(hidden))
    moved[np.ix_(hidden, open_)] = carried
    cost = np.zeros_like(weights)
    cost[np.ix_(open_, open_)] = inverse
    rounded = moved.sum(axis=1)
    rounded[hidden] += degrees[hidden]
    return _Surroundings.rounded(weights @ moved, cost, weights @ rounded, among.sum() / 2, root)


def _balanced(weights: Floats, among: Floats, heard: Floats, root: float) -> _Surroundings | None:
    """Everybody tells everyone something else: honest neighbours hear what colluders do not."""
    honest = among.sum(axis=1)
    if not honest.all():
        return None
    share = 1 + heard / honest
    spread = np.diag(np.diag(weights)) + (weights - np.diag(np.diag(weights))) * share
    degrees = honest + heard
    edges = (degrees * (degrees - 1) / 2).sum()
    return _Surroundings.rounded(
        spread, np.diag(heard / honest), weights @ (share + degrees), edges, root
    )


def _listed(
    graph: Graph, colluders: int, coalitions: Iterable[Sequence[int]] | None
) -> list[list[int]]:
    agents = graph.parties
    if coalitions is not None:
        listed = [[whole(each, "coalitions", 0, agents - 1) for each in one] for one in coalitions]
        if not listed or any(len(set(one)) in (0, agents) for one in listed):
            raise UsageError("some agents each, and somebody is honest", "coalitions")
        return [sorted(set(one)) for one in listed]
    if math.comb(agents, whole(colluders, "colluders", 1, agents - 1)) > _MOST_COALITIONS:
        raise UsageError(
            f"more than {_MOST_COALITIONS} coalitions: list those you fear", "coalitions"
        )
    return [list(each) for each in combinations(range(agents), colluders)]


def _pieces(graph: Graph, honest: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """The honest agents that are connected without the others."""
    components = graph.induced(honest).components()
    for each in np.unique(components):
        yield honest[components == each]


def _sensitivity(objective: Objective, unit: Unit) -> Floats:
    """The moves of agents' gradients if all their data are others, or one record is.

    At any model, because what agents hear is not within a radius.
    """
    if isinstance(objective, Linear | Softmax):
        bound = 2 * objective.row_gradient_bound(2)
        rows = objective.rows.counts if unit == "record" else np.ones(objective.agents)
        return np.asarray(bound / np.maximum(rows, 1))
    if unit == "record":
        raise UsageError('only a mean over rows has the unit "record"', "unit")
    if isinstance(objective, Quadratic):
        farthest = float(length(objective.centres, 2).max())
        return np.full(objective.agents, 4 * objective.scale * farthest)
    return 2 * objective.gradient_bound(2)


def _kept(objective: Objective, pace: Floats) -> Floats:
    """How much of a difference of models a step keeps, for each step and agent."""
    slack = np.abs(1 - pace[:, None] * objective.strong_curvature())
    return np.asarray(np.maximum(slack, np.abs(1 - pace[:, None] * objective.smoothness())))
