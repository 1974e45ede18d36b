"""The client against honest, failing and forking boards; witnesses and quorums."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.client.aio import AsyncBoardClient
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence, verify_fork
from bulletin_board.client.http import HttpTransport, NetworkError, Response
from bulletin_board.client.state import MemoryState
from bulletin_board.note import KeyKind, NoteSigner, SignedNote, cosign, sign_note
from bulletin_board.policy import KnownServer
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt
from bulletin_board.sequencer import Sequencer
from bulletin_board.storage import Overtaken
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.tree import leaf_hash, tree_root
from bulletin_board.witness.asking import WitnessRefusal, ask_witness
from bulletin_board.witness.judging import LARGEST_REQUEST, AddCheckpoint, WitnessAnswer
from bulletin_board.witness.service import Witness, WitnessStore
from tests.board.asking import ask, raw_exchange
from tests.board.live import LiveWitness, client, live_board, live_witness, starts_not, witnessed
from tests.board.tools import (
    append,
    entry_bytes,
    log_key,
    memory_log,
    open_log,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from tests.board.transports import Between, Plays, Shows
from tests.board.waiting import LONG
from wire.errors import (
    FaultyBoard,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    UsageError,
)
from wire.secret import SecretBytes


@pytest.fixture(scope="module")
def url(scratch: Path) -> Iterator[str]:
    with live_board(scratch / "log") as url:
        yield url


def test_submit_and_read(url: str) -> None:
    board = client(url)
    raws = [entry_bytes(n, author=1) for n in range(5)]
    receipts = [board.submit(raw) for raw in raws]
    assert board.submit(raws[2]).index == receipts[2].index
    assert list(board.entries(receipts[0].index))[:5] == raws
    assert board.update().size >= 5


def test_an_async_client(url: str) -> None:
    async def work() -> tuple[int, list[bytes]]:
        async with AsyncBoardClient(client(url)) as board:
            raws = [entry_bytes(n, author=2) for n in range(20)]
            found = await asyncio.gather(*map(board.submit, raws))
            assert (await board.update()).size >= 20
            read = [raw async for raw in board.entries(min(r.index for r in found))]
            return len(found), [raw for raw in raws if raw not in read]

    assert asyncio.run(work()) == (20, [])


def test_refusals_are_typed(url: str) -> None:
    board = client(url)
    board.submit(entry_bytes(0, author=3))
    with pytest.raises(Refused) as caught:
        board.submit(entry_bytes(0, author=3, body=b"x"))
    assert caught.value.reason is RefusalReason.CONFLICT
    assert caught.value.evidence is not None
    with pytest.raises(Refused) as caught:
        board.submit(b"junk")
    assert caught.value.reason is RefusalReason.MALFORMED


def test_retries_add_nothing_twice(url: str) -> None:
    """Each request is sent, and every second answer is lost."""

    def losing(_: str, answer: Response) -> Response:
        if len(flaky.asked) % 2:
            raise NetworkError("lost")
        return answer

    flaky, raw = Between(losing), entry_bytes(0, author=4)
    receipt = client(url, transport=flaky).submit(raw)
    assert len(flaky.asked) == 2
    assert client(url).submit(raw).index == receipt.index


def test_patience_ends() -> None:
    with pytest.raises(NetworkError):
        client("http://127.0.0.1:9", attempts=2).submit(entry_bytes(0))


def test_retry_after_is_obeyed() -> None:
    waits: list[float] = []

    refusal = problem_body(Refused(RefusalReason.BUSY, "", 7))
    busy = Plays(lambda *_: Response(503, {"retry-after": "7"}, refusal))
    board = client("http://x", transport=busy, attempts=3)
    board._sleep = waits.append
    board._patience = board._patience.__class__(3, 0.01, 30.0)
    with pytest.raises(Refused) as caught:
        board.submit(entry_bytes(0))
    assert (caught.value.reason, waits) == (RefusalReason.BUSY, [7.0, 7.0])


# Forks


def branches(
    common: int, first: int, second: int
) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]]:
    """The files of a log, and of two different continuations of it."""
    log, files = memory_log(common)
    stem = dict(files)
    append(log, submissions(first, common))
    other, other_files = memory_log(common)
    append(other, [submission(n, body=b"other") for n in range(common, common + second)])
    return stem, dict(files), dict(other_files)


@pytest.mark.parametrize("sizes", [(5, 3, 3), (5, 3, 20), (0, 4, 4), (0, 8, 300), (7, 1, 250)])
def test_a_fork_is_proved_and_final(sizes: tuple[int, int, int]) -> None:
    _, first, second = branches(*sizes)
    state = MemoryState()
    transport = Shows(first)
    board = client("http://x", state=state, transport=transport)
    seen = board.update()
    transport.files = second
    with pytest.raises(FaultyBoard) as caught:
        board.update()
    older, newer = verify_fork(caught.value.evidence, log_key())
    assert older.root == seen.root
    assert newer.size == sizes[0] + sizes[2]
    assert state.evidence == [caught.value.evidence]
    with pytest.raises(FaultyBoard):
        board.update()
    with pytest.raises(FaultyBoard):
        board.submit(entry_bytes(0))
    evidence = FORK_EVIDENCE.decode(caught.value.evidence)
    with pytest.raises(InvalidSignature):
        verify_fork(caught.value.evidence, signer("other.example").verifier)
    honest = ForkEvidence(evidence.newer, evidence.newer, ())
    with pytest.raises(InvalidProof):
        verify_fork(FORK_EVIDENCE.encode(honest), log_key())


@pytest.mark.parametrize(("older", "newer"), [(4, 8), (4, 6), (3, 8), (5, 5)])
def test_evidence_without_its_proof_convicts_nobody(older: int, newer: int) -> None:
    """A root that is not shown to lie in the newer tree is no root of it."""
    other, older_files = memory_log(0)
    append(other, [submission(n, body=b"other") for n in range(older)])
    log, files = memory_log(newer)
    proof = tuple(log.consistency_proof(older))
    if older & (older - 1) == 0:
        proof = (log_root(log, older), *proof)
    good = ForkEvidence(older_files["checkpoint"], files["checkpoint"], proof)
    verify_fork(FORK_EVIDENCE.encode(good), log_key())
    for bad in ((), proof[1:], (*proof, bytes(32)), (bytes(32), *proof[1:]), proof[::-1]):
        if bad != proof:
            evidence = ForkEvidence(good.older, good.newer, bad)
            with pytest.raises(InvalidProof):
                verify_fork(FORK_EVIDENCE.encode(evidence), log_key())
    swapped = ForkEvidence(good.newer, good.older, proof)
    if older != newer:
        with pytest.raises(InvalidProof):
            verify_fork(FORK_EVIDENCE.encode(swapped), log_key())


def log_root(log: Sequencer, size: int) -> bytes:
    return tree_root(size, log._view.node)


def test_a_smaller_fork_beside_the_larger_tiles_is_proved() -> None:
    _, first, second = branches(5, 20, 3)
    transport = Shows(first)
    board = client("http://x", transport=transport)
    board.update()
    transport.files = first | {"checkpoint": second["checkpoint"]}
    with pytest.raises(FaultyBoard) as caught:
        board.update()
    verify_fork(caught.value.evidence, log_key())


def test_an_older_state_of_the_same_log_changes_nothing() -> None:
    stem, first, _ = branches(5, 20, 3)
    transport = Shows(first)
    board = client("http://x", transport=transport)
    newest = board.update()
    transport.files = first | {"checkpoint": stem["checkpoint"]}
    assert board.update() == newest


def test_two_groups_that_saw_different_branches_compare() -> None:
    """Each group is content alone; one checkpoint passed between them proves the fork."""
    _, first, second = branches(5, 3, 3)
    a = client("http://x", transport=Shows(first))
    b = client("http://x", transport=Shows(second))
    a.update()
    passed_on = b.update()
    with pytest.raises(FaultyBoard):
        a._accept([passed_on])


def test_a_receipt_whose_entry_is_absent_is_refused() -> None:
    log, _ = memory_log(10)
    other = Receipt.parse(log.receipt(4))

    board = client("http://x", transport=Shows({}, receipt=other.to_bytes()))
    assert board.submit(submissions(1, 4)[0].raw).index == 4
    with pytest.raises(InvalidProof):
        board.submit(entry_bytes(99))


def test_problems_round_trip() -> None:
    for reason in RefusalReason:
        refusal = Refused(reason, "why", None, 1, 2)
        found = parse_problem(problem_body(refusal), 3)
        assert (found.reason, found.message, found.evidence) == (reason, "why", 2)
    for bad in (b"", b"[]", b"{}", b'{"type": "x"}', b"[" * 10_000, b"\xff"):
        with pytest.raises(MalformedMessage):
            parse_problem(bad)


# Witnesses


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[LiveWitness]:
    with live_witness(tmp_path, 1) as found:
        yield found


def request(files: dict[str, bytes], old: int) -> bytes:
    reader = LogReader.open(source_of(files), trust())
    proof = tuple(reader.consistency_proof(old)) if old else ()
    return AddCheckpoint(old, proof, reader.signed.to_bytes()).to_bytes()


def snapshots(*sizes: int) -> list[dict[str, bytes]]:
    log, files = memory_log()
    taken = []
    for size in sizes:
        append(log, submissions(size - log.signed.size, log.signed.size))
        taken.append(dict(files))
    return taken


def test_the_answers_of_a_witness(witness: LiveWitness) -> None:
    five, nine = snapshots(5, 9)
    ask = witness.service.add_checkpoint
    key = signer("witness.example/1", KeyKind.WITNESS).verifier
    first = ask(request(five, 0))
    assert first.status == 200
    policy = witnessed(1, witness)
    policy.open(five["checkpoint"] + first.body)
    assert key.name.encode() in first.body
    assert ask(request(five, 5)).status == 200
    assert ask(request(nine, 0)) == WitnessAnswer(409, b"5\n", "text/x.tlog.size")
    good = AddCheckpoint.parse(request(nine, 5))
    flipped = AddCheckpoint(5, (leaf_hash(b""), *good.proof[1:]), good.checkpoint)
    assert ask(flipped.to_bytes()).status == 422
    assert ask(AddCheckpoint(5, (), good.checkpoint).to_bytes()).status == 422
    assert ask(AddCheckpoint(10, (), good.checkpoint).to_bytes()).status == 400
    assert ask(good.to_bytes()).status == 200
    assert ask(request(five, 5)).status == 409


def test_a_request_to_a_witness_has_one_form() -> None:
    five, nine = snapshots(5, 9)
    good = request(nine, 5)
    parsed = AddCheckpoint.parse(good)
    assert parsed.to_bytes() == good
    longest = good + b"x" * (LARGEST_REQUEST - len(good))
    assert AddCheckpoint.parse(longest).old == 5
    most = AddCheckpoint(5, (bytes(32),) * 63, five["checkpoint"]).to_bytes()
    assert len(AddCheckpoint.parse(most).proof) == 63
    for bad in (
        longest + b"x",
        good.replace(b"old 5", b"new 5"),
        good.replace(b"old 5", b"old 05"),
        good.replace(b"old 5", b"5"),
        good.partition(b"\n\n")[0] + b"\n",
        good.partition(b"\n\n")[0],
        b"old 5",
        b"\xff" + good,
        most.replace(b"old 5\n", b"old 5\n" + b"A" * 43 + b"=\n"),
    ):
        with pytest.raises(MalformedMessage):
            AddCheckpoint.parse(bad)


def test_a_witness_has_a_witness_s_key_and_logs_with_different_names(tmp_path: Path) -> None:
    key = signer("witness.example/1", KeyKind.WITNESS)
    store = WitnessStore(tmp_path / "store")
    Witness(key, [log_key(), log_key(), signer("other.example").verifier], store)
    with pytest.raises(UsageError):
        Witness(signer(), [log_key()], store)
    namesake = NoteSigner(log_key().name, KeyKind.LOG, SecretBytes(bytes(32))).verifier
    with pytest.raises(UsageError):
        Witness(key, [log_key(), namesake], store)
    store.close()


def test_an_endless_request_to_a_witness_is_cut_off(witness: LiveWitness) -> None:
    chunk = b"2000\r\n" + bytes(0x2000) + b"\r\n"
    start = b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 400 " in raw_exchange(witness.url, start, *[chunk] * 9)


def test_a_witness_that_cannot_remember_signs_nothing(witness: LiveWitness, tmp_path: Path) -> None:
    five, nine = snapshots(5, 9)

    def answer(body: bytes) -> int:
        return ask(witness.url, "POST", "/add-checkpoint", body).status

    assert answer(request(five, 0)) == 200
    with closing(sqlite3.connect(tmp_path / "witness-1.sqlite")) as database:
        database.execute("UPDATE cosigned SET text = 'damaged'")
        database.commit()
    assert answer(request(nine, 5)) == 503
    assert answer(request(nine, 0)) == 503


def test_who_hangs_up_on_a_witness_leaves_no_trace(
    witness: LiveWitness, caplog: pytest.LogCaptureFixture
) -> None:
    """Else strangers would fill its log."""
    parts = urlsplit(witness.url)
    start = b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nold"
    with socket.create_connection((str(parts.hostname), parts.port or 0), LONG) as connection:
        connection.sendall(start)
    (five,) = snapshots(5)
    assert ask(witness.url, "POST", "/add-checkpoint", request(five, 0)).status == 200
    assert not [record for record in caplog.records if record.exc_info]


def answering(*answers: tuple[int, bytes]) -> Plays:
    """A witness that gives these answers, one after the other."""
    left = list(answers)

    def answer(_: str, path: str, __: bytes) -> Response:
        assert path == "add-checkpoint"
        status, body = left.pop(0)
        return Response(status, {}, body)

    return Plays(answer)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([(422, b"")], WitnessRefusal),
        ([(409, b"0\n")], WitnessRefusal),
        ([(409, b"10\n")], WitnessRefusal),
        ([(409, b"5\n"), (409, b"5\n")], WitnessRefusal),
        ([(409, b"5\n"), (422, b"")], WitnessRefusal),
        ([(409, b"5\n"), (409, b"6\n"), (409, b"7\n")], NetworkError),
        ([(403, b"5\n")], NetworkError),
        ([(404, b"5\n")], NetworkError),
        ([(500, b"5\n")], NetworkError),
        ([(503, b"")], NetworkError),
        ([(409, b"5")], MalformedMessage),
        ([(409, b"5x")], MalformedMessage),
        ([(409, b"05\n")], MalformedMessage),
        ([(409, b"\xff\n")], MalformedMessage),
        ([(409, b"")], MalformedMessage),
        ([(200, b"junk")], MalformedMessage),
    ],
)
def test_what_a_witness_s_answers_mean(
    answers: list[tuple[int, bytes]], error: type[ProtocolError]
) -> None:
    (nine,) = snapshots(9)
    reader = LogReader.open(source_of(nine), trust())
    key = signer("witness.example/1", KeyKind.WITNESS)
    line = str(cosign(reader.signed.note.text, key, 5)).encode()
    for url in ("http://x", "http://x/"):
        peer = KnownServer(key.verifier, url)
        found = ask_witness(answering((409, b"9\n"), (200, line)), peer, reader, 0)
        assert [str(item).encode() for item in found][-1] == line
        with pytest.raises(error) as caught:
            ask_witness(answering(*answers), peer, reader, 0)
        assert type(caught.value) is error


def test_a_witness_answers_strangers_and_junk(witness: LiveWitness) -> None:
    (five,) = snapshots(5)
    ask = witness.service.add_checkpoint
    good = request(five, 0)
    text = SignedNote.parse(five["checkpoint"]).text
    stranger = sign_note(text.replace("board", "other"), signer("other.example/log"))
    assert ask(AddCheckpoint(0, (), stranger.to_bytes()).to_bytes()).status == 404
    forged = sign_note(text, signer("other.example/log"))
    assert ask(AddCheckpoint(0, (), forged.to_bytes()).to_bytes()).status == 403
    for bad in (b"", good[1:], good[:-1], b"old 00" + good[5:], good.replace(b"\n\n", b"\n", 1)):
        assert ask(bad).status == 400
    too_many = AddCheckpoint(5, (bytes(32),) * 64, five["checkpoint"])
    assert ask(too_many.to_bytes()).status == 400
    assert ask(good).status == 200


def test_a_witness_refuses_a_fork_also_after_a_restart(tmp_path: Path) -> None:
    _, first, second = branches(5, 3, 3)
    with live_witness(tmp_path, 1) as witness:
        assert witness.service.add_checkpoint(request(first, 0)).status == 200
    with live_witness(tmp_path, 1) as witness:
        answer = witness.service.add_checkpoint(request(second, 8))
        assert (answer.status, answer.body) == (409, b"8\n")
        transport = HttpTransport()
        reader = LogReader.open(source_of(second), trust())
        peer = witnessed(1, witness).witnesses["w1"]
        with pytest.raises(WitnessRefusal) as caught:
            ask_witness(transport, peer, reader, 0)
        assert caught.value.request


def test_the_time_of_a_witness_never_runs_backwards(tmp_path: Path) -> None:
    now = [2_000.0]
    five, nine = snapshots(5, 9)
    with live_witness(tmp_path, 1, lambda: now[0]) as witness:
        policy = witnessed(1, witness)
        witness.service.add_checkpoint(request(five, 0))
        now[0] = 1_000.0
        answer = witness.service.add_checkpoint(request(nine, 5))
        (cosignature,) = policy.cosignatures(policy.open(nine["checkpoint"] + answer.body))
        assert cosignature.time == 2_000


def test_a_board_that_forked_stops_asking(tmp_path: Path) -> None:
    """The only witness knows more of the log: the board keeps that, and does not start."""
    other, other_files = memory_log(0)
    append(other, [submission(n, body=b"other history") for n in range(3)])
    with live_witness(tmp_path, 1) as one:
        policy = witnessed(1, one)
        with live_board(tmp_path / "log", policy=policy) as url:
            assert client(url).update().size == 0
        assert one.service.add_checkpoint(request(other_files, 0)).status == 200
        starts_not(Overtaken, tmp_path / "log", policy=policy)
    place = BoardDirectory(tmp_path / "log")
    assert list(place.evidence.glob("witness-refusal-*.evidence"))
    log = open_log(place)
    assert log.signed.size == 0
    log.close()


def test_an_empty_log_is_no_history() -> None:
    transport = Shows(memory_log(0)[1])
    board = client("http://x", transport=transport)
    assert board.update().size == 0
    transport.files = memory_log(3)[1]
    assert board.update().size == 3
