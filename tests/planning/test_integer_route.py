"""Exact discrete Gaussians on one grid, certified by integers."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import pytest

from gopa.accounting.gaussian import zcdp_delta
from gopa.graph import complete, k_out_graph, ring
from gopa.graph.flows import cheapest_flow
from gopa.graph.structure import Graph, from_edges
from tests.planning.continuous import worst_theta
from tests.planning.exact import delta_of_view, noise_view, with_masks
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class IntegerCertificate:
    """Integer shifts of every noise and every mask that explain a change of one party."""

    party: int
    steps: int
    noise_shifts: tuple[int, ...]
    mask_shifts: tuple[int, ...]

    def theta(self, noise_variance: float, mask_variance: float) -> float:
        """Twice the zCDP parameter this certificate shows, rounded upwards."""
        noise = sum(shift * shift for shift in self.noise_shifts)
        masks = sum(shift * shift for shift in self.mask_shifts)
        return (noise / noise_variance + masks / mask_variance) * (1 + 1e-12)

    def check(self, graph: Graph) -> None:
        """`UsageError` unless the shifts add up to `steps` at the party and 0 elsewhere."""
        first, second = graph.edges()
        total = np.array(self.noise_shifts, dtype=object)
        if len(total) != graph.parties or len(self.mask_shifts) != len(first):
            raise UsageError("a certificate has one shift for each party and each edge")
        for u, v, shift in zip(first, second, self.mask_shifts, strict=True):
            total[u] += shift
            total[v] -= shift
        expected = np.zeros(graph.parties, dtype=object)
        expected[self.party] = self.steps
        if (total != expected).any():
            raise UsageError("these shifts do not explain the change")


def best_certificate(
    graph: Graph, party: int, steps: int, noise_variance: float, mask_variance: float
) -> IntegerCertificate:
    """The cheapest certificate for a change of one party by `steps`.

    It is an integral flow from the party to a root that every party reaches by an edge
    of its own noise.
    """
    root = graph.parties
    first, second = graph.edges()
    pairs = [(int(u), int(v)) for u, v in zip(first, second, strict=True)]
    extended = from_edges(root + 1, pairs + [(u, root) for u in range(root)])

    def weight(_: int, other: int) -> float:
        return 1 / noise_variance if other == root else 1 / mask_variance

    flow = cheapest_flow(extended, party, (root,) * steps, weight)
    units = dict(zip(flow.edges, flow.units, strict=True))
    noise = tuple(units[u, root] for u in range(root))
    certificate = IntegerCertificate(party, steps, noise, tuple(units[pair] for pair in pairs))
    certificate.check(graph)
    return certificate


def worst_theta_integer(
    graph: Graph, steps: int, noise_variance: float, mask_variance: float
) -> float:
    """The largest theta of the best certificates over all parties."""
    return max(
        best_certificate(graph, party, steps, noise_variance, mask_variance).theta(
            noise_variance, mask_variance
        )
        for party in range(graph.parties)
    )


def theta_bound(
    real_theta: float, graph: Graph, steps: int, noise_variance: float, mask_variance: float
) -> float:
    """What rounding a real certificate costs at most: a quarter of each weight.

    `real_theta` is an upper bound on the continuous theta for a change of one step.
    """
    rounding = graph.parties / (4 * noise_variance) + graph.edge_count / (4 * mask_variance)
    return (steps * steps * real_theta + rounding) * (1 + 1e-12)


def integer_delta(epsilon: float, theta: float) -> float:
    """Delta of (theta / 2)-zCDP."""
    return zcdp_delta(epsilon, theta / 2)


def discrete_gaussian(variance: float) -> np.ndarray:
    reach = math.ceil(9 * math.sqrt(variance)) + 1
    values = np.arange(-reach, reach + 1)
    law = np.exp(-(values**2) / (2 * variance))
    return np.asarray(law / law.sum())


@pytest.mark.parametrize(("noise", "mask", "steps"), [(0.6, 0.8, 1), (1.0, 0.4, 2), (0.5, 0.5, 2)])
def test_the_bound_holds_on_an_enumerated_pair(noise: float, mask: float, steps: int) -> None:
    graph = from_edges(2, [(0, 1)])
    law, masks = discrete_gaussian(noise), discrete_gaussian(mask)
    width = len(law) + len(masks) + 2 * steps
    table = dict(zip(range(-(len(masks) // 2), len(masks) // 2 + 1), masks.tolist(), strict=True))
    view = with_masks(noise_view(law, 2, width), graph, table)
    theta = worst_theta_integer(graph, steps, noise, mask)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        for move in range(1, steps + 1):
            exact = delta_of_view(view, 0, move, epsilon)
            assert exact <= integer_delta(epsilon, theta) + 1e-12


@pytest.mark.parametrize("steps", [1, 3, 20])
def test_rounding_costs_at_most_a_quarter_of_each_weight(steps: int) -> None:
    graph = k_out_graph(bytes(32), 12, 3)
    noise, mask = 3.0, 7.0
    real = worst_theta(graph, noise, mask)
    integer = worst_theta_integer(graph, steps, noise, mask)
    assert steps**2 * real * (1 - 1e-6) <= integer
    assert integer <= theta_bound(real, graph, steps, noise, mask)


def test_certificates_are_checked() -> None:
    graph = ring(5)
    certificate = best_certificate(graph, 2, 4, 1.0, 2.0)
    certificate.check(graph)
    wrong = dataclasses.replace(certificate, steps=5)
    with pytest.raises(UsageError):
        wrong.check(graph)
    with pytest.raises(UsageError):
        certificate.check(complete(5))
