"""Parties of rows whose processes die at drawn records of their vaults, again and again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pytest

from bulletin_board.tree import leaf_hash
from gopa.adversary.deeds.organising import GivesUp
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.script import Skip
from tests.protocol.simulation.row_worlds import (
    IN_ROWS,
    RECOVERING,
    ROWS,
    shifted,
    sum_in_the_open,
    vectors_for,
)
from tests.protocol.simulation.worlds import culprits
from tests.sessions.parties.worlds import (
    DOUBLES,
    DyingVault,
    Restarting,
    durable,
    replace_party,
    require_one_voice,
    world,
)

LIAR = 2
"""Stays away, lies or is silent; all others are honest, and die."""


@dataclass
class FrailVault(DyingVault):
    """Dies before or after some of its records, as drawn; never twice at one."""

    source: random.Random = field(default_factory=random.Random)
    rate: float = 0.0

    def __post_init__(self) -> None:
        super().__init__()
        self.revive()

    def revive(self) -> None:
        """Draw the next record at which it dies, behind those that are stored."""
        ahead = 0
        while self.source.random() >= self.rate and ahead < 1_000:
            ahead += 1
        self.at = self.stored + ahead
        self.after = self.source.random() < 0.5


SCRIPTS: Final[dict[str, tuple[Terms, Callable[[], Script], int]]] = {
    "honest": (ROWS, Script, 1),
    "left": (ROWS, lambda: Script().drop(LIAR, before=Phase.PROVE, rounds={1}), 1),
    "dispute": (ROWS, lambda: Script().misbehave(LIAR, shifted(3)), 1),
    "retry": (ROWS, lambda: Script().organise(GivesUp(Phase.PUBLISH)), 2),
    "recovery": (RECOVERING, lambda: Script().misbehave(LIAR, Skip(Phase.UNMASK)), 1),
}


def play(seed: int) -> int:
    """A session whose honest parties all have such vaults; how often one died."""
    source = random.Random(f"deaths {seed}")
    terms, script, attempts = SCRIPTS[source.choice(sorted(SCRIPTS))]
    simulation = world(terms, IN_ROWS, script(), toolkit=DOUBLES, seed=seed)
    rate = source.choice([0.02, 0.1, 0.3])
    processes: list[tuple[bytes, Restarting]] = []
    for number, actor in enumerate(simulation.parties):
        if number == LIAR:
            continue
        vault = FrailVault(source=random.Random(f"{seed} {number}"), rate=rate)
        process = Restarting(partial(durable, actor, vault, f"{seed}"), vault.revive)
        replace_party(actor, process)
        processes.append((actor.author, process))
    vectors = vectors_for(terms)
    record = simulation.run_round(vectors)
    assert len(record.attempts) == attempts
    assert culprits(simulation, record).keys() <= {LIAR}
    honest = set(range(terms.parties)) - {LIAR}
    assert honest <= set(record.included)
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    board = simulation.parties[0].access.board.entries
    for author, process in processes:
        require_one_voice(process.sent)
        mine = {leaf_hash(raw) for raw in process.sent}
        assert {each.leaf for each in board if each.entry.author.data == author} <= mine
    return sum(process.deaths for _, process in processes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_whenever_processes_die_they_say_one_thing(seed: int) -> None:
    play(seed)


@pytest.mark.soak
def test_hundreds_of_such_sessions() -> None:
    deaths = sum(play(seed) for seed in range(100))
    assert deaths > 1_000
