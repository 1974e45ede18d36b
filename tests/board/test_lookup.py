"""Lookups by place: one proof for many entries, formats, what is found."""

from __future__ import annotations

import asyncio
import random
import socket
import sqlite3
from collections.abc import Awaitable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.committer import Committer
from bulletin_board.entry import LARGEST_BODY, Submission
from bulletin_board.lookup import (
    LARGEST_ANSWER,
    LOOKUP,
    LOOKUP_ANSWER,
    MEDIA_TYPE,
    MOST_FOUND,
    MOST_FOUND_BYTES,
    Lookup,
    open_answer,
)
from bulletin_board.reader import DirectorySource, LogReader
from bulletin_board.sequencer import Sequencer, first_checkpoint
from bulletin_board.server import lookups as lookup_module
from bulletin_board.server.lookups import LookupService
from bulletin_board.server.service import BoardService
from bulletin_board.storage import memory_storage
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.sqlite import SqliteIndexReader
from bulletin_board.tree import (
    PastRoots,
    RightEdge,
    inclusion_proof,
    subset_proof,
    tree_root,
    verify_subset,
)
from tests.board.asking import ask, raw_exchange
from tests.board.live import client, live_board
from tests.board.lookups import (
    MIXED,
    OTHER,
    answer_of,
    author,
    authors,
    expected,
    lookup,
    mixed_board,
    question,
)
from tests.board.test_spec import block
from tests.board.tools import SESSION, anyone, entry_bytes, memory_log, signer, source_of, trust
from tests.board.waiting import LONG
from wire.codec import describe
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import InvalidProof, ProtocolError, UsageError

# The proof


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 255, 256, 257, 700])
def test_a_proof_shows_exactly_its_leaves(size: int) -> None:
    log, files = memory_log(size, 700)
    reader = LogReader(source_of(files), log.signed)
    choice = random.Random(size)
    for count in {1, 2, size // 3 + 1, size}:
        indexes = sorted(choice.sample(range(size), min(count, size)))
        proof = subset_proof(indexes, size, reader.node)
        leaves = [(index, reader.leaf(index)) for index in indexes]
        verify_subset(leaves, size, proof, log.signed.root)
        if count == 1:
            single = inclusion_proof(indexes[0], size, reader.node)
            assert sorted(single) == sorted(proof)
        for wrong in damaged(leaves, proof):
            with pytest.raises(InvalidProof):
                verify_subset(*wrong[:1], size, *wrong[1:], log.signed.root)
        with pytest.raises(InvalidProof):
            verify_subset(leaves, size, proof, OTHER)


def damaged(
    leaves: list[tuple[int, bytes]], proof: list[bytes]
) -> Iterator[tuple[list[tuple[int, bytes]], list[bytes]]]:
    yield leaves, [*proof, OTHER]
    yield [(index, OTHER) for index, _ in leaves], proof
    yield [*leaves, (10**6, OTHER)], proof
    yield [(-1, OTHER), *leaves], proof
    yield leaves, [*proof, b""]
    if proof:
        yield leaves, proof[:-1]
        yield leaves, [*proof[:-1], bytes([proof[-1][0] ^ 1]) + proof[-1][1:]]
        yield [], proof
    if len(leaves) > 1:
        yield leaves[::-1], proof
        yield [leaves[0], leaves[0], *leaves[1:]], proof


def test_no_leaves_have_an_empty_proof() -> None:
    verify_subset([], 5, [], OTHER)
    assert subset_proof([], 5, lambda *_: OTHER) == []
    for indexes in ([5], [-1], [1, 1], [2, 1]):
        with pytest.raises(UsageError):
            subset_proof(indexes, 5, lambda *_: OTHER)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 33, 257])
def test_a_proof_shows_the_roots_that_a_tree_had(size: int) -> None:
    log, files = memory_log(size, 300)
    reader = LogReader(source_of(files), log.signed)
    past, choice = PastRoots([reader.leaf(at) for at in range(size)]), random.Random(size)
    for _ in range(20):
        indexes = sorted(choice.sample(range(size), choice.randint(0, min(size, 3))))
        sizes = sorted(choice.sample(range(1, size + 1), choice.randint(1, min(size, 3))))
        leaves = [(index, reader.leaf(index)) for index in indexes]
        proof = subset_proof(indexes, size, reader.node, sizes)
        roots = verify_subset(leaves, size, proof, log.signed.root, sizes)
        assert roots == tuple(tree_root(each, reader.node) for each in sizes)
        assert roots == tuple(map(past.at, sizes))
        for wrong in damaged(leaves, proof):
            if len(wrong[1]) != len(proof) or (leaves and wrong[0]):  # else it is the same again
                with pytest.raises(InvalidProof):
                    verify_subset(wrong[0], size, wrong[1], log.signed.root, sizes)
        for others in ([0, *sizes], [*sizes, size + 1], [sizes[0], *sizes], [-1, *sizes]):
            with pytest.raises(InvalidProof):
                verify_subset(leaves, size, proof, log.signed.root, others)
            with pytest.raises(UsageError):
                subset_proof(indexes, size, reader.node, others)


def test_a_leaf_that_is_shown_brings_the_root_before_it() -> None:
    """What stands to its left is in its proof: the cut of a close is nearly always its place."""
    log, files = memory_log(600, 600)
    reader = LogReader(source_of(files), log.signed)
    for index in (1, 5, 256, 511, 599):
        alone = subset_proof([index], 600, reader.node)
        assert subset_proof([index], 600, reader.node, [index]) == alone


def test_past_roots_in_any_order() -> None:
    leaves = [bytes([number]) * 32 for number in range(40)]
    past = PastRoots(leaves)
    edge = RightEdge()
    roots = [edge.root()]
    for leaf in leaves:
        edge.extend([leaf])
        roots.append(edge.root())
    for size in (0, 3, 3, 40, 17, 39, 1, 40):
        assert past.at(size) == roots[size]
    assert past.at(41) is None
    assert past.at(-1) is None
    leaves.append(bytes(32))
    edge.extend([bytes(32)])
    assert past.at(41) == edge.root()


def test_a_tree_of_many_proofs_is_smaller_than_their_sum() -> None:
    log, files = memory_log(600, 600)
    reader = LogReader(source_of(files), log.signed)
    assert tree_root(600, reader.node) == log.signed.root
    indexes = sorted(random.Random(1).sample(range(300, 500), 40))
    apart = sum(len(inclusion_proof(index, 600, reader.node)) for index in indexes)
    assert len(subset_proof(indexes, 600, reader.node)) < apart / 3


# Formats


def test_the_printed_formats_are_those_that_run() -> None:
    assert block("lookup") == describe(LOOKUP)
    assert block("lookup answer") == describe(LOOKUP_ANSWER)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"start": 7},
        {"below": 8},
        {"below": 0},
        {"phases": (2, 1)},
        {"phases": (1, 1)},
        {"authors": authors(0, 1)[::-1]},
        {"authors": (author(0), author(0))},
        {"phases": tuple(range(5)), "authors": authors(*range(205))},
    ],
    ids=" ".join,
)
def test_questions_that_nobody_asks(change: dict[str, object]) -> None:
    good = question(7, 0, 1)
    assert LOOKUP.decode(LOOKUP.encode(good)) == good
    with pytest.raises(UsageError):
        question(7, 0, 1, **change)  # type: ignore[arg-type]


def test_every_bit_of_an_answer_counts() -> None:
    log, files = memory_log(5)
    reader = LogReader(source_of(files), log.signed)
    found = answer_of(reader, [2])
    wanted = question(5, 0)
    assert open_answer(found, wanted, log.signed.root).found[0].index == 2
    for position in range(8 * len(found)):
        flipped = bytearray(found)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(ProtocolError):
            open_answer(bytes(flipped), replace(wanted, start=2, below=3), log.signed.root)


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    mixed_board(scratch / "log")
    with live_board(scratch / "log") as url:
        yield url


def looked_up(url: str, wanted: Lookup) -> list[int]:
    board = client(url)
    signed = board.update()
    found = board.look_up(replace(wanted, size=signed.size), signed.root)
    for each in found:
        assert each.submission.raw == MIXED[each.index]
    return [each.index for each in found]


@pytest.mark.slow
def test_what_is_asked_for_is_found(url: str) -> None:
    size = len(MIXED)
    for wanted in (
        question(size, *range(0, 30, 2)),
        question(size, 3),  # with evidence of equivocation, behind it
        question(size, 3, phases=(1, 2, 3)),
        question(size, 3, phases=(3,), session=OTHER),
        question(size, 3, phases=(3,), session=bytes([7]) * 32),
        question(size, 99),
        question(size, *range(30), start=7, below=40),
        question(size, *range(30), round=1),
        question(size, 4, phases=(9,), start=300, below=400),
    ):
        assert looked_up(url, wanted) == expected(wanted)
    assert len(expected(question(size, 3))) == 2


@pytest.mark.slow
def test_long_answers_come_in_pages(url: str) -> None:
    size = len(MIXED)
    wanted = question(size, 4, phases=(9,))
    found = expected(wanted)
    assert len(found) == 600
    assert looked_up(url, wanted) == found
    board = client(url)
    signed = board.update()
    page = open_answer(lookup(url, replace(wanted, size=signed.size)).body, wanted, signed.root)
    assert len(page.found) <= MOST_FOUND
    assert page.until == page.found[-1].index + 1


def test_a_page_ends_when_it_is_heavy(tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        board = client(url)
        for seq in range(20):
            board.submit(entry_bytes(seq, body=bytes([seq]) * LARGEST_BODY))
        signed = board.update()
        wanted = question(signed.size, 0)
        answer = lookup(url, wanted)
        assert MOST_FOUND_BYTES < len(answer.body) < LARGEST_ANSWER
        assert open_answer(answer.body, wanted, signed.root).until < signed.size
        assert len(board.look_up(wanted, signed.root)) == 20


def test_the_first_author_of_a_session(url: str) -> None:
    size = len(MIXED)
    first = Submission.decode(MIXED[0]).entry.author.data
    for session in (SESSION, OTHER, bytes([7]) * 32):
        wanted = question(size, phases=(1, 2, 3), session=session)
        assert not wanted.authors
        alone = {SESSION: (first,), OTHER: authors(3)}.get(session, ())
        assert looked_up(url, wanted) == expected(replace(wanted, authors=alone))


def test_an_older_tree_proves_the_same(url: str) -> None:
    board = client(url)
    signed = board.update()
    reader = board.reader()
    for size in (1, 13, 60, 256, 300):
        root = tree_root(size, reader.node)
        wanted = question(size, *range(30))
        found = board.look_up(wanted, root)
        assert [each.index for each in found] == expected(wanted)
        with pytest.raises(InvalidProof):
            board.look_up(wanted, signed.root)


def test_answers_are_not_cached(url: str) -> None:
    answer = lookup(url, question(1, 0))
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == MEDIA_TYPE


def test_refusals(url: str) -> None:
    good = question(1, 0)
    assert lookup(url, good).status == 200
    raw = LOOKUP.encode(good)
    for bad in (raw[:-1], raw + b"\0", b"", raw[:34] + raw[36:]):
        answer = ask(url, "POST", "/v1/lookup", bad, {"Content-Type": MEDIA_TYPE})
        assert (answer.status, answer.problem) == (422, "lookup")
    assert ask(url, "POST", "/v1/lookup", raw, {"Content-Type": "text/plain"}).status == 415
    large = bytes(LOOKUP.max_size + 1)
    assert ask(url, "POST", "/v1/lookup", large, {"Content-Type": MEDIA_TYPE}).status == 413
    assert ask(url, "GET", "/v1/lookup").status == 405
    ahead = lookup(url, question(len(MIXED) + 1, 0))
    assert (ahead.status, ahead.problem) == (503, "unavailable")
    head = f"POST /v1/lookup HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\n"
    chunk = b"2000\r\n" + bytes(0x2000) + b"\r\n"
    start = (head + "Transfer-Encoding: chunked\r\n\r\n").encode()
    assert b" 413 " in raw_exchange(url, start, chunk, chunk)


def test_lookups_are_counted(url: str) -> None:
    assert lookup(url, question(1, 0)).status == 200
    assert ask(url, "POST", "/v1/lookup", b"", {"Content-Type": MEDIA_TYPE}).status == 422
    metrics = ask(url, "GET", "/metrics").body.decode()
    assert 'gopa_board_lookups_total{outcome="answered"}' in metrics
    assert 'gopa_board_lookups_total{outcome="lookup"}' in metrics
    assert "gopa_board_lookup_bytes_total" in metrics


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_make_a_reader_fail(data: bytes) -> None:
    wanted = question(7, 0)
    with pytest.raises(ProtocolError):
        open_answer(data, wanted, OTHER)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.binary(max_size=8))
def test_no_request_makes_the_server_fail(url: str, at: int, change: bytes) -> None:
    raw = LOOKUP.encode(question(20, *range(5)))
    body = raw[:at] + change + raw[at + len(change) :]
    answer = ask(url, "POST", "/v1/lookup", body, {"Content-Type": MEDIA_TYPE})
    assert answer.status in {200, 413, 422} or answer.problem == "unavailable"


# What goes wrong beside the question


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[tuple[BoardDirectory, LookupService]]:
    """Lookups in the directory of a log that nobody writes."""
    board = mixed_board(tmp_path / "log")
    places, public = SqliteIndexReader.open(board.index_path), DirectorySource(board.public)
    lookups = LookupService(places, public, lambda: len(MIXED))
    yield board, lookups
    lookups.close()


def refused(work: Awaitable[bytes]) -> RefusalReason:
    async def wait() -> bytes:
        return await work

    with pytest.raises(Refused) as caught:
        asyncio.run(wait())
    return caught.value.reason


def test_a_log_that_is_damaged_proves_nothing(
    offline: tuple[BoardDirectory, LookupService],
) -> None:
    board, lookups = offline
    assert asyncio.run(lookups.consistency(100, len(MIXED)))
    for path in (*board.public.glob("tile/0/*"), *board.public.glob("tile/entries/*")):
        path.unlink() if path.is_file() else None
    wanted = LOOKUP.encode(question(len(MIXED), 3))
    assert refused(lookups.answer(wanted)) is RefusalReason.UNAVAILABLE
    assert asyncio.run(lookups.consistency(100, len(MIXED)))  # what is remembered is not read
    assert refused(lookups.consistency(101, 500)) is RefusalReason.UNAVAILABLE


def test_an_index_that_is_damaged_finds_nothing(
    offline: tuple[BoardDirectory, LookupService],
) -> None:
    board, lookups = offline
    wanted = LOOKUP.encode(question(len(MIXED), 3))
    assert asyncio.run(lookups.answer(wanted))
    with closing(sqlite3.connect(board.index_path)) as database:
        database.execute("DROP TABLE slots")
        database.commit()
    assert refused(lookups.answer(wanted)) is RefusalReason.UNAVAILABLE


def test_few_sessions_are_remembered(
    offline: tuple[BoardDirectory, LookupService], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can begin one."""
    monkeypatch.setattr(lookup_module, "_SESSIONS_KEPT", 1)
    _, lookups = offline
    for session, first in ((SESSION, author(0)), (OTHER, author(3)), (SESSION, author(0))):
        wanted = question(len(MIXED), phases=(1, 2, 3), session=session)
        answer = LOOKUP_ANSWER.decode(asyncio.run(lookups.answer(LOOKUP.encode(wanted))))
        assert {Submission.decode(each.entry).entry.author.data for each in answer.found} == {first}
        assert list(lookups._first) == [session]


def test_a_board_may_offer_no_lookups() -> None:
    storage = memory_storage(first_checkpoint(signer()))
    committer = Committer(lambda: Sequencer(storage, signer(), anyone))
    service = BoardService(committer, storage.public, trust())
    assert not service.problem()
    assert refused(service.look_up(b"")) is RefusalReason.UNAVAILABLE
    assert refused(service.consistency(1, 2)) is RefusalReason.UNAVAILABLE
    service.close()


def test_who_hangs_up_gets_no_answer_and_harms_nobody(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    parts = urlsplit(url)
    for path in ("/v1/lookup", "/v1/entries"):
        media_type = MEDIA_TYPE if path == "/v1/lookup" else ENTRY_PAYLOAD_TYPE
        start = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\n"
        with socket.create_connection((str(parts.hostname), parts.port or 0), LONG) as connection:
            connection.sendall((start + "Content-Length: 100\r\n\r\n").encode() + bytes(10))
    assert lookup(url, question(1, 0)).status == 200
    assert not [record for record in caplog.records if record.exc_info]
