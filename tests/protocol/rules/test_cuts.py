"""What a cut leaves out counts for nothing and against nobody; vetoes are named (04-C6, 04-X7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gopa.contract.framing import MessageSlot, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import ABORT, AbortReason
from gopa.contract.phases import Phase
from gopa.protocol.rules import RoundFindings
from tests.protocol.rules.test_retry import barred, give_up
from tests.protocol.rules.worlds import baseline, blamed, make, removals
from tests.protocol.scribe import World

ALL = set(range(5))
LATE_IN = [Phase.PUBLISH, Phase.ROLLBACK, Phase.CONFIRM, Phase.UNMASK]


def cut_below(world: World, late: Iterable[int], skip: Iterable[int] = ()) -> int:
    """Everybody speaks, these last, and the cut is right below them: the index of the first."""
    last = list(late)
    world.phase(skip=[*last, *skip])
    cut = len(world.log)
    world.phase(skip=[n for n in range(len(world.parties)) if n not in last])
    world.control(cut=cut)
    return cut


def the_round(world: World, number: int = 1) -> RoundFindings:
    """The round, of which nobody else has another opinion."""
    found = world.check()
    assert found == world.ledger.findings()
    return found.rounds[number - 1]


def vetoes(world: World) -> set[tuple[str, bytes, int]]:
    return {
        (note.rule, note.author, index)
        for note in world.check().notes
        if note.rule == "04-X7"
        for index in note.entries
    }


def author_of(manifest: Manifest) -> bytes:
    return manifest.organiser


def test_a_cut_below_the_last_seed_is_the_organisers_veto_and_nobody_elses() -> None:
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(until=Phase.UNMASK)
    cut = cut_below(world, [2])
    found, ended = the_round(world), len(world.log) - 1
    assert ABORT.decode(world.log[ended].entry.body).culprits == (2,)
    assert (found.abort, found.culprits, found.veto) == (AbortReason.NOT_UNMASKED, (), (ended, cut))
    organiser = author_of(world.manifest)
    assert vetoes(world) == {("04-X7", organiser, ended), ("04-X7", organiser, cut)}
    assert not world.check().faults
    world.control()
    assert barred(world) == set()
    world.run()
    assert the_round(world, 2).sums == world.expected_sums(range(5))


def test_whoever_posts_behind_the_abort_is_a_culprit_and_barred() -> None:
    """The same entry one place later: the log shows nothing that would speak for its author."""
    world = make(rounds=2)
    world.run(until=Phase.UNMASK)
    late, view = world.at(2), world.view
    world.phase(skip=[2])
    world.control()
    world.say(late, Phase.UNMASK, late.unmask(view))
    found = the_round(world)
    assert (found.culprits, found.veto) == ((2,), ())
    assert [(note.rule, note.author) for note in world.check().notes] == [("04-C2", late.author)]
    world.control()
    assert barred(world) == {2}


@pytest.mark.parametrize("phase", LATE_IN, ids=lambda phase: phase.name.lower())
def test_nobody_is_barred_for_what_was_cut_off(phase: Phase) -> None:
    """Somebody else is gone from publish on, and another one vetoes the round at its end."""
    world = make("recovery" if phase is Phase.UNMASK else "scalar", rounds=2)
    world.run(skip={Phase.PUBLISH: [4]}, until=phase)
    cut_below(world, [1], [4])
    if world.view.ended is None:
        world.run(skip={Phase.UNMASK: [2], Phase.RECOVER: [0, 1, 3]})
    assert world.view.ended is not None
    found = the_round(world)
    rows = {row for row in removals(found) if row[0] == 1}
    assert {rule for *_, rule in rows} == ({"04-C6"} if phase <= Phase.ROLLBACK else set())
    assert 1 not in found.culprits
    world.control()
    assert barred(world) == ({4} if phase is Phase.UNMASK else {4, 2})


def test_a_wrong_seed_in_the_gap_is_held_against_its_author() -> None:
    world = make(rounds=2)
    world.run(until=Phase.UNMASK)
    world.phase(skip=[2])
    cut, late = len(world.log), world.at(2)
    world.say(late, Phase.UNMASK, replace(late.unmask(world.view), seed=bytes(32)))
    world.control(cut=cut)
    found = the_round(world)
    assert (found.culprits, found.veto) == ((2,), ())
    world.control()
    assert barred(world) == {2}


def test_of_a_veto_nobody_is_to_blame_and_who_was_absent_is_barred() -> None:
    """Three of five are enough to confirm: one less, and the other two would be named for it."""
    world = make(rounds=2)
    world.run(until=Phase.CONFIRM)
    cut = cut_below(world, [2], [3, 4])
    found = the_round(world)
    assert (found.abort, found.culprits) == (AbortReason.NOT_CONFIRMED, ())
    assert found.veto == (len(world.log) - 1, cut)
    world.control()
    assert barred(world) == {3, 4}


def test_too_few_all_the_same_is_no_veto() -> None:
    world = make(rounds=2)
    world.run(until=Phase.CONFIRM)
    cut_below(world, [1], [2, 3, 4])
    found = the_round(world)
    assert (found.abort, found.culprits, found.veto) == (AbortReason.NOT_CONFIRMED, (2, 3, 4), ())
    world.control()
    assert barred(world) == {2, 3, 4}


@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH])
def test_a_cut_that_leaves_too_few_is_a_veto_in_every_phase(phase: Phase) -> None:
    world = make(rounds=2)
    world.run(until=phase)
    cut = cut_below(world, [1, 2, 3])
    found = the_round(world)
    assert found.abort is not None
    assert (found.culprits, found.released) == ((), False)
    assert found.veto == (len(world.log) - 1, cut, cut + 1, cut + 2)
    world.control()
    assert barred(world) == set()


def test_whoever_leaves_before_commit_is_a_culprit_of_an_abort_and_not_barred() -> None:
    """As somebody does that dated the roll too late: it blames nobody, and no log shows why."""
    baseline(rounds=2)
    world = make(rounds=2)
    world.run(until=Phase.COMMIT)
    world.phase(skip=[1, 2, 3, 4])
    world.control()
    found = the_round(world)
    roll = [each.author for each in world.view.roll]
    absent = {world.parties[number].author for number in (1, 2, 3, 4)}
    assert found.abort is AbortReason.TOO_FEW_LEFT
    assert {roll[position] for position in found.culprits} == absent & set(roll)
    assert found.culprits
    assert found.veto == ()
    world.control()
    assert barred(world) == set()
    world.run()
    assert the_round(world, 2).sums == world.expected_sums(range(5))


def test_a_seed_that_was_cut_off_is_known_when_recovery_fails() -> None:
    """First the seed is cut off, then neighbours keep their shares: the sum is in the log."""
    baseline("recovery", rounds=2)
    world = make("recovery", rounds=2)
    world.run(until=Phase.UNMASK)
    cut_below(world, [2])
    assert world.view.opens is Phase.RECOVER
    world.phase(skip=[0, 1, 3])
    world.control()
    found, ended = the_round(world), len(world.log) - 1
    assert ABORT.decode(world.log[ended].entry.body).culprits == (2,)
    assert (found.abort, found.culprits, found.veto) == (AbortReason.NOT_UNMASKED, (), (ended,))


def test_shares_that_were_cut_off_are_a_veto() -> None:
    world = make("recovery", rounds=2)
    world.run(skip={Phase.UNMASK: [2]}, until=Phase.RECOVER)
    cut = cut_below(world, [0, 1, 3])
    found = the_round(world)
    assert found.veto == (len(world.log) - 1, cut, cut + 1, cut + 2)
    world.control()
    assert barred(world) == {2}


@pytest.mark.parametrize("in_the_gap", [(2, 4), (2,), ()], ids=str)
def test_a_share_that_was_cut_off_excuses_nobody_who_keeps_its_seed(
    in_the_gap: tuple[int, ...],
) -> None:
    """Two that veto post shares of each other's masks between the organiser's cut and its abort."""
    baseline("recovery", rounds=2)
    world = make("recovery", rounds=2)
    world.run(skip={Phase.UNMASK: [2, 4]}, until=Phase.RECOVER)
    silent = {0, 1, 2, 4} - set(in_the_gap)
    if in_the_gap:
        cut_below(world, in_the_gap, silent)
    else:
        world.phase(skip=silent)
        world.control()
    found = the_round(world)
    assert (found.abort, found.culprits, found.veto) == (AbortReason.NOT_UNMASKED, (2, 4), ())
    assert vetoes(world) == set()
    world.control()
    assert barred(world) == {2, 4}


def test_who_is_late_in_unmask_stays_spared_and_who_keeps_its_seed_does_not() -> None:
    """The seed of one is in the log; the other keeps its own, and posts a share in the gap."""
    world = make("recovery", rounds=2)
    world.run(until=Phase.UNMASK)
    cut_below(world, [2], [4])
    assert world.view.opens is Phase.RECOVER
    cut_below(world, [2, 4], [0, 1])
    found = the_round(world)
    assert (found.abort, found.culprits, found.veto) == (AbortReason.NOT_UNMASKED, (4,), ())
    world.control()
    assert barred(world) == {4}


@pytest.mark.parametrize("complete", [True, False])
def test_an_abort_for_no_reason_is_a_veto_of_what_is_there(complete: bool) -> None:
    world = make(rounds=2)
    world.run(until=Phase.UNMASK)
    world.phase(skip=() if complete else [2])
    assert world.ledger.carries_on(len(world.log)) is complete
    assert world.ledger.fails(len(world.log)) is not complete
    give_up(world)
    found = the_round(world)
    assert (found.abort, found.culprits) == (AbortReason.ORGANISER, ())
    assert found.veto == ((len(world.log) - 1,) if complete else ())
    world.control()
    assert barred(world) == set()


def test_before_the_final_close_an_abort_for_no_reason_is_just_that() -> None:
    world = make(rounds=2)
    world.run(until=Phase.PUBLISH)
    world.phase()
    give_up(world)
    assert the_round(world).veto == ()


@pytest.mark.parametrize("more", [0, 1])
def test_a_cut_is_not_below_what_the_organiser_says_it_has_seen(more: int) -> None:
    """It may not say that it read an entry and leave it out."""
    world = make(rounds=2)
    world.run(until=Phase.UNMASK)
    world.phase()
    cut = len(world.log) - 1
    due = world.ledger.next_control(cut)
    assert due is not None
    place = MessageSlot(
        world.session,
        Phase.ORGANISER,
        due.kind,
        due.round,
        due.seq,
        world._previous[author_of(world.manifest)],
        cut + more,
        bytes(32),
    )
    for raw in sign_message(due.body, place, world.organiser).entries:
        world.append(raw)
    found = world.check()
    assert {rule for _, rule in blamed(world, found)} == ({"04-C2"} if more else set())
    assert found.rounds[0].abort == (None if more else AbortReason.NOT_UNMASKED)
