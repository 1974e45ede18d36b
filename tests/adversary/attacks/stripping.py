"""The strongest simple attack on a masked value: take off every mask whose key is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gopa.contract.framing import party_id
from gopa.contract.party import Publish
from gopa.contract.words import unpack_words
from gopa.protocol.rules import RoundFindings
from gopa.protocol.simulation import Simulation
from gopa.rounds.masks import (
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    edge_mask,
    self_mask,
    sign,
)
from tests.protocol.simulation.prying import Coalition, edge_of
from wire.secret import SecretBytes


def stripped(
    simulation: Simulation, coalition: Coalition, author: bytes, content: Publish
) -> tuple[int, ...]:
    """The value of a party in round 1, minus all masks that the log or the coalition knows.

    Input and noise are left if and only if nothing is missing. Masks are uniform.
    """
    coalition.read(simulation, 1)
    found = simulation.findings().rounds[0]
    keys = _known_edges(coalition, found, author)
    seed = coalition.seeds.get((1, author))
    context = SelfContext(simulation.session, 1, party_id(author))
    if simulation.manifest.word_width:
        return _stripped_words(simulation, content, keys, seed, context)
    group = simulation.parties[0].access.toolkit.group
    values = group.decode_scalars(content.value, simulation.manifest.terms.dimension).secret()
    for factor, key in keys:
        mask = edge_mask(group, key, UniformMask(), len(values)).values
        values = values - mask * group.scalar(factor)
    if seed is not None:
        values = values - self_mask(group, seed, context, len(values)).values
    return _centred(values.reveal().ints(), group.order)


def _known_edges(
    coalition: Coalition, found: RoundFindings, author: bytes
) -> list[tuple[int, SecretBytes]]:
    """Sign and key of every edge of the author that masks its value and is known."""
    own = found.roll.index(author)
    listed = next(each.members for each in found.lists if each.phase.name == "COMMIT")
    assert found.graph is not None
    keys = []
    for place in found.graph.neighbours(own):
        other = found.roll[place]
        key = coalition.keys.get(edge_of(1, author, other))
        if key is not None and int(place) in listed:
            keys.append((sign(party_id(author), party_id(other)), key))
    return keys


def _stripped_words(
    simulation: Simulation,
    content: Publish,
    keys: Sequence[tuple[int, SecretBytes]],
    seed: SecretBytes | None,
    context: SelfContext,
) -> tuple[int, ...]:
    width = simulation.manifest.word_width
    words = unpack_words(content.value, simulation.manifest.terms.dimension, width)
    for factor, key in keys:
        add_edge_words(words, key, -factor, UniformMask())
    if seed is not None:
        add_self_words(words, seed, context, -1)
    modulus = 1 << width
    return _centred([int(word) % modulus for word in np.asarray(words)], modulus)


def _centred(values: Sequence[int], modulus: int) -> tuple[int, ...]:
    """The representatives next to zero."""
    return tuple((value + modulus // 2) % modulus - modulus // 2 for value in values)
