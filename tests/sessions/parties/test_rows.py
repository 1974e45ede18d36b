"""A party of rows that is killed, or put back from a copy, answers once for a pad (14-P7)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pytest

from bulletin_board import Submission
from bulletin_board.tree import leaf_hash
from gopa.adversary.deeds.organising import GivesUp
from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from gopa.contract.rows import ROW_JOIN
from gopa.contract.terms import Terms
from gopa.protocol.party import Event, Output, Part, PartyState, Post
from gopa.protocol.party.states import Outside, Reconciling
from gopa.protocol.simulation import Script, Simulation
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import Skip
from gopa.rounds.toolkit import Toolkit
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
    catch_up,
    contradictions,
    durable,
    replace_party,
    require_one_voice,
    world,
)

SUBJECT, LIAR = 3, 2


CASES: dict[str, tuple[Terms, Script, int]] = {
    "honest": (ROWS, Script(), 1),
    "left behind publish": (ROWS, Script().drop(LIAR, before=Phase.PROVE, rounds={1}), 1),
    "edge in dispute": (ROWS, Script().misbehave(LIAR, shifted(SUBJECT)), 1),
    "retry": (ROWS, Script().organise(GivesUp(Phase.PUBLISH)), 2),
    "recovery": (RECOVERING, Script().misbehave(LIAR, Skip(Phase.UNMASK)), 1),
}


@dataclass
class Watched(Restarting):
    """Remembers which record held what it said first in a phase, or that it read neighbours."""

    stored: Callable[[], int] = lambda: 0
    landed: Callable[[], None] = lambda: None
    records: dict[Phase | type, int] = field(default_factory=dict)

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
        answer = super().step(state, event)
        last, mine = self.stored() - 1, self.durable.state.landed
        self.records.setdefault(type(self.durable.state.stage), last)
        for output in answer[1]:
            if isinstance(output, Post):
                self.records.setdefault(output.phase, last)
        if isinstance(event, Posted) and mine and mine[-1] == (event.leaf, event.index):
            self.landed()
        return answer


def play(
    name: str,
    vault: DyingVault,
    toolkit: Toolkit = DOUBLES,
    landed: Callable[[SimulatedParty, Watched], None] = lambda *_: None,
) -> tuple[Simulation, Watched]:
    """A session in which the subject has this vault; what holds for every one holds."""
    terms, script, attempts = CASES[name]
    simulation = world(terms, IN_ROWS, script, toolkit=toolkit)
    actor = simulation.parties[SUBJECT]

    def revive() -> None:
        vault.at = -1

    process = Watched(
        lambda: durable(actor, vault, toolkit=toolkit),
        revive,
        stored=lambda: vault.stored,
        landed=lambda: landed(actor, process),
    )
    replace_party(actor, process)
    vectors = vectors_for(terms)
    record = simulation.run_round(vectors)
    assert len(record.attempts) == attempts
    assert culprits(simulation, record).keys() <= {LIAR}
    assert SUBJECT in record.included
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    require_one_voice(process.sent)
    return simulation, process


def log_of(simulation: Simulation) -> list[bytes]:
    return [posted.leaf for posted in simulation.parties[0].access.board.entries]


def killed(name: str, places: Iterable[int], *, after: bool, toolkit: Toolkit = DOUBLES) -> None:
    """Killed around these records: the log is that of a party that never was."""
    whole, _ = play(name, DyingVault(), toolkit)
    for at in places:
        vault = DyingVault()
        vault.at, vault.after = at, after
        simulation, process = play(name, vault, toolkit)
        assert process.deaths == 1, at
        assert log_of(simulation) == log_of(whole), at


BOTH = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@BOTH
@pytest.mark.slow
def test_killed_around_its_answers(after: bool) -> None:
    """Between the answer and the post, and where it asks what neighbours have said."""
    _, process = play("left behind publish", DyingVault())
    steps = (Phase.COMMIT, Phase.PROVE, Reconciling)
    killed("left behind publish", [process.records[each] for each in steps], after=after)


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
@BOTH
def test_killed_around_every_record(name: str, after: bool) -> None:
    _, _ = play(name, vault := DyingVault())
    killed(name, range(vault.stored), after=after)


@BOTH
@pytest.mark.slow
def test_real_proofs_are_the_same_after_a_crash(after: bool) -> None:
    _, process = play("honest", DyingVault())
    killed("honest", [process.records[Phase.PROVE]], after=after, toolkit=Toolkit())


def test_a_retry_has_the_rows_of_the_first_attempt() -> None:
    """Killed in between: the vault knows the blindings of its rows (04-J5)."""
    vault = DyingVault()
    _, process = play("retry", vault)
    seconds = [at for at in range(vault.stored) if at > process.records[Phase.COMMIT]]
    dying = DyingVault()
    dying.at, dying.after = seconds[len(seconds) // 3], True
    _, again = play("retry", dying)
    assert again.deaths == 1
    entries = [Submission.decode(raw).entry for raw in dict.fromkeys(again.sent)]
    joins = [ROW_JOIN.decode(each.body) for each in entries if each.phase == Phase.JOIN]
    first, second = joins
    assert first.input == second.input
    assert set(first.noise).isdisjoint(second.noise)
    assert set(first.pads).isdisjoint(second.pads)


@pytest.mark.slow
def test_a_copy_put_back_at_any_time_answers_nothing_again() -> None:
    """It says what was said, word for word, or sees that it is old and leaves the round (12-R4)."""
    vault = DyingVault()
    vault.copying = True
    kept = left = 0

    def try_all(actor: SimulatedParty, process: Watched) -> None:
        nonlocal kept, left
        for copy in vault.copies:
            old = durable(actor, copy.copy())
            catch_up(old, actor)
            assert not contradictions(old, actor)
            if old.remembered:
                assert old.remembered == process.durable.remembered
                kept += 1
            else:
                assert isinstance(old.state.stage, Outside)
                assert old.state.stage.part is Part.TIMED_OUT
                left += 1

    play("honest", vault, landed=try_all)
    assert kept > 10
    assert left > 30


LIAR_DEATHS = 2


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
    "left": (ROWS, lambda: Script().drop(LIAR_DEATHS, before=Phase.PROVE, rounds={1}), 1),
    "dispute": (ROWS, lambda: Script().misbehave(LIAR_DEATHS, shifted(3)), 1),
    "retry": (ROWS, lambda: Script().organise(GivesUp(Phase.PUBLISH)), 2),
    "recovery": (RECOVERING, lambda: Script().misbehave(LIAR_DEATHS, Skip(Phase.UNMASK)), 1),
}


def play_deaths(seed: int) -> int:
    """A session whose honest parties all have such vaults; how often one died."""
    source = random.Random(f"deaths {seed}")
    terms, script, attempts = SCRIPTS[source.choice(sorted(SCRIPTS))]
    simulation = world(terms, IN_ROWS, script(), toolkit=DOUBLES, seed=seed)
    rate = source.choice([0.02, 0.1, 0.3])
    processes: list[tuple[bytes, Restarting]] = []
    for number, actor in enumerate(simulation.parties):
        if number == LIAR_DEATHS:
            continue
        vault = FrailVault(source=random.Random(f"{seed} {number}"), rate=rate)
        process = Restarting(partial(durable, actor, vault, f"{seed}"), vault.revive)
        replace_party(actor, process)
        processes.append((actor.author, process))
    vectors = vectors_for(terms)
    record = simulation.run_round(vectors)
    assert len(record.attempts) == attempts
    assert culprits(simulation, record).keys() <= {LIAR_DEATHS}
    honest = set(range(terms.parties)) - {LIAR_DEATHS}
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
    play_deaths(seed)


@pytest.mark.soak
def test_hundreds_of_such_sessions() -> None:
    deaths = sum(play_deaths(seed) for seed in range(100))
    assert deaths > 1_000
