"""What a coalition can work out about others from the log and its own secrets.

The strongest simple attack: take what a party published and subtract every mask that the
log or the coalition knows. If none is missing, input and noise are left.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from gopa.contract.framing import party_id
from gopa.contract.party import OPENING, PUBLISH, UNMASK
from gopa.contract.phases import Phase
from gopa.protocol.party.states import Committed
from gopa.protocol.simulation import Simulation
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.masks import RoundedGaussian, SelfContext, UniformMask, edge_mask, self_mask, sign
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


def left_over(simulation: Simulation, coalition: Coalition, number: int, author: bytes) -> int:
    """What a party published in full mode, minus all masks that are known; centred."""
    coalition.read(simulation, number)
    found = next(each for each in simulation.findings().rounds if each.number == number)
    actor = next(each for each in simulation.parties if each.author == author)
    group, terms = actor.access.toolkit.group, simulation.manifest.terms
    body = actor.access.board.stream(author, Phase.PUBLISH, number)[0].entry.body
    value = group.decode_scalars(PUBLISH.decode(body).value, 1)[0].secret()
    law = UniformMask() if terms.mask == "uniform" else RoundedGaussian(terms.mask_deviation)
    void = {frozenset(pair) for pair in found.void}
    listed = next(each.members for each in found.lists if each.phase is Phase.COMMIT)
    own = found.roll.index(author)
    for place in listed:
        key = coalition.keys.get(edge_of(number, author, found.roll[place]))
        if place == own or key is None or frozenset((own, place)) in void:
            continue
        factor = sign(party_id(author), party_id(found.roll[place]))
        value = value - edge_mask(group, key, law, 1).values[0] * group.scalar(factor)
    seed = coalition.seeds.get((number, author))
    if seed is not None:
        context = SelfContext(simulation.session, number, party_id(author))
        value = value - self_mask(group, seed, context, 1).values[0]
    plain = int(value.reveal())
    return plain - group.order if plain > group.order // 2 else plain
