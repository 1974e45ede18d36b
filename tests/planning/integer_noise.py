"""Noise on a fine grid that nobody proves: exact discrete Gaussians, accounted in zCDP.

Noise and masks are exact *untruncated* discrete Gaussians on the integers, of parameters
se and sD. Any integers t_noise, t_mask with t_noise + B t_mask = m e_u certify zCDP with
half of |t_noise|^2 / se^2 + |t_mask|^2 / sD^2. Useful when m >= 8 n; not for the proved
table. Convert from zCDP only: the Gaussian curve would claim too much on a grid.
Specification: `specs/03-privacy.md`, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gopa.accounting.gaussian import zcdp_delta
from gopa.graph.flows import cheapest_flow
from gopa.graph.structure import Graph, from_edges
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
