"""The price of Gaussian masks on a known graph."""

from __future__ import annotations

from typing import Final

from gopa.graph.flows import spectral_flow_energy, worst_flow_energy
from gopa.graph.spectrum import certified_spectrum
from gopa.graph.structure import Graph
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
