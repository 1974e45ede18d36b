"""Boards that lie about what they find, or about how they have grown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board.client.board import BoardClient
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import MemoryState
from bulletin_board.entry import Submission
from bulletin_board.lookup import LARGEST_ANSWER, LOOKUP, LOOKUP_ANSWER, open_answer
from bulletin_board.storage import StorageError
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.sqlite import SqliteIndexReader
from bulletin_board.tree import RightEdge, leaf_hash, subset_proof, tree_root, verify_consistency
from tests.board.asking import ask
from tests.board.live import client, live_board
from tests.board.lookups import MIXED, OTHER, answer_of, expected, mixed_board, question
from tests.board.tools import entry_bytes, filled_board, submission, trust
from tests.board.transports import Between, Plays, as_it_is
from tests.randomness import seeded
from wire.errors import (
    FaultyBoard,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    UsageError,
)


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    mixed_board(scratch / "log")
    with live_board(scratch / "log") as url:
        yield url


# Boards that lie


def lying(lie: Callable[[bytes], bytes]) -> Between:
    """A board that answers lookups as it likes and everything else as it should."""

    def change(path: str, answer: Response) -> Response:
        return replace(answer, body=lie(answer.body)) if path == "v1/lookup" else answer

    return Between(change)


def changed(**fields: object) -> Callable[[bytes], bytes]:
    def lie(raw: bytes) -> bytes:
        answer = LOOKUP_ANSWER.decode(raw)
        new = {
            name: value(getattr(answer, name)) if callable(value) else value
            for name, value in fields.items()
        }
        return LOOKUP_ANSWER.encode(replace(answer, **new))  # type: ignore[arg-type]

    return lie


def moved(by: int) -> Callable[[tuple[object, ...]], tuple[object, ...]]:
    return lambda found: tuple(replace(each, index=each.index + by) for each in found)  # type: ignore[type-var, attr-defined]


LIES: dict[str, tuple[Callable[[bytes], bytes], type[ProtocolError]]] = {
    "reversed": (changed(found=lambda found: found[::-1]), InvalidProof),
    "twice": (changed(found=lambda found: (found[0], *found)), InvalidProof),
    "one left out": (changed(found=lambda found: found[1:]), InvalidProof),
    "moved": (changed(found=moved(1)), InvalidProof),
    "behind the end": (changed(until=3), InvalidProof),
    "an end too late": (changed(until=10**6), InvalidProof),
    "no progress": (changed(until=0, found=(), proof=()), InvalidProof),
    "nothing, and more to come": (changed(until=5, found=(), proof=()), InvalidProof),
    "nothing, with a proof": (changed(found=()), InvalidProof),
    "a hash more": (changed(proof=lambda proof: (*proof, OTHER)), InvalidProof),
    "a hash less": (changed(proof=lambda proof: proof[1:]), InvalidProof),
    "another hash": (changed(proof=lambda proof: (OTHER, *proof[1:])), InvalidProof),
    "a byte more": (lambda raw: raw + b"\0", MalformedMessage),
    "a byte less": (lambda raw: raw[:-1], MalformedMessage),
    "nothing at all": (lambda _: b"", MalformedMessage),
    "gigantic": (lambda raw: raw + bytes(LARGEST_ANSWER), NetworkError),
}


@pytest.mark.parametrize(("lie", "error"), LIES.values(), ids=LIES)
def test_lies_are_found(
    url: str, lie: Callable[[bytes], bytes], error: type[ProtocolError]
) -> None:
    transport = Between(as_it_is)
    board = client(url, transport=transport)
    signed = board.update()
    wanted = question(signed.size, *range(0, 30, 3))
    assert [each.index for each in board.look_up(wanted, signed.root)] == expected(wanted)
    transport.change = lying(lie).change
    with pytest.raises(error):
        board.look_up(wanted, signed.root)


@pytest.mark.slow
def test_entries_of_another_place_are_refused_though_they_are_in_the_log(url: str) -> None:
    board = client(url)
    signed, reader = board.update(), board.reader()
    wanted = question(signed.size, 0, 1)
    whole = expected(wanted)
    page = open_answer(answer_of(reader, whole, signed.size), wanted, signed.root)
    assert [each.index for each in page.found] == whole
    phase_2 = expected(replace(wanted, phases=(2,)))[0]
    other_author = expected(question(signed.size, 7))[0]
    theirs = question(signed.size, 3, phases=(3,), session=OTHER)
    (other_session,) = expected(theirs)[:1]
    answer = answer_of(reader, [other_session], signed.size)
    assert [each.index for each in open_answer(answer, theirs, signed.root).found] == [
        other_session
    ]
    for stranger, asked in (
        (phase_2, wanted),
        (other_author, wanted),
        (other_session, replace(theirs, session=wanted.session)),
    ):
        indexes = [stranger] if stranger == other_session else sorted({*whole, stranger})
        with pytest.raises(InvalidProof) as caught:
            open_answer(answer_of(reader, indexes, signed.size), asked, signed.root)
        assert caught.value.check == "05-Q5"
    alone = replace(wanted, authors=())
    open_answer(answer_of(reader, [0], signed.size), alone, signed.root)
    with pytest.raises(InvalidProof) as caught:
        open_answer(answer_of(reader, [0, 1], signed.size), alone, signed.root)
    assert caught.value.check == "05-Q5"


def test_what_is_hidden_is_not_noticed(url: str) -> None:
    """The other side of the rule: an honest proof of less is a good answer."""
    board = client(url)
    signed, reader = board.update(), board.reader()
    wanted = question(signed.size, *range(30))
    some = expected(wanted)[::2]
    page = open_answer(answer_of(reader, some, signed.size), wanted, signed.root)
    assert [each.index for each in page.found] == some


def test_an_entry_that_nobody_signed_is_refused(tmp_path: Path) -> None:
    """A board that logs what it did not check."""
    good = submission(0)
    bad = Submission.decode(good.raw[:-1] + bytes([good.raw[-1] ^ 1]))
    for entry, fine in ((good, True), (bad, False)):
        place = filled_board(tmp_path / str(fine), [entry])
        with live_board(place.root) as url:
            board = client(url)
            signed = board.update()
            if fine:
                assert board.look_up(question(1, 0), signed.root)
                continue
            with pytest.raises(InvalidSignature):
                board.look_up(question(1, 0), signed.root)


def test_a_proof_under_an_older_checkpoint_is_refused(url: str) -> None:
    board = client(url)
    signed, reader = board.update(), board.reader()
    wanted = question(signed.size, 0)
    open_answer(answer_of(reader, expected(wanted), signed.size), wanted, signed.root)
    older = tuple(subset_proof(expected(wanted), 100, reader.node))
    answer = LOOKUP_ANSWER.decode(answer_of(reader, expected(wanted), signed.size))
    with pytest.raises(InvalidProof):
        open_answer(LOOKUP_ANSWER.encode(replace(answer, proof=older)), wanted, signed.root)


@pytest.mark.slow
def test_pages_end(url: str) -> None:
    """A board cannot make a client ask for ever: each page shows entries of the log."""
    board = client(url)
    signed, reader = board.update(), board.reader()
    wanted = question(signed.size, 4, phases=(9,), below=len(MIXED))
    some = expected(wanted)

    def one_by_one(_: str, __: str, body: bytes) -> Response:
        asked = LOOKUP.decode(body)
        index = next(index for index in some if index >= asked.start)
        until = asked.below if index == some[-1] else index + 1
        return Response(200, {}, answer_of(reader, [index], until))

    slow = Plays(one_by_one)
    found = client(url, transport=slow).look_up(replace(wanted, start=some[-5]), signed.root)
    assert [each.index for each in found] == some[-5:]
    assert len(slow.asked) == 5


def test_a_board_directory_is_where_its_index_is(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        SqliteIndexReader.open(BoardDirectory(tmp_path / "nowhere").index_path)


# Consistency proofs


def test_consistency_proofs(url: str) -> None:
    size, reader = client(url).update().size, client(url).reader()
    for older, newer in ((1, 1), (1, 2), (7, size), (256, 300), (255, 513), (size, size)):
        answer = ask(url, "GET", f"/v1/consistency/{older}/{newer}")
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
        proof = [answer.body[at : at + 32] for at in range(0, len(answer.body), 32)]
        roots = [tree_root(each, reader.node) for each in (older, newer)]
        verify_consistency(older, newer, proof, *roots)
    for bad in ("0/5", "5/4", "-1/5", "05/6", "a/b", f"5/{2**63}", "1/+2"):
        assert ask(url, "GET", f"/v1/consistency/{bad}").status == 422
    assert ask(url, "GET", f"/v1/consistency/1/{size + 1}").status == 503


def proving(lie: Callable[[Response], Response]) -> Callable[[str, Response], Response]:
    """Consistency proofs as the lie has them, and everything else as it is."""
    return lambda path, answer: lie(answer) if path.startswith("v1/consistency/") else answer


def short(url: str, transport: HttpTransport, state: MemoryState | None = None) -> BoardClient:
    """A client that asks for short proofs."""
    memory, rng = state or MemoryState(), seeded("short")
    return BoardClient(url, trust(), memory, transport, rng=rng, short_proofs=True)


def gone(_: Response) -> Response:
    raise NetworkError("gone")


@pytest.mark.parametrize(
    ("lie", "asked_again"),
    [
        (lambda answer: replace(answer, body=answer.body[::-1]), True),
        (lambda answer: replace(answer, body=answer.body[:-1]), True),
        (lambda answer: replace(answer, body=b""), True),
        (lambda answer: replace(answer, status=503), True),
        (gone, True),
        (lambda answer: replace(answer, status=404), False),
    ],
    ids=["wrong", "cut", "empty", "busy", "gone", "not offered"],
)
def test_a_short_proof_spares_tiles_and_a_bad_one_shows_nothing(
    lie: Callable[[Response], Response], asked_again: bool, tmp_path: Path
) -> None:
    transport = Between(as_it_is)
    with live_board(tmp_path / "log") as url:
        board = short(url, transport)
        poster = client(url)
        for number in range(6):
            poster.submit(entry_bytes(0, author=number))
            if number == 3:
                assert not any(path.startswith("tile/") for path in transport.asked)
                transport.change = proving(lie)
            assert board.update().size == number + 1
    assert any(path.startswith("tile/") for path in transport.asked)
    proofs = [path for path in transport.asked if path.startswith("v1/consistency/")]
    assert len(proofs) == (5 if asked_again else 3)


@pytest.mark.parametrize("lie", [None, gone, lambda answer: replace(answer, body=b"")])
@pytest.mark.parametrize("size", [1, 3, 4, 6, 7])
def test_roots_that_a_log_had_are_proved(
    size: int, lie: Callable[[Response], Response] | None, tmp_path: Path
) -> None:
    """A short proof shows a root that is right; else the tiles say which one it is."""
    transport = Between(as_it_is)
    raws = [entry_bytes(0, author=number) for number in range(7)]
    edge = RightEdge()
    edge.extend(map(leaf_hash, raws[:size]))
    with live_board(tmp_path / "log") as url:
        poster = client(url)
        for raw in raws:
            poster.submit(raw)
        board = short(url, transport)
        with pytest.raises(UsageError):
            board.root_at(size, edge.root())
        board.update()
        transport.change = proving(lie) if lie else as_it_is
        transport.asked.clear()
        assert board.root_at(size, edge.root()) == edge.root()
        tiles = [path for path in transport.asked if path.startswith("tile/")]
        assert bool(tiles) == (lie is not None and size < 7)
        assert board.root_at(size, bytes(32)) == edge.root()
        for wrong in (0, -1, 8):
            with pytest.raises(UsageError):
                board.root_at(wrong, edge.root())


def test_a_fork_is_found_where_short_proofs_are_asked_for(tmp_path: Path) -> None:
    state = MemoryState()
    for number, body in enumerate((b"one", b"other")):
        entries = [submission(0, body=body), *map(submission, range(1, 3 + number))]
        place = filled_board(tmp_path / str(number), entries)
        with live_board(place.root) as url:
            board = short(url, HttpTransport(), state)
            if not number:
                assert board.update().size == 3
                continue
            with pytest.raises(FaultyBoard):
                board.update()
    assert len(state.evidence) == 1
