"""What a front does, one thing at a time; without it the same request is answered rightly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bulletin_board import Entry, KeyKind, NoteSigner, TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.forks import verify_fork
from bulletin_board.client.http import NetworkError
from bulletin_board.client.state import MemoryState
from bulletin_board.entry import VERSION, sign_entry
from gopa.adversary.boards import MaliciousBoard, NeverHappened, TamperedTransport
from gopa.contract.phases import Kind, Phase
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import FaultyBoard, InvalidProof
from wire.secret import SecretBytes

SIGNER = NoteSigner("log.example", KeyKind.LOG, SecretBytes(seeded("front")(32)))
TRUST = TrustPolicy.single_log(SIGNER.verifier)
KEYS = [SigningKey.generate(seeded(f"author {i}")) for i in range(4)]


def entry(author: int, phase: Phase = Phase.JOIN) -> bytes:
    """An entry that the admission of a board knows no session of."""
    key = KEYS[author]
    kind = {Phase.JOIN: Kind.JOIN, Phase.COMMIT: Kind.COMMIT}[phase]
    return sign_entry(
        Entry(
            VERSION,
            bytes(32),
            int(phase),
            int(kind),
            1,
            0,
            1,
            key.public,
            0,
            bytes(32),
            0,
            bytes(32),
            b"x",
        ),
        key,
    )


@pytest.fixture
def board(tmp_path: Path) -> Iterator[MaliciousBoard]:
    with ExitStack() as stack:
        yield MaliciousBoard(tmp_path, SIGNER, TRUST, stack, rng=seeded("board"))


def reader_of(board: MaliciousBoard, transport: TamperedTransport) -> BoardClient:
    patience = Patience(2, 0.0, 0.0)
    address, state = board.main.address, MemoryState()
    return BoardClient(address, TRUST, state, transport, rng=seeded("reader"), patience=patience)


def test_faces_are_logs_of_one_key_and_whoever_sees_two_can_prove_it(board: MaliciousBoard) -> None:
    one, other = board.fork([entry(0), entry(1)]), board.fork([entry(0), entry(2), entry(3)])
    assert (one.size, other.size) == (2, 3)
    assert board.entries(other) == [entry(0), entry(2), entry(3)]
    transport = board.transport()
    transport.show(one)
    client = reader_of(board, transport)
    assert client.update().size == 2
    transport.show(other)
    with pytest.raises(FaultyBoard) as caught:
        client.update()
    verify_fork(caught.value.evidence, SIGNER.verifier)


def test_who_stands_still_sees_no_more(board: MaliciousBoard) -> None:
    short, long = board.fork([entry(0)]), board.fork([entry(0), entry(1)])
    transport = board.transport()
    transport.show(short)
    transport.stands_still()
    client = reader_of(board, transport)
    assert client.update().size == 1
    transport.show(long)
    assert client.update().size == 1
    transport.behave()
    assert client.update().size == 2


def test_posts_that_are_lost_are_kept_by_the_front(board: MaliciousBoard) -> None:
    transport = board.transport()
    transport.loses(lambda each: each.phase == Phase.COMMIT)
    with pytest.raises(NetworkError):
        reader_of(board, transport).submit(entry(0, Phase.COMMIT))
    assert [each.author for each in transport.lost] == [KEYS[0].public] * 2
    assert board.handed == {entry(0, Phase.COMMIT)}
    assert board.sent == []


def test_a_receipt_for_another_entry_is_good_and_for_another_entry(board: MaliciousBoard) -> None:
    transport = board.transport()
    transport.show(board.fork([entry(1)]))
    transport.acknowledges_falsely(lambda _: True, 1)
    client = reader_of(board, transport)
    with pytest.raises(InvalidProof) as caught:
        client.submit(entry(0))
    assert caught.value.check == "05-T2"
    assert [each.author for each in transport.lost] == [KEYS[0].public]


def test_an_answer_without_end_is_cut_off(board: MaliciousBoard) -> None:
    transport = board.transport()
    url = board.main.address + "/checkpoint"

    def ask() -> int:
        return transport.request("GET", url, body=None, media_type="", limit=1_000).status

    assert ask() == 200
    transport.garbles(3)
    assert [ask(), ask()] == [503, 503]
    with pytest.raises(NetworkError):
        ask()
    assert ask() == 200


def test_who_waits_in_vain_is_told(board: MaliciousBoard) -> None:
    board.wait_for(lambda: True, 0.0)
    with pytest.raises(NeverHappened):
        board.wait_for(lambda: False, 0.0)


@pytest.mark.slow
def test_the_catalogue_loads_no_server_and_no_client() -> None:
    code = (
        "import sys\n"
        "for name in ('uvicorn', 'starlette', 'urllib3'):\n"
        "    sys.modules[name] = None\n"
        "from gopa.adversary import named\n"
        "print(named('fork').family)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "served\n"
