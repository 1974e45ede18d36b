"""An adversary that runs the network and drops the neighbours of one victim, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import PUBLISH
from gopa.contract.phases import Phase
from gopa.graph import from_edges
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.rounds.toolkit import Toolkit
from tests.adversary.attacks.stripping import stripped
from tests.protocol.simulation.prying import Coalition, edge_of
from tests.protocol.simulation.worlds import FULL, SCALAR, inputs_for, require_sound
from tests.randomness import seeded

VICTIM, LOSS = 6, SCALAR.loss
LEAVERS = (0, 1, 2, 3)
SPARSE_VICTIM = 7
EDGES = [
    *((SPARSE_VICTIM, other) for other in (0, 1, 6)),
    *((0, other) for other in (2, 3)),
    *((1, other) for other in (4, 5)),
    *((6, other) for other in (2, 3, 4, 5)),
    *((2, 3), (3, 4), (4, 5), (5, 2)),
]
"""Parties 0 and 1 have one neighbour in common: the victim."""


def secret_of(simulation: Simulation, inputs: list[list[int]], party: int) -> tuple[int, ...]:
    return (inputs[party][0] + simulation.noise_for_tests[1, party][0],)


def require_hidden(
    simulation: Simulation, coalition: Coalition, inputs: list[list[int]], victim: int
) -> None:
    """The coalition cannot take all masks off the victim's value, which is in the log."""
    author = simulation.parties[victim].author
    (posted,) = simulation.parties[0].access.board.stream(author, Phase.PUBLISH, 1)
    left = stripped(simulation, coalition, author, PUBLISH.decode(posted.entry.body))
    assert left != secret_of(simulation, inputs, victim)
    assert abs(left[0]) > 2**64


@pytest.mark.parametrize("lost", range(LOSS + 2))
def test_victim_stays_hidden_up_to_the_bound_and_is_out_beyond_it(lost: int) -> None:
    """Whoever is dropped colludes besides; two honest neighbours are left to the victim.

    Beyond the bound everybody in a complete graph has lost too many, and nobody unmasks.
    """
    coalition, script = Coalition(LEAVERS), Script()
    for party in LEAVERS[:lost]:
        script = script.drop(party, before=Phase.PUBLISH)
    options = SimulationOptions(remember_noise=True, watch=coalition.watch)
    simulation = Simulation(SCALAR, rng=seeded(5), setting=FULL, script=script, options=options)
    inputs = inputs_for(SCALAR, 5)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    require_hidden(simulation, coalition, inputs, VICTIM)
    first = record.attempts[0]
    if lost <= LOSS:
        assert VICTIM in record.included
        assert first.unmasked == first.final
    else:
        assert first.abort is AbortReason.TOO_FEW_LEFT
        assert (first.released, first.unmasked) == (False, ())


@pytest.mark.parametrize("loss", [2, 1], ids=["within the bound", "beyond it"])
def test_victim_whose_neighbours_alone_are_dropped_is_removed_with_its_mask_closed(
    loss: int,
) -> None:
    """Two of its three neighbours are gone and collude, the third opens its edge if it must.

    Within the bound the victim stays, and its last edge is never opened.
    """
    coalition = Coalition((0, 1))
    terms = replace(SCALAR, loss=loss)
    toolkit = Toolkit(graph=lambda *_: from_edges(terms.parties, EDGES))
    options = SimulationOptions(toolkit=toolkit, remember_noise=True, watch=coalition.watch)
    script = Script().drop(0, before=Phase.PUBLISH).drop(1, before=Phase.PUBLISH)
    simulation = Simulation(terms, rng=seeded(5), setting=FULL, script=script, options=options)
    inputs = inputs_for(terms, 5)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    require_hidden(simulation, coalition, inputs, SPARSE_VICTIM)
    first, author = record.attempts[0], simulation.parties[SPARSE_VICTIM].author
    removed = {row.position: row.cause for row in first.removals}
    last_edge = edge_of(1, author, simulation.parties[6].author)
    assert record.sums is not None
    if loss == 1:
        assert removed == {
            0: RemovalCause.ABSENT,
            1: RemovalCause.ABSENT,
            SPARSE_VICTIM: RemovalCause.LOST,
        }
        assert last_edge in coalition.keys
        assert (1, author) not in coalition.seeds
    else:
        assert removed == {0: RemovalCause.ABSENT, 1: RemovalCause.ABSENT}
        assert last_edge not in coalition.keys
        assert (1, author) in coalition.seeds
