"""Input plus noise of a party stays hidden, whoever leaves, lies or colludes."""

from __future__ import annotations

import pytest

from gopa.adversary.deeds import wrong_edge, wrong_key, wrong_seed
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.simulation import Behaviour, Script, Simulation, SimulationOptions
from gopa.protocol.simulation.script import PostsLate, Skip
from tests.lies import lying
from tests.protocol.simulation.prying import Coalition, left_over
from tests.protocol.simulation.worlds import FULL, RECOVERING, SCALAR, inputs_for, require_sound
from tests.randomness import seeded

TARGET = 2


def session(
    script: Script, coalition: Coalition, terms: Terms = RECOVERING
) -> tuple[Simulation, list[list[int]]]:
    options = SimulationOptions(remember_noise=True, watch=coalition.watch)
    simulation = Simulation(terms, rng=seeded(5), setting=FULL, script=script, options=options)
    return simulation, inputs_for(terms, 5)


def is_hidden(
    simulation: Simulation, coalition: Coalition, inputs: list[list[int]], party: int, number: int
) -> bool:
    """Whether what is left over is far from the party's input and noise."""
    rest = left_over(simulation, coalition, number, simulation.parties[party].author)
    plain = inputs[party][0] + simulation.noise_for_tests[number, party][0]
    assert abs(plain) < 2**20
    return rest != plain and abs(rest) > 2**64


def test_the_attack_finds_what_everybody_else_together_knows() -> None:
    """All others with one's own opened mask are enough: so the attack does work."""
    everybody_else = Coalition([i for i in range(8) if i != TARGET])
    simulation, inputs = session(Script(), everybody_else)
    simulation.run_round(inputs)
    assert not is_hidden(simulation, everybody_else, inputs, TARGET, 1)


@pytest.mark.parametrize("colluders", [(), (0,), (0, 1, 3), (0, 1, 3, 4, 5, 6)])
def test_coalition_that_lacks_one_honest_neighbour_learns_nothing(
    colluders: tuple[int, ...],
) -> None:
    coalition = Coalition(colluders)
    simulation, inputs = session(Script(), coalition)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    for honest in set(range(8)) - set(colluders):
        assert is_hidden(simulation, coalition, inputs, honest, 1)


@pytest.mark.parametrize(
    "script",
    [
        Script().misbehave(TARGET, PostsLate(Phase.PUBLISH)),
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, Skip(Phase.ROLLBACK)),
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, lying("rollback", wrong_key())),
        Script().drop(7, before=Phase.PUBLISH).misbehave(TARGET, PostsLate(Phase.ROLLBACK)),
        Script().misbehave(TARGET, lying("commit", wrong_edge())),
    ],
    ids=["published late", "opened nothing", "opened wrongly", "opened late", "convicted"],
)
def test_value_of_a_party_that_was_rolled_back_stays_behind_its_own_mask(script: Script) -> None:
    """All its neighbours open their edges to it, and six of them collude besides."""
    coalition = Coalition((0, 1, 3, 4, 5, 6))
    simulation, inputs = session(script, coalition)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs, {TARGET})
    assert TARGET not in record.included
    opened = {pair for pair in record.attempts[0].opened if TARGET in pair}
    assert len(opened) >= 5
    assert (1, simulation.parties[TARGET].author) not in coalition.seeds
    assert is_hidden(simulation, coalition, inputs, TARGET, 1)


@pytest.mark.parametrize(
    "lie", [Skip(Phase.UNMASK), lying("unmask", wrong_seed())], ids=["refuses", "lies"]
)
def test_recovery_opens_the_own_mask_and_no_edge(lie: Behaviour) -> None:
    coalition = Coalition((0, 1))
    simulation, inputs = session(Script().misbehave(TARGET, lie), coalition)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs, {TARGET})
    assert record.attempts[0].recovered == (TARGET,)
    assert not record.attempts[0].opened
    assert is_hidden(simulation, coalition, inputs, TARGET, 1)


@pytest.mark.slow
def test_edge_opened_in_one_round_says_nothing_about_another() -> None:
    """The same pair of parties has other keys and other masks in the next round."""
    coalition = Coalition(())
    script = Script().drop(7, before=Phase.PUBLISH, rounds={1})
    simulation, inputs = session(script, coalition)
    for number in (1, 2):
        require_sound(simulation, simulation.run_round(inputs), inputs)
        coalition.read(simulation, number)
    opened = {key[1:] for key in coalition.keys if key[0] == 1}
    assert len(opened) == 7
    assert not [key for key in coalition.keys if key[0] == 2]
    knowing = Coalition([i for i in range(8) if i != TARGET])
    simulation, inputs = session(script, knowing)
    for _ in (1, 2):
        simulation.run_round(inputs)
    assert not is_hidden(simulation, knowing, inputs, TARGET, 2)
    author = simulation.parties[TARGET].author
    one, other = next(ends for ends in opened if author in ends)
    knowing.keys[2, one, other] = knowing.keys[1, one, other]
    assert is_hidden(simulation, knowing, inputs, TARGET, 2)


def test_two_colluders_cannot_leave_a_residual() -> None:
    """One of them drops and the other refuses to open: whatever mask they shared is gone."""
    script = Script().drop(0, before=Phase.PUBLISH).misbehave(1, Skip(Phase.ROLLBACK))
    coalition = Coalition((0, 1))
    simulation, inputs = session(script, coalition, SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert record.included == (2, 3, 4, 5, 6, 7)
    assert record.sums is not None


def test_selective_dropping_of_one_partys_neighbours_is_bounded() -> None:
    """Four of seven neighbours gone is more than the plan allows: the round releases nothing."""
    script = Script()
    for party in range(4):
        script = script.drop(party, before=Phase.PUBLISH)
    coalition = Coalition((0, 1, 2, 3))
    simulation, inputs = session(script, coalition, SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert not any(each.released for each in record.attempts)
    assert not [key for key in coalition.seeds if key[1] == simulation.parties[6].author]
