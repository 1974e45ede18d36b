"""Before it commits a party reads what others signed: reveals, or joins of neighbours (04-V7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest

from bulletin_board import Submission
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.party import JOIN, REVEAL, Join, Reveal
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.graph import ring
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Fetch, Fetched, Halted, Party, PartyState, Post, Supplied
from gopa.protocol.party.states import Checking, Stopped
from gopa.protocol.simulation import Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.toolkit import Toolkit
from tests.protocol.party.test_chain import as_claimed
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import FULL, SCALAR, TEST_COINS, inputs_for, simulate
from tests.randomness import seeded
from wire.errors import SuspectedPartyOrBoard, UsageError

SUBJECT, OTHER = 3, 2
RING = replace(SWIFT, graph=lambda *_: ring(8))


@dataclass(frozen=True)
class Asking:
    """One party of a finished session, as it was when it read what others signed."""

    simulation: Simulation
    party: Party
    state: PartyState
    wanted: Fetch

    @property
    def other(self) -> SimulatedParty:
        return self.simulation.parties[OTHER]

    @property
    def answer(self) -> tuple[Posted, ...]:
        """What the log holds of what the party asks for."""
        return self.other.access.board.fetch(self.wanted, self.simulation.session)

    def post(self, body: bytes, kind: Kind | None = None, seq: int = 0) -> Posted:
        """A message of the other party in the phase that is read, where its own one stands."""
        place = MessageSlot(
            self.simulation.session,
            self.wanted.phase,
            kind or KIND_IN[self.wanted.phase],
            1,
            seq,
            NO_LEAF,
        )
        (raw,) = sign_message(body, place, self.other.access.key).entries
        submission = Submission.decode(raw)
        index = next(each.index for each in self.answer if self.is_other(each))
        return Posted(index, submission.leaf, submission.entry)

    def is_other(self, posted: Posted) -> bool:
        return posted.entry.author.data == self.other.author

    def instead(self, *others: Posted) -> Fetched:
        """The answer with these in place of the other party's entry."""
        rest = [each for each in self.answer if not self.is_other(each)]
        found = sorted([*rest, *others], key=lambda each: each.index)
        return Fetched(self.wanted.phase, tuple(found))


@lru_cache(maxsize=4)
def asking(setting: SessionSetting = FULL, toolkit: Toolkit = RING) -> Asking:
    inputs = inputs_for(SCALAR)
    simulation = simulate(SCALAR, setting, toolkit=toolkit)
    simulation.run_round(inputs)
    again = Simulation(
        SCALAR, rng=seeded(1), setting=setting, options=SimulationOptions(toolkit=toolkit)
    )
    party = again.parties[SUBJECT].party
    state, _ = party.step(party.start(), Supplied(0, tuple(inputs[SUBJECT])))
    told = {simulation.manifest.organiser, simulation.parties[SUBJECT].author}
    for posted in simulation.parties[SUBJECT].access.board.entries:
        if posted.entry.author.data in told and not isinstance(state.stage, Checking):
            state, _ = party.step(state, as_claimed(state, posted))
    assert isinstance(state.stage, Checking)
    return Asking(simulation, party, state, state.stage.wanted)


def require_committed(found: Asking, answer: Fetched) -> None:
    _, outputs = found.party.step(found.state, answer)
    assert [each.phase for each in outputs if isinstance(each, Post)] == [Phase.COMMIT]


def require_stopped(found: Asking, answer: Fetched) -> None:
    """It has said nothing; and blames nobody for sure: a board may have hidden the message."""
    state, (halted,) = found.party.step(found.state, answer)
    assert isinstance(halted, Halted)
    assert isinstance(halted.error, SuspectedPartyOrBoard)
    assert halted.error.party == found.simulation.manifest.organiser
    assert isinstance(state.stage, Stopped)


def test_reveals_of_all_members_are_read_up_to_the_cut_of_their_close() -> None:
    found = asking()
    everybody = {actor.author for actor in found.simulation.parties}
    assert set(found.wanted.authors) == everybody - {found.simulation.parties[SUBJECT].author}
    assert (found.wanted.phase, found.wanted.cut) == (Phase.COINS, found.state.chain.cut)


def test_without_nonces_joins_of_neighbours_are_read_up_to_the_cut_of_the_roll() -> None:
    found = asking(TEST_COINS)
    parties = found.simulation.parties
    assert set(found.wanted.authors) == {parties[2].author, parties[4].author}
    assert found.wanted.phase is Phase.JOIN
    assert isinstance(found.state.stage, Checking)
    assert found.wanted.cut == found.state.stage.enrolled.cut


Change = Callable[[Asking, Posted], tuple[Posted, ...]]


def revealing(change: Callable[[Reveal], Reveal]) -> Change:
    def changed(found: Asking, posted: Posted) -> tuple[Posted, ...]:
        return (found.post(REVEAL.encode(change(REVEAL.decode(posted.entry.body)))),)

    return changed


def joining(change: Callable[[Join], Join]) -> Change:
    def changed(found: Asking, posted: Posted) -> tuple[Posted, ...]:
        return (found.post(JOIN.encode(change(JOIN.decode(posted.entry.body)))),)

    return changed


def nothing(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    del found, posted
    return ()


def at_the_cut(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    return (replace(posted, index=found.wanted.cut),)


def longer(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    return (found.post(posted.entry.body + b"\0"),)


def another_kind(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    return (found.post(posted.entry.body, Kind.CONFIRM),)


def not_the_first(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    before = found.answer[0].index
    return (
        replace(found.post(b"something else"), index=before - 2),
        replace(found.post(posted.entry.body, seq=1), index=before - 1),
    )


def of_somebody_else(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    """What its author says cannot be said by another one."""
    entry = replace(posted.entry, author=found.simulation.parties[SUBJECT].access.key.public)
    return (replace(posted, entry=entry),)


def same(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    return (found.post(posted.entry.body),)


def and_again_later(found: Asking, posted: Posted) -> tuple[Posted, ...]:
    """A second entry in a slot replaces nothing (04-E3); this one lies at the cut."""
    return posted, replace(found.post(b"something else"), index=found.wanted.cut)


EITHER: dict[str, Change] = {
    "nothing": nothing,
    "late": at_the_cut,
    "a byte too many": longer,
    "another kind": another_kind,
    "not the first message": not_the_first,
    "another author": of_somebody_else,
}
REVEALS: dict[str, Change] = EITHER | {
    "another nonce": revealing(lambda each: replace(each, nonce=bytes(32))),
    "another roll": revealing(lambda each: replace(each, acts_on=bytes(32))),
}
JOINS: dict[str, Change] = EITHER | {
    "another key": joining(lambda each: replace(each, key=bytes(31) + b"\x01")),
    "another opening": joining(lambda each: replace(each, acts_on=bytes(32))),
    "no possession": joining(lambda each: replace(each, possession=bytes(64))),
    "a nonce": joining(lambda each: replace(each, nonce_hash=bytes(32))),
}


@pytest.mark.parametrize("change", REVEALS.values(), ids=REVEALS)
def test_nobody_commits_over_a_nonce_that_was_not_revealed_so(change: Change) -> None:
    """By a puppet, for instance, or by its owner under the roll of another fork."""
    require_refused(asking(), change)


@pytest.mark.parametrize("change", JOINS.values(), ids=JOINS)
def test_nobody_commits_beside_a_neighbour_that_did_not_join_so(change: Change) -> None:
    require_refused(asking(TEST_COINS), change)


def require_refused(found: Asking, change: Change) -> None:
    (posted,) = filter(found.is_other, found.answer)
    require_committed(found, Fetched(found.wanted.phase, found.answer))
    require_committed(found, found.instead(*same(found, posted)))
    require_stopped(found, found.instead(*change(found, posted)))


@pytest.mark.parametrize("setting", [FULL, TEST_COINS], ids=["reveals", "joins"])
def test_a_second_entry_changes_nothing(setting: SessionSetting) -> None:
    """Else anybody could stop everybody, while the rules keep it in the list."""
    found = asking(setting)
    (posted,) = filter(found.is_other, found.answer)
    require_committed(found, found.instead(*and_again_later(found, posted)))


@pytest.mark.parametrize("setting", [FULL, TEST_COINS], ids=["reveals", "joins"])
def test_messages_of_another_round_are_no_answer(setting: SessionSetting) -> None:
    found = asking(setting)
    (posted,) = filter(found.is_other, found.answer)
    require_committed(found, found.instead(posted))
    for other in (replace(posted.entry, round=2), replace(posted.entry, session=bytes(32))):
        with pytest.raises(UsageError):
            found.party.step(found.state, found.instead(replace(posted, entry=other)))


def test_only_joins_of_neighbours_matter_where_there_are_no_nonces() -> None:
    """Whoever is nobody's neighbour holds nobody's share, and no edge leads to it."""
    found = asking(TEST_COINS)
    far = found.simulation.parties[6].author
    assert far not in found.wanted.authors
    require_committed(found, Fetched(Phase.JOIN, found.answer))
