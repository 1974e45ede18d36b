"""The organiser posts what the rules demand, when it is told and when nobody is expected."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from bulletin_board import KeyKind, NoteSigner, Submission
from bulletin_board.tree import RightEdge, leaf_hash
from gopa.adversary.deeds import spoil_proof
from gopa.adversary.deeds.organising import GivesUp, lacking
from gopa.contract.framing import Posted
from gopa.contract.manifest import CommitReveal, Manifest, Mode, OpenAdmission
from gopa.contract.organiser import ABORT, CLOSE, OPEN, RESULT, Abort, AbortReason, Members, Roll
from gopa.contract.phases import Kind, Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import (
    Cosigned,
    GiveUp,
    Idle,
    Organiser,
    PhaseOver,
    Seen,
    SendMessage,
    SessionSetting,
    WantCheckpoint,
    new_manifest,
)
from gopa.protocol.rules import Findings, check
from gopa.protocol.simulation import Script, SimulatedWitnesses, Simulation, SimulationOptions
from gopa.protocol.simulation.access import OrganiserAccess, body_of
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.party import noise_for_tests
from gopa.protocol.simulation.script import Garbage, Skip
from tests.lies import lying
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import CURIOUS, LENIENT, SCALAR, inputs_for, simulate
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.secret import SecretBytes

LOG = NoteSigner("log.test", KeyKind.LOG, SecretBytes(bytes(32)))
KEY = SigningKey.generate(seeded("organiser"))
ROSTER = [SigningKey.generate(seeded(i)).public.data for i in range(8)]


class Desk:
    """An organiser and a board, without any party."""

    def __init__(self, *, witnessed: bool = False) -> None:
        self.witnesses = SimulatedWitnesses.fresh(2, seeded("witnesses"), time=1)
        self.manifest = new_manifest(
            SCALAR,
            ROSTER,
            organiser=KEY.public.data,
            log=LOG.verifier,
            rng=seeded(1),
            policy=self.witnesses.policy(LOG.verifier) if witnessed else None,
        )
        self.board = SimulatedBoard(LOG)
        self.organiser = Organiser(self.manifest, KEY, rng=seeded(2), toolkit=SWIFT)
        self.post(self.organiser.start())

    def post(self, outputs: tuple[object, ...]) -> SendMessage:
        (published,) = outputs
        assert isinstance(published, SendMessage)
        for posted in self.board.post(published.entries):
            assert self.organiser.step(posted) == ()
        return published


def test_open_then_abort_when_nobody_joins() -> None:
    desk = Desk()
    opened = desk.post(desk.organiser.step(PhaseOver(desk.board.size)))
    content = OPEN.decode(body_of(opened.entries))
    assert (opened.kind, opened.round, content.logical, content.attempt) == (Kind.OPEN, 1, 0, 0)
    ended = desk.post(desk.organiser.step(PhaseOver(desk.board.size)))
    abort = ABORT.decode(body_of(ended.entries))
    assert (ended.kind, abort.reason) == (Kind.ABORT, AbortReason.TOO_FEW_JOINED)
    again = OPEN.decode(body_of(desk.post(desk.organiser.step(PhaseOver(9))).entries))
    assert (again.logical, again.attempt) == (0, 1)


def test_nothing_follows_before_the_last_message_is_in_the_log() -> None:
    desk = Desk()
    first = desk.organiser.step(PhaseOver(desk.board.size))
    assert desk.organiser.step(PhaseOver(desk.board.size)) == ()
    assert desk.organiser.step(GiveUp(desk.board.size)) == ()
    desk.post(first)
    assert desk.organiser.step(PhaseOver(desk.board.size))


def test_phase_does_not_end_early_while_somebody_is_expected() -> None:
    desk = Desk()
    assert desk.organiser.step(Idle(desk.board.size)) == ()  # between rounds: it is told when
    desk.post(desk.organiser.step(PhaseOver(desk.board.size)))
    assert desk.organiser.state.round is not None
    assert len(desk.organiser.state.round.expected) == 8
    assert desk.organiser.step(Idle(desk.board.size)) == ()


def test_phase_ends_early_when_everybody_has_spoken() -> None:
    """The log of a whole round, told to another organiser with the same key."""
    simulation = simulate(SCALAR, toolkit=SWIFT)
    simulation.run_round(inputs_for(SCALAR))
    key = simulation._organiser_access.key
    twin = Organiser(simulation.manifest, key, rng=seeded(9), toolkit=SWIFT)
    first = twin.start()[0]
    assert isinstance(first, SendMessage)
    published, size = [first], 0
    for posted in simulation._board.entries:
        if posted.entry.author.data == simulation.manifest.organiser and posted.index:
            assert posted.entry.seen_size == size
            twin.step(Seen(size, posted.entry.seen_root))
            told = Idle(size) if posted.entry.kind != Kind.OPEN else PhaseOver(size)
            outputs = twin.step(told)
            published += [output for output in outputs if isinstance(output, SendMessage)]
        twin.step(posted)
        size = posted.index + 1
    log = list(simulation.log().entries())
    said = [raw for each in published for raw in each.entries]
    assert said == [raw for raw in log if raw in set(said)]
    kinds = [each.kind for each in published]
    assert kinds == [Kind.MANIFEST, Kind.OPEN] + [Kind.CLOSE] * 5 + [Kind.RESULT]
    assert RESULT.decode(body_of(published[-1].entries)).sums


def test_organiser_may_give_up_at_any_time_in_a_round() -> None:
    desk = Desk()
    desk.post(desk.organiser.step(PhaseOver(desk.board.size)))
    ended = desk.post(desk.organiser.step(GiveUp(desk.board.size)))
    abort = ABORT.decode(body_of(ended.entries))
    assert isinstance(abort, Abort)
    assert (abort.reason, abort.culprits) == (AbortReason.ORGANISER, ())
    assert desk.organiser.step(GiveUp(desk.board.size)) == ()


def test_an_organiser_goes_on_from_what_its_key_has_signed() -> None:
    """Another message in the place of its last one, that the rules allow: the log has it."""
    assert simulate(SCALAR, toolkit=SWIFT).run_round(inputs_for(SCALAR)).sums is not None
    script = Script().organise(GivesUp(Phase.COMMIT))
    simulation = simulate(SCALAR, script=script, toolkit=SWIFT)
    record = simulation.run_round(inputs_for(SCALAR))
    assert [each.abort for each in record.attempts] == [AbortReason.ORGANISER, None]
    assert record.sums is not None
    assert not record.findings.faults


def unmasking(skip: Collection[int] = ()) -> tuple[Organiser, list[Posted]]:
    """An organiser in the last phase of a round: all seeds are there but these parties'."""
    script = Script()
    for party in skip:
        script = script.misbehave(party, Skip(Phase.UNMASK))
    simulation = simulate(SCALAR, script=script, toolkit=SWIFT)
    simulation.run_round(inputs_for(SCALAR))
    log = list(simulation._board.entries)
    ended = next(each.index for each in log if each.entry.kind in {Kind.RESULT, Kind.ABORT})
    organiser = Organiser(
        simulation.manifest, simulation._organiser_access.key, rng=seeded(9), toolkit=SWIFT
    )
    for posted in log[:ended]:
        organiser.step(posted)
    return organiser, log[:ended]


@pytest.mark.parametrize("skip", [(), (2,)], ids=["complete", "a seed is missing"])
def test_an_organiser_that_gives_up_vetoes_no_result(skip: tuple[int, ...]) -> None:
    organiser, log = unmasking(skip)
    assert organiser.fails(len(log)) is bool(skip)
    assert organiser.carries_on(len(log)) is not bool(skip)
    (ended,) = organiser.step(GiveUp(len(log)))
    assert isinstance(ended, SendMessage)
    assert ended.kind is (Kind.ABORT if skip else Kind.RESULT)


def test_an_organiser_closes_nothing_before_it_has_read_what_it_has_seen() -> None:
    organiser, log = unmasking()
    organiser.step(Seen(len(log) + 1, bytes(32)))
    with pytest.raises(UsageError) as caught:
        organiser.step(PhaseOver(len(log)))
    assert caught.value.field == "size"
    assert organiser.step(PhaseOver(len(log) + 1))


def test_close_waits_for_a_cosigned_checkpoint() -> None:
    """All closes but that of join carry one, so the organiser asks for it in time."""
    witnesses = SimulatedWitnesses.fresh(2, seeded("witnesses"), time=1)
    options = SimulationOptions(witnesses=witnesses, toolkit=SWIFT)
    simulation = Simulation(SCALAR, rng=seeded(1), options=options)
    record = simulation.run_round(inputs_for(SCALAR))
    assert record.sums is not None
    closes = [
        CLOSE.decode(posted.entry.body)
        for posted in simulation._board.entries
        if posted.entry.kind == Kind.CLOSE
    ]
    assert [bool(close.checkpoint) for close in closes] == [
        close.phase is not Phase.JOIN for close in closes
    ]
    policy = simulation.manifest.quorum
    assert policy is not None
    for close in closes[1:]:
        assert policy.open(close.checkpoint).size <= close.cut + 1


def test_old_checkpoint_is_not_enough() -> None:
    desk = Desk(witnessed=True)
    desk.post(desk.organiser.step(PhaseOver(desk.board.size)))
    assert desk.organiser.step(Cosigned(desk.board.checkpoint, 1)) == ()
    ended = desk.organiser.step(PhaseOver(desk.board.size))  # a join needs no checkpoint
    assert not isinstance(ended[0], WantCheckpoint)


def test_organiser_has_the_key_of_the_manifest() -> None:
    desk = Desk()
    with pytest.raises(UsageError) as caught:
        Organiser(desk.manifest, SigningKey.generate(seeded("other")), rng=seeded(1))
    assert caught.value.field == "organiser"


def test_entries_of_another_session_are_refused() -> None:
    desk, other = Desk(), simulate(SCALAR, toolkit=SWIFT)
    with pytest.raises(UsageError):
        desk.organiser.step(other._board.entries[0])


def test_equal_plans_give_different_sessions() -> None:
    made = [
        new_manifest(SCALAR, ROSTER, organiser=KEY.public.data, log=LOG.verifier, rng=seeded(seed))
        for seed in (1, 2)
    ]
    assert made[0].session != made[1].session
    assert made[0].admission == made[1].admission
    assert isinstance(made[0].beacon, CommitReveal)
    assert not made[0].simulation


@pytest.mark.parametrize(
    ("terms", "setting"), [(SCALAR, SessionSetting(mode=Mode.SIGNED)), (CURIOUS, LENIENT)]
)
def test_words_are_as_wide_as_the_sum(terms: Terms, setting: SessionSetting) -> None:
    made = manifest_of(terms, setting)
    largest = terms.parties * (terms.steps + terms.noise.radius)
    assert made.word_width >= largest.bit_length() + 1
    with pytest.raises(UsageError) as caught:
        manifest_of(terms, replace(setting, word_width=made.word_width - 1))
    assert caught.value.field == "word_width"


def manifest_of(terms: Terms, setting: SessionSetting) -> Manifest:
    return new_manifest(
        terms, ROSTER, organiser=KEY.public.data, log=LOG.verifier, rng=seeded(1), setting=setting
    )


def test_open_admission_names_a_number() -> None:
    made = new_manifest(
        SCALAR, OpenAdmission(8), organiser=KEY.public.data, log=LOG.verifier, rng=seeded(1)
    )
    assert made.admission == OpenAdmission(8)


def forked(*, swapped: bool) -> tuple[Findings, Findings]:
    """What the close of join shows in its own log, and in one that lacks the first join.

    Or has the first two joins in another order: then the roll is the same, and the root is not.
    """
    simulation = simulate(toolkit=SWIFT)
    simulation.run_round(inputs_for(SCALAR))
    entries = simulation.parties[0].access.board.entries
    closed = next(e.index for e in entries if e.entry.kind == Kind.CLOSE)
    log = entries[:closed]
    key = simulation._organiser_access.key
    organiser = Organiser(simulation.manifest, key, rng=seeded(2), toolkit=SWIFT)
    for posted in log:
        organiser.step(posted)
    edge = RightEdge()
    edge.extend([posted.leaf for posted in log])
    organiser.step(Seen(len(log), edge.root()))
    (close,) = organiser.step(PhaseOver(len(log)))
    assert isinstance(close, SendMessage)
    (raw,) = close.entries
    last = Posted(len(log), leaf_hash(raw), Submission.decode(raw).entry)
    assert last.entry.seen_size == len(log)
    joined = next(e.index for e in log if e.entry.kind == Kind.JOIN)
    others = [*log, last]
    first = others.pop(joined)
    if swapped:
        others.insert(joined + 1, first)
    fork = [replace(posted, index=index) for index, posted in enumerate(others)]
    return check([*log, last], SWIFT, rng=seeded(3)), check(fork, SWIFT, rng=seeded(3))


def test_an_organiser_that_was_shown_another_log_is_not_convicted_by_this_one() -> None:
    for swapped, rule in ((False, "04-C2"), (True, "04-C7")):
        own, fork = forked(swapped=swapped)
        assert own.faults == ()
        assert [(fault.rule, fault.proved) for fault in fork.faults] == [(rule, False)]


def test_an_organiser_closes_no_phase_without_the_root_of_the_newest_checkpoint() -> None:
    """The manifest and the open of a round need none."""
    simulation = simulate(toolkit=SWIFT)
    simulation.run_round(inputs_for(SCALAR))
    entries = simulation.parties[0].access.board.entries
    closed = next(e.index for e in entries if e.entry.kind == Kind.CLOSE)
    key = simulation._organiser_access.key
    organiser = Organiser(simulation.manifest, key, rng=seeded(2), toolkit=SWIFT)
    for posted in entries[:closed]:
        organiser.step(posted)
    organiser.step(Seen(closed - 1, bytes(32)))
    with pytest.raises(UsageError) as caught:
        organiser.step(PhaseOver(closed))
    assert caught.value.field == "size"
    board = simulation.parties[0].access.board
    organiser.step(Seen(closed, board.root_at(closed)))
    assert organiser.step(PhaseOver(closed))


def test_checkpoints_that_an_organiser_names_grow() -> None:
    desk = Desk()
    desk.organiser.step(Seen(3, bytes(32)))
    for wrong in (Seen(2, bytes(32)), Seen(4, bytes(31))):
        with pytest.raises(UsageError) as caught:
            desk.organiser.step(wrong)
        assert caught.value.field == "size"


def test_rounds_are_run_while_there_are_some_and_with_an_input_for_each_party() -> None:
    simulation = simulate(replace(SCALAR, rounds=1), toolkit=SWIFT)
    inputs = inputs_for(SCALAR)
    for wrong in (inputs[:-1], [*inputs, None]):
        with pytest.raises(UsageError) as caught:
            simulation.run_round(wrong)
        assert caught.value.field == "inputs"
    assert simulation.run_round(inputs).sums is not None
    with pytest.raises(UsageError):
        simulation.run_round(inputs)


def test_noise_is_told_of_a_party_that_has_just_committed_only() -> None:
    simulation = simulate(toolkit=SWIFT)
    inputs = inputs_for(SCALAR)
    simulation.run_round(inputs)
    assert simulation.noise_for_tests[1, 0]
    actor = simulation.parties[0]
    with pytest.raises(UsageError) as caught:
        noise_for_tests(actor.state, actor.author, tuple(inputs[0]))
    assert caught.value.field == "state"


def test_who_drops_out_does_so_once() -> None:
    assert Script().drop(1, after=Phase.JOIN).parties
    assert Script().drop(1, before=Phase.COMMIT).parties
    for before, after in ((None, None), (Phase.COMMIT, Phase.JOIN)):
        with pytest.raises(UsageError) as caught:
            Script().drop(1, before=before, after=after)
        assert caught.value.field == "before"


class Mute:
    """An organiser that never says a word."""

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        del access, control
        return ()


def test_without_a_manifest_nobody_says_anything() -> None:
    simulation = simulate(script=Script().organise(Mute()), toolkit=SWIFT)
    record = simulation.run_round(inputs_for(SCALAR))
    assert record.sums is None
    assert not simulation._board.entries


def test_a_close_without_a_list_lacks_nobody() -> None:
    simulation = simulate(toolkit=SWIFT)
    assert simulation.run_round(inputs_for(SCALAR)).sums is not None
    closes = [
        CLOSE.decode(posted.entry.body)
        for posted in simulation._board.entries
        if posted.entry.kind == Kind.CLOSE
    ]
    changed = {close.phase for close in closes if lacking(0)(close) != close}
    assert changed
    assert changed == {close.phase for close in closes if isinstance(close.content, Roll | Members)}


def test_a_lie_in_a_message_that_another_made_unreadable_changes_nothing() -> None:
    both = Script().misbehave(2, Garbage(Phase.COMMIT), lying("commit", spoil_proof()))
    for script in (Script().misbehave(2, lying("commit", spoil_proof())), both):
        simulation = simulate(script=script, toolkit=SWIFT)
        record = simulation.run_round(inputs_for(SCALAR))
        assert record.sums is not None
        assert 2 not in record.included
        assert {fault.author for fault in record.findings.faults} <= {simulation.parties[2].author}


def test_behaviours_are_those_of_parties_of_the_session() -> None:
    """A liar that is nobody would show that nobody lies."""
    simulate(script=Script().drop(7, before=Phase.JOIN), toolkit=SWIFT)
    for nobody in (8, -1):
        with pytest.raises(UsageError) as caught:
            simulate(script=Script().drop(nobody, before=Phase.JOIN), toolkit=SWIFT)
        assert caught.value.field == "script"
