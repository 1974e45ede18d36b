"""Communication graphs: who masks with whom, and how well the honest parties are connected.

Which graph a session has is decided in integers and is the same everywhere. What follows from it
(spectra, resistances, flows) is floating point, rounded the safe way. Read `structure`, `choices`
(how coins choose neighbours), then what the planner asks: `spectrum`, `resistance`, `flows`.
Learning uses `families` and `mixing`.

    >>> from gopa.graph import k_out_graph, ring
    >>> graph = ring(6)
    >>> graph.neighbours(0).tolist()
    [1, 5]
    >>> k_out_graph([bytes([party]) * 32 for party in range(6)], 6, k=2).is_connected()
    True

Specifications: `specs/03-privacy.md`, sections 1, 5 and 7; `specs/17-graphs-and-clocks.md`.
"""

from gopa.graph.choices import all_choices, chosen_by
from gopa.graph.families import geometric, grid, path, random_regular, star, watts_strogatz
from gopa.graph.flows import (
    IntegralFlow,
    cheapest_flow,
    complete_flow_energy,
    spectral_flow_energy,
    worst_flow_energy,
)
from gopa.graph.mixing import (
    MixingMatrix,
    equal_neighbour,
    fitted_mixing,
    fixed,
    heterogeneity,
    metropolis,
    require_doubly_stochastic,
)
from gopa.graph.spectrum import (
    Resistance,
    Spectrum,
    certified_spectrum,
    degree_bound,
    effective_resistance,
    gap_at_least,
    spread_energy,
)
from gopa.graph.structure import (
    Graph,
    complete,
    from_edges,
    from_similarity,
    k_out_graph,
    require_connected,
    ring,
    smallest_piece_without_one,
    weighted,
)

__all__ = [
    "Graph",
    "IntegralFlow",
    "MixingMatrix",
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
    "equal_neighbour",
    "fitted_mixing",
    "fixed",
    "from_edges",
    "from_similarity",
    "gap_at_least",
    "geometric",
    "grid",
    "heterogeneity",
    "k_out_graph",
    "metropolis",
    "path",
    "random_regular",
    "require_connected",
    "require_doubly_stochastic",
    "ring",
    "smallest_piece_without_one",
    "spectral_flow_energy",
    "spread_energy",
    "star",
    "watts_strogatz",
    "weighted",
    "worst_flow_energy",
]
