"""What a client believes, remembers and never forgets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulletin_board.client.board import Patience
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import DirectoryState, MemoryState
from bulletin_board.note import KeyKind, SignedNote, cosign
from bulletin_board.policy import TrustPolicy
from tests.board.live import client
from tests.board.tools import append, entry_bytes, log_key, memory_log, signer, submission, trust
from tests.board.transports import Shows
from tests.board.waiting import LONG
from wire.errors import FaultyBoard, InvalidProof, InvalidSignature, MalformedMessage, UsageError

WITNESS = signer("witness.example/1", KeyKind.WITNESS)
WITNESSED = TrustPolicy.parse(f"log {log_key()}\nwitness w {WITNESS.verifier}\nquorum w\n".encode())


def cosigned(checkpoint: bytes) -> bytes:
    note = SignedNote.parse(checkpoint)
    return note.with_signatures([cosign(note.text, WITNESS, 1_000)]).to_bytes()


def growing_log() -> tuple[dict[str, bytes], dict[str, bytes], bytes, bytes]:
    """Files at 3 and at 4 entries, the fourth entry and its receipt, nothing cosigned."""
    log, files = memory_log(3)
    before = dict(files)
    fourth = submission(3)
    (accepted,) = append(log, [fourth])
    return before, before | files, fourth.raw, accepted.receipt


def test_a_receipt_brings_no_trust_that_the_policy_denies(tmp_path: Path) -> None:
    """The log signs receipts alone; a quorum stays a quorum, also after a restart."""
    before, after, raw, receipt = growing_log()
    shown = after | {"checkpoint": cosigned(before["checkpoint"])}
    transport = Shows(shown, receipt=receipt)

    def witnessed_client(attempts: int = 2) -> Iterator[int]:
        state = DirectoryState(tmp_path, log_key())
        board = client(
            "http://x", policy=WITNESSED, state=state, transport=transport, attempts=attempts
        )
        if board.seen is None:
            assert board.submit(raw).index == 3
        assert board.seen is not None
        yield board.seen.size
        yield board.update().size
        yield board.reader().size

    assert list(witnessed_client()) == [4, 3, 3]
    assert list(witnessed_client()) == [4, 3, 3]
    transport.files = after | {"checkpoint": cosigned(after["checkpoint"])}
    assert list(witnessed_client()) == [4, 4, 4]
    transport.files = after
    with pytest.raises(InvalidProof) as caught:
        list(witnessed_client())
    assert caught.value.check == "05-P2"


def test_a_client_waits_for_the_witnesses() -> None:
    _, after, _, _ = growing_log()
    transport = Shows(after)
    board = client("http://x", policy=WITNESSED, transport=transport)
    waits: list[float] = []

    def cosign_meanwhile(seconds: float) -> None:
        waits.append(seconds)
        transport.files = after | {"checkpoint": cosigned(after["checkpoint"])}

    board._sleep = cosign_meanwhile
    assert board.update().size == 4
    assert len(waits) == 1


def test_what_is_called_cosigned_has_its_quorum_too() -> None:
    _, after, _, _ = growing_log()
    shown = after | {"v1/cosigned": cosigned(after["checkpoint"])}
    assert client("http://x", policy=WITNESSED, transport=Shows(shown)).update().size == 4
    shown = after | {"v1/cosigned": after["checkpoint"]}
    with pytest.raises(InvalidProof) as caught:
        client("http://x", policy=WITNESSED, transport=Shows(shown), attempts=2).update()
    assert caught.value.check == "05-P2"


def test_a_client_tries_at_least_once() -> None:
    """Without an attempt it would believe what it has not judged."""
    assert Patience(1).attempts == 1
    for attempts in (0, -1):
        with pytest.raises(UsageError):
            Patience(attempts)


def test_a_memory_needs_a_directory(tmp_path: Path) -> None:
    assert DirectoryState(tmp_path / "memory", log_key()).load() is None
    (tmp_path / "file").touch()
    with pytest.raises(UsageError):
        DirectoryState(tmp_path / "file", log_key())


def forked_files() -> tuple[dict[str, bytes], dict[str, bytes]]:
    _, first = memory_log(4)
    other, second = memory_log(3)
    append(other, [submission(3, body=b"other")])
    return first, second


def test_a_fork_is_remembered_for_good(tmp_path: Path) -> None:
    first, second = forked_files()

    def again(files: dict[str, bytes]) -> None:
        state = DirectoryState(tmp_path, log_key())
        client("http://x", state=state, transport=Shows(files)).update()

    again(first)
    with pytest.raises(FaultyBoard) as caught:
        again(second)
    with pytest.raises(FaultyBoard) as remembered:
        again(first)
    assert remembered.value.evidence == caught.value.evidence
    (kept,) = tmp_path.glob("*/fork-*.evidence")
    assert kept.read_bytes() == caught.value.evidence
    board = client("http://x", state=DirectoryState(tmp_path, log_key()), transport=Shows(first))
    with pytest.raises(FaultyBoard):
        board.submit(entry_bytes(0))


def test_stored_evidence_that_proves_nothing_is_not_believed() -> None:
    state = MemoryState()
    first, _ = forked_files()
    client("http://x", state=state, transport=Shows(first)).update()
    state.evidence.append(b"junk")
    with pytest.raises(MalformedMessage):
        client("http://x", state=state, transport=Shows(first))


def test_a_memory_of_another_log_is_refused() -> None:
    state = MemoryState()
    first, _ = forked_files()
    client("http://x", state=state, transport=Shows(first)).update()
    other = TrustPolicy.single_log(signer("other.example/log").verifier)
    with pytest.raises(InvalidSignature):
        client("http://x", policy=other, state=state, transport=Shows(first))
    client("http://x", policy=trust(), state=state, transport=Shows(first)).update()


def test_tiles_that_are_late_are_asked_for_again() -> None:
    """An entry that the board has taken is not given up because a cache lags behind."""
    before, after, raw, receipt = growing_log()
    transport = Shows(before, receipt=receipt)
    board = client("http://x", transport=transport)
    assert board.update().size == 3

    def catch_up(_: float) -> None:
        transport.files = after

    board._sleep = catch_up
    assert board.submit(raw).index == 3


# Servers that never stop


@contextmanager
def serving_bytes(start: bytes, more: bytes, pause: float) -> Iterator[str]:
    """A server that answers one request with `start` and then `more` for ever."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.recv(65_536)
                    connection.sendall(start)
                    while more:
                        connection.sendall(more)
                        time.sleep(pause)
                except OSError:
                    pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/checkpoint"
        thread.join(LONG)


def get(url: str, limit: int, seconds: float = LONG) -> Response:
    transport = HttpTransport(seconds=seconds)
    try:
        return transport.request("GET", url, body=None, media_type="", limit=limit)
    finally:
        transport.close()


def test_an_answer_that_trickles_is_given_up() -> None:
    with serving_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", b"", 0) as url:
        assert get(url, 100).body == b"ab"
    started = time.monotonic()
    with (
        serving_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", b"x", 0.1) as url,
        pytest.raises(NetworkError),
    ):
        get(url, 100_000, seconds=1.0)
    assert time.monotonic() - started < LONG  # all of it would take hours


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 ", b"2"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_a_head_that_trickles_is_given_up(start: bytes, more: bytes) -> None:
    good = start.replace(b"X: ", b"X: y\r\n") if start.endswith(b"X: ") else b"HTTP/1.1 200 OK\r\n"
    with serving_bytes(good + b"Content-Length: 2\r\n\r\nab", b"", 0) as url:
        assert get(url, 100).body == b"ab"
    started = time.monotonic()
    with serving_bytes(start, more, 0.1) as url, pytest.raises(NetworkError):
        get(url, 100_000, seconds=1.0)
    assert time.monotonic() - started < LONG  # it would never end


@pytest.mark.parametrize("framing", [b"Content-Length: 99999999", b"X-Until: closed"])
def test_an_answer_that_is_too_long_is_not_read(framing: bytes) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    with serving_bytes(whole, b"", 0) as url:
        assert get(url, 3).body == b"abc"
    with serving_bytes(whole, b"", 0) as url, pytest.raises(NetworkError):
        get(url, 2)
    start = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n"
    with serving_bytes(start, b"x" * 10_000, 0) as url, pytest.raises(NetworkError):
        get(url, 50_000)


def test_an_answer_that_is_cut_short_is_no_answer() -> None:
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
    with serving_bytes(start, b"", 0) as url, pytest.raises(NetworkError):
        get(url, 100)
