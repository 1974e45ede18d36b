"""Computes integral flows with the smallest sum of squares, and bounds for large graphs.

Specification: `specs/03-privacy.md`, sections 5 and 7.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gopa.graph.spectrum import Spectrum
from gopa.graph.structure import Graph
from wire.errors import UsageError

Weight: TypeAlias = Callable[[int, int], float]
"""What a squared unit costs on the edge from the smaller to the larger party."""


def _unit_weight(first: int, second: int) -> float:
    del first, second
    return 1


@dataclass(frozen=True, slots=True)
class IntegralFlow:
    """Units on each edge, positive from the smaller to the larger party."""

    edges: tuple[tuple[int, int], ...]
    units: tuple[int, ...]

    @property
    def energy(self) -> int:
        """The sum of squares."""
        return sum(unit * unit for unit in self.units)


def cheapest_flow(
    graph: Graph, source: int, targets: tuple[int, ...], weight: Weight = _unit_weight
) -> IntegralFlow:
    """One unit from `source` to each listed target, with the smallest weighted sum of squares.

    Shortest augmenting paths with marginal costs: exact, for graphs small enough to
    search one path at a time. Targets in another component raise `UsageError`.
    """
    flow: dict[tuple[int, int], int] = {}
    for target in targets:
        if target != source:
            _augment(graph, flow, source, target, weight)
    first, second = graph.edges()
    edges = tuple((int(u), int(v)) for u, v in zip(first, second, strict=True))
    return IntegralFlow(edges, tuple(flow.get(edge, 0) for edge in edges))


def worst_flow_energy(graph: Graph, units: int) -> int:
    """The largest `cheapest_flow` energy of `units` from any party to any other, exactly.

    All units to one target is the worst case, because the cheapest energy is a convex
    function of where they go.
    """
    return max(
        (
            cheapest_flow(graph, source, (target,) * units).energy
            for source in range(graph.parties)
            for target in range(source)
        ),
        default=0,
    )


def complete_flow_energy(parties: int, units: int) -> int:
    """`worst_flow_energy` of the complete graph, for any number of units.

    Some units take the direct edge, the others detours over each other party, as evenly
    as they can. The energy is convex in how many go directly, 2 / parties of them or
    nearly so.
    """
    if parties < 2:
        return 0
    if parties == 2:
        return units**2
    middle = 2 * units // parties
    shares = range(max(0, middle - 2), min(units, middle + 2) + 1)
    return min(_shared_energy(direct, units - direct, parties - 2) for direct in shares)


def detour_energy(neighbours: int, units: int) -> int:
    """The squared flow from one party over so many neighbours, and on from each to one target.

    All neighbours are neighbours of the target, or one of them is the target itself.
    """
    return _shared_energy(0, units, neighbours)


def _shared_energy(direct: int, around: int, detours: int) -> int:
    each, more = divmod(around, detours)
    return direct**2 + 2 * (more * (each + 1) ** 2 + (detours - more) * each**2)


def _augment(
    graph: Graph,
    flow: dict[tuple[int, int], int],
    source: int,
    target: int,
    weight: Weight,
) -> None:
    """Sends one more unit along the path of least added cost, which may undo earlier flow."""
    cost: dict[int, float] = {source: 0}
    parent: dict[int, int] = {}
    queue = deque([source])
    queued = {source}
    while queue:
        here = queue.popleft()
        queued.discard(here)
        for there in map(int, graph.neighbours(here)):
            price = weight(min(here, there), max(here, there))
            reached = cost[here] + price * (2 * _along(flow, here, there) + 1)
            if there not in cost or reached < cost[there] - price * 1e-12:
                cost[there], parent[there] = reached, here
                if there not in queued:
                    queued.add(there)
                    queue.append(there)
    if target not in cost:
        raise UsageError("no path joins these parties")
    while target != source:
        before = parent[target]
        edge, sign = ((before, target), 1) if before < target else ((target, before), -1)
        flow[edge] = flow.get(edge, 0) + sign
        target = before


def _along(flow: dict[tuple[int, int], int], here: int, there: int) -> int:
    if here < there:
        return flow.get((here, there), 0)
    return -flow.get((there, here), 0)


def spectral_flow_energy(
    graph: Graph, spectrum: Spectrum, units: int, *, removed: int = 0
) -> int | None:
    """A bound on `worst_flow_energy` from degrees and certified eigenvalues, for any size.

    Level sets of an optimal potential grow at least as fast as the spectrum makes
    neighbourhoods grow, minus the edges that carry flow. None where that does not suffice.
    With `removed` it holds whichever so many parties are missing.
    """
    low = spectrum.low - removed
    if low <= 0:
        return None
    ratio = (spectrum.high - low) / (spectrum.high + low)
    size, drop = 1.0, 0
    parties = graph.parties - removed
    smallest = int(graph.degrees.min()) - removed
    while 2 * size <= parties:
        share = size / parties
        reached = 1 / (share + ratio * ratio * (1 - share)) * size * (1 - 1e-9)
        reached = max(reached, 1.0 + smallest) if size == 1 else reached
        step = _best_step(size, reached, units, parties)
        if step is None:
            return None
        cost, size = step
        drop += cost
    return units * 2 * drop


def flow_levels(units: int) -> list[int]:
    """Units an edge may carry below the cut: all small numbers, then doubling."""
    levels = list(range(min(units, 16) + 1))
    while levels[-1] < units:
        levels.append(min(2 * levels[-1], units))
    return levels


def _best_step(size: float, reached: float, units: int, parties: int) -> tuple[int, float] | None:
    """Drop and next size: edges with more than i units are at most units / (i + 1)."""
    best: tuple[float, int, float] | None = None
    for level in flow_levels(units):
        grown = float(math.ceil(reached)) - units // (level + 1)
        if grown <= size:
            continue
        cost = 2 * level + 1
        rate = cost / math.log(min(grown, parties / 2 + 1) / size)
        if best is None or rate < best[0]:
            best = (rate, cost, grown)
    return None if best is None else best[1:]
