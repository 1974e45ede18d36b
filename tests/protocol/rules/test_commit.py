"""The close of commit: shapes, points, proofs, live and void edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import Abort, AbortReason, RemovalCause
from gopa.contract.party import Commit
from gopa.contract.phases import Phase
from gopa.graph import from_edges
from gopa.protocol.rules import outcome_of
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, World, changed

IDENTITY = bytes(32)
NOT_A_POINT = b"\xff" * 32
REST = [0, 1, 3, 4]


def gone(rule: str, place: int = 2) -> list[tuple[int, Phase, RemovalCause, str]]:
    return [(place, Phase.COMMIT, RemovalCause.INVALID, rule)]


def fewer_edges(commit: Commit) -> Commit:
    return replace(commit, edges=commit.edges[:-1])


def more_edges(commit: Commit) -> Commit:
    return replace(commit, edges=(*commit.edges, commit.edges[0]))


def without_first(commit: Commit) -> Commit:
    return replace(commit, coefficients=commit.coefficients[1:])


def with_first_twice(commit: Commit) -> Commit:
    return replace(commit, coefficients=(*commit.coefficients[:1], *commit.coefficients))


def first_is(point: bytes) -> Change:
    return lambda c: replace(c, coefficients=(point, *c.coefficients[1:]))


CASES: list[tuple[str, str, Change, str]] = [
    ("too few edges", "scalar", fewer_edges, "04-K1"),
    ("too many edges", "scalar", more_edges, "04-K1"),
    ("no output", "scalar", changed(output=b""), "04-K1"),
    ("no proof", "scalar", changed(proof=b""), "04-K1"),
    ("shares without recovery", "scalar", changed(shares=(bytes(64),) * 4), "04-K1"),
    ("coefficients without recovery", "scalar", changed(coefficients=(bytes(32),)), "04-K1"),
    ("weighing without weights", "scalar", changed(weighing=b"w"), "04-K6"),
    ("no weighing", "weighted", changed(weighing=b""), "04-K6"),
    ("an output", "signed", changed(output=bytes(32)), "04-S4"),
    ("a proof", "signed", changed(proof=b"p"), "04-S4"),
    ("a self-mask", "curious", changed(self_mask=b"\x01" * 32), "04-K1"),
    ("too few shares", "recovery", lambda c: replace(c, shares=c.shares[:-1]), "04-K1"),
    ("no coefficients", "recovery", changed(coefficients=()), "04-K1"),
    ("self-mask is the identity", "scalar", changed(self_mask=IDENTITY), "04-K2"),
    ("self-mask is no point", "scalar", changed(self_mask=NOT_A_POINT), "04-K2"),
    ("output is the identity", "scalar", changed(output=IDENTITY), "04-K2"),
    ("coefficient is no point", "recovery", first_is(NOT_A_POINT), "04-K2"),
    ("C_0 is missing", "vector, recovery", without_first, "04-K1"),
    ("C_0 is missing in signed mode", "signed, recovery", without_first, "04-K1"),
    ("a coefficient too many", "recovery", with_first_twice, "04-K1"),
    ("C_0 is the identity", "vector, recovery", first_is(IDENTITY), "04-K2"),
    ("C_0 is no point in signed mode", "signed, recovery", first_is(NOT_A_POINT), "04-K2"),
    ("another proof", "scalar", changed(proof=b"\x07" * 32), "04-K3"),
    ("another weighing", "weighted", changed(weighing=b"\x07" * 32), "04-K3"),
]


@pytest.mark.parametrize(
    ("kind", "change", "rule"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_wrong_commits(kind: str, change: Change, rule: str) -> None:
    baseline(kind)
    world = make(kind)
    world.run(change={Phase.COMMIT: {2: change}})
    if kind == "curious":
        found = world.check()
        assert found.rounds[0].final == (0, 1, 3, 4)
        assert {fault.rule for fault in found.faults} == {rule}
        return
    require(world, gone(rule), [(2, rule)], REST)


@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
def test_a_commit_of_another_party_is_no_commit(real: bool) -> None:
    """Everything copied: the proof is bound to the party that made it."""
    baseline()
    world = make(real=real)
    seen: list[Commit] = []

    def watch(commit: Commit) -> Commit:
        seen.append(commit)
        return commit

    def copy(commit: Commit) -> Commit:
        return replace(seen[0], edges=commit.edges)

    world.run(change={Phase.COMMIT: {0: watch, 2: copy}})
    require(world, gone("04-K3"), [(2, "04-K3")], REST)


def test_a_proof_for_another_output() -> None:
    """The output alone is another point: nothing about it is proved."""
    baseline()
    world = make(real=True)
    point = (world.toolkit.group.generator * world.toolkit.group.scalar(5)).to_bytes()
    world.run(change={Phase.COMMIT: {2: changed(output=point)}})
    require(world, gone("04-K3"), [(2, "04-K3")], REST)


def test_too_few_commits_abort() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.COMMIT: [0, 1, 2]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits, ended.released) == (
        AbortReason.TOO_FEW_LEFT,
        (0, 1, 2),
        0,
    )
    lost = [(p, Phase.COMMIT, RemovalCause.LOST, "04-L2") for p in (3, 4)]
    missing = [(p, Phase.COMMIT, RemovalCause.ABSENT, "04-K4") for p in (0, 1, 2)]
    require(world, [*missing, *lost])


def test_who_lost_too_many_neighbours_is_peeled_off() -> None:
    """A path 0-1-2-3-4-5-6 at loss 0: party 6 goes, so does 5, and so on to the end."""
    path = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    world = make(graph=lambda *_: path, loss=0)
    world.run(skip={Phase.COMMIT: [4]})
    rows = [(4, Phase.COMMIT, RemovalCause.ABSENT, "04-K4")]
    rows += [(place, Phase.COMMIT, RemovalCause.LOST, "04-L2") for place in range(4)]
    found = require(world, rows)
    assert found.rounds[0].culprits == (4,)


def test_peeling_leaves_components_that_lost_nobody() -> None:
    split = from_edges(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
    world = make(graph=lambda *_: split, loss=0)
    world.run(skip={Phase.COMMIT: [4]})
    rows = [
        (4, Phase.COMMIT, RemovalCause.ABSENT, "04-K4"),
        (3, Phase.COMMIT, RemovalCause.LOST, "04-L2"),
    ]
    require(world, rows, included=[0, 1, 2])


@pytest.mark.parametrize("edge", [IDENTITY, NOT_A_POINT, b"\x01" + bytes(31)])
def test_edges_of_two_liars_that_agree_are_void(edge: bytes) -> None:
    """Both post the same nonsense: it masks nothing, and the sum is right without it."""
    baseline()
    world = make()
    world.run(until=Phase.COMMIT)

    def nonsense(other: int) -> Change:
        def change(commit: Commit) -> Commit:
            at = world.neighbours({1: 2, 2: 1}[other]).index(other)
            edges = list(commit.edges)
            edges[at] = edge
            return replace(commit, edges=tuple(edges))

        return change

    def unmasked(place: int, other: int) -> Change:
        return lambda message: without_edge(world, place, other, message)

    world.run(
        change={
            Phase.COMMIT: {1: nonsense(2), 2: nonsense(1)},
            Phase.PUBLISH: {1: unmasked(1, 2), 2: unmasked(2, 1)},
        }
    )
    found = require(world, included=range(5))
    assert found.rounds[0].void == ((1, 2),)
    assert outcome_of(found, 1).void == ((1, 2),)


def without_edge(world: World, place: int, other: int, message: object) -> object:
    """A published value less the mask of one edge."""
    party, group = world.at(place), world.toolkit.group
    mask = party._edge_mask(other)
    factor = group.scalar(party._sign(other))
    value = group.decode_scalars(message.value, 1) - (mask.values * factor).reveal()  # type: ignore[attr-defined]
    blinding = group.decode_scalars(message.blinding, 1) - (mask.blinding * factor).reveal()  # type: ignore[attr-defined]
    return replace(message, value=value.to_bytes(), blinding=blinding.to_bytes())  # type: ignore[type-var]
