"""An old copy of a vault that is put back never says something else than was said (12-R4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gopa.adversary.deeds.organising import GivesUp
from gopa.contract.framing import Posted
from gopa.contract.party import COMMIT, JOIN
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import (
    Event,
    Fetched,
    Output,
    Part,
    PartyState,
    Post,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.states import BetweenRounds, Checking, Committed, Joined, Outside
from gopa.protocol.simulation import Script, Simulation
from gopa.protocol.simulation.access import body_of
from gopa.protocol.simulation.party import SimulatedParty
from gopa.sessions.vault import MemoryVault
from tests.protocol.simulation.worlds import FULL, SCALAR, SIGNED, inputs_for, require_sound
from tests.sessions.parties.test_killed import CASES, LIAR, SUBJECT
from tests.sessions.parties.worlds import (
    DyingVault,
    Restarting,
    catch_up,
    contradictions,
    durable,
    in_log,
    replace_party,
    require_one_voice,
    world,
)


@dataclass
class Watched(Restarting):
    """Calls `landed` whenever the log has an entry of the party."""

    landed: Callable[[], None] = lambda: None
    told: list[Event] = field(default_factory=list)

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
        self.told.append(event)
        answer = super().step(state, event)
        mine = self.durable.state.landed
        if isinstance(event, Posted) and mine and mine[-1] == (event.leaf, event.index):
            self.landed()
        return answer


@dataclass
class Play:
    """A session in which one party copies its vault behind every record."""

    name: str
    rounds: int = 1
    vault: DyingVault = field(default_factory=DyingVault)
    simulation: Simulation = field(init=False)
    process: Watched = field(init=False)

    def __post_init__(self) -> None:
        terms, setting, script = CASES[self.name]
        self.vault.copying = True
        self.simulation = world(terms, setting, script)
        self.process = Watched(lambda: durable(self.actor, self.vault))
        replace_party(self.actor, self.process)

    @property
    def actor(self) -> SimulatedParty:
        return self.simulation.parties[SUBJECT]

    def run(self) -> None:
        terms = CASES[self.name][0]
        for logical in range(self.rounds):
            inputs = inputs_for(terms, logical)
            record = self.simulation.run_round(inputs)
            require_sound(self.simulation, record, inputs, {LIAR})
        require_one_voice(self.process.sent)


@pytest.mark.parametrize("name", ["honest", "rollback", "recovery", "signed"])
def test_copy_put_back_at_any_time_contradicts_nothing(name: str) -> None:
    """Whenever an own entry has landed, every copy made until then is tried."""
    play = Play(name)
    left = kept = 0

    def try_all() -> None:
        nonlocal left, kept
        live = play.process.durable
        for copy in play.vault.copies:
            old = durable(play.actor, copy.copy())
            catch_up(old, play.actor)
            assert not contradictions(old, play.actor)
            if old.remembered:
                assert old.remembered == live.remembered
                assert not old.stale
                kept += 1
            else:
                assert isinstance(old.state.stage, Outside)
                assert old.state.stage.part is Part.TIMED_OUT
                assert old.stale_round == live.state.chain.round == 1
                left += 1

    play.process.landed = try_all
    play.run()
    assert kept > 10
    assert left > 30


def test_copy_goes_on_with_the_next_round() -> None:
    """It leaves the round that it slept through, and takes part in the one behind."""
    play = Play("honest", rounds=2)
    old: list[MemoryVault] = []
    play.process.landed = lambda: old.append(play.vault.copies[4].copy()) if not old else None
    terms = CASES["honest"][0]
    play.simulation.run_round(inputs_for(terms, 0))
    party = durable(play.actor, old[0], "others")
    outputs = catch_up(party, play.actor)
    assert len(outputs) >= 1
    assert isinstance(party.state.stage, BetweenRounds)
    assert party.last is not None
    assert party.last.part is Part.TIMED_OUT
    process = Restarting(lambda: durable(play.actor, old[0], "others"))
    play.actor.party = process  # type: ignore[assignment]
    play.actor.access.state = process.durable.state
    inputs = inputs_for(terms, 1)
    record = play.simulation.run_round(inputs)
    require_sound(play.simulation, record, inputs)
    assert SUBJECT in record.included
    require_one_voice([*play.process.sent, *process.sent])


def test_new_vault_in_a_round_that_has_heard_the_party() -> None:
    """Whoever lost everything is silent in that round, for its key has spoken."""
    play = Play("honest")
    found: list[tuple[int | None, bool]] = []

    def try_new() -> None:
        party = durable(play.actor, MemoryVault(), "of nobody")
        party.step(Supplied(0, (1,)))
        catch_up(party, play.actor)
        assert not party.remembered
        found.append((party.stale_round, isinstance(party.state.stage, Outside)))

    play.process.landed = try_new
    play.run()
    assert len(found) > 4
    assert set(found) == {(1, True)}


@dataclass
class Forgetful(Restarting):
    """Loses its vault when a round opens; its owner offers another value than before."""

    actor: SimulatedParty | None = None
    since: int = 0

    def step(self, state: PartyState, event: Event) -> tuple[PartyState, tuple[Output, ...]]:
        opens = isinstance(event, Posted) and event.entry.round == self.since
        if not opens or self.actor is None:
            return super().step(state, event)
        actor, self.actor = self.actor, None
        self.durable = durable(actor, MemoryVault(), "of nobody")
        self.durable.step(Supplied(0, (1,)))
        catch_up(self.durable, actor)
        return self.durable.state, self.durable.remembered


@pytest.mark.parametrize("setting", [FULL, SIGNED], ids=["full", "signed"])
@pytest.mark.parametrize("since", [2, 9])
def test_whoever_lost_its_input_gives_no_other_one_in_a_retry(
    since: int, setting: SessionSetting
) -> None:
    """Its vault is gone behind an attempt without a result: it is back for the next input."""
    simulation = world(SCALAR, setting, Script().organise(GivesUp(Phase.COMMIT)))
    actor, kept = simulation.parties[SUBJECT], MemoryVault()
    process = Forgetful(lambda: durable(actor, kept), actor=actor, since=since)
    replace_party(actor, process)
    for logical in range(2):
        inputs = inputs_for(SCALAR, logical)
        record = simulation.run_round(inputs)
        assert len(record.attempts) == 2 - logical
        assert (SUBJECT in record.included) is (since != 2 or logical == 1)
    assert simulation.findings().faults == ()


def test_own_entry_of_a_round_to_come_is_remembered_until_then() -> None:
    """Told of it before the round opens, also across a restart, it never joins that round."""
    play = Play("honest")
    first = [
        copy
        for copy in play.vault.copies
        if isinstance(durable(play.actor, copy.copy()).state.stage, BetweenRounds)
    ]
    play.run()
    join = next(
        posted for posted in in_log(play.actor).values() if posted.entry.phase == Phase.JOIN
    )
    vault = first[-1].copy()
    party = durable(play.actor, vault, "early")
    assert party.step(Supplied(0, (1,))) == ()
    assert party.step(join) == ()
    assert (party.stale, party.state.chain.round) == (False, 0)
    party = durable(play.actor, vault, "early")
    opening = next(posted for posted in play.actor.access.board.entries if posted.entry.round == 1)
    twin = durable(play.actor, first[-1].copy(), "early")
    twin.step(Supplied(0, (1,)))
    assert any(isinstance(output, Post) for output in twin.step(opening))
    assert party.step(opening) == ()
    assert isinstance(party.state.stage, Outside)
    assert party.stale_round == 1
    assert not party.remembered
    assert durable(play.actor, vault, "early").stale_round == 1


def test_party_that_left_by_itself_is_not_stale() -> None:
    play = Play("honest")
    heard: list[bool] = []

    def leave() -> None:
        vault = play.vault.copy()
        party = durable(play.actor, vault)
        party.step(TimedOut(1))
        assert isinstance(party.state.stage, Outside)
        for posted in in_log(play.actor).values():
            party.step(posted)
        heard.append(party.stale)

    play.process.landed = leave
    play.run()
    assert heard
    assert not any(heard)


def content_of(outputs: tuple[Output, ...], phase: Phase) -> bytes:
    return next(
        body_of(each.entries) for each in outputs if isinstance(each, Post) and each.phase is phase
    )


def test_runs_that_were_told_different_things_share_no_chance() -> None:
    """The same copy twice: told the same it says the same, told another thing all else."""
    play = Play("honest")
    play.run()
    board = play.actor.access.board
    opening = next(posted for posted in board.entries if posted.entry.round == 1)
    before = next(
        copy
        for copy in play.vault.copies
        if isinstance(durable(play.actor, copy.copy()).state.stage, BetweenRounds)
        and durable(play.actor, copy.copy()).state.inputs
    )
    said = []
    for root in (b"", b"", b"\x01" * 32, b"\x02" * 32):
        party = durable(play.actor, before.copy())
        if root:
            party.step(Witnessed(opening.index + 1, root))
        said.append(JOIN.decode(content_of(party.step(opening), Phase.JOIN)))
    assert said[0] == said[1]
    for name in ("key", "possession", "nonce_hash", "seed"):
        assert len({getattr(each, name) for each in said}) == 3, name
    assert said[0].input == said[2].input  # that was drawn before the runs parted


def test_commits_of_runs_that_parted_share_no_chance() -> None:
    play = Play("honest")
    play.run()
    board = play.actor.access.board
    before = next(
        copy
        for copy in play.vault.copies
        if isinstance(durable(play.actor, copy.copy()).state.stage, Checking)
    )
    wanted = durable(play.actor, before.copy()).wanted
    assert wanted is not None
    read = Fetched(wanted.phase, board.fetch(wanted, play.simulation.session))
    said = []
    for root in (b"", b"", b"\x01" * 32, b"\x02" * 32):
        party = durable(play.actor, before.copy())
        if root:
            party.step(Witnessed(board.size, root))
        said.append(COMMIT.decode(content_of(party.step(read), Phase.COMMIT)))
    assert said[0] == said[1]
    for name in ("self_mask", "output", "proof"):
        assert len({getattr(each, name) for each in said}) == 3, name
    assert said[0].edges == said[2].edges  # these follow from the keys of the join


def test_stage_with_secrets_is_the_rule_behind_a_restart() -> None:
    """What a copy restores is what the live party had at that time."""
    play = Play("honest")
    seen = set()
    play.run()
    for copy in play.vault.copies:
        seen.add(type(durable(play.actor, copy.copy()).state.stage))
    assert {BetweenRounds, Joined, Committed} <= seen
