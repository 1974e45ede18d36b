"""Computes what known graphs protect: the honest parties and unknown masks around each party.

Gaussian masks have a price on a known graph, which is computed here as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.graph.articulation import smallest_piece_without_one
from gopa.graph.flows import spectral_flow_energy, worst_flow_energy
from gopa.graph.spectrum import certified_spectrum
from gopa.graph.structure import Graph
from gopa.planning.joined import delta_of_component, units_of
from gopa.planning.terms import Terms
from wire.randomness import Rng

EXACT: Final = 1000
"""Exact flows are computed while units times squared parties stay below this."""

SPECTRUM_FAILURE: Final = 1e-12
"""The chance that a random vector missed a small eigenvalue; it is added to delta."""


def flow_energy(graph: Graph, units: int, rng: Rng) -> int:
    """The worst squared flow of `units` between two parties of a connected graph.

    Exact for small graphs, a bound from the certified spectrum otherwise, and always at
    most what one path gives: units^2 times the number of edges of a tree.
    """
    if units * graph.parties**2 <= EXACT:
        return worst_flow_energy(graph, units)
    spectrum = certified_spectrum(graph, rng, failure=SPECTRUM_FAILURE)
    bound = spectral_flow_energy(graph, spectrum, units)
    path = units * units * (graph.parties - 1)
    return path if bound is None else min(bound, path)


MOST_SEARCHED: Final = 2_000_000
"""Edges that are searched one by one, in seconds."""


@dataclass(frozen=True, slots=True)
class Protection:
    """`parties` connected honest parties with this flow energy, shown but for `failure`.

    Without an energy nothing is shown.
    """

    parties: int
    energy: int | None
    failure: float
    how: str


def protections(graph: Graph, terms: Terms, rng: Rng) -> list[Protection]:
    """One for each component, when all of `graph` are honest and its masks unknown."""
    found = []
    labels = graph.components()
    for label, size in zip(*np.unique(labels, return_counts=True), strict=True):
        energy, failure = 0, 0.0
        if terms.mask == "gaussian" and size > 1:
            members = np.flatnonzero(labels == label)
            # The same object, whose spectrum is known when it is asked for again.
            component = graph if size == graph.parties else graph.induced(members)
            energy = flow_energy(component, units_of(terms), rng)
            failure = SPECTRUM_FAILURE
        how = f"theorem D on a component of {size} parties"
        found.append(Protection(int(size), energy, failure, how))
    return found


def without_any_one(graph: Graph, terms: Terms, rng: Rng) -> Protection:
    """What remains whichever party is taken out.

    With uniform masks only connections count, and a search finds the smallest piece
    exactly. Gaussian masks, and graphs too large to search, take what the spectrum
    shows: lambda_2 falls by at most one. That is pessimistic.
    """
    if terms.mask == "uniform" and graph.edge_count <= MOST_SEARCHED:
        size = smallest_piece_without_one(graph)
        return Protection(size, 0, 0.0, f"theorem D on the smallest piece, {size} parties")
    spectrum = certified_spectrum(graph, rng)
    if spectrum.low <= 1:
        how = f"lambda_2 is only shown to be at least {spectrum.low:.3g}"
        return Protection(0, None, 0.0, how)
    energy: int | None = 0
    how = f"theorem D with lambda_2 at least {spectrum.low - 1:.3g} without any one party"
    if terms.mask == "gaussian":
        energy = spectral_flow_energy(graph, spectrum, units_of(terms), removed=1)
    if energy is None:
        how = "the spectrum of the graph does not bound the flow"
    return Protection(graph.parties - 1, energy, spectrum.failure, how)


def worst(terms: Terms, releases: Sequence[list[Protection]]) -> tuple[float, str]:
    """Delta for the worst party over all releases, and how it was found.

    One release: the worst component. Several: who was where is not followed, so every
    release counts as if it had the fewest parties and the largest energy of them all.
    """
    every = [protection for release in releases for protection in release]
    if not every:
        return 0.0, "nobody"
    unknown = next((one for one in every if one.energy is None), None)
    if unknown is not None:
        return 1.0, unknown.how
    failure = sum(max((one.failure for one in release), default=0.0) for release in releases)
    if len(releases) == 1:
        delta, how = max((_delta(terms, one, 1), one.how) for one in every)
        return min(1.0, delta + failure), how
    smallest = min(every, key=lambda one: one.parties)
    energy = max(one.energy or 0 for one in every)
    together = Protection(smallest.parties, energy, 0.0, "")
    how = f"{len(releases)} releases composed, each as {smallest.how}"
    return min(1.0, _delta(terms, together, len(releases)) + failure), how


def _delta(terms: Terms, protection: Protection, releases: int) -> float:
    energy = protection.energy or 0
    return delta_of_component(terms, protection.parties, energy, releases)
