"""Draws and judges communication graphs: who masks with whom, how well the honest are connected.

Which graph a session has is decided in integers and is the same everywhere. What
follows from it (spectra, resistances, flows) is floating point, rounded the safe way.
Specification: `specs/03-privacy.md`, sections 1, 5 and 7.
"""

from gopa.graph.articulation import smallest_piece_without_one
from gopa.graph.choices import all_choices, chosen_by
from gopa.graph.flows import (
    IntegralFlow,
    cheapest_flow,
    complete_flow_energy,
    spectral_flow_energy,
    worst_flow_energy,
)
from gopa.graph.resistance import Resistance, effective_resistance, spread_energy
from gopa.graph.spectrum import Spectrum, certified_spectrum, degree_bound, gap_at_least
from gopa.graph.structure import Graph, complete, from_edges, k_out_graph, ring

__all__ = [
    "Graph",
    "IntegralFlow",
    "Resistance",
    "Spectrum",
    "all_choices",
    "certified_spectrum",
    "cheapest_flow",
    "chosen_by",
    "complete",
    "complete_flow_energy",
    "degree_bound",
    "effective_resistance",
    "from_edges",
    "gap_at_least",
    "k_out_graph",
    "ring",
    "smallest_piece_without_one",
    "spectral_flow_energy",
    "spread_energy",
    "worst_flow_energy",
]
