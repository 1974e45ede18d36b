"""Rollback: edges to parties that are gone are opened, and who refuses goes too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import Abort, AbortReason, RemovalCause
from gopa.contract.party import EdgeOpenings, OpenedEdge
from gopa.contract.phases import Kind, Phase
from gopa.graph import from_edges
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, World

FIRST = (2, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2")


def refused(
    place: int, cause: RemovalCause = RemovalCause.ABSENT, rule: str = "04-O3"
) -> tuple[int, Phase, RemovalCause, str]:
    return place, Phase.ROLLBACK, cause, rule


def to_rollback(world: World) -> None:
    world.run(skip={Phase.PUBLISH: [2]}, until=Phase.ROLLBACK)


def test_who_refuses_to_open_is_removed() -> None:
    baseline()
    world = make()
    to_rollback(world)
    assert world.view.owed == {0: (2,), 1: (2,), 3: (2,), 4: (2,)}
    world.phase(skip=[4])
    world.control()
    assert world.view.step == 2
    assert world.view.owed == {0: (4,), 1: (4,), 3: (4,)}
    world.run()
    found = require(world, [FIRST, refused(4)], (), [0, 1, 3])
    lists = [(each.phase, each.step, each.members, each.final) for each in found.rounds[0].lists]
    assert lists[3:7] == [
        (Phase.PUBLISH, 0, (0, 1, 3, 4), False),
        (Phase.ROLLBACK, 1, (0, 1, 3), False),
        (Phase.ROLLBACK, 2, (0, 1, 3), True),
        (Phase.CONFIRM, 0, (0, 1, 3), False),
    ]


@pytest.mark.parametrize("kind", ["scalar", "vector", "signed", "gaussian"])
def test_a_wrong_key_opens_nothing(kind: str) -> None:
    baseline(kind)
    world = make(kind)
    to_rollback(world)
    world.phase(change={4: lambda o: replace(o, edges=(OpenedEdge(2, bytes(32)),))})
    world.run()
    row = refused(4, RemovalCause.INVALID, "04-O2")
    require(world, [FIRST, row], [(4, "04-O2")], [0, 1, 3])


@pytest.mark.parametrize(
    "edges",
    [
        lambda own: (*own, OpenedEdge(3, bytes(32))),
        lambda own: (OpenedEdge(1, bytes(32)), *own),
        lambda own: (*own, *own),
        lambda _: (OpenedEdge(3, bytes(32)),),
        lambda _: (OpenedEdge(99, bytes(32)),),
    ],
    ids=["one more", "one in front", "twice", "another", "nobody's"],
)
def test_an_opening_has_exactly_what_is_owed(edges: Change) -> None:
    baseline()
    world = make()
    to_rollback(world)
    world.phase(change={4: lambda o: replace(o, edges=edges(o.edges))})
    world.run()
    row = refused(4, RemovalCause.INVALID, "04-O1")
    require(world, [FIRST, row], [(4, "04-O1")], [0, 1, 3])


def test_who_owes_nothing_opens_nothing() -> None:
    """On a ring 0-1-2-3-4-0 only the neighbours of the one that is gone owe something."""
    ring = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    world = make(graph=lambda *_: ring)
    to_rollback(world)
    assert world.view.owed == {1: (2,), 3: (2,)}
    assert world.view.expected == {world.at(1).author, world.at(3).author}
    key = world.at(0)._edge_key(4).reveal()
    opening = EdgeOpenings(world.view.acts_on, (OpenedEdge(4, key),))
    world.say(world.at(0), Phase.ROLLBACK, opening)
    world.run()
    require(world, [FIRST, refused(0, RemovalCause.INVALID, "04-O1")], [(0, "04-O1")], [1, 3, 4])


def test_an_opening_of_somebody_who_is_gone_changes_nothing() -> None:
    baseline()
    world = make()
    to_rollback(world)
    key = world.at(2)._edge_key(0).reveal()
    opening = EdgeOpenings(world.view.acts_on, (OpenedEdge(0, key),))
    world.say(world.at(2), Phase.ROLLBACK, opening)
    world.run()
    require(world, [FIRST], (), [0, 1, 3, 4])


@pytest.mark.parametrize("kind", ["scalar", "signed"])
@pytest.mark.parametrize("right_first", [True, False])
def test_of_two_openings_the_first_counts(kind: str, right_first: bool) -> None:
    baseline(kind)
    world = make(kind)
    to_rollback(world)
    right = world.at(4).opening(world.view)
    wrong = replace(right, edges=(*right.edges, OpenedEdge(3, bytes(32))))
    said, again = (right, wrong) if right_first else (wrong, right)
    world.phase(change={4: lambda _: said})
    world.say(world.at(4), Phase.ROLLBACK, again)
    world.run()
    if right_first:
        require(world, [FIRST], (), [0, 1, 3, 4])
        return
    row = refused(4, RemovalCause.INVALID, "04-O1")
    require(world, [FIRST, row], [(4, "04-O1")], [0, 1, 3])


def test_a_late_opening_does_not_count() -> None:
    baseline()
    world = make()
    to_rollback(world)
    view = world.view
    world.phase(skip=[4])
    cut, late = len(world.log), world.at(4)
    world.say(late, Phase.ROLLBACK, late.opening(view))
    world.control(cut=cut)
    world.run()
    cut_off = refused(4, RemovalCause.ABSENT, "04-C6")
    found = require(world, [FIRST, cut_off], (), [0, 1, 3])
    assert [note.rule for note in found.notes] == ["04-C6"]


def test_who_lost_too_many_neighbours_by_refusals_is_off_the_list() -> None:
    """All are neighbours, and each may lose one: one refusal on top of a dropout is too many."""
    world = make(loss=1)
    world.run(skip={Phase.PUBLISH: [2]})
    require(world, [FIRST], (), [0, 1, 3, 4])
    world = make(loss=1)
    to_rollback(world)
    world.phase(skip=[4])
    world.control()
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits) == (AbortReason.TOO_FEW_LEFT, (4,))
    lost = {row.position for row in world.check().rounds[0].removals if row.rule == "04-L2"}
    assert lost == {0, 1, 3}


def test_rollbacks_are_bounded() -> None:
    baseline()
    world = make(max_rollbacks=1)
    to_rollback(world)
    world.phase(skip=[4])
    world.control()
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits, ended.released) == (
        AbortReason.TOO_MANY_ROLLBACKS,
        (4,),
        0,
    )
    require(world, [FIRST, refused(4)])


def test_one_rollback_is_enough_where_everybody_opens() -> None:
    baseline()
    world = make(max_rollbacks=1)
    world.run(skip={Phase.PUBLISH: [2]})
    require(world, [FIRST], (), [0, 1, 3, 4])


def test_huge_masks_of_two_colluders_leave_no_residue() -> None:
    """One drops after publishing nothing, the other refuses to open: both are out."""
    baseline("signed")
    world = make("signed")
    to_rollback(world)
    world.phase(skip=[1])
    world.control()
    world.run()
    require(world, [FIRST, refused(1)], (), [0, 3, 4])


def test_neighbours_of_dropouts_drop_too() -> None:
    """Peeled at loss 1: who lost two neighbours goes, its edges are opened by the others."""
    path = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    world = make(graph=lambda *_: path, loss=1)
    world.run(skip={Phase.PUBLISH: [2], Phase.ROLLBACK: [3]})
    # 1 and 3 owe the edge to 2; 3 refuses; 4 owes the edge to 3.
    rows = [FIRST, refused(3)]
    found = require(world, rows, (), [0, 1, 4])
    assert found.rounds[0].opened == ((1, 2), (3, 4))


def test_an_edge_inside_the_final_list_is_never_opened() -> None:
    """Party 0 opens one all the same: it is blamed, and the edge counts as open."""
    baseline()
    world = make()
    to_rollback(world)
    acts_on = world.view.acts_on
    world.phase()
    world.control()
    key = world.at(0)._edge_key(1).reveal()
    world.say(world.at(0), Phase.ROLLBACK, EdgeOpenings(acts_on, (OpenedEdge(1, key),)))
    world.run()
    found = require(world, [FIRST], [(0, "04-O5")], [0, 1, 3, 4])
    assert (0, 1) in found.rounds[0].opened


def test_an_opening_shown_to_another_log_is_nobodys_fault() -> None:
    baseline()
    world = make()
    to_rollback(world)
    world.phase()
    world.control()
    key = world.at(0)._edge_key(1).reveal()
    world.say(world.at(0), Phase.ROLLBACK, EdgeOpenings(bytes(32), (OpenedEdge(1, key),)))
    world.run()
    found = require(world, [FIRST], (), [0, 1, 3, 4])
    assert (0, 1) in found.rounds[0].opened


@pytest.mark.parametrize(
    ("silent", "kind", "faults"),
    [
        ([], Kind.OPENING, [(0, "04-F3")]),
        ([0], Kind.OPENING, []),
        ([], Kind.CONFIRM, []),
    ],
    ids=["confirmed", "did not confirm", "no opening"],
)
def test_who_confirmed_opens_nothing(
    silent: list[int], kind: Kind, faults: list[tuple[int, str]]
) -> None:
    """An opening that opens nothing convicts with the confirmation only."""
    baseline()
    world = make()
    to_rollback(world)
    acts_on = world.view.acts_on
    world.phase()
    world.control()
    world.phase(skip=silent)
    opening = EdgeOpenings(acts_on, (OpenedEdge(2, bytes(32)),))
    world.say(world.at(0), Phase.ROLLBACK, opening, kind=kind)
    world.run(skip={Phase.CONFIRM: silent})
    require(world, [FIRST], faults, [0, 1, 3, 4])


@pytest.mark.parametrize("after", [False, True])
def test_what_was_opened_before_the_confirmation_breaks_no_promise(after: bool) -> None:
    """Party 0 says its opening twice before the close, and confirms: only the order convicts."""
    baseline()
    world = make()
    to_rollback(world)
    again = world.at(0).opening(world.view)
    world.phase(change={0: lambda _: again})
    if not after:
        world.say(world.at(0), Phase.ROLLBACK, again)
    world.control()
    world.phase()
    if after:
        world.say(world.at(0), Phase.ROLLBACK, again)
    world.run()
    require(world, [FIRST], [(0, "04-F3")] if after else [], [0, 1, 3, 4])


@pytest.mark.parametrize("silent", [[1, 3, 4], [3, 4]], ids=["alone", "not alone"])
def test_a_confirmation_binds_also_where_the_round_ends_with_it(silent: list[int]) -> None:
    """Whoever opens edges behind its confirmation is named, whatever becomes of the others'."""
    baseline()
    world = make()
    to_rollback(world)
    again = world.at(0).opening(world.view)
    world.phase(change={0: lambda _: again})
    world.control()
    world.phase(skip=silent)
    world.say(world.at(0), Phase.ROLLBACK, again)
    world.control()
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert ended.reason is AbortReason.NOT_CONFIRMED
    require(world, [FIRST], [(0, "04-F3")])


def test_a_confirmation_above_the_cut_binds_too() -> None:
    baseline()
    world = make()
    to_rollback(world)
    again = world.at(0).opening(world.view)
    world.phase(change={0: lambda _: again})
    world.control()
    world.phase(skip=[0])
    cut = len(world.log)
    world.say(world.at(0), Phase.CONFIRM, world.at(0).confirm(world.view))
    world.control(cut)
    world.say(world.at(0), Phase.ROLLBACK, again)
    world.run()
    require(world, [FIRST], [(0, "04-F3")], [0, 1, 3, 4])


def test_who_confirmed_and_opens_an_edge_inside_breaks_two_rules() -> None:
    baseline()
    world = make()
    to_rollback(world)
    acts_on = world.view.acts_on
    world.phase()
    world.control()
    world.phase()
    key = world.at(0)._edge_key(1).reveal()
    world.say(world.at(0), Phase.ROLLBACK, EdgeOpenings(acts_on, (OpenedEdge(1, key),)))
    world.run()
    faults = [(0, "04-F3"), (0, "04-O5")]
    found = require(world, [FIRST], faults, [0, 1, 3, 4])
    assert (0, 1) in found.rounds[0].opened


def test_a_key_in_another_kind_of_message_is_no_opening() -> None:
    baseline()
    for kind, opened in ((Kind.OPENING, True), (Kind.CONFIRM, False)):
        world = make()
        to_rollback(world)
        world.phase()
        world.control()
        key = world.at(0)._edge_key(1).reveal()
        shown = EdgeOpenings(bytes(32), (OpenedEdge(1, key),))
        world.say(world.at(0), Phase.ROLLBACK, shown, kind=kind)
        world.run()
        found = require(world, [FIRST], (), [0, 1, 3, 4])
        assert ((0, 1) in found.rounds[0].opened) == opened
