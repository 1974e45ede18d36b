"""What a party does and keeps from step to step."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds import wrong_edge
from gopa.contract.framing import Posted
from gopa.contract.party import COMMIT, JOIN, Join
from gopa.contract.phases import Phase
from gopa.graph import ring
from gopa.protocol.party import (
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    NeedInput,
    Output,
    Part,
    Party,
    PartyState,
    Post,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.states import (
    Accusing,
    BetweenRounds,
    Checking,
    Comparing,
    Confirmed,
    Counting,
    Done,
    Joined,
    Outside,
    Published,
    Settled,
    Stopped,
    Unmasked,
)
from gopa.protocol.simulation import Script, Simulation, SimulationOptions
from gopa.protocol.simulation.party import SimulatedParty
from gopa.protocol.simulation.randomness import SeededStreams
from gopa.protocol.simulation.script import Skip
from gopa.protocol.simulation.setup import permissive
from tests.lies import lying
from tests.protocol.party.test_chain import as_claimed
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import SCALAR, inputs_for, simulate
from tests.randomness import seeded
from wire.errors import FaultyParty, UsageError
from wire.randomness import draw
from wire.secret import Guarded

SUBJECT = 3


class Log:
    """A finished session, to be told again to one party."""

    def __init__(self, script: Script | None = None) -> None:
        self.simulation = simulate(SCALAR, script=script, toolkit=SWIFT)
        self.inputs = inputs_for(SCALAR)
        self.record = self.simulation.run_round(self.inputs)
        self.actor = self.simulation.parties[SUBJECT]
        self.board = self.actor.access.board

    def party(self) -> Party:
        """The same party with the same randomness."""
        access = self.actor.access
        made = Simulation(SCALAR, rng=seeded(1), options=SimulationOptions(toolkit=SWIFT))
        assert made.session == access.session
        return made.parties[SUBJECT].party


@lru_cache(maxsize=4)
def honest() -> Log:
    return Log()


def tell_again(
    log: Log, *, until: Phase | None = None
) -> list[tuple[PartyState, tuple[Output, ...]]]:
    """Every state of the party, when it hears the log once more and its fetches are answered."""
    party = log.party()
    state = party.start()
    history: list[tuple[PartyState, tuple[Output, ...]]] = []
    state, outputs = party.step(state, Supplied(0, tuple(log.inputs[SUBJECT])))
    history.append((state, outputs))
    organiser = log.simulation.manifest.organiser
    for posted in log.board.entries:
        if posted.entry.author.data not in {organiser, log.actor.author}:
            continue
        state, outputs = party.step(state, as_claimed(state, posted))
        history.append((state, outputs))
        while any(isinstance(output, Fetch) for output in outputs):
            fetch = next(output for output in outputs if isinstance(output, Fetch))
            answer = Fetched(fetch.phase, log.board.fetch(fetch, log.simulation.session))
            state, outputs = party.step(state, answer)
            history.append((state, outputs))
        if any(isinstance(output, Post) and output.phase is until for output in outputs):
            break
    return history


def stages(history: list[tuple[PartyState, tuple[Output, ...]]]) -> list[type]:
    """The kinds of stages in their order, each once."""
    kinds = [type(state.stage) for state, _ in history]
    return list(dict.fromkeys(kinds))


def test_stages_of_an_honest_round() -> None:
    names = [kind.__name__ for kind in stages(tell_again(honest()))]
    before = ["BetweenRounds", "Joined", "Enrolled", "Checking", "Committed"]
    assert names == [*before, "Comparing", "Published", "Confirmed", "Counting", "Unmasked"]
    assert isinstance(tell_again(honest())[-1][0].stage, BetweenRounds)


def test_steps_are_a_function_of_state_event_and_randomness() -> None:
    """Witnessed checkpoints are signed too, so this log differs from the simulation's."""
    posts = [
        [
            output
            for _, outputs in tell_again(honest())
            for output in outputs
            if isinstance(output, Post)
        ]
        for _ in range(2)
    ]
    assert posts[0] == posts[1]
    assert [post.phase for post in posts[0]] == [
        Phase.JOIN,
        Phase.COINS,
        Phase.COMMIT,
        Phase.PUBLISH,
        Phase.CONFIRM,
        Phase.UNMASK,
    ]


def posts_of(history: list[tuple[PartyState, tuple[Output, ...]]]) -> list[Post]:
    return [each for _, outputs in history for each in outputs if isinstance(each, Post)]


def test_state_keeps_what_was_posted_until_the_round_ends() -> None:
    history = tell_again(honest())
    posted: list[Post] = []
    for state, outputs in history[:-1]:
        posted += [output for output in outputs if isinstance(output, Post)]
        assert list(state.sent) == posted
    assert history[-1][0].sent == ()


def test_entries_name_the_newest_checkpoint_and_the_entry_before() -> None:
    party, log = honest().party(), honest()
    state, _ = party.step(party.start(), Supplied(0, tuple(log.inputs[SUBJECT])))
    state, _ = party.step(state, Witnessed(7, b"r" * 32))
    organiser = [each for each in log.board.entries if each.entry.phase == Phase.ORGANISER]
    outputs: tuple[Output, ...] = ()
    for posted in organiser[:3]:
        state, new = party.step(state, as_claimed(state, posted))
        outputs += new
    posts = [output for output in outputs if isinstance(output, Post)]
    entries = [Submission.decode(raw) for post in posts for raw in post.entries]
    assert {(each.entry.seen_size, each.entry.seen_root) for each in entries} == {(7, b"r" * 32)}
    assert [each.entry.prev_own_leaf for each in entries] == [bytes(32)] + [
        each.leaf for each in entries[:-1]
    ]
    with pytest.raises(UsageError):
        party.step(state, Witnessed(6, b"r" * 32))


def test_secret_states_do_not_print_pickle_copy_or_compare() -> None:
    for state, _ in tell_again(honest()):
        secrets = [state, state.stage, *state.inputs]
        for each in [one for one in secrets if isinstance(one, Guarded)]:
            assert repr(each) == f"<{type(each).__name__}: secret>"
            for refused in (pickle.dumps, copy.copy, hash):
                with pytest.raises(UsageError):
                    refused(each)
            with pytest.raises(UsageError):
                _ = each == each  # noqa: PLR0124 - refusing is the point


def test_no_key_of_an_edge_is_left_after_the_confirmation() -> None:
    """A party cannot open an edge to anybody once it has confirmed: it has no key to open."""
    seen = {type(state.stage): state.stage for state, _ in tell_again(honest())}
    published, confirmed, unmasked = seen[Published], seen[Confirmed], seen[Unmasked]
    assert isinstance(published, Published)
    assert len(published.keys) == 7
    for stage in (confirmed, unmasked):
        fields = set(type(stage).__slots__)
        assert not fields & {"keys", "edges", "masks", "secret"}
    assert set(Settled.__slots__) == {"opened", "view", "final"}
    assert not set(Unmasked.__slots__) & {"seed"}


def test_input_is_supplied_once_and_lies_on_the_grid() -> None:
    party = honest().party()
    state, _ = party.step(party.start(), Supplied(0, (20,)))
    for wrong in (Supplied(0, (20,)), Supplied(0, (19,))):
        with pytest.raises(UsageError) as caught:
            party.step(state, wrong)
        assert caught.value.field == "logical"
    for values in ((21,), (-1,), (), (1, 2), (True,)):
        with pytest.raises(UsageError) as caught:
            party.step(party.start(), Supplied(0, values))
        assert caught.value.field == "values"
    with pytest.raises(UsageError):
        party.step(party.start(), Supplied(SCALAR.rounds, (1,)))


def test_round_waits_for_its_input() -> None:
    log = honest()
    party, organiser = log.party(), log.simulation.manifest.organiser
    controls = [each for each in log.board.entries if each.entry.author.data == organiser]
    state, _ = party.step(party.start(), controls[0])
    state, outputs = party.step(state, controls[1])
    assert outputs == (NeedInput(0),)
    state, outputs = party.step(state, Supplied(0, (5,)))
    assert [type(output) for output in outputs] == [Post]
    assert isinstance(state.stage, Joined)


def test_same_input_commitment_and_fresh_everything_else_in_a_retry() -> None:
    """A second commitment of the same input could be of another input."""
    script = Script().misbehave(0, Skip(Phase.UNMASK, frozenset({1})))
    log = Log(script)
    assert [each.number for each in log.record.attempts] == [1, 2]
    joins = [
        JOIN.decode(log.board.stream(log.actor.author, Phase.JOIN, number)[0].entry.body)
        for number in (1, 2)
    ]
    assert joins[0].input == joins[1].input
    for name in ("key", "possession", "nonce_hash", "seed"):
        assert getattr(joins[0], name) != getattr(joins[1], name)
    commits = [
        COMMIT.decode(log.board.stream(log.actor.author, Phase.COMMIT, number)[0].entry.body)
        for number in (1, 2)
    ]
    assert commits[0].output != commits[1].output
    assert not set(commits[0].edges) & set(commits[1].edges)


def test_input_of_the_next_logical_round_is_another_commitment() -> None:
    log = Log()
    log.simulation.run_round(log.inputs)
    joins = [
        JOIN.decode(log.board.stream(log.actor.author, Phase.JOIN, number)[0].entry.body)
        for number in (1, 2)
    ]
    assert joins[0].input != joins[1].input


@pytest.mark.parametrize(
    "phase", [Phase.JOIN, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM], ids=lambda p: p.name.lower()
)
def test_timeout_ends_the_round_for_the_party(phase: Phase) -> None:
    """It forgets every key, says nothing more, and comes back in the next round."""
    log = honest()
    party = log.party()
    state = tell_again(log, until=phase)[-1][0]
    ignored, outputs = party.step(state, TimedOut(99))
    assert (type(ignored.stage), outputs) == (type(state.stage), ())
    state, outputs = party.step(state, TimedOut(1))
    assert outputs == ()
    assert isinstance(state.stage, Outside)
    assert state.stage.part is Part.TIMED_OUT
    assert state.sent == ()
    finished: list[Finished] = []
    for posted in log.board.entries:
        if posted.entry.phase == Phase.ORGANISER:
            state, outputs = party.step(state, as_claimed(state, posted))
            assert all(isinstance(output, Finished) for output in outputs)
            finished += [output for output in outputs if isinstance(output, Finished)]
    assert [each.part for each in finished] == [Part.TIMED_OUT]
    assert isinstance(state.stage, BetweenRounds)


def test_who_is_out_of_a_round_counts_its_release_all_the_same() -> None:
    """A party counts final closes of the log that it follows, not what it did itself."""
    log = honest()
    party = log.party()
    history = tell_again(log, until=Phase.PUBLISH)
    state = history[-1][0]
    assert isinstance(state.stage, Published)
    assert state.tally.releases == 0
    state, _ = party.step(state, TimedOut(1))
    assert isinstance(state.stage, Outside)
    organiser = log.simulation.manifest.organiser
    for posted in log.board.entries:
        if posted.entry.author.data == organiser and posted.index > state.chain.last:
            state, _ = party.step(state, as_claimed(state, posted))
    assert state.tally.releases == 1
    assert state.tally.decided


@pytest.mark.parametrize("kind", [Checking, Comparing, Counting], ids=lambda kind: kind.__name__)
def test_timeout_while_the_log_is_read(kind: type) -> None:
    """Nobody has to wait for answers that do not come; a late one is none any more."""
    log = honest()
    party = log.party()
    state = next(state for state, _ in tell_again(log) if isinstance(state.stage, kind))
    assert isinstance(state.stage, Checking | Comparing | Counting)
    answer = Fetched(
        state.stage.wanted.phase, log.board.fetch(state.stage.wanted, log.simulation.session)
    )
    assert len(party.step(state, answer)[1]) == 1
    state, outputs = party.step(state, TimedOut(1))
    assert outputs == ()
    assert isinstance(state.stage, Outside)
    assert (state.stage.part, state.sent) == (Part.TIMED_OUT, ())
    with pytest.raises(UsageError):
        party.step(state, answer)


def suspecting(log: Log) -> tuple[PartyState, Fetch]:
    """A party that has seen a lie about an edge and reads who joined with which key."""
    history = tell_again(log)
    state = next(state for state, _ in history if isinstance(state.stage, Accusing))
    assert isinstance(state.stage, Accusing)
    return state, state.stage.wanted


NEVER_POSTED: dict[str, Callable[[Join], Join] | None] = {
    "nothing at all": None,
    "another key": lambda join: replace(join, key=bytes(31) + b"\x01"),
    "no possession": lambda join: replace(join, possession=bytes(64)),
    "an older opening": lambda join: replace(join, acts_on=bytes(32)),
}


@pytest.mark.parametrize("change", NEVER_POSTED.values(), ids=NEVER_POSTED)
def test_no_shared_key_is_shown_to_a_key_that_nobody_owns(
    change: Callable[[Join], Join] | None,
) -> None:
    """One made from a third party's key would give away the key shared with that one."""
    log = Log(Script().misbehave(0, lying("commit", wrong_edge(SUBJECT))))
    state, wanted = suspecting(log)
    party, liar = log.party(), log.simulation.parties[0]
    (posted,) = log.board.fetch(wanted, log.simulation.session)
    _, outputs = party.step(state, Fetched(Phase.JOIN, (posted,)))
    said = [output.phase for output in outputs if isinstance(output, Post)]
    assert said == [Phase.ACCUSE, Phase.PUBLISH]
    assert isinstance(party.step(state, TimedOut(1))[0].stage, Outside)
    answer: tuple[Posted, ...] = ()
    if change is not None:
        body = JOIN.encode(change(JOIN.decode(posted.entry.body)))
        (raw,) = liar.access.sign(Phase.JOIN, body).entries
        other = Submission.decode(raw)
        answer = (Posted(posted.index, other.leaf, other.entry),)
    state, outputs = party.step(state, Fetched(Phase.JOIN, answer))
    (halted,) = outputs
    assert isinstance(halted, Halted)
    assert isinstance(halted.error, FaultyParty)
    assert halted.error.party == log.simulation.manifest.organiser
    assert isinstance(state.stage, Stopped)


def test_only_what_was_asked_for_is_taken() -> None:
    log = honest()
    party = log.party()
    history = tell_again(log)
    state = next(state for state, _ in history if isinstance(state.stage, Comparing))
    assert isinstance(state.stage, Comparing)
    wanted = state.stage.wanted
    answer = log.board.fetch(wanted, log.simulation.session)
    joins = log.board.fetch(replace(wanted, phase=Phase.JOIN), log.simulation.session)
    party.step(state, Fetched(wanted.phase, answer))
    for wrong in (
        Fetched(Phase.JOIN, answer),
        Fetched(wanted.phase, joins),
        Fetched(wanted.phase, answer[::-1]),
    ):
        with pytest.raises(UsageError):
            party.step(state, wrong)
    with pytest.raises(UsageError):
        party.step(party.start(), Fetched(wanted.phase, answer))


RING = replace(SWIFT, graph=lambda *_: ring(8))


def test_commits_of_neighbours_are_read_and_reveals_and_confirmations_of_everybody() -> None:
    simulation = simulate(SCALAR, toolkit=RING)
    simulation.run_round(inputs_for(SCALAR))
    access, log = simulation.parties[SUBJECT].access, simulation.parties[SUBJECT].access.board
    party = Party(
        access.manifest,
        access.key,
        permissive(SCALAR),
        rng=SeededStreams(draw(seeded(1), 32)).named(f"party {SUBJECT}"),
        toolkit=RING,
    )
    state, fetches = party.start(), []
    events: list[Event] = [Supplied(0, tuple(inputs_for(SCALAR)[SUBJECT])), *log.entries]
    told = {simulation.manifest.organiser, access.key.public.data}
    while events:
        event = events.pop(0)
        if isinstance(event, Posted) and event.entry.author.data not in told:
            continue
        state, outputs = party.step(state, as_claimed(state, event))
        for fetch in [output for output in outputs if isinstance(output, Fetch)]:
            fetches.append(fetch)
            events.insert(0, Fetched(fetch.phase, log.fetch(fetch, simulation.session)))
    assert [(each.phase, len(each.authors)) for each in fetches] == [
        (Phase.COINS, 7),
        (Phase.COMMIT, 2),
        (Phase.CONFIRM, 7),
    ]
    assert isinstance(state.stage, BetweenRounds)
    assert state.tally.decided


def test_party_that_lost_its_neighbours_at_commit_leaves_without_blame() -> None:
    """What it would publish would be hidden by too few masks (04-L1)."""
    terms = replace(SCALAR, loss=1)
    script = Script().drop(2, before=Phase.COMMIT).drop(4, before=Phase.COMMIT)
    simulation = simulate(terms, script=script, toolkit=RING)
    record = simulation.run_round(inputs_for(terms))
    assert record.included == (0, 1, 5, 6, 7)
    assert not record.halted
    parts = [simulation.parties[index].finished[-1].part for index in (1, 3)]
    assert parts == [Part.ACTIVE, Part.LOST]
    board = simulation.parties[0].access.board
    assert not board.stream(simulation.parties[3].author, Phase.PUBLISH, 1)


def test_session_is_done_after_its_last_round() -> None:
    simulation = simulate(SCALAR, toolkit=SWIFT)
    for number in range(SCALAR.rounds):
        simulation.run_round(inputs_for(SCALAR, number))
    for actor in simulation.parties:
        assert isinstance(actor.state.stage, Done)
        assert len(actor.finished) == SCALAR.rounds
        assert _is_silent(actor)


def _is_silent(actor: SimulatedParty) -> bool:
    state, outputs = actor.party.step(actor.state, Supplied(0, (1,)))
    return state is actor.state and outputs == ()
