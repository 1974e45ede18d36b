"""Forks with up to three branches: no small sum becomes known, and attacks that would do it.

A hole is a set of honest parties, fewer than the plan promises, whose sum of inputs and
noise follows from what honest parties gave away on all branches together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bulletin_board.tree import PastRoots
from gopa.protocol.party import Halted, Post, PostedClose, with_root
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.states import Confirmed
from gopa.protocol.party.view import RoundView
from tests.auditing.negatives import ANY_TERMS
from tests.small_worlds.branches import Forking
from tests.small_worlds.forks import (
    OWN_COUNT,
    RULES,
    Branch,
    Forked,
    Gained,
    Rules,
    bare,
    follow,
    forks,
    has_spare_edges,
    holes,
    is_planned,
    known_sums,
    subsets,
)
from tests.small_worlds.graphs import complete, connected_shapes, degrees, distinct_parties, pair
from wire.errors import SuspectedPartyOrBoard

HALF = Fraction(1, 2)
COMPLETE = connected_shapes(5)[-1]
CYCLE = next(each for each in connected_shapes(5) if degrees(5, each) == [2] * 5)

SPENT_TWICE = Forked(5, COMPLETE, survivors=3, loss=2, corrupt=frozenset({0}), threshold=HALF)
"""Three honest neighbours for each: with two lost some are left, and with two twice none."""

SPARE = Forked(5, COMPLETE, survivors=4, loss=1, corrupt=frozenset({0}), threshold=HALF)
WIDE = [
    Forked(6, complete(6), survivors=4, loss=2, corrupt=corrupt, threshold=HALF)
    for corrupt in (frozenset[int](), frozenset({0}))
]
"""Two may be lost twice; 03-V24c grants it with one corrupt party as the graph is complete."""

UNEVEN = Forked(5, CYCLE, survivors=3, loss=1)
"""One party may lose both neighbours while all others lose one each."""


def planned(parties: int, threshold: Fraction | None) -> Iterator[Forked]:
    """All worlds that a plan allowed which grants r lost neighbours and no more."""
    for edges in connected_shapes(parties):
        nobody: list[frozenset[int]] = [frozenset()]
        for corrupt in nobody + [frozenset({u}) for u in distinct_parties(parties, edges)]:
            for survivors in range(len(corrupt) + 2, parties + 1):
                for loss in range(parties - survivors + 1):
                    world = Forked(parties, edges, survivors, loss, corrupt, threshold)
                    if is_planned(world):
                        yield world


def with_holes(worlds: Iterator[Forked], rules: Rules, most: int = 3) -> list[Forked]:
    return [world for world in worlds if any(True for _ in holes(world, rules, most))]


FIVE = [3, 4, 5]
SIX = pytest.param(6, marks=pytest.mark.soak)


@pytest.mark.parametrize("parties", [*FIVE, SIX])
def test_with_recovery_no_fork_exposes_anybody_if_a_plan_grants_twice_the_loss(
    parties: int,
) -> None:
    worlds = [world for world in planned(parties, HALF) if has_spare_edges(world)]
    assert any(world.loss for world in worlds) == (parties > 3)
    assert with_holes(iter(worlds), RULES) == []


@pytest.mark.parametrize("parties", [*FIVE, SIX])
def test_without_recovery_no_fork_exposes_anybody_at_all(parties: int) -> None:
    assert with_holes(planned(parties, None), RULES) == []


@pytest.mark.parametrize("world", WIDE, ids=["all honest", "one corrupt"])
def test_complete_graphs_of_six_with_two_lost_twice_expose_nobody(world: Forked) -> None:
    """One party fewer has to survive, and three branches leave somebody without a mask."""
    gone = min(world.loss, world.parties - world.survivors)
    assert is_planned(world)
    assert world.fewest - gone >= 1
    assert with_holes(iter([world]), RULES) == []
    fewer = replace(world, survivors=world.survivors - 1, loss=world.loss + 1)
    assert with_holes(iter([fewer]), RULES) == [fewer]


@pytest.mark.slow
def test_with_recovery_three_branches_spend_the_loss_twice() -> None:
    """Two branches do not, and three do: a plan that grants r only is not enough."""
    found = with_holes(planned(5, HALF), RULES)
    assert SPENT_TWICE in found
    assert not any(map(has_spare_edges, found))
    assert with_holes(iter(found), RULES, most=2) == []


@pytest.mark.parametrize("parties", [*FIVE, SIX])
def test_recovered_parties_lose_twice_the_loss_and_the_others_once(parties: int) -> None:
    """Of their honest neighbours these many are elsewhere or known, and no more."""
    reached = set()
    for world in planned(parties, HALF):
        if has_spare_edges(world) and world.loss:
            for gained in forks(world):
                known = {
                    u: sum(u in edge for edge in open_to_all(world, gained)) for u in world.honest
                }
                once = max((known[u] for u in gained.seeds), default=0)
                twice = max((known[u] for u in bare(world, gained)), default=0)
                assert once <= world.loss
                assert twice <= 2 * world.loss
                reached.add((once - world.loss, twice - 2 * world.loss))
    assert {each for _, each in reached} >= ({0} if parties > 5 else set())
    assert {each for each, _ in reached} >= ({0} if parties > 3 else set())


def open_to_all(world: Forked, gained: Gained) -> list[tuple[int, int]]:
    """Opened edges between honest parties."""
    return [edge for edge in gained.opened if world.honest.issuperset(edge)]


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("threshold", [None, HALF], ids=["no recovery", "recovery"])
def test_who_counts_for_itself_alone_lets_others_be_exposed(threshold: Fraction | None) -> None:
    """Two branches are enough: one of the confirmed keeps its seed, and the sum lacks it."""
    found = with_holes(planned(5, threshold), OWN_COUNT, most=2)
    assert Forked(5, CYCLE, 3, 1, threshold=threshold) in found
    assert with_holes(iter(found), RULES, most=2) == []


@pytest.mark.parametrize("world", [SPENT_TWICE, UNEVEN], ids=["three branches", "own count"])
def test_known_sums_are_what_linear_algebra_knows(world: Forked) -> None:
    """A sum is known if no unknown mask is left in it; those are the sums of the model's sets."""
    seen = 0
    for gained in forks(world, OWN_COUNT):
        sums = known_sums(world, gained)
        masks = unknown_masks(world, gained)
        honest = sorted(world.honest)
        for group in sums:
            chosen = np.array([float(u in group) for u in honest])
            assert not (chosen @ masks).any()
        free = len(honest) - int(np.linalg.matrix_rank(masks)) if masks.size else len(honest)
        assert free == len(sums)
        seen += 1
    assert seen > 50


def unknown_masks(
    world: Forked, gained: Gained
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """One row for each honest party, one column for each mask that the coalition lacks."""
    honest = sorted(world.honest)
    inside = [edge for edge in sorted(world.edges - gained.opened) if world.honest.issuperset(edge)]
    own = [u for u in honest if u not in bare(world, gained)]
    masks = np.zeros((len(honest), len(inside) + len(own)))
    for column, (u, v) in enumerate(inside):
        masks[honest.index(u), column], masks[honest.index(v), column] = 1, -1
    for column, u in enumerate(own, len(inside)):
        masks[honest.index(u), column] = 1
    return masks


@pytest.mark.thirds
@pytest.mark.parametrize("rules", [RULES, OWN_COUNT], ids=["of everybody", "own count"])
@pytest.mark.parametrize(
    "world",
    [SPENT_TWICE, SPARE, UNEVEN, *(pytest.param(each, marks=pytest.mark.soak) for each in WIDE)],
    ids=["three branches", "spare edges", "uneven", "six", "six with one corrupt"],
)
def test_machines_give_away_what_the_model_says(
    world: Forked, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All branches that there are, with real parties; with the old count they are as weak."""
    ANY_TERMS(monkeypatch)  # else nobody would join where a plan grants too little
    forking, released = Forking.of(world), 0
    if not rules.of_everybody:
        monkeypatch.setattr(RoundView, "most_lost", lambda view, _, inside: view.lost(inside))
    for shown in subsets(world.honest):
        for rest in subsets(world.everybody - shown):
            branch = Branch(shown, shown | rest)
            gained = forking.follow(branch, world.corrupt)
            assert gained == follow(world, branch, rules), branch
            released += bool(gained.seeds)
    assert released > 0


def in_rows(world: Forked, branch: Branch, left: frozenset[int]) -> Gained:
    """What follows where words are proved, by a list of proofs and what is `left` of it.

    Whoever opens an edge reads what its listed neighbours said of theirs under the same close. Who
    is honest and on another branch has said nothing there, and stops whoever looks for it.
    """
    listed = branch.listed
    if left == world.everybody:
        return follow(world, branch)
    away = world.honest - branch.shown
    stops = {u for u in listed if world.neighbours(u) & listed & away}
    here = replace(branch, shown=branch.shown - stops)
    if left == listed:
        return follow(world, here)
    first = follow(world, here)
    stay = {u for u in here.shown & listed if world.lost(u, listed) <= world.loss}
    also = frozenset(pair(u, v) for u in stay for v in world.neighbours(u) & (listed - left))
    opened = first.opened | also if len(listed) >= world.survivors else frozenset()
    return Gained(opened) | follow(world, Branch(frozenset(stay), left))


@pytest.mark.slow
@pytest.mark.parametrize("disputes", [False, True], ids=["agreed", "disputed"])
@pytest.mark.parametrize(
    "world",
    [SPENT_TWICE, SPARE, pytest.param(UNEVEN, marks=pytest.mark.soak)],
    ids=["three branches", "spare edges", "uneven"],
)
def test_machines_whose_words_are_proved_give_away_no_more(
    world: Forked, disputes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All branches that there are, with real parties; a false edge is one to somebody corrupt.

    To dispute it leaves its author out, and gives away what leaving it out does.
    """
    ANY_TERMS(monkeypatch)
    forking, released = Forking.in_rows(world), 0
    for shown in subsets(world.honest):
        for rest in subsets(world.everybody - shown):
            branch = Branch(shown, shown | rest)
            left = branch.listed - (world.corrupt if disputes else frozenset())
            misled = shown if disputes else frozenset()
            gained = forking.follow(branch, world.corrupt, misled=misled)
            assert gained == in_rows(world, branch, left), branch
            bound = follow(world, branch) | follow(world, replace(branch, listed=left))
            assert replace(gained, opened=bound.opened) <= bound
            assert set(open_to_all(world, gained)) <= set(open_to_all(world, bound))
            released += bool(gained.seeds)
    assert released > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [SPENT_TWICE, pytest.param(SPARE, marks=pytest.mark.soak)],
    ids=["three branches", "spare edges"],
)
def test_who_is_shown_one_of_two_proofs_opens_edges_to_their_author_alone(
    world: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lookup left out the other one, and the organiser lists who signed both.

    Whoever is misled opens the edge to the liar, and stops when that one stays; the others go on
    as without them. Nobody is misled about an edge of two honest parties.
    """
    ANY_TERMS(monkeypatch)
    forking, corrupt = Forking.in_rows(world), world.corrupt
    branch = Branch(world.honest, world.everybody)
    for misled in subsets(world.honest):
        gained = forking.follow(branch, corrupt, misled=misled, stays=True)
        wrong = {pair(u, v) for u in misled for v in world.neighbours(u) & corrupt}
        rest = Branch(world.honest - misled, world.everybody)
        assert gained == Gained(frozenset(wrong)) | follow(world, rest), misled
        assert not open_to_all(world, gained)


@pytest.mark.parametrize("compared", [True, False], ids=["roots", "any roots"])
def test_one_close_leads_nobody_along_two_branches(
    compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the other branch somebody has published other bytes, and the close lists the same."""
    ANY_TERMS(monkeypatch)
    if not compared:
        monkeypatch.setattr(Chain, "require_root", lambda *_: None)
    forking = Forking.of(SPARE)
    close, one = forking.close_of_publish(), forking.simulation.parties[0]
    leaves = [each.leaf for each in one.access.board.entries[: close.index]]
    for branch, same in ((leaves, True), ([*leaves[:-1], bytes(32)], False)):
        event = with_root(forking.states[0].chain, close, root_of(branch))
        state, outputs = one.party.step(forking.states[0], event)
        assert isinstance(event, PostedClose)
        if same or not compared:
            assert isinstance(state.stage, Confirmed)
            assert [type(each) for each in outputs] == [Post]
        else:
            (halted,) = outputs
            assert isinstance(halted, Halted)
            assert isinstance(halted.error, SuspectedPartyOrBoard)
            assert halted.error.party == forking.simulation.manifest.organiser


def root_of(leaves: list[bytes]) -> Callable[[int], bytes]:
    def root_at(size: int) -> bytes:
        found = PastRoots(leaves).at(size)
        assert found is not None
        return found

    return root_at
