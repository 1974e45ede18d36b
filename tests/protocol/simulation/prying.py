"""What a coalition can work out about others from the log and its own secrets.

The strongest simple attack: take what a party published and subtract every mask that the
log or the coalition knows. If none is missing, input and noise are left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gopa.contract.framing import party_id
from gopa.contract.manifest import Manifest
from gopa.contract.party import OPENING, PUBLISH, UNMASK
from gopa.contract.phases import Phase
from gopa.contract.words import unpack_words
from gopa.protocol.party.states import Committed
from gopa.protocol.simulation import Simulation
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.masks import (
    RoundedGaussian,
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    edge_mask,
    self_mask,
    sign,
)
from gopa.rounds.toolkit import Toolkit
from wire.secret import SecretBytes


@dataclass(slots=True)
class Coalition:
    """Keys of edges that members of the coalition have, by round and ends."""

    members: Collection[int]
    keys: dict[tuple[int, bytes, bytes], SecretBytes] = field(default_factory=dict)
    seeds: dict[tuple[int, bytes], SecretBytes] = field(default_factory=dict)

    def watch(self, actor: SimulatedParty) -> None:
        """Take what a member knows of itself."""
        stage = actor.state.stage
        if actor.index not in self.members or not isinstance(stage, Committed):
            return
        number = actor.state.chain.round
        for neighbour, edge in stage.edges.items():
            other = stage.view.enrolment.authors[neighbour]
            self.keys[edge_of(number, actor.author, other)] = edge.key
        if stage.seed is not None:
            self.seeds[number, actor.author] = stage.seed

    def read(self, simulation: Simulation, number: int) -> None:
        """Take what the log says to everybody."""
        found = next(each for each in simulation.findings().rounds if each.number == number)
        for author in found.roll:
            board = simulation.parties[0].access.board
            for posted in board.stream(author, Phase.ROLLBACK, number):
                for edge in OPENING.decode(posted.entry.body).edges:
                    ends = edge_of(number, author, found.roll[edge.neighbour])
                    self.keys[ends] = SecretBytes(edge.key)
            for posted in board.stream(author, Phase.UNMASK, number):
                seed = UNMASK.decode(posted.entry.body).seed
                self.seeds[number, author] = SecretBytes(seed)


def edge_of(number: int, one: bytes, other: bytes) -> tuple[int, bytes, bytes]:
    """An edge of a round, named from either end."""
    return number, min(one, other), max(one, other)


def left_over(
    simulation: Simulation,
    coalition: Coalition,
    number: int,
    author: bytes,
    value: bytes | None = None,
) -> tuple[int, ...]:
    """What a party published, or a value that it withheld, minus all masks that are known."""
    coalition.read(simulation, number)
    found = next(each for each in simulation.findings().rounds if each.number == number)
    if value is None:
        (posted,) = simulation.parties[0].access.board.stream(author, Phase.PUBLISH, number)
        value = PUBLISH.decode(posted.entry.body).value
    void = {frozenset(pair) for pair in found.void}
    listed = next(each.members for each in found.lists if each.phase is Phase.COMMIT)
    own = found.roll.index(author)
    assert found.graph is not None
    keys = {
        found.roll[place]: coalition.keys.get(edge_of(number, author, found.roll[place]))
        for place in map(int, found.graph.neighbours(own))
        if place in listed and frozenset((own, place)) not in void
    }
    known = {other: key for other, key in keys.items() if key is not None}
    seed = coalition.seeds.get((number, author))
    return without_masks(simulation.manifest, number, author, value, known, seed)


def without_masks(  # noqa: PLR0917 - what a mask is made of
    manifest: Manifest,
    number: int,
    author: bytes,
    value: bytes,
    keys: Mapping[bytes, SecretBytes],
    seed: SecretBytes | None,
) -> tuple[int, ...]:
    """A value minus the masks of these edges, by their other ends, and of this seed; centred."""
    terms, group, width = manifest.terms, Toolkit().group, manifest.word_width
    law = UniformMask() if terms.mask == "uniform" else RoundedGaussian(terms.mask_deviation)
    factors = [(sign(party_id(author), party_id(other)), key) for other, key in keys.items()]
    context = SelfContext(manifest.session, number, party_id(author))
    if width:
        words = unpack_words(value, terms.dimension, width)
        for factor, key in factors:
            add_edge_words(words, key, -factor, law)
        if seed is not None:
            add_self_words(words, seed, context, -1)
        return _centred([int(word) for word in words], 1 << width)
    plain = group.decode_scalars(value, terms.dimension).secret()
    for factor, key in factors:
        plain = plain - edge_mask(group, key, law, terms.dimension).values * group.scalar(factor)
    if seed is not None:
        plain = plain - self_mask(group, seed, context, terms.dimension).values
    return _centred(plain.reveal().ints(), group.order)


def _centred(values: Sequence[int], modulus: int) -> tuple[int, ...]:
    """The representatives next to zero."""
    return tuple((value + modulus // 2) % modulus - modulus // 2 for value in values)
