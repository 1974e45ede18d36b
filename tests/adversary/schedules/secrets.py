"""What the parties of an arena know, written down while they play."""

from __future__ import annotations

from dataclasses import dataclass, field

from gopa.protocol.party.states import Committed, Confirmed, Published
from gopa.protocol.simulation.party import SimulatedParty, noise_for_tests

Pair = frozenset[int]


@dataclass(slots=True)
class Secrets:
    """By round. An edge is named by its key and by the point that its ends share.

    `noise` belongs to what a party committed to, `live` are the edges that mask what it
    published, `final` the close that it confirmed and `logical` its logical round, `around` are
    its neighbours, `rolls` what it holds for the roll.
    """

    noise: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    edges: dict[tuple[int, bytes], Pair] = field(default_factory=dict)
    seeds: dict[tuple[int, int], bytes] = field(default_factory=dict)
    live: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    logical: dict[tuple[int, int], int] = field(default_factory=dict)
    final: dict[tuple[int, int], bytes] = field(default_factory=dict)
    around: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    rolls: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)

    def watch(self, actor: SimulatedParty, numbers: dict[bytes, int]) -> None:
        """Take what the party knows now."""
        stage, place = actor.state.stage, (actor.state.chain.round, actor.index)
        if isinstance(stage, Committed) and place not in self.noise:
            self._committed(actor, stage, place, numbers)
        elif isinstance(stage, Published) and place not in self.live:
            authors = stage.view.enrolment.authors
            self.live[place] = frozenset(numbers[authors[v]] for v in stage.keys)
        elif isinstance(stage, Confirmed) and place not in self.final:
            self.final[place], self.logical[place] = stage.leaf, stage.opened.logical

    def _committed(
        self,
        actor: SimulatedParty,
        stage: Committed,
        place: tuple[int, int],
        numbers: dict[bytes, int],
    ) -> None:
        given = next(g for g in actor.state.inputs if g.logical == stage.opened.logical)
        self.noise[place] = noise_for_tests(actor.state, actor.author, tuple(given.values))
        authors = stage.view.enrolment.authors
        self.rolls[place] = tuple(numbers[author] for author in authors)
        self.around[place] = frozenset(numbers[authors[v]] for v in stage.view.neighbours)
        for v, edge in stage.edges.items():
            ends = frozenset({actor.index, numbers[authors[v]]})
            self.edges[place[0], edge.key.reveal()] = ends
            self.edges[place[0], edge.shared.reveal().to_bytes()] = ends
        if stage.seed is not None:
            self.seeds[place] = stage.seed.reveal()
