"""Finds who disagrees about the mask of an edge, and who said something false about a mask.

M_uv and M_b of [P6] in `specs/14-long-vectors.md`. Both ends of an edge derive M_uv from its key
and the close of publish. So ends that differ dispute the edge ([P8]), and an opened key shows of
each end by itself whether it lied ([K6]).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gopa.protocol.rules.findings import Fault
from gopa.protocol.rules.roll_and_edges import Edges
from gopa.protocol.rules.round_state import RoundState
from gopa.protocol.rules.row_messages import Proved
from gopa.rounds.masks.equations import EquationPoints, edge_equation
from gopa.rounds.rows.showing import equation_points_at, fits_seed
from wire.secret import SecretBytes


def disputed_edges(
    edges: Edges, proved: Mapping[int, Proved], members: Collection[int]
) -> tuple[int, ...]:
    """The live edges between listed parties whose ends said different things ([P8], [K5])."""
    listed, found = frozenset(members), []
    for place in listed:
        for edge, said in proved[place].edges.items():
            low, high = edges.ends(edge)
            if place == low and high in listed and proved[high].edges[edge] != said:
                found.append(edge)
    return tuple(sorted(found))


def liars_about_edges(
    state: RoundState, keys: Sequence[tuple[int, SecretBytes]]
) -> list[frozenset[int]]:
    """For each key that is right by its hash: the ends that said something else about its edge."""
    found = []
    for edge, key in keys:
        ends = state.matched.ends(edge)
        mask = edge_equation(_points(state), key, state.edge_context(*ends))
        right = mask.commitment().to_bytes()
        said = {end: state.proved[end].edges[edge] for end in ends if end in state.proved}
        found.append(frozenset(end for end, what in said.items() if what != right))
    return found


def liars_about_seeds(
    state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]
) -> frozenset[int]:
    """Which owners of seeds that are right by their hash said something else about them ([P10])."""
    return frozenset(
        place
        for place, seed in seeds
        if not fits_seed(_points(state), seed, state.self_context(place), state.proved[place].own)
    )


def _points(state: RoundState) -> EquationPoints:
    """The points of the round, with tables that are made once, when a key is first open."""
    if state.equation_points is None:
        state.equation_points = equation_points_at(
            state.context, state.publish_leaf, state.published
        )
    return state.equation_points


def false_equation(state: RoundState, place: int, *shown: int) -> Fault:
    """Convict a party by its commit, its prove message and the messages that show key or seed.

    What its proof says would shift the sum by the difference of two masks. Nobody else's message
    plays a part: none can make an honest party look so.
    """
    entries = *state.proved[place].entries, *shown
    return state.fault(
        state.author(place), "14-K6", "it said something false about a mask", *entries
    )
