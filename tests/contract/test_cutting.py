"""The sums of a long result stand in entries of their own, and a body has one cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bulletin_board import Refused, Submission, sign_entry
from bulletin_board.entry import LARGEST_BODY, VERSION, Entry
from gopa.contract.bodies import bodies_of
from gopa.contract.cutting import (
    COMMIT_HEAD,
    LEAST_TAIL,
    MOST_SUMS_TOGETHER,
    PROVE_HEAD,
    SHORT,
    CommitHead,
    ProveHead,
    chunks_of,
    head_end,
    is_head,
    pieces_of,
)
from gopa.contract.framing import Assembler, Message, MessageSlot, Posted, sign_message
from gopa.contract.limits import largest_body, most_chunks
from gopa.contract.organiser import RESULT, SUMS_BEGIN, Removal, RemovalCause, ResultMessage
from gopa.contract.parameters import Path
from gopa.contract.party import COMMIT, Commit
from gopa.contract.phases import Kind, Phase
from gopa.contract.rows import PROVE, ROW_COMMIT, TESTS_SIZE, Prove, RowCommit
from gopa.protocol.admission.policy import _require_place, _require_size
from gopa.protocol.admission.tracker import MessageProgress
from gopa.protocol.party.chain import Chain
from tests.contract.samples import MESSAGES, ROW_MESSAGES, manifest, vector_terms
from tests.randomness import seeded
from tests.verifier.test_parts import part
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty, MalformedMessage

ORGANISER = SigningKey.generate(seeded("organiser"))


SESSION = bytes(32)


def result(dimension: int, removed: int = 0) -> bytes:
    """The body of a result with so many sums."""
    gone = tuple(Removal(each, Phase.JOIN, RemovalCause.ABSENT) for each in range(removed))
    return RESULT.encode(ResultMessage(bytes(32), 5, tuple(range(dimension)), gone, 0, 1))


def entries_of(pieces: Sequence[bytes], kind: Kind = Kind.RESULT) -> list[Posted]:
    """A message of the organiser that is cut like this."""
    made: list[Posted] = []
    for chunk, piece in enumerate(pieces):
        previous = made[-1].leaf if made else bytes(32)
        entry = Entry(
            VERSION, SESSION, int(Phase.ORGANISER), int(kind), 0, chunk, len(pieces),
            ORGANISER.public, chunk, previous, 0, bytes(32), piece,
        )  # fmt: skip
        raw = sign_entry(entry, ORGANISER)
        made.append(Posted(chunk, Submission.decode(raw).leaf, entry))
    return made


def assembled(entries: Sequence[Posted]) -> list[bytes]:
    """The bodies that the rules find."""
    assembler = Assembler()
    found = [each for entry in entries for each in assembler.observe(entry)]
    return [each.body for each in found if isinstance(each, Message)]


def followed(entries: Sequence[Posted]) -> list[bytes]:
    """The bodies that a party finds."""
    chain, found = Chain(ORGANISER.public.data, SESSION), list[bytes]()
    for entry in entries:
        chain, message = chain.follow(entry)
        found += [message.body] if message is not None else []
    return found


def admitted(entries: Sequence[Posted], largest: int) -> list[bytes]:
    """The bodies that a board takes."""
    progress, found = MessageProgress(), list[bytes]()
    for each in entries:
        _require_place(progress, each.entry)
        _require_size(progress, each.entry, largest)
        body = progress.take(each.entry, keep=True)
        found += [] if body is None else [body]
    return found


@pytest.mark.parametrize(
    ("dimension", "removed", "sizes"),
    [
        (1, 0, [58]),
        (MOST_SUMS_TOGETHER - 1, 0, [59_994]),
        (MOST_SUMS_TOGETHER, 0, [60_000, 2]),
        (1, 20_000, [60_000, 60_000, 58]),
        (MOST_SUMS_TOGETHER + 1, 0, [43, 59_960, 7]),
        (7_500, 0, [43, 60_000, 7]),
        (7_501, 1, [43, 60_000, 8, 13]),
        (15_001, 20_000, [43, 60_000, 60_000, 8, 60_000, 60_000, 7]),
    ],
)
def test_sums_of_a_long_result_stand_alone(dimension: int, removed: int, sizes: list[int]) -> None:
    body = result(dimension, removed)
    pieces = pieces_of(Kind.RESULT, body)
    assert [len(each) for each in pieces] == sizes
    entries = entries_of(pieces)
    assert assembled(entries) == followed(entries) == admitted(entries, len(body)) == [body]
    place = MessageSlot(SESSION, Phase.ORGANISER, Kind.RESULT, 0, 0, bytes(32))
    made = [Submission.decode(raw) for raw in sign_message(body, place, ORGANISER).entries]
    assert [each.leaf for each in made] == [each.leaf for each in entries]


@pytest.mark.parametrize(
    ("dimension", "removed"),
    [(1, 20_000), (MOST_SUMS_TOGETHER, 0), (MOST_SUMS_TOGETHER + 1, 1), (15_001, 20_000)],
)
def test_the_second_verifier_cuts_alike(dimension: int, removed: int) -> None:
    """It has the rule in other words: where each chunk begins."""
    board, body = part("board"), result(dimension, removed)
    pieces = pieces_of(Kind.RESULT, body)
    cut = board.cut_of(int(Kind.RESULT), body, len(pieces))
    begins = [len(b"".join(pieces[:at])) for at in range(len(pieces))]
    assert [board.place_of(chunk, *cut) for chunk in range(len(pieces))] == begins
    assert board.place_of(len(pieces), *cut) >= len(body)
    assert board.cut_of(int(Kind.CLOSE), body, len(pieces)) == (0, 0)


def test_other_messages_are_cut_where_they_are_full() -> None:
    body = result(MOST_SUMS_TOGETHER + 1)
    for kind in (Kind.CLOSE, Kind.ABORT, Kind.MANIFEST, Kind.PUBLISH):
        assert [len(each) for each in pieces_of(kind, body)] == [LARGEST_BODY, 10]


def _cut(body: bytes, *places: int) -> list[bytes]:
    ends = [*places, len(body)]
    return [body[start:end] for start, end in zip([0, *places], ends, strict=True)]


def test_a_result_has_one_cut() -> None:
    """Else equal results would have many forms, and sums could hide what is none."""
    body = result(15_001, removed=1)
    right = [SUMS_BEGIN, SUMS_BEGIN + 60_000, SUMS_BEGIN + 120_000, SUMS_BEGIN + 120_008]
    assert pieces_of(Kind.RESULT, body) == _cut(body, *right)
    others = [
        [60_000, 120_000],
        right[:-1],  # the last sums stand with what is behind them
        [*right[:-1], right[-1] + 1],
        [*right[:-1], right[-1] - 8],
        [right[0] + 8, *right[1:]],
        [each - 1 for each in right],
        [*right[:2], right[2] - 8, right[3]],
        [*right, right[-1] + 6],
        [60_000, *right[1:]],
    ]
    for places in others:
        entries = entries_of(_cut(body, *places))
        assert assembled(entries) == []
        with pytest.raises(FaultyParty):
            followed(entries)
        with pytest.raises(Refused):
            admitted(entries, len(body))


def test_a_length_that_lies_is_no_result() -> None:
    body = result(15_000)
    claimed = body[:40] + (8 * 15_001).to_bytes(3) + body[43:]
    entries = entries_of(pieces_of(Kind.RESULT, claimed))
    assert assembled(entries) == followed(entries) == [claimed]
    with pytest.raises(MalformedMessage):
        RESULT.decode(claimed)
    short = claimed[:40] + (8 * MOST_SUMS_TOGETHER).to_bytes(3) + claimed[43:]
    assert [len(each) for each in pieces_of(Kind.RESULT, short)] == [60_000, 60_000, 50]


@pytest.mark.parametrize("dimension", [MOST_SUMS_TOGETHER, MOST_SUMS_TOGETHER + 1, 40_000])
def test_readers_expect_as_many_entries_as_the_longest_result_has(dimension: int) -> None:
    terms = vector_terms(dimension, squared_sensitivity=dimension)
    agreed = manifest(terms)
    longest = result(dimension, terms.parties)
    assert len(longest) <= largest_body(agreed, Phase.ORGANISER)
    most = most_chunks(agreed, Phase.ORGANISER)
    assert len(pieces_of(Kind.RESULT, longest)) <= most
    assert most <= chunks_of(largest_body(agreed, Phase.ORGANISER)) + SHORT


def test_places_of_the_longest_message_are_within_bounds() -> None:
    """The widest result of any session may begin, and no longer one."""
    sums, rest = 8 * 2**20, 6 * 2**20 + 7
    head = bytes(40) + sums.to_bytes(3)
    chunks = 1 + chunks_of(sums) + chunks_of(rest)
    (first, *_) = entries_of([head, b"x"])
    for count, begins in ((chunks, True), (chunks + 2, False)):
        entry = replace(first, entry=replace(first.entry, chunks=count))
        found = list(Assembler().observe(entry))
        assert (found == []) is begins


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
def test_the_second_verifier_cuts_heads_alike(kind: Kind, body: bytes, sizes: list[int]) -> None:
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
