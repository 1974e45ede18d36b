"""Finds who disagrees about the mask of an edge, and who said something false about a mask.

M_uv and M_b of [P6] in `specs/14-long-vectors.md`. Both ends of an edge derive M_uv from its key
and the close of publish. So ends that differ dispute the edge ([P8]), and an opened key shows of
each end by itself whether it lied ([K6]).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gopa.rounds import row_tmp as R
from gopa.rules.findings import Fault
from gopa.rules.roll_and_edges import Edges
from gopa.rules.round_state import RoundState
from gopa.rules.row_messages import Proved
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
    return [
        frozenset(
            end
            for end in state.matched.ends(edge)
            if end in state.proved and state.proved[end].edges[edge] != right
        )
        for (edge, _), right in zip(keys, _edge_equations(state, keys), strict=True)
    ]


def liars_about_seeds(
    state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]
) -> frozenset[int]:
    """Which owners of seeds that are right by their hash said something else about them ([P10])."""
    return frozenset(
        place
        for (place, _), right in zip(seeds, _self_equations(state, seeds), strict=True)
        if state.proved[place].own != right
    )


def _edge_equations(state: RoundState, keys: Sequence[tuple[int, SecretBytes]]) -> list[bytes]:
    z = R.points(state.context, state.publish_leaf, state.published)
    return [
        R.edge_equation(
            state.context, state.edge_context(*state.matched.ends(edge)), key, state.publish_leaf, z
        )[2]
        for edge, key in keys
    ]


def _self_equations(state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]) -> list[bytes]:
    z = R.points(state.context, state.publish_leaf, state.published)
    return [
        R.self_equation(state.context, state.self_context(place), seed, state.publish_leaf, z)[2]
        for place, seed in seeds
    ]


def false_equation(state: RoundState, place: int, *shown: int) -> Fault:
    """Convict a party by its commit, its prove message and the messages that show key or seed.

    What its proof says would shift the sum by the difference of two masks (attacks
    `false-edge-equation`, `false-self-equation`). Nobody else's message plays a part: none can make
    an honest party look so.
    """
    entries = *state.proved[place].entries, *shown
    return state.fault(
        state.author(place), "14-K6", "it said something false about a mask", *entries
    )
