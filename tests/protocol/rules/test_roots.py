"""Closes carry the root of the log at their cut (04-C7)."""

from __future__ import annotations

from typing import Any

import pytest

from bulletin_board import Submission
from bulletin_board.tree import PastRoots
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.organiser import CLOSE, Close, Members
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import Findings, Ledger
from tests.protocol.rules.worlds import altered, baseline, make, require
from tests.protocol.scribe import World, changed
from tests.randomness import seeded
from wire.errors import UsageError

FOREIGN = b"\x07" * 32


def committed() -> World:
    """Everybody has committed; the close of commit is due."""
    world = make()
    world.run(until=Phase.COMMIT)
    world.phase()
    return world


def faults(found: Findings) -> list[tuple[str, bool]]:
    return [(fault.rule, fault.proved) for fault in found.faults]


def close_seen(world: World, seen: tuple[int, bytes], **fields: Any) -> Findings:
    """The close that is due with other fields, from an organiser that says what it has seen."""
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    body = altered(CLOSE, due, **fields)
    place = due.kind, due.round, due.seq, due.previous
    slot = MessageSlot(world.session, Phase.ORGANISER, *place, *seen)
    world.append(sign_message(body, slot, world.organiser).entries[0])
    return world.check()


def test_an_honest_close_has_the_root_below_its_cut() -> None:
    world = committed()
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    assert isinstance(due.message, Close)
    assert due.message.root == PastRoots([each.leaf for each in world.log]).at(due.message.cut)
    world.run()
    require(world, included=range(5))


def test_a_close_with_another_root_ends_the_session() -> None:
    baseline()
    world = committed()
    world.control(change=changed(root=FOREIGN))
    assert faults(world.check()) == [("04-C7", False)]
    assert world.ledger.state.failed


@pytest.mark.parametrize("before", [1, 3])
def test_a_close_with_the_root_of_another_size(before: int) -> None:
    """An earlier root does not say what stands between it and the cut."""
    baseline()
    world = committed()
    world.control(change=changed(root=world.past.at(len(world.log) - before)))
    assert faults(world.check()) == [("04-C7", False)]


def test_a_lower_cut_has_the_root_that_belongs_to_it() -> None:
    """Whoever posted the last entry is late by the cut, as with any lower cut."""
    world = committed()
    world.control(len(world.log) - 1)
    assert world.said[-1].kind is Kind.CLOSE
    assert world.check().faults == ()


def test_the_cut_comes_before_the_root_and_the_root_before_the_list() -> None:
    baseline()
    less = Members(b"\x0f", final=False)
    for change, rule in (
        (changed(cut=10**6, root=FOREIGN), "04-C2"),
        (changed(content=less, root=FOREIGN), "04-C7"),
        (changed(content=less), "04-C3"),
    ):
        world = committed()
        world.control(change=change)
        assert [each for each, _ in faults(world.check())] == [rule]


def test_who_has_seen_this_log_is_convicted_of_another_root() -> None:
    world = committed()
    size = len(world.log)
    right = world.past.at(size)
    assert right is not None
    assert faults(close_seen(world, (size, right))) == []
    assert faults(close_seen(committed(), (size, right), root=FOREIGN)) == [("04-C7", True)]


@pytest.mark.parametrize("what", ["another log", "nothing", "less"])
def test_who_may_have_seen_another_log_is_not_convicted(what: str) -> None:
    """A fork explains its close, whatever it lists; nobody goes on from it."""
    world = committed()
    size = len(world.log)
    less = world.past.at(size - 1)
    assert less is not None
    seen = {"another log": (size, FOREIGN), "nothing": (0, NO_LEAF), "less": (size - 1, less)}[what]
    found = close_seen(world, seen, root=FOREIGN)
    assert faults(found) == [("04-C7", False)]
    assert "04-E6" in {note.rule for note in found.notes}


def test_a_ledger_that_knows_no_log_believes_roots() -> None:
    """A file of evidence has some messages of a log, and not the log."""
    world = committed()
    world.control(change=changed(root=FOREIGN))
    ledger = Ledger(world.toolkit, rng=seeded("no log"))
    for posted in world.log:
        ledger.observe(posted)
    assert ledger.findings().faults == ()
    ledger, world = Ledger(world.toolkit, rng=seeded("no log")), committed()
    for posted in world.log:
        ledger.observe(posted)
    with pytest.raises(UsageError) as caught:
        ledger.next_control(len(world.log))
    assert caught.value.field == "root"
    assert ledger.next_control(len(world.log), root=FOREIGN) is not None


@pytest.mark.parametrize("whole", [True, False], ids=["the log", "its session alone"])
def test_roots_are_those_of_the_whole_log(whole: bool) -> None:
    """Entries of other sessions stand below a cut, too."""
    world, other = make(), make("signed", name="other session")
    world.run(until=Phase.COMMIT)
    stranger = Submission.decode(other.raws[0])
    world.log.append(Posted(len(world.log), stranger.leaf, stranger.entry))
    world.leaves.append(stranger.leaf)
    world.phase()
    own = [each.leaf for each in world.log if each.leaf != stranger.leaf]
    root = world.past.at(len(world.log)) if whole else PastRoots(own).at(len(own))
    world.control(change=changed(root=root))
    assert faults(world.check()) == ([] if whole else [("04-C7", False)])
