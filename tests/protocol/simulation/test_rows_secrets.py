"""What a party still holds of long vectors, stage by stage: pads are gone with their answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import pytest

from gopa.contract.phases import Phase
from gopa.protocol.party.states import (
    Accusing,
    BetweenRounds,
    Committed,
    Comparing,
    Confirmed,
    Counting,
    Enrolled,
    Joined,
    Outside,
    Published,
    Reconciling,
    Settled,
    Unmasked,
)
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.rows.inputs import RowNoise
from gopa.rounds.rows.words import MaskedVector
from tests.protocol.simulation.row_worlds import IN_ROWS, ROWS, shifted, vectors_for
from tests.randomness import seeded
from zkp.rows.rows import HiddenPads, HiddenRows

VECTORS = (RowNoise, MaskedVector)
AFTER_THE_PROOF = (Confirmed, Counting, Unmasked, Settled, Reconciling, Outside, BetweenRounds)


def held(thing: object) -> Iterator[object]:
    """Everything that a value refers to, as far as stages are made of it."""
    yield thing
    if isinstance(thing, Mapping):
        for each in thing.values():
            yield from held(each)
    elif isinstance(thing, tuple | list | frozenset):
        for each in thing:
            yield from held(each)
    elif is_dataclass(thing) and not isinstance(thing, type):
        for each in fields(thing):
            yield from held(getattr(thing, each.name))


def kept(actor: SimulatedParty, *kinds: type) -> list[object]:
    return [each for each in held(actor.state) if isinstance(each, kinds)]


def pads_of(actor: SimulatedParty) -> int:
    return sum(len(each.values) > 0 for each in held(actor.state) if isinstance(each, HiddenPads))


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [Script(), Script().drop(1, before=Phase.PROVE), Script().misbehave(1, shifted(3))],
    ids=["all stay", "one leaves", "one lies"],
)
def test_pads_and_noise_are_gone_with_what_they_are_for(script: Script) -> None:
    seen: set[str] = set()

    def watch(actor: SimulatedParty) -> None:
        stage = actor.state.stage
        name = type(stage).__name__
        if isinstance(stage, Joined | Enrolled):
            assert pads_of(actor) == 1
        elif isinstance(stage, Committed | Comparing | Accusing):
            assert pads_of(actor) == 0
            assert len(kept(actor, RowNoise)) == 1
        elif isinstance(stage, Published) and stage.phase is Phase.PUBLISH:
            assert pads_of(actor) == 1
        elif isinstance(stage, (Published, *AFTER_THE_PROOF)):
            assert pads_of(actor) == 0
            assert not kept(actor, *VECTORS)
        name += f" {stage.phase.name}" if isinstance(stage, Published) else ""
        seen.add(name)
        assert len(kept(actor, HiddenRows)) <= 4  # input, noise and carries; the input twice

    options = SimulationOptions(watch=watch)
    simulation = Simulation(
        ROWS, rng=seeded("secrets"), setting=IN_ROWS, script=script, options=options
    )
    assert simulation.run_round(vectors_for(ROWS)).sums is not None
    assert {"Enrolled", "Committed", "Published PUBLISH", "Published PROVE"} <= seen
    assert {"BetweenRounds"} <= seen


@pytest.mark.slow
def test_every_party_answers_each_set_of_tests_once() -> None:
    """In two attempts it has two pads, and the same rows of its input."""
    script = Script().drop(1, before=Phase.CONFIRM, rounds=[1])
    simulation = Simulation(ROWS, rng=seeded("pads"), setting=IN_ROWS, script=script)
    record = simulation.run_round(vectors_for(ROWS))
    assert len(record.attempts) == 2
    board = simulation.parties[0].access.board
    for party in (0, 2, 3, 4):
        author = simulation.parties[party].author
        for phase in (Phase.COMMIT, Phase.PROVE):
            counts = [len(board.stream(author, phase, number)) for number in (1, 2)]
            assert counts == [2, 2]  # a head, and behind it tests and proof
