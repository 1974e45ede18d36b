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
from gopa.accounting import Loss, gaussian_sigma
from gopa.graph import Graph, MixingMatrix
from gopa.learning.charges import Charge
from gopa.learning.clipping import length
from gopa.learning.correlated.disguises import DEVIATION
from gopa.learning.ledger import BudgetExceeded, PrivacyLedger
from gopa.learning.objectives import Floats, Linear, Objective, Quadratic
from gopa.learning.privacy import Privacy, Unit, View
from gopa.learning.steps import Steps
from gopa.noise import rounded_gaussian

_MOST_COALITIONS: Final = 5_000

_BARE: Final = {
    "dgd": "models are sent without noise",
    "functions": "the sum of all functions has no noise, and models lead to its minimum",
}
_SUM: Final = "whoever hears everybody adds up all models, and their sum has no noise"
_CUT_OFF: Final = "some agent has no honest agent near it whom no colluder hears"
_UNBOUNDED: Final = "gradients of other data may differ by any amount"
_SURROUNDED: Final = "all neighbours of some agent may collude"


@dataclass(frozen=True, slots=True, eq=False)
class Disclosure:
    """Says what colluders learn at most, in deviations of normal noise, for the worst of them.

    `each` is what a step shows by itself, `composed` what all messages up to that step show; both
    are infinite where `reason` says why nothing is hidden.
    """

    each: Floats
    composed: Floats
    draws: int
    reason: str = ""

    def epsilon(self, delta: float, step: int = -1) -> float:
        """Of all messages up to this step, by default all: infinite where nothing is hidden."""
        shift = float(self.composed[step])
        return (
            math.inf if self.reason else Loss.gaussian(1.0, shift).epsilon(delta) if shift else 0.0
        )

    def fits(self, privacy: Privacy) -> int:
        """How many steps keep what was asked for; `BudgetExceeded` says why none does."""
        if self.reason:
            raise BudgetExceeded(f"no noise hides anything: {self.reason}", math.inf, 0)
        spare = privacy.delta - self._truncation(len(self.composed), privacy.epsilon)
        if not spare > 0:
            raise UsageError("normal noise needs a delta above 0", "delta")
        most = (1 - 1e-9) / gaussian_sigma(privacy.epsilon, spare)
        return int(np.searchsorted(self.composed, most, side="right"))

    def charge(self, ledger: PrivacyLedger, steps: int) -> None:
        """Charges so many steps, and what the tables of the noise leave out."""
        privacy = ledger.privacy
        if privacy is None:
            return
        ledger.charge(
            Charge.guarantee(0.0, self._truncation(steps, privacy.epsilon)), note="tables"
        )
        if self.composed[steps - 1]:
            ledger.charge(
                Charge.gaussian(1.0, float(self.composed[steps - 1])), note=f"{steps} steps"
            )

    def _truncation(self, steps: int, epsilon: float) -> float:
        return float(rounded_gaussian(DEVIATION).charged(self.draws * steps, epsilon))


def disclosure(  # noqa: PLR0913 - what is seen depends on many parts
    objective: Objective,
    graph: Graph,
    *,
    method: str,
    mixing: MixingMatrix,
    steps: Steps,
    iterations: int,
    noise: float,
    colluders: int = 1,
    coalitions: Iterable[Sequence[int]] | None = None,
    unit: Unit = "user",
    view: View = "neighbour",
) -> Disclosure:
    """What the worst coalition learns of the agent that it learns most of.

    `coalitions` lists those that are feared, by default all of so many `colluders`.
    """
    draws = objective.dimension * (
        int((graph.degrees * (graph.degrees - 1)).sum() // 2)
        if method == "rss-lb"
        else graph.edge_count
    )
    nothing = np.full(iterations, math.inf)
    reason = _BARE.get(method, _SUM if view == "everything" else "")
    moved = _sensitivity(objective, unit)
    reason = reason or ("" if np.isfinite(moved).all() else _UNBOUNDED)
    if reason:
        return Disclosure(nothing, nothing, draws, reason)
    pace = steps(np.arange(1, iterations + 1))
    moves = pace[:, None] * moved
    kept = _kept(objective, pace)
    network = _Network(graph.adjacency().toarray(), mixing.matrix.toarray(), method)
    each, composed = np.zeros(iterations), np.zeros(iterations)
    for coalition in _listed(graph, colluders, coalitions):
        honest = np.setdiff1d(np.arange(graph.parties), coalition)
        for agents in _pieces(graph, honest):
            around = _Surroundings.of(network, agents, coalition, objective.dimension)
            if around is None:
                why = _CUT_OFF if method == "rss" else _SURROUNDED
                return Disclosure(nothing, nothing, draws, why)
            alone, all_of_them = around.shifts(
                pace, noise / DEVIATION, moves[:, agents], kept[:, agents]
            )
            each, composed = np.maximum(each, alone), np.maximum(composed, all_of_them)
    return Disclosure(each, composed, draws)


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """Holds who hears whom, and with which weight."""

    links: Floats
    weights: Floats
    method: str


@dataclass(frozen=True, slots=True, eq=False)
class _Surroundings:
    """Says how a difference of models spreads among honest agents while colluders hear the same.

    Differences `spread` from those who have them, and hiding them from colluders costs their
    quadratic form `cost`, both for noise of one step of the grid; rounding adds `slack` to each
    agent's difference and `edge_slack` to the root of the cost, in steps of the grid.
    """

    spread: Floats
    cost: Floats
    slack: Floats
    edge_slack: float

    @classmethod
    def of(
        cls, network: _Network, agents: npt.NDArray[np.int64], coalition: Sequence[int], width: int
    ) -> _Surroundings | None:
        """Of honest agents that are connected; None where one of them cannot hide at all."""
        colluding = np.array(coalition)
        heard = network.links[np.ix_(agents, colluding)].sum(axis=1)
        among = network.links[np.ix_(agents, agents)]
        found = cls._hidden if network.method == "rss" else cls._balanced
        return found(network.weights[np.ix_(agents, agents)], among, heard, math.sqrt(width))

    @classmethod
    def _hidden(
        cls, weights: Floats, among: Floats, heard: Floats, root: float
    ) -> _Surroundings | None:
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
        return cls._rounded(weights @ moved, cost, weights @ rounded, among.sum() / 2, root)

    @classmethod
    def _balanced(
        cls, weights: Floats, among: Floats, heard: Floats, root: float
    ) -> _Surroundings | None:
        """Everybody tells everyone something else: honest neighbours hear what colluders do not."""
        honest = among.sum(axis=1)
        if not honest.all():
            return None
        share = 1 + heard / honest
        spread = np.diag(np.diag(weights)) + (weights - np.diag(np.diag(weights))) * share
        degrees = honest + heard
        edges = (degrees * (degrees - 1) / 2).sum()
        return cls._rounded(
            spread, np.diag(heard / honest), weights @ (share + degrees), edges, root
        )

    @classmethod
    def _rounded(
        cls, spread: Floats, cost: Floats, rounded: Floats, edges: float, root: float
    ) -> _Surroundings:
        """The same with what rounding adds, in steps of the grid (section 4, [C6])."""
        more = root * (math.sqrt(edges) + math.sqrt(cost.sum()))
        return cls(spread, cost, root * (1 + rounded), more)

    def shifts(
        self, pace: Floats, unit: float, moves: Floats, kept: Floats
    ) -> tuple[Floats, Floats]:
        """Of each step alone and of all up to each step, for the agent that is worst off.

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
        """By how many deviations the noise of one step has to move to hide these differences."""
        squares = np.einsum("iu,ij,ju->u", differ, self.cost, differ)
        steps = np.sqrt(np.maximum(squares, 0.0)) / grid + self.edge_slack
        return np.where(differ.any(axis=0) & self.cost.any(), steps / DEVIATION, 0.0)


def _listed(
    graph: Graph, colluders: int, coalitions: Iterable[Sequence[int]] | None
) -> Iterator[Sequence[int]]:
    if coalitions is not None:
        yield from coalitions
        return
    if not 1 <= colluders < graph.parties:
        raise UsageError("at least one, and somebody is honest", "colluders")
    if math.comb(graph.parties, colluders) > _MOST_COALITIONS:
        raise UsageError(
            f"more than {_MOST_COALITIONS} coalitions: list those you fear", "coalitions"
        )
    yield from combinations(range(graph.parties), colluders)


def _pieces(graph: Graph, honest: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """The honest agents that are connected without the others."""
    components = graph.induced(honest).components()
    for each in np.unique(components):
        yield honest[components == each]


def _sensitivity(objective: Objective, unit: Unit) -> Floats:
    """For each agent: how far its gradient moves if all its data are others, or one record.

    At any model, because what agents hear is not within a radius.
    """
    if isinstance(objective, Linear):
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
