"""The closed forms of the GOPA paper, as printed, for comparison.

Corollary 4.1 in two readings: `printed` puts the number of honest parties everywhere;
`published` is what reproduces the published table at half the parties honest.
Specification: `specs/03-privacy.md`, section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gopa.graph.spectrum import solve
from gopa.graph.structure import Graph, k_out_graph
from wire.randomness import Rng, draw

Reading: TypeAlias = Literal["printed", "published"]

RANDOM_GRAPH = 3.75
KNOWN_GRAPH = 1.25


def classical_deviation(epsilon: float, delta: float) -> float:
    """The textbook noise sqrt(2 ln(1.25/delta)) / epsilon: valid for epsilon < 1, not tight."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True, slots=True)
class Setting:
    """n parties, a part rho of them honest, epsilon; delta is ten times delta'."""

    parties: int
    rho: float
    epsilon: float
    reading: Reading = "printed"

    @property
    def honest(self) -> int:
        return round(self.parties * self.rho)

    @property
    def inner_delta(self) -> float:
        """delta': what the independent noise alone would give."""
        count = self.honest if self.reading == "printed" else self.parties
        return 1 / count**2

    @property
    def delta(self) -> float:
        return 10 * self.inner_delta

    @property
    def noise_variance(self) -> float:
        """se^2 of one party, in units of the range."""
        count = self.honest if self.reading == "printed" else self.parties
        return classical_deviation(self.epsilon, self.inner_delta) ** 2 / count

    @property
    def sum_deviation(self) -> float:
        """The deviation of the noise of all honest parties together."""
        return math.sqrt(self.honest * self.noise_variance)


@dataclass(frozen=True, slots=True)
class ThesisRow:
    """Neighbours and mask deviation that the theorem and its corollary ask for."""

    k: int
    mask_deviation: float


def smallest_k(setting: Setting) -> int:
    """The conditions of theorem 4.1, with its delta a third of the total."""
    share = setting.delta / 3
    count = setting.parties * setting.rho
    needed = max(
        4 * math.log(2 * count / (3 * share)),
        6 * math.log(count / 3),
        1.5 + 2.25 * math.log(2 * math.e / share),
    )
    return math.ceil(needed / setting.rho)


def kappa(setting: Setting, factor: float) -> float:
    """How far the mask variance must exceed the noise, from delta = factor (delta'/1.25)^.."""
    x = math.log(setting.delta / factor) / math.log(setting.inner_delta / 1.25)
    return x / (1 - x)


def mask_deviation(setting: Setting, spread: float, factor: float) -> float:
    """The sD for a graph on which the change of one party spreads with squared length `spread`."""
    variance = kappa(setting, factor) * setting.noise_variance * setting.honest * spread
    return math.sqrt(variance)


def theorem_row(setting: Setting) -> ThesisRow:
    """The row of the table for the random k-out graph."""
    k = smallest_k(setting)
    branching = math.floor((k - 1) * setting.rho / 3) - 1
    spread = 1 / branching + (12 + 6 * math.log(setting.honest)) / setting.honest
    return ThesisRow(k, mask_deviation(setting, spread, RANDOM_GRAPH))


def complete_row(setting: Setting) -> ThesisRow:
    """The complete graph: the change spreads over all the others in one step."""
    return ThesisRow(setting.honest - 1, mask_deviation(setting, 1 / setting.honest, KNOWN_GRAPH))


def path_row(setting: Setting) -> ThesisRow:
    """The path, from its end: sum of (i/n)^2 over its edges, rounded up to n/3."""
    return ThesisRow(2, mask_deviation(setting, setting.honest / 3, KNOWN_GRAPH))


def simulated_row(
    setting: Setting, k: int, rng: Rng, *, graphs: int, candidates: int = 40
) -> ThesisRow:
    """The simulation: the worst spread over random graphs and parties, by electrical flow.

    Every graph gives `honest` draws of (graph, party). Only the `candidates` parties of
    smallest degree are solved for: the spread is at least nearly one over the degree, so
    the worst party is among them.
    """
    worst = max(
        worst_spread(_honest_graph(setting, k, draw(rng, 32)), candidates) for _ in range(graphs)
    )
    return ThesisRow(k, mask_deviation(setting, worst, KNOWN_GRAPH))


def worst_spread(graph: Graph, candidates: int) -> float:
    """The largest (L^+)_uu among the parties of smallest degree."""
    parties = np.argsort(graph.degrees, kind="stable")[:candidates]
    demands = np.full((graph.parties, len(parties)), -1 / graph.parties)
    demands[parties, np.arange(len(parties))] += 1.0
    potentials = solve(graph.laplacian(), demands, tolerance=1e-8)
    return float((potentials * demands).sum(axis=0).max())


def _honest_graph(setting: Setting, k: int, seed: bytes) -> Graph:
    """The first parties are the honest ones: choices are exchangeable."""
    graph = k_out_graph(seed, setting.parties, k)
    return graph.induced(np.arange(setting.honest))
