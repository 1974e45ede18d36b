"""Disguises what agents send, by noise that cancels: in states, between neighbours, in functions.

All arrays have the agents first, then the runs, then the numbers of a model. What is sent lies
on a grid, to which noise in exact integers is added; agents keep what rounding left and lose
nothing. Specification: `specs/18-correlated-noise.md`, sections 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gopa import UsageError, zero_sum
from gopa.graph import Graph, MixingMatrix, complete, fixed, require_doubly_stochastic
from gopa.learning.checks import generator, number
from gopa.learning.clipping import DEVIATION, on_grid
from gopa.learning.objectives import Linear, Objective
from gopa.noise import rounded_gaussian, subseed
from gopa.support.arrays import Floats, Integers

Method: TypeAlias = Literal["dgd", "rss", "rss-lb", "functions"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
"""Plain descent; noise in states, in states for each neighbour, in functions."""

_BLOCK: Final = 2048
"""Numbers that an edge draws at a time for one run; part of what a seed means."""

_SPURIOUS: Final = 4
"""Made-up rows that two neighbours share."""


class Disguise:
    """What agents hold after they have heard each other, and what bends their gradients.

    By itself it lets agents send their models as they are: distributed gradient descent.
    """

    def __init__(self, mixing: MixingMatrix) -> None:
        self._matrix = mixing.matrix

    def heard(self, models: Floats, step: float, number: int) -> Floats:
        """The averages of agents, from the models that they had before."""
        del step, number
        return mixed(self._matrix, models)

    def bent(self, models: Floats) -> Floats | float:
        """What the gradient of each agent's function is changed by."""
        del models
        return 0.0


class InStates(Disguise):
    """Noise on what agents send, which sums to zero over all of them, in every step.

    Of step k the noise is that of the edges times `noise` times the length of the step. With
    `to_each`, an agent tells every neighbour something else, and its own noise sums to zero.
    """

    def __init__(  # noqa: PLR0913 - noise has a place, a size and a seed
        self,
        graph: Graph,
        mixing: MixingMatrix,
        *,
        noise: float,
        seed: int,
        runs: int,
        dimension: int,
        to_each: bool,
    ) -> None:
        super().__init__(mixing)
        self._noise, self._seed, self._runs, self._width = noise, seed, runs, dimension
        self._steps = max(1, _BLOCK // dimension)
        self._draw = _to_each(graph) if to_each else _to_all(graph)
        self._reach = _receivers(graph, mixing) if to_each else mixing.matrix
        self._first, self._block = -1, np.empty((0, 0, 0, 0), dtype=np.int64)

    def heard(self, models: Floats, step: float, number: int) -> Floats:
        unit = step * self._noise / DEVIATION
        sent = on_grid(models, unit)
        heard = mixed(self._matrix, sent) + mixed(self._reach, self.drawn(number))
        return np.asarray(heard * unit + (models - sent * unit))

    def drawn(self, number: int) -> Integers:
        """The noise of one step in integers, of agents or of what each of them tells the others."""
        first = number - number % self._steps
        if first != self._first:
            shape = (-1, 1, self._steps, self._width)
            blocks = [
                self._draw(self._steps * self._width, self._seed, run, first).reshape(shape)
                for run in range(self._runs)
            ]
            self._first, self._block = first, np.concatenate(blocks, axis=1)
        return self._block[:, :, number % self._steps]


class InFunctions(Disguise):
    """Functions added to those of the agents, once, which sum to zero over all of them.

    Neighbours share random quadratic functions, or with `spurious` the losses of made-up rows.
    """

    def __init__(  # noqa: PLR0913 - noise has a place, a size and a seed
        self,
        graph: Graph,
        mixing: MixingMatrix,
        *,
        noise: float,
        seed: int,
        runs: int,
        objective: Objective,
    ) -> None:
        super().__init__(mixing)
        if isinstance(objective, Linear):
            self._bent = _spurious(graph, noise, seed, runs, objective)
        else:
            self._bent = _quadratic(graph, noise, seed, runs, objective.dimension)

    def bent(self, models: Floats) -> Floats | float:
        return self._bent(models)


def require_fitting(
    objective: Objective, graph: Graph, method: str, mixing: MixingMatrix | None, noise: float
) -> MixingMatrix:
    """The mixing matrix, by default with equal weights of all edges, if everything fits together.

    Whoever mixes agents that are no neighbours sends messages of which no account is kept.
    """
    if method not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    if not hasattr(objective, "smoothness"):
        raise UsageError("functions of agents, such as Linear or Quadratic", "problem")
    if (
        not isinstance(graph, Graph)
        or graph.parties != objective.agents
        or graph.parties < 2
        or not graph.is_connected()
    ):
        raise UsageError(f"a connected graph of all {objective.agents} agents", "graph")
    if not np.isfinite(objective.smoothness()).all():
        raise UsageError("a gradient may jump: take a smooth loss", "problem")
    if method != "dgd" and not 0 < number(noise, "noise") < math.inf:
        raise UsageError("a deviation above 0; method='dgd' has no noise", "noise")
    chosen = fixed(graph) if mixing is None else require_doubly_stochastic(mixing)
    matrix, links = chosen.matrix, graph.adjacency()
    if matrix.shape != links.shape:
        raise UsageError(f"it mixes {matrix.shape[0]} agents: make it from this graph", "mixing")
    between = matrix - sparse.diags_array(matrix.diagonal(), dtype=np.float64)
    if (between - between.multiply(links)).count_nonzero():
        raise UsageError("it mixes agents that are no neighbours", "mixing")
    sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
    if matrix.data.min() < 0 or np.abs(sums - 1).max() > 1e-9:
        raise UsageError("rows and columns of it sum to 1, without negative numbers", "mixing")
    if method == "rss-lb" and (between.nnz < links.nnz or np.ptp(between.data) > 1e-12):
        # What an agent balances over its neighbours cancels in no average of unequal weights.
        raise UsageError("neighbours weigh what they hear differently: use `fixed`", "mixing")
    return chosen


def mixed(matrix: sparse.csr_array, values: npt.NDArray[Any]) -> Floats:
    """The matrix times every column of values, whose first axis is that of agents."""
    flat = values.reshape(len(values), -1)
    return np.asarray(matrix @ flat).reshape(-1, *values.shape[1:])


def _to_all(graph: Graph) -> Callable[..., Integers]:
    law = rounded_gaussian(DEVIATION)

    def draw(count: int, seed: int, run: int, first: int) -> Integers:
        return zero_sum(graph, law, count, subseed(seed, "correlated", "all", run, first))

    return draw


def _to_each(graph: Graph) -> Callable[..., Integers]:
    """The draw of what every agent in turn adds for each of its neighbours, in order."""
    law = rounded_gaussian(DEVIATION)
    among = {int(each): complete(int(each)) for each in np.unique(graph.degrees) if each > 1}

    def draw(count: int, seed: int, run: int, first: int) -> Integers:
        alone = np.zeros((1, count), dtype=np.int64)
        return np.concatenate(
            [
                zero_sum(
                    among[degree],
                    law,
                    count,
                    subseed(seed, "correlated", "each", run, first, agent),
                )
                if degree > 1
                else alone
                for agent, degree in enumerate(graph.degrees.tolist())
            ]
        )

    return draw


def _receivers(graph: Graph, mixing: MixingMatrix) -> sparse.csr_array:
    """Leads what agents tell each of their neighbours to those, with the weight of an edge."""
    heard_by = np.concatenate([graph.neighbours(each) for each in range(graph.parties)])
    weights = np.full(len(heard_by), mixing.matrix[0, heard_by[0]])
    places = np.arange(len(heard_by))
    return sparse.csr_array((weights, (heard_by, places)), shape=(graph.parties, len(heard_by)))


def _quadratic(
    graph: Graph, noise: float, seed: int, runs: int, width: int
) -> Callable[[Floats], Floats]:
    """Gradients of a x^2 / 2 + b x for each number x, a and b drawn for each edge."""
    law = rounded_gaussian(DEVIATION)
    drawn = [
        zero_sum(graph, law, 2 * width, subseed(seed, "correlated", "functions", run))
        for run in range(runs)
    ]
    bend, tilt = np.split(np.stack(drawn, axis=1) * (noise / DEVIATION), 2, axis=-1)
    return lambda models: bend * models + tilt


def _spurious(
    graph: Graph, noise: float, seed: int, runs: int, objective: Linear
) -> Callable[[Floats], Floats]:
    """Gradients of the losses of made-up rows, which the ends of an edge add and subtract."""
    first, second = graph.edges()
    shape = (graph.edge_count, _SPURIOUS)
    streams = [generator(seed, "spurious rows", str(run)) for run in range(runs)]
    x = np.stack([rng.normal(size=(*shape, objective.dimension)) for rng in streams], axis=1)
    y = np.stack([rng.choice([-1.0, 1.0], size=shape) for rng in streams], axis=1)

    def bent(models: Floats) -> Floats:
        found = np.zeros_like(models)
        for ends, sign in ((first, 1.0), (second, -1.0)):
            predictions = np.einsum("ermd,erd->erm", x, models[ends])
            slopes = objective.loss.slope(predictions, y) * (sign * noise / _SPURIOUS)
            np.add.at(found, ends, np.einsum("erm,ermd->erd", slopes, x))
        return found

    return bent
