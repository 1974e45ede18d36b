"""How many neighbours: the smallest k whose graph is good enough with enough probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from gopa.planning.expansion import FlowBound, Population, disconnected, flow_bound
from gopa.planning.losses import plan_losses
from gopa.planning.request import Request
from wire.errors import UsageError

_WIDER: Final = 4
"""With the objective "masks", up to this many times the smallest k is tried."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A number of choices, its loss bound, and what the graph is worth.

    `beta` bounds, for one attempt and all parties at once, the probability of a graph
    worse than assumed. `energy` bounds the squared flow (0 for uniform masks).
    """

    k: int
    loss: int
    beta: float
    energy: int
    method: str


def choose_reach(request: Request, units: int, budget: float) -> Reach:
    """The smallest k with beta within `budget`; for "masks", the best trade-off above it."""
    smallest = _smallest(request, units, budget)
    if request.objective != "masks" or request.mask == "uniform":
        return smallest
    best = smallest
    for k in range(smallest.k, min(_WIDER * smallest.k, request.parties - 1) + 1):
        other = _reach(request, k, units, budget)
        if other is not None and _price(other) < _price(best):
            best = other
    return best


def _price(reach: Reach) -> float:
    """Neighbours times mask deviation: halving the masks is worth twice the neighbours."""
    return reach.k * math.sqrt(reach.energy)


def _smallest(request: Request, units: int, budget: float) -> Reach:
    """Doubling, then bisection; then down while smaller k happen to do as well."""
    high = 1
    while (found := _reach(request, high, units, budget)) is None:
        if high == request.parties - 1:
            message = (
                "even the complete graph does not survive these losses: "
                "lower `dropout` or `corrupt`, raise delta, or enlist more parties"
            )
            raise UsageError(message, "dropout")
        high = min(2 * high, request.parties - 1)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        reach = _reach(request, middle, units, budget)
        low, high, found = (middle, high, found) if reach is None else (low, middle, reach)
    return found


def _reach(request: Request, k: int, units: int, budget: float) -> Reach | None:
    losses = plan_losses(request.parties, k, request.dropout)
    honest = request.parties - request.corrupt
    population = Population(
        request.parties, honest, k, losses.loss, request.parties - losses.survivors
    )
    if request.mask == "uniform":
        beta = disconnected(population)
        return Reach(k, losses.loss, beta, 0, "analytic: connectivity") if beta <= budget else None
    bound: FlowBound | None = flow_bound(population, units, budget)
    if bound is None:
        return None
    return Reach(k, losses.loss, budget, bound.energy, "analytic: growth of neighbourhoods")
