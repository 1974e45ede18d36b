"""Closes that differ from one reader of the log to another: nobody is opened on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from bulletin_board.entry import Submission
from gopa.contract.framing import MessageSlot, Posted, sign_message
from gopa.contract.organiser import CLOSE, Close, Members, pack_members, unpack_members
from gopa.contract.party import OPENING
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party import Fetch, Fetched, Halted, Output, PartyState, Post
from gopa.protocol.party.states import Confirmed, Published, Unmasked
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.script import Skip
from tests.protocol.party.test_chain import as_claimed
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import FULL, RECOVERING, SCALAR, inputs_for
from tests.randomness import seeded
from wire.errors import FaultyParty

PARTIES, VICTIM = 8, 3
OTHERS = tuple(each for each in range(PARTIES) if each != VICTIM)


@dataclass(slots=True)
class Moments:
    """The states of all parties right before a step that the test wants to repeat otherwise."""

    stage: type[Confirmed | Unmasked]
    states: dict[int, PartyState] = field(default_factory=dict)

    def watch(self, actor: SimulatedParty) -> None:
        if isinstance(actor.state.stage, self.stage) and actor.index not in self.states:
            self.states[actor.index] = actor.access.before


def played(
    terms_recover: bool, stage: type[Confirmed | Unmasked], script: Script
) -> tuple[Simulation, Moments]:
    moments = Moments(stage)
    simulation = Simulation(
        RECOVERING if terms_recover else SCALAR,
        rng=seeded("fork"),
        setting=FULL,
        script=script,
        options=SimulationOptions(toolkit=SWIFT, watch=moments.watch),
    )
    simulation.run_round(inputs_for(SCALAR))
    return simulation, moments


def closes(simulation: Simulation) -> dict[Phase, Posted]:
    """The closes of the round, by phase."""
    key = simulation.manifest.organiser
    entries = simulation.parties[0].access.board.stream(key, Phase.ORGANISER, 1)
    found = [each for each in entries if each.entry.kind == Kind.CLOSE]
    return {CLOSE.decode(each.entry.body).phase: each for each in found}


def signed(simulation: Simulation, close: Close, like: Posted, seq: int | None = None) -> Posted:
    """Another close of the organiser, at the same place of another log."""
    place = MessageSlot(
        simulation.session,
        Phase.ORGANISER,
        Kind.CLOSE,
        1,
        like.entry.seq if seq is None else seq,
        like.entry.prev_own_leaf,
    )
    message = sign_message(CLOSE.encode(close), place, simulation._organiser_access.key)
    return Posted(like.index, message.leaf, Submission.decode(message.entries[0]).entry)


def shown(
    simulation: Simulation, state: PartyState, party: int, posted: Posted
) -> tuple[PartyState, tuple[Output, ...]]:
    return simulation.parties[party].party.step(state, as_claimed(state, posted))


def said(outputs: Sequence[Output], phase: Phase) -> list[Posted]:
    """What a party posts, as entries of the log that it reads."""
    posts = [each for each in outputs if isinstance(each, Post) and each.phase is phase]
    raws = [Submission.decode(raw) for post in posts for raw in post.entries]
    return [Posted(0, each.leaf, each.entry) for each in raws]


def in_the_log(posted: Posted, index: int) -> Posted:
    return replace(posted, index=index)


def fork(simulation: Simulation, moments: Moments) -> Mapping[int, list[Posted]]:
    """What the others confirm on the side of the fork on which the victim never published.

    There they open all of its edges first.
    """
    honest = closes(simulation)[Phase.PUBLISH]
    close = CLOSE.decode(honest.entry.body)
    rest = pack_members(OTHERS, PARTIES)
    without = signed(simulation, replace(close, content=Members(rest, final=False)), honest)
    states, opened = {}, set()
    for party in OTHERS:
        state, outputs = shown(simulation, moments.states[party], party, without)
        (opening,) = said(outputs, Phase.ROLLBACK)
        opened |= {(party, each.neighbour) for each in OPENING.decode(opening.entry.body).edges}
        landed = in_the_log(opening, honest.index + 1 + party)
        states[party], _ = shown(simulation, state, party, landed)
    assert opened == {(party, VICTIM) for party in OTHERS}
    final = Close(
        acts_on=without.leaf,
        cut=honest.index + PARTIES + 1,
        root=bytes(32),
        phase=Phase.ROLLBACK,
        checkpoint=b"",
        content=Members(rest, final=True),
    )
    like = in_the_log(honest, honest.index + PARTIES + 1)
    last = signed(simulation, final, like, honest.entry.seq + 1)
    return {
        party: said(shown(simulation, states[party], party, last)[1], Phase.CONFIRM)
        for party in OTHERS
    }


@pytest.mark.parametrize("forked", [False, True], ids=["one log", "fork"])
def test_victim_of_a_fork_does_not_unmask_while_all_its_edges_are_open_elsewhere(
    forked: bool,
) -> None:
    """The organiser, or a board, shows it a final close that its neighbours never saw.

    In one log everybody confirmed the close that the victim did, and it unmasks.
    """
    simulation, moments = played(False, Confirmed, Script())
    board, listed = simulation.parties[0].access.board, closes(simulation)
    elsewhere = fork(simulation, moments)
    assert all(isinstance(state.stage, Published) for state in moments.states.values())
    state, outputs = shown(simulation, moments.states[VICTIM], VICTIM, listed[Phase.PUBLISH])
    (own,) = said(outputs, Phase.CONFIRM)
    state, _ = shown(simulation, state, VICTIM, in_the_log(own, listed[Phase.PUBLISH].index + 1))
    state, (fetch,) = shown(simulation, state, VICTIM, listed[Phase.CONFIRM])
    assert isinstance(fetch, Fetch)
    entries = []
    for party in OTHERS:
        (here,) = board.stream(simulation.parties[party].author, Phase.CONFIRM, 1)
        (there,) = elsewhere[party]
        assert here.entry.body != there.entry.body
        entries.append(in_the_log(there, here.index) if forked else here)
    answer = Fetched(Phase.CONFIRM, tuple(sorted(entries, key=lambda each: each.index)))
    _, outputs = simulation.parties[VICTIM].party.step(state, answer)
    assert bool(said(outputs, Phase.UNMASK)) is not forked
    halted = [each.error for each in outputs if isinstance(each, Halted)]
    assert [type(error) for error in halted] == ([FaultyParty] if forked else [])


@pytest.mark.parametrize("stopped", [False, True], ids=["absent", "stopped"])
def test_recovery_does_not_override_a_party_that_stopped(stopped: bool) -> None:
    """Shares of a party are given away only if its own count of confirmations is fulfilled.

    It stopped since too few of its neighbours confirmed; that their seeds open the rest
    does not make it a party that only went away.
    """
    script = Script().misbehave(VICTIM, Skip(Phase.UNMASK))
    simulation, moments = played(True, Unmasked, script)
    missing = closes(simulation)[Phase.UNMASK]
    content = CLOSE.decode(missing.entry.body).content
    assert isinstance(content, Members)
    assert VICTIM not in unpack_members(content.members, PARTIES)
    helper = simulation.parties[0]
    board = helper.access.board
    state = moments.states[0]
    for posted in board.stream(helper.author, Phase.CONFIRM, 1):
        state, _ = shown(simulation, state, 0, posted)
    wanted = tuple(
        posted
        for actor in simulation.parties[1:]
        for posted in board.stream(actor.author, Phase.CONFIRM, 1)
    )
    answer = Fetched(Phase.CONFIRM, tuple(sorted(wanted, key=lambda each: each.index)))
    state, outputs = helper.party.step(state, answer)
    (unmask,) = said(outputs, Phase.UNMASK)
    stage = state.stage
    assert isinstance(stage, Unmasked)
    if stopped:  # as it was for the victim, with one neighbour more than the bound allows
        few = frozenset(range(PARTIES)) - set(OTHERS[-RECOVERING.loss - 1 :])
        state = replace(state, stage=replace(stage, confirmed=few))
    landed = in_the_log(unmask, closes(simulation)[Phase.CONFIRM].index + 1)
    state, _ = shown(simulation, state, 0, landed)
    _, outputs = shown(simulation, state, 0, missing)
    assert bool(said(outputs, Phase.RECOVER)) is not stopped
