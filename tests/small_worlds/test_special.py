"""Small worlds that the catalogue of single faults does not reach."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.protocol.simulation.script import Drop
from gopa.rounds.real_proofs import RealProofs
from tests.adversary.switches import NO_GRACE
from tests.small_worlds.explore import require_sound
from tests.small_worlds.faults import (
    ANOTHER_SEED,
    CATALOGUE,
    CONSPIRACY,
    MAIN,
    ORDER,
    REPLAYS,
    Fault,
)
from tests.small_worlds.graphs import connected_shapes, distinct_pairs, distinct_parties
from tests.small_worlds.model import predict
from tests.small_worlds.oracle import posted_in
from tests.small_worlds.play import act_out, play, play_round, staged, terms_of
from tests.small_worlds.samples import sampled
from tests.small_worlds.world import World, with_faults

COMPLETE = connected_shapes(5)[-1]
HALF = Fraction(1, 2)
FIVE = World(5, COMPLETE, survivors=3, loss=1, threshold=HALF)
PHASES = [*ORDER[:-1], Phase.ACCUSE]


@pytest.mark.thirds
@pytest.mark.parametrize("name", sampled(CATALOGUE, every=6))
def test_every_fault_once_with_real_proofs(name: str) -> None:
    """Somebody else is gone, or refuses to unmask, so that every phase is reached."""
    fault, proofs = CATALOGUE[name], RealProofs()
    reached = "no unmask" if fault.phases == {Phase.RECOVER} else "gone before publish"
    others = {4: CATALOGUE[reached]}
    if fault.silent_from is Phase.RECOVER:
        others = {4: CATALOGUE["no unmask"]}
    require_sound(play(with_faults(FIVE, others), proofs=proofs))
    played = play(with_faults(FIVE, {**others, 1: fault}), proofs=proofs)
    phases = posted_in(played.simulation.parties[1], played.number)
    assert fault.phases & phases or fault.silent_from or fault.absent or fault.echo
    require_sound(played, thoroughly=True)


@pytest.mark.parametrize("phase", ORDER[:-1], ids=lambda phase: phase.name.lower())
def test_leaving_after_a_phase_is_leaving_before_the_next(phase: Phase) -> None:
    """Byte for byte: so worlds with one of the two are enough."""
    after = ORDER[ORDER.index(phase) + 1]
    before = Fault("before", lambda _: Drop(after, True), silent_from=after)
    behind = replace(before, acted=lambda _: Drop(phase, False))
    silent = {1: CATALOGUE["gone before publish"], 2: CATALOGUE["no unmask"]}
    logs = [
        play(with_faults(FIVE, {**silent, 3: fault})).simulation.log().entries()
        for fault in (before, behind)
    ]
    assert list(logs[0]) == list(logs[1])


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize("first", ["", "gone before publish", "wrong value", "late publish"])
@pytest.mark.parametrize("parties", [4, 5])
def test_conspirators_with_a_huge_mask_are_both_in_or_both_out(parties: int, first: str) -> None:
    """Nothing shows that their edge is not from their keys, until one of them has to open it."""
    for edges in connected_shapes(parties)[:: 2 * parties - 7]:
        for (one, other), _ in distinct_pairs(parties, edges):
            if (one, other) not in edges:
                continue
            bare = World(parties, edges, survivors=3, loss=parties - 3)
            bare = replace(bare, about={one: other, other: one})
            both = {one: CONSPIRACY, other: CONSPIRACY}
            require_sound(play(replace(bare, faults=both)))
            if first:
                mixed = replace(CATALOGUE[first], conspires=True)
                world = replace(bare, faults={one: mixed, other: CONSPIRACY})
                require_sound(play(world))
                assert not {one, other} & (predict(world).final or frozenset())


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize("full", [True, False], ids=["full", "signed"])
@pytest.mark.parametrize("parties", [3, 4, 5])
def test_replays_of_an_earlier_round_count_for_nothing(parties: int, full: bool) -> None:
    edges = connected_shapes(parties)[-2]
    bare = World(parties, edges, survivors=3, loss=parties - 3, full=full)
    leaver = {parties - 1: CATALOGUE["gone before publish"]} if parties > 4 else {}
    for party in distinct_parties(parties, edges):
        for fault in REPLAYS:
            if party in leaver:
                continue
            terms = terms_of(parties, 3, parties - 3, None, rounds=2)
            simulation, secrets = staged(bare, terms)
            first, second = with_faults(bare, leaver), with_faults(bare, {**leaver, party: fault})
            act_out(second, simulation)
            barred = require_sound(play_round(first, simulation, secrets, 1, acted=True))
            played = play_round(second, simulation, secrets, 2, acted=True)
            require_sound(played, before=barred)
            assert played.number == 2


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("threshold", "graph", "full"),
    sampled([HALF, Fraction(2, 3), Fraction(3, 4)], [-1, -2, 0], [True, False], every=6),
)
def test_recovery_by_thresholds(full: bool, graph: int, threshold: Fraction) -> None:
    """Up to two parties refuse to unmask or lie, and another one may spoil its share."""
    edges = connected_shapes(5)[graph]
    bare = World(5, edges, survivors=3, loss=1, threshold=threshold, full=full)
    ends = set()
    for vetoes in ("no unmask", "wrong seed", "gone before unmask", "late confirm"):
        for helper in (None, "wrong recovery", "gone before recover", "two of recover"):
            faults = {0: CATALOGUE[vetoes], 2: CATALOGUE["no unmask"]}
            if helper is not None:
                faults[3] = CATALOGUE[helper]
            played = play(with_faults(bare, faults))
            require_sound(played)
            ends.add(played.record.attempts[0].abort)
    assert None in ends or graph != -1
    assert AbortReason.NOT_UNMASKED in ends or (graph != 0 and threshold < Fraction(3, 4))


@pytest.mark.parametrize(("graph", "ends"), [(0, AbortReason.NOT_UNMASKED), (-1, None)])
def test_who_did_not_write_its_confirmation_keeps_its_shares(
    graph: int, ends: AbortReason | None
) -> None:
    """Everybody else counts it as confirmed; enough others give shares where there are more."""
    edges = connected_shapes(4)[graph]
    bare = World(4, edges, survivors=3, loss=1, threshold=HALF)
    dealer = min(range(4), key=lambda u: len(bare.neighbours(u)))
    beside = min(bare.neighbours(dealer))
    silent = {dealer: CATALOGUE["no unmask"]}
    honest = play(with_faults(bare, silent))
    require_sound(honest)
    assert honest.record.attempts[0].abort is None
    played = play(with_faults(bare, {**silent, beside: CATALOGUE["echo of confirm"]}))
    require_sound(played)
    said = posted_in(played.simulation.parties[beside], played.number)
    assert said >= {Phase.CONFIRM, Phase.UNMASK}
    assert Phase.RECOVER not in said
    assert played.record.attempts[0].abort is ends


@pytest.mark.thirds
@pytest.mark.parametrize("helper", ["", "wrong recovery", "gone before recover", "no confirm"])
@pytest.mark.parametrize("graph", [-1, -2, 0])
def test_who_dealt_another_seed_is_convicted_by_enough_shares(graph: int, helper: str) -> None:
    edges = connected_shapes(5)[graph]
    bare = World(5, edges, survivors=3, loss=1, threshold=HALF, full=False)
    for dealer, silent in ((0, 1), (3, 2)):
        faults = {dealer: ANOTHER_SEED, silent: CATALOGUE["no unmask"]}
        if helper:
            faults[4] = CATALOGUE[helper]
        world = with_faults(bare, faults)
        played = play(world)
        require_sound(played)
        assert played.record.attempts[0].abort is not None
        if not helper and graph == -1:
            assert (dealer, "04-U5") in predict(world).faults


@pytest.mark.thirds
@pytest.mark.parametrize(
    "name", sampled([*MAIN, "two of join", "two of commit", "no possession"], every=4)
)
def test_retries_bar_whom_the_rules_bar(name: str) -> None:
    """A round is vetoed at its end by one party; another one goes on with its fault."""
    bare = replace(FIVE, threshold=None)
    for vetoes in ("no unmask", "no confirm", "gone before unmask"):
        faults = {0: CATALOGUE[vetoes]}
        if CATALOGUE[name].fits(full=True, recovery=False):
            faults[1] = CATALOGUE[name]
        played = play(with_faults(bare, faults), attempts=3)
        require_sound(played, thoroughly=True)
        assert len(played.record.attempts) > 1 or vetoes == "no confirm"


@pytest.mark.thirds
@pytest.mark.parametrize("name", ["late publish", "late rollback", "late confirm", "late unmask"])
def test_cuts_are_held_against_somebody_without_the_rule(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worlds find it if whoever is cut off is named and barred as if it had said nothing."""
    faults = {1: CATALOGUE[name], 4: CATALOGUE["gone before publish"]}
    if name != "late unmask":
        faults[0] = CATALOGUE["no unmask"]
    world = with_faults(replace(FIVE, threshold=None), faults)
    require_sound(play(world, attempts=2, below=True))
    NO_GRACE(monkeypatch)
    require_sound(play(world, attempts=2))
    with pytest.raises(AssertionError):
        require_sound(play(world, attempts=2, below=True))
