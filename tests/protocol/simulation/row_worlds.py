"""Small sessions that prove vectors row by row, and what parties say there that is not so."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from commitments import VectorPedersen
from gopa.adversary.deeds.equations import listed_at
from gopa.contract.phases import Phase
from gopa.contract.row_terms import origin
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.party.rows import prove_words, said_of, shown_masks
from gopa.protocol.party.states import Published
from gopa.protocol.simulation import RoundRecord, Script, Simulation, SimulationOptions
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest
from gopa.rounds.masks import sign
from gopa.rounds.rows.words import ShownMasks
from gopa.rounds.toolkit import Toolkit
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from zkp.noise import GaussianTable

MANY_ROWS = replace(
    SCALAR,
    dimension=40,
    low=Decimal(-1),
    steps=40,
    squared_sensitivity=400,
    squared_norm=100,
    noise=GaussianTable.with_scale("10", bits=24, rows=57),
    noise_square=14_468,
    spike=38,
    epsilon=Decimal(30),
    late=3,
)
"""Vectors of length 10 around the middle; three parties may go missing behind publish."""

ROWS = replace(MANY_ROWS, parties=5, k=4, survivors=3, loss=2, late=2)

WEIGHTED = replace(
    ROWS,
    steps=20,
    weight_length=1,
    weight_scale=4,
    squared_norm=1300,
    squared_sensitivity=864,
    noise=GaussianTable.with_scale("16", bits=24, rows=99),
    noise_square=39_476,
    spike=65,
)
"""Vectors no longer than their private weight allows."""
RECOVERING = replace(MANY_ROWS, threshold_numerator=1, threshold_denominator=2)
IN_ROWS = SessionSetting()


def vectors_for(terms: Terms, seed: int = 1) -> list[list[int]]:
    """A vector on the grid for each party, no longer than it may be."""
    source, zero = random.Random(seed), origin(terms)
    rows = [[zero] * terms.dimension for _ in range(terms.parties)]
    for row in rows:
        for place in source.sample(range(terms.dimension), 20):
            row[place] += source.choice((-2, -1, 1, 2))
    return rows


def simulate_rows(
    terms: Terms = ROWS,
    script: Script | None = None,
    *,
    seed: int | str = 1,
    setting: SessionSetting = IN_ROWS,
    weighted: bool = False,
    toolkit: Toolkit | None = None,
) -> Simulation:
    """A session that remembers the noise of all parties."""
    options = SimulationOptions(remember_noise=True, toolkit=toolkit)
    setting = replace(setting, weighted=weighted)
    return Simulation(terms, rng=seeded(seed), setting=setting, script=script, options=options)


def play(
    script: Script | None = None, terms: Terms = ROWS, **options: Any
) -> tuple[Simulation, RoundRecord]:
    """A session, and its first round; with the same options as `simulate_rows`."""
    simulation = simulate_rows(terms, script, **options)
    return simulation, simulation.run_round(vectors_for(terms))


def without_proofs(
    script: Script, terms: Terms = ROWS, **options: Any
) -> tuple[Simulation, RoundRecord]:
    """The same where no proofs are made: what decides is what is said."""
    return play(script, terms, toolkit=Toolkit(proofs=ProofDoubles()), **options)


def sum_in_the_open(
    simulation: Simulation, record: RoundRecord, inputs: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """What the result has to be: lengths from zero and noise of the included, added up."""
    zero, number = origin(simulation.manifest.terms), record.attempts[-1].number
    rows = [
        [
            x - zero + a
            for x, a in zip(inputs[i], simulation.noise_for_tests[number, i], strict=True)
        ]
        for i in record.included
    ]
    return tuple(map(sum, zip(*rows, strict=True)))


@dataclass(frozen=True, slots=True)
class ProvesOther(Honest):
    """Proves its words with other masks than its own: `alter` moves what is said about them."""

    alter: Callable[[PartyAccess, Published, ShownMasks], ShownMasks]

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        stage = access.before.stage
        if post.phase is not Phase.PROVE or not isinstance(stage, Published):
            return [post]
        leaf = body_of(post.entries)[:32]
        said = self.alter(access, stage, shown_masks(stage, leaf, listed_at(access)))
        return [proved_anyway(access, stage, said, leaf)]


def proved_anyway(access: PartyAccess, stage: Published, said: ShownMasks, leaf: bytes) -> Post:
    """The message that proves the words of a stage with these masks.

    The liar's machine does not hear of it, as that of `gopa.adversary.deeds` does: it opens nothing
    that would convict it.
    """
    proofs = access.toolkit.proofs
    body = prove_words(stage, said, leaf, listed_at(access), proofs, rng=access.rng)
    return access.sign(Phase.PROVE, body)


def shifted(*neighbours: int) -> ProvesOther:
    """Says other things about the edges to these, and makes up for it in its own mask or edge.

    Of one edge the difference goes to its own mask, of two it goes from one to the other. An edge
    that is not live is left alone.
    """

    def alter(access: PartyAccess, stage: Published, said: ShownMasks) -> ShownMasks:
        del access
        if not set(neighbours) <= stage.keys.keys():
            return said
        view, moved = stage.view, _moved(stage, b"alone")
        first = sign(view.own_id, view.id_of(neighbours[0]))
        edges = said_of(stage.keys, said)
        edges[neighbours[0]] = _plus(stage, edges[neighbours[0]], moved, first)
        if len(neighbours) == 1:
            own = _plus(stage, said.self_mask, moved, -1)
            return replace(said, edges=tuple(edges.values()), self_mask=own)
        second = -sign(view.own_id, view.id_of(neighbours[1]))
        edges[neighbours[1]] = _plus(stage, edges[neighbours[1]], moved, second)
        return replace(said, edges=tuple(edges.values()))

    return ProvesOther(alter)


def shifted_together(other: int) -> ProvesOther:
    """Says the same false thing about an edge as its other end, and makes up for it in its mask."""

    def alter(access: PartyAccess, stage: Published, said: ShownMasks) -> ShownMasks:
        del access
        if other not in stage.keys:
            return said
        edges, moved = said_of(stage.keys, said), _moved(stage, b"together")
        edges[other] = _plus(stage, edges[other], moved, 1)
        sense = -sign(stage.view.own_id, stage.view.id_of(other))
        own = _plus(stage, said.self_mask, moved, sense)
        return replace(said, edges=tuple(edges.values()), self_mask=own)

    return ProvesOther(alter)


def in_turn(*lies: ProvesOther) -> ProvesOther:
    """Tells all of these lies in one message."""

    def alter(access: PartyAccess, stage: Published, said: ShownMasks) -> ShownMasks:
        for lie in lies:
            said = lie.alter(access, stage, said)
        return said

    return ProvesOther(alter)


def _moved(stage: Published, name: bytes) -> Any:
    """A commitment to 5: a session so small has one point."""
    group = stage.view.context.group
    blinding = group.random_scalars(1, seeded(name.decode()))[0]
    return VectorPedersen(group, 1).commit(group.secret_scalars([5]), blinding).points[0]


def _plus(stage: Published, encoding: bytes, point: Any, times: int) -> bytes:
    moved = stage.view.context.group.decode_point(encoding)
    return bytes((moved + point if times > 0 else moved - point).to_bytes())
