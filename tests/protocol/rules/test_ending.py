"""From the final close to the result: confirm, unmask, recover, result, abort."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gopa.contract.organiser import (
    ABORT,
    RESULT,
    Abort,
    AbortReason,
    Released,
    RemovalCause,
    ResultMessage,
)
from gopa.contract.party import RECOVER, Recover, RecoveredShare
from gopa.contract.phases import Kind, Phase
from gopa.graph import from_edges
from gopa.rounds.masks import shareable_seed
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, World, changed

FIRST = (2, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2")


def aborted(world: World) -> tuple[AbortReason, tuple[int, ...], Released]:
    ended = world.view.ended
    assert isinstance(ended, Abort)
    return ended.reason, ended.culprits, ended.released


# Confirm


def test_enough_confirmations_are_enough() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.CONFIRM: [3]})
    found = require(world, (), (), range(5))
    confirmed = next(each for each in found.rounds[0].lists if each.phase is Phase.CONFIRM)
    assert confirmed.members == (0, 1, 2, 4)


def test_too_few_confirmations_abort() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.CONFIRM: [0, 2, 3]})
    assert aborted(world) == (AbortReason.NOT_CONFIRMED, (0, 2, 3), Released.MASKED)
    found = require(world)
    assert found.rounds[0].released
    assert found.rounds[0].unmasked == ()


def test_a_party_whose_neighbours_do_not_confirm_aborts() -> None:
    """Four of six confirm, enough in number: but party 0 lost two of its three neighbours."""
    graph = from_edges(6, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (3, 5)])
    terms: dict[str, Any] = {"parties": 6, "k": 5, "loss": 1}
    honest = make(graph=lambda *_: graph, **terms)
    honest.run(skip={Phase.CONFIRM: [1]})
    require(honest, included=range(6))
    world = make(graph=lambda *_: graph, **terms)
    world.run(skip={Phase.CONFIRM: [1, 2]})
    assert aborted(world) == (AbortReason.NOT_CONFIRMED, (1, 2), Released.MASKED)
    require(world)


def test_dropouts_and_missing_confirmations_add_up() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.PUBLISH: [2], Phase.CONFIRM: [3]})
    require(world, [FIRST], (), [0, 1, 3, 4])
    world = make()
    world.run(skip={Phase.COINS: [1], Phase.PUBLISH: [2], Phase.CONFIRM: [3]})
    assert aborted(world) == (AbortReason.NOT_CONFIRMED, (3,), Released.MASKED)
    rows = [(1, Phase.COINS, RemovalCause.ABSENT, "04-V1"), FIRST]
    require(world, rows)


def test_confirming_another_close_is_no_confirmation() -> None:
    """Two final closes, one of them in another log: nobody's fault in this one."""
    baseline()
    world = make()
    world.run(change={Phase.CONFIRM: {p: changed(acts_on=bytes(32)) for p in (0, 1, 4)}})
    assert aborted(world) == (AbortReason.NOT_CONFIRMED, (0, 1, 4), Released.MASKED)
    require(world)


def test_a_confirmation_says_nothing_else() -> None:
    baseline()
    world = make()
    world.run(until=Phase.CONFIRM)
    world.phase(skip=[1])
    world.post(world.parties[1].key, Phase.CONFIRM, world.view.acts_on + b"\x00")
    world.control()
    world.run()
    found = world.check()
    assert found.rounds[0].sums == world.expected_sums(range(5))
    assert {(fault.rule, fault.author) for fault in found.faults} == {
        ("04-S4", world.parties[1].author)
    }


# Unmask and recover


@pytest.mark.parametrize("kind", ["scalar", "vector", "signed"])
def test_a_missing_seed_aborts_without_recovery(kind: str) -> None:
    baseline(kind)
    world = make(kind)
    world.run(skip={Phase.UNMASK: [3]})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    found = require(world)
    assert found.rounds[0].unmasked == (0, 1, 2, 4)


@pytest.mark.parametrize("kind", ["scalar", "vector", "signed", "gaussian"])
def test_a_wrong_seed_is_no_seed(kind: str) -> None:
    baseline(kind)
    world = make(kind)
    world.run(change={Phase.UNMASK: {3: changed(seed=bytes(32))}})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world, (), [(3, "04-U1")])


def test_a_copied_self_mask_cannot_be_opened() -> None:
    """Seeds are bound to their party: the seed of the original opens another mask here."""
    baseline("signed")
    world = make("signed")
    world.run(until=Phase.COMMIT)
    world.phase(skip=[3])
    original = world.at(1)
    commit = world.at(3).commit(world.view)
    world.say(world.at(3), Phase.COMMIT, replace(commit, self_mask=world.commits[1].self_mask))
    world.control()
    world.run(change={Phase.UNMASK: {3: lambda _: original.unmask(world.view)}})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world, (), [(3, "04-U1")])


SEEDS = ("one vector, recovery", "vector, recovery", "signed, recovery", "signed number, recovery")
RECOVERING = ("recovery", *SEEDS)


@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
@pytest.mark.parametrize("kind", RECOVERING)
def test_neighbours_recover_a_missing_self_mask(kind: str, real: bool) -> None:
    baseline(kind)
    world = make(kind, real=real)
    world.run(skip={Phase.UNMASK: [3]}, until=Phase.RECOVER)
    assert world.view.dealers == {0: (3,), 1: (3,), 2: (3,), 4: (3,)}
    world.run()
    found = require(world, (), (), range(5))
    assert found.rounds[0].recovered == (3,)
    assert found.rounds[0].unmasked == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("kind", RECOVERING)
def test_two_late_dropouts_end_no_round(kind: str) -> None:
    """Each has two neighbours more than its threshold of three shares asks for, less the other."""
    baseline(kind)
    world = make(kind)
    world.run(skip={Phase.UNMASK: [2, 3], Phase.RECOVER: [2]})
    found = require(world, (), (), range(5))
    assert found.rounds[0].recovered == (2, 3)


@pytest.mark.parametrize("kind", RECOVERING)
def test_a_threshold_of_shares_is_enough_and_less_is_not(kind: str) -> None:
    baseline(kind)
    enough = make(kind)
    enough.run(skip={Phase.UNMASK: [3], Phase.RECOVER: [0]})
    require(enough, (), (), range(5))
    world = make(kind)
    world.run(skip={Phase.UNMASK: [3], Phase.RECOVER: [0, 1]})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world)


@pytest.mark.parametrize(
    "shares",
    [
        lambda own: (*own, *own),
        lambda own: (*own, RecoveredShare(4, bytes(64))),
        lambda own: (RecoveredShare(99, own[0].share),),
    ],
    ids=["twice", "not missing", "nobody"],
)
def test_shares_are_of_missing_neighbours(shares: Change) -> None:
    baseline("recovery")
    world = make("recovery")
    world.run(
        skip={Phase.UNMASK: [3]},
        change={Phase.RECOVER: {1: lambda m: replace(m, shares=shares(m.shares))}},
    )
    found = require(world, (), [(1, "04-U3")], range(5))
    assert found.rounds[0].recovered == (3,)


@pytest.mark.parametrize("kind", RECOVERING)
def test_a_share_counts_at_the_point_of_whoever_gives_it_out_alone(kind: str) -> None:
    """Else two recipients could pass for many."""
    baseline(kind)
    seen: list[Any] = []

    def watch(message: Any) -> Any:
        seen.append(message)
        return message

    world = make(kind)
    copy: Change = lambda m: replace(m, shares=seen[0].shares)  # noqa: E731
    world.run(skip={Phase.UNMASK: [3]}, change={Phase.RECOVER: {0: watch, 1: copy, 2: copy}})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world, (), [(1, "04-U3"), (2, "04-U3")])


def other_seed(world: World, place: int) -> Change:
    """Right shares of a fresh seed."""

    def change(commit: Any) -> Any:
        party = world.at(place)
        own, party.seed = party.seed, shareable_seed(world.toolkit.group, party.rng).reveal()
        coefficients, shares = party._dealt(world.neighbours(place))
        party.seed = own
        return replace(commit, coefficients=coefficients, shares=shares)

    return change


def dealt_otherwise(kind: str, *, skip: dict[Phase, list[int]], **changes: Any) -> World:
    """Up to its end a first round in which party 3 dealt another seed than its own."""
    world = make(kind, **changes)
    world.run(until=Phase.COMMIT)
    world.run(skip=skip, change={Phase.COMMIT: {3: other_seed(world, 3)}})
    return world


@pytest.mark.parametrize("kind", SEEDS)
def test_a_dealer_of_another_seed_is_convicted_and_barred_for_good(kind: str) -> None:
    baseline(kind, rounds=2)
    world = dealt_otherwise(kind, skip={Phase.UNMASK: [3], Phase.RECOVER: [1]}, rounds=2)
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    found = require(world, (), [(3, "04-U5")])
    (fault,) = found.faults
    party = world.parties[3].author
    givers = [world.parties[number].author for number in (0, 2, 4)]
    posted = {(e.entry.author.data, e.entry.phase): e.index for e in world.log}
    recovered = [posted[author, Phase.RECOVER] for author in givers]
    assert fault.entries == (posted[party, Phase.COMMIT], *recovered)
    for number, attempt in ((2, (0, 1)), (3, (1, 0))):
        world.run(until=Phase.JOIN)
        assert (world.view.logical, world.view.attempt) == attempt
        assert world.view.barred == {party}
        world.run()
        require(world, (), [(3, "04-U5")], range(4), number=number)


@pytest.mark.parametrize("kind", SEEDS)
def test_too_few_shares_of_another_seed_convict_nobody(kind: str) -> None:
    baseline(kind)
    world = dealt_otherwise(kind, skip={Phase.UNMASK: [3], Phase.RECOVER: [0, 1]})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world)


@pytest.mark.parametrize("kind", SEEDS)
def test_another_seed_convicts_its_dealer_alone(kind: str) -> None:
    """An honest party is gone beside it, whose mask is recovered in vain."""
    baseline(kind)
    world = dealt_otherwise(kind, skip={Phase.UNMASK: [2, 3]})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (3,), Released.MASKED)
    require(world, (), [(3, "04-U5")])


def test_an_abort_by_the_organiser_leaves_shares_without_consequence() -> None:
    baseline("signed, recovery")
    world = make("signed, recovery")
    world.run(until=Phase.COMMIT)
    change: dict[Phase, Any] = {Phase.COMMIT: {3: other_seed(world, 3)}}
    world.run(skip={Phase.UNMASK: [3]}, change=change, until=Phase.RECOVER)
    world.phase()
    assert {fault.rule for fault in world.ledger.pending_faults(len(world.log))} == {"04-U5"}
    own = world.ledger.abort(len(world.log))
    assert own is not None
    world.post(world.organiser, Phase.ORGANISER, own.body, own.kind)
    require(world)


@pytest.mark.parametrize("kind", RECOVERING)
def test_a_party_without_neighbours_deals_nothing(kind: str) -> None:
    graph = from_edges(5, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    honest = make(kind, graph=lambda *_: graph)
    honest.run()
    require(honest, included=range(5))
    assert (honest.commits[4].coefficients, honest.commits[4].shares) == ((), ())
    world = make(kind, graph=lambda *_: graph)
    world.run(skip={Phase.UNMASK: [4]})
    assert aborted(world) == (AbortReason.NOT_UNMASKED, (4,), Released.MASKED)
    require(world)


def test_who_did_not_confirm_gives_no_shares() -> None:
    baseline("recovery")
    world = make("recovery")
    world.run(skip={Phase.CONFIRM: [0], Phase.UNMASK: [3]}, until=Phase.RECOVER)
    assert set(world.view.dealers) == {1, 2, 4}
    assert world.at(0).author not in world.view.expected
    world.run()
    require(world, (), (), range(5))


@pytest.mark.parametrize(
    ("content", "kind", "rule"),
    [
        (b"", Kind.RECOVER, None),
        (b"\x00", Kind.RECOVER, "04-U3"),
        (RECOVER.encode(Recover(bytes(32), (RecoveredShare(3, bytes(64)),)))[32:], None, "04-U3"),
        (b"", Kind.CONFIRM, "04-E2"),
    ],
    ids=["another close", "malformed", "not its to give", "another kind"],
)
def test_who_owes_no_share_is_judged_too(
    content: bytes, kind: Kind | None, rule: str | None
) -> None:
    """Party 0 did not confirm: what it posts in recover does not count and may be a fault."""
    baseline("recovery")
    world = make("recovery")
    world.run(skip={Phase.CONFIRM: [0], Phase.UNMASK: [3]}, until=Phase.RECOVER)
    acts_on = world.view.acts_on if rule else bytes(32)
    world.post(world.at(0).key, Phase.RECOVER, acts_on + content, kind)
    world.run()
    require(world, (), [(0, rule)] if rule else (), range(5))


def test_edge_and_self_mask_of_one_party_are_never_both_open() -> None:
    """Whoever publishes late: edges open, seed never asked for, also with recovery."""
    baseline("recovery")
    world = make("recovery")
    world.run(skip={Phase.PUBLISH: [2], Phase.UNMASK: [3]}, until=Phase.RECOVER)
    assert {2} & {d for dealers in world.view.dealers.values() for d in dealers} == set()
    seed = world.parties[2].seed
    world.post(world.parties[2].key, Phase.UNMASK, world.view.acts_on + seed)
    world.run()
    found = require(world, [FIRST], (), [0, 1, 3, 4])
    assert 2 not in found.rounds[0].unmasked


# Result and abort


def test_a_result_where_an_abort_is_due() -> None:
    world = make()
    world.run(skip={Phase.UNMASK: [2]}, until=Phase.UNMASK)
    world.phase(skip=[2])
    due = world.ledger.next_control(len(world.log))
    assert due is not None
    assert due.kind is Kind.ABORT
    body = RESULT.encode(ResultMessage(due.previous, len(world.log), (0,), (), 0, 1))
    world.post(world.organiser, Phase.ORGANISER, body, Kind.RESULT)
    require(world, (), [("organiser", "04-U4")])


@pytest.mark.parametrize(
    "phase",
    [p for p in Phase if p not in {Phase.ORGANISER, Phase.ACCUSE, Phase.RECOVER, Phase.PROVE}],
)
def test_the_organiser_may_abort_at_any_time(phase: Phase) -> None:
    baseline(rounds=1)
    world = make()
    world.run(skip={Phase.PUBLISH: [2]}, until=phase)
    abort = world.ledger.abort(len(world.log))
    assert abort is not None
    world.post(world.organiser, Phase.ORGANISER, abort.body, abort.kind, abort.round)
    released = Released.MASKED if phase in {Phase.CONFIRM, Phase.UNMASK} else Released.NONE
    assert aborted(world) == (AbortReason.ORGANISER, (), released)
    require(world, [FIRST] if phase > Phase.PUBLISH else [])
    assert world.ledger.abort(len(world.log)) is None
    world.run()
    retried = (0, 1, 2, 3) if phase > Phase.PUBLISH else range(5)
    assert world.check().rounds[1].sums == world.expected_sums(retried)


def test_an_abort_that_no_rule_demands() -> None:
    """Everything is there for a result, and the organiser blames somebody."""
    world = make()
    world.run(until=Phase.UNMASK)
    world.phase()
    cut = len(world.log)
    abort = Abort(world.view.acts_on, cut, AbortReason.NOT_UNMASKED, Released.MASKED, (2,))
    world.post(world.organiser, Phase.ORGANISER, ABORT.encode(abort), Kind.ABORT)
    require(world, (), [("organiser", "04-X1")])
