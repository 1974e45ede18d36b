"""Heads of commits and of prove messages stand in entries of their own, where a proof is long."""

from __future__ import annotations

import pytest

from bulletin_board import Refused
from gopa.contract.bodies import bodies_of
from gopa.contract.cutting import (
    COMMIT_HEAD,
    LEAST_TAIL,
    PROVE_HEAD,
    CommitHead,
    ProveHead,
    head_end,
    is_head,
    pieces_of,
)
from gopa.contract.parameters import Path
from gopa.contract.party import COMMIT, Commit
from gopa.contract.phases import Kind
from gopa.contract.rows import PROVE, ROW_COMMIT, TESTS_SIZE, Prove, RowCommit
from tests.contract.samples import MESSAGES, ROW_MESSAGES
from tests.contract.test_cutting import admitted, assembled, entries_of
from tests.verifier.test_parts import part

LEAF, POINT = b"\x01" * 32, b"\x02" * 32


def commit(neighbours: int, proof: int, *, shared: bool = True) -> bytes:
    """A commit of a session with numbers that are proved one by one."""
    shares = (bytes(64),) * neighbours if shared else ()
    edges = (POINT,) * neighbours
    return COMMIT.encode(
        Commit(LEAF, edges, POINT, (POINT,) * shared, shares, b"", bytes(proof), b"")
    )


def row_commit(neighbours: int) -> bytes:
    """One of a session with long vectors."""
    edges, shares = (POINT,) * neighbours, (bytes(64),) * neighbours
    return ROW_COMMIT.encode(
        RowCommit(LEAF, edges, POINT, (POINT,), shares, bytes(TESTS_SIZE), bytes(5_000))
    )


def prove(neighbours: int, proof: int = 2_000) -> bytes:
    """What proves words."""
    return PROVE.encode(Prove(LEAF, (POINT,) * neighbours, POINT, bytes(TESTS_SIZE), bytes(proof)))


SMALL = 67 + 3 + 32 + 3
"""The head of a commit but for its edges and shares."""


CASES = [
    (Kind.COMMIT, commit(3, LEAST_TAIL - 6), [SMALL + 288 + LEAST_TAIL - 1]),
    (Kind.COMMIT, commit(3, LEAST_TAIL - 5), [SMALL + 288, LEAST_TAIL]),
    (Kind.COMMIT, commit(3, 0), [SMALL + 288 + 5]),
    (Kind.COMMIT, commit(0, 5_000, shared=False), [73, 5_005]),
    (Kind.COMMIT, row_commit(3), [SMALL + 288, 10_402]),
    (Kind.COMMIT, commit(623, 82), [60_000]),
    (Kind.COMMIT, commit(623, 83), [59_913, 88]),
    (Kind.COMMIT, row_commit(623), [59_913, 10_402]),
    (Kind.COMMIT, row_commit(624), [60_000, 10_411]),
    (Kind.PROVE, prove(3), [163, 7_402]),
    (Kind.PROVE, prove(1_870, 60_000), [59_907, 60_000, 5_402]),
    (Kind.PROVE, prove(1_874, 60_000), [60_000, 60_000, 5_437]),
]


@pytest.mark.parametrize(("kind", "body", "sizes"), CASES)
def test_a_long_proof_stands_behind_its_head(kind: Kind, body: bytes, sizes: list[int]) -> None:
    pieces = pieces_of(kind, body)
    assert [len(each) for each in pieces] == sizes
    entries = entries_of(pieces, kind)
    assert assembled(entries) == admitted(entries, len(body)) == [body]
    assert is_head(entries[0].entry) is (len(sizes) > 1 and head_end(kind, body) == sizes[0])


@pytest.mark.parametrize(("kind", "body", "sizes"), CASES)
def test_the_second_verifier_cuts_alike(kind: Kind, body: bytes, sizes: list[int]) -> None:
    """It has the rule in other words: where each chunk begins."""
    board = part("board")
    cut = board.cut_of(int(kind), body[: sizes[0]], len(sizes))
    begins = [sum(sizes[:at]) for at in range(len(sizes))]
    assert [board.place_of(chunk, *cut) for chunk in range(len(sizes))] == begins
    assert board.place_of(len(sizes), *cut) >= len(body)


@pytest.mark.parametrize("kind", [Kind.COMMIT, Kind.PROVE])
def test_several_entries_have_one_cut(kind: Kind) -> None:
    """Else a head that readers take for a message could be part of another one."""
    body = row_commit(3) if kind is Kind.COMMIT else prove(3)
    head = head_end(kind, body)
    for at, right in ((head, True), (head - 1, False), (head + 1, False), (67, False)):
        entries = entries_of([body[:at], body[at:]], kind)
        assert assembled(entries) == ([body] if right else [])
        if right:
            assert admitted(entries, len(body)) == [body]
            continue
        with pytest.raises(Refused):
            admitted(entries, len(body))


def test_one_entry_may_hold_everything() -> None:
    """It breaks no rule, though neighbours are shown more by it."""
    body = row_commit(3)
    entries = entries_of([body], Kind.COMMIT)
    assert assembled(entries) == admitted(entries, len(body)) == [body]
    assert not is_head(entries[0].entry)


def test_what_is_no_head_stands_in_full_entries() -> None:
    """Lengths that lead nowhere, and kinds that have no head."""
    right = row_commit(3)
    assert head_end(Kind.COMMIT, right)
    uneven = right[:32] + (97).to_bytes(3) + right[35:]
    for kind, body in (
        (Kind.COMMIT, uneven),
        (Kind.COMMIT, right[: head_end(Kind.COMMIT, right) - 1]),
        (Kind.PUBLISH, right),
    ):
        assert head_end(kind, body) == 0
        assert pieces_of(kind, body) == [body]
    assert assembled(entries_of([uneven[:393], uneven[393:]], Kind.COMMIT)) == []


SAMPLES = {**MESSAGES, **ROW_MESSAGES}
HEADED = [name for name in SAMPLES if SAMPLES[name][0] in {Kind.COMMIT, Kind.PROVE}]


@pytest.mark.parametrize("name", HEADED)
def test_a_head_is_what_its_message_begins_with(name: str) -> None:
    kind, message = SAMPLES[name]
    path = Path.ROWS if name in ROW_MESSAGES else Path.BITS
    body = bodies_of(path)[kind].encode(message)
    codec = COMMIT_HEAD if kind is Kind.COMMIT else PROVE_HEAD
    head = codec.decode(body[: head_end(kind, body)])
    assert isinstance(head, CommitHead | ProveHead)
    for field in type(head).__slots__:
        assert getattr(head, field) == getattr(message, field)
