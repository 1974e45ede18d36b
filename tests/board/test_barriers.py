"""Entries that count only under a quorum: with liars among the witnesses, and when many wait."""

from __future__ import annotations

import asyncio
import resource
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import urllib3

from bulletin_board.admission import Anyone, RefusalReason, Refused
from bulletin_board.committer import Committer
from bulletin_board.entry import Entry
from bulletin_board.note import (
    KeyKind,
    SignatureLine,
    SignedCheckpoint,
    SignedNote,
    VerifierKey,
    cosignature_time,
    encode_base64,
    sign_note,
    verify_note,
)
from bulletin_board.reader import LogReader, MemorySource
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.sequencer import Accepted, Sequencer, first_checkpoint
from bulletin_board.server.public_files import OutgrownFiles
from bulletin_board.server.service import BoardService, ServerLimits
from bulletin_board.storage import memory_storage
from bulletin_board.storage.files import EvidenceFolder
from bulletin_board.tree import EMPTY_ROOT, leaf_hash
from bulletin_board.witness import asking as standing_module
from bulletin_board.witness import collecting as collect_module
from bulletin_board.witness.collecting import Collector
from bulletin_board.witness.judging import AddCheckpoint
from tests.board.asking import ask, post
from tests.board.live import (
    LiveWitness,
    answering_witness,
    client,
    live_board,
    live_witness,
    witnessed,
)
from tests.board.test_collector import Witnesses, honest, policy
from tests.board.tools import ORIGIN, entry_bytes, log_key, memory_log, signer
from tests.board.waiting import LONG, until
from wire.errors import InvalidProof, MalformedMessage

BARRIER = 9


class Barriers(Anyone):
    def __init__(self) -> None:
        super().__init__(10**6)

    def is_barrier(self, entry: Entry) -> bool:
        return entry.phase == BARRIER


@contextmanager
def withheld(root: Path, number: int) -> Iterator[tuple[LiveWitness, threading.Event]]:
    """A witness that answers when the event is set."""
    release = threading.Event()

    def clock() -> float:
        release.wait(2 * LONG)
        return time.time()

    with live_witness(root, number, clock) as found:
        try:
            yield found, release
        finally:
            release.set()


@pytest.mark.parametrize(("status", "body"), [(422, b"no\n"), (409, b"999999\n"), (409, b"0\n")])
def test_a_close_is_cosigned_although_one_witness_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
) -> None:
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 0.01)
    with (
        live_witness(tmp_path, 1) as one,
        live_witness(tmp_path, 2) as two,
        answering_witness(3, status, body) as (three, _),
    ):
        trusted = witnessed(2, one, two, three)
        with live_board(tmp_path / "log", policy=trusted, admission=Barriers) as url:
            for seq in range(3):
                receipt = client(url, policy=trusted).submit(entry_bytes(seq, phase=BARRIER))
                trusted.check_quorum(receipt.signed)

            def metrics() -> str:
                return ask(url, "GET", "/metrics").body.decode()

            assert until(lambda: 'gopa_board_witness{witness="w3",state="excluded"} 1' in metrics())
            assert 'gopa_board_witness{witness="w1",state="cosigning"} 1' in metrics()
            seen = [
                line.split()[1]
                for line in metrics().splitlines()
                if line.startswith("gopa_board_witness_last_seen_timestamp_seconds{")
            ]
            assert len(seen) == 2
            assert all(0 <= time.time() - float(each) < LONG for each in seen)
            assert 'gopa_board_witness_refusals_total{witness="w3"} 6' in metrics()
            assert 'gopa_board_witness_failures_total{witness="w2"} 0' in metrics()
            health = ask(url, "GET", "/healthz")
            assert health.status == 200
            lines = health.body.decode().splitlines()
            assert lines[0] == "ok"
            assert lines[1:3] == ["witness w1 is cosigning", "witness w2 is cosigning"]
            assert lines[3].startswith("witness w3 is excluded: witness.example/3 ")
            assert '"state": "excluded"' in ask(url, "GET", "/v1/overview").body.decode()
            again = client(url, policy=trusted).submit(entry_bytes(9, phase=BARRIER))
            trusted.check_quorum(again.signed)
    kept = list((tmp_path / "log" / "state" / "evidence").iterdir())
    # Each has the second in which it was kept. Who claims more than there is did so at the opening.
    assert 0 < len(kept) <= 6 + (body == b"999999\n")


def test_liars_that_the_quorum_needs_stop_barriers_and_nothing_else(tmp_path: Path) -> None:
    with live_witness(tmp_path, 1) as one, answering_witness(2, 422, b"no\n") as (two, _):
        trusted = witnessed(2, one, two)
        limits = ServerLimits(quorum_seconds=3_600.0)  # the answer comes without waiting
        with live_board(tmp_path / "log", policy=trusted, admission=Barriers, limits=limits) as url:
            assert post(url, entry_bytes(0)).status == 201
            assert until(lambda: ask(url, "GET", "/healthz").status == 503)
            refused = post(url, entry_bytes(0, phase=BARRIER))
            assert (refused.status, refused.problem) == (503, "quorum")
            assert post(url, entry_bytes(1)).status == 201
            assert b"w2" in ask(url, "GET", "/healthz").body


def size_of(url: str) -> int:
    size = ask(url, "GET", "/checkpoint").body.split(b"\n")[1]
    return int(size)


def test_many_waiting_barriers_delay_nothing(tmp_path: Path) -> None:
    """Posts and reads go on, and all get their quorum when it is there."""
    limits = ServerLimits(quorum_seconds=LONG)
    with live_witness(tmp_path, 1) as one, withheld(tmp_path, 2) as (two, release):
        trusted = witnessed(2, one, two)
        with (
            live_board(tmp_path / "log", policy=trusted, admission=Barriers, limits=limits) as url,
            ThreadPoolExecutor(60) as pool,
        ):
            barriers = [entry_bytes(seq, phase=BARRIER) for seq in range(60)]
            waiting = [pool.submit(post, url, raw) for raw in barriers]
            assert until(lambda: size_of(url) == 60)
            for number in range(5):
                assert post(url, entry_bytes(number)).status == 201
                assert ask(url, "GET", "/v1/overview").status == 200
                assert ask(url, "GET", "/checkpoint").status == 200
            assert not any(future.done() for future in waiting)
            release.set()
            assert {future.result().status for future in waiting} == {201}


def test_many_barriers_wait_their_time_together(tmp_path: Path) -> None:
    """Not one after the other: that would take minutes."""
    limits = ServerLimits(quorum_seconds=3.0)
    with live_witness(tmp_path, 1) as one:
        gone = LiveWitness(2, "http://127.0.0.1:9", one.service)
        trusted = witnessed(2, one, gone)
        with (
            live_board(tmp_path / "log", policy=trusted, admission=Barriers, limits=limits) as url,
            ThreadPoolExecutor(60) as pool,
        ):
            barriers = [entry_bytes(seq, phase=BARRIER) for seq in range(60)]
            started = time.monotonic()
            answers = list(pool.map(lambda raw: post(url, raw), barriers))
            assert {(answer.status, answer.problem) for answer in answers} == {(503, "quorum")}
            assert time.monotonic() - started < LONG


def witnessed_service(root: Path) -> BoardService:
    """A board in memory with one witness, which signs."""
    storage = memory_storage(first_checkpoint(signer()))
    committer = Committer(lambda: Sequencer(storage, signer(), Barriers))
    trusted = policy(1, 1)
    limits = ServerLimits(quorum_seconds=2 * LONG)
    service = BoardService(committer, storage.public, trusted, limits)
    service.collector = Collector(
        trusted,
        Witnesses(honest(0, root)),
        OutgrownFiles(storage.public),
        lambda: committer.sequencer.signed if committer.sequencer else None,
        lambda _: None,
        EvidenceFolder(root / "evidence"),
    )
    service.collector.start()
    return service


def test_a_busy_thread_pool_does_not_delay_a_barrier(tmp_path: Path) -> None:
    """Other work fills the event loop's own pool; a close is answered nevertheless."""
    service = witnessed_service(tmp_path)
    release = threading.Event()

    async def work() -> Accepted:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        hogs = [loop.run_in_executor(None, release.wait, 2 * LONG) for _ in range(4)]
        try:
            async with asyncio.timeout(LONG):
                return await service.post(entry_bytes(0, phase=BARRIER))
        finally:
            release.set()
            await asyncio.gather(*hogs)

    accepted = asyncio.run(work())
    service.close()
    found = verify_receipt(
        Receipt.parse(accepted.receipt), entry_bytes(0, phase=BARRIER), log_key()
    )
    service.policy.check_quorum(found.signed)


def test_a_barrier_whose_proof_cannot_be_made_is_not_acknowledged(tmp_path: Path) -> None:
    service = witnessed_service(tmp_path)

    async def answers(seq: int) -> Accepted:
        return await service.post(entry_bytes(seq, phase=BARRIER))

    assert asyncio.run(answers(0)).receipt
    assert service.collector is not None

    def damaged(signed: SignedCheckpoint) -> LogReader:
        return LogReader(MemorySource({}), signed)

    service.collector.reader = damaged  # type: ignore[method-assign]
    with pytest.raises(Refused) as caught:
        asyncio.run(answers(1))
    assert caught.value.reason is RefusalReason.UNAVAILABLE
    service.close()


def test_more_than_may_wait_are_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_module, "MOST_WAITING", 3)
    limits = ServerLimits(quorum_seconds=LONG)
    with live_witness(tmp_path, 1) as one, withheld(tmp_path, 2) as (two, release):
        trusted = witnessed(2, one, two)
        with (
            live_board(tmp_path / "log", policy=trusted, admission=Barriers, limits=limits) as url,
            ThreadPoolExecutor(10) as pool,
        ):
            raws = [entry_bytes(seq, phase=BARRIER) for seq in range(10)]
            asked = [pool.submit(post, url, raw) for raw in raws]
            assert until(lambda: sum(future.done() for future in asked) == 7)
            sent_away = [future for future in asked if future.done()]
            assert {(f.result().status, f.result().problem) for f in sent_away} == {(503, "busy")}
            release.set()
            others = [future.result().status for future in asked if future not in sent_away]
            assert others == [201] * 3


def test_readers_that_need_a_quorum_are_not_starved_by_a_growing_log(tmp_path: Path) -> None:
    """While entries come the newest checkpoint is never cosigned; the newest cosigned is there."""
    posted, stop = [0], threading.Event()

    def late() -> float:
        """The log has outgrown what it was asked about, also if one more entry is on its way."""
        before = posted[0]
        assert until(lambda: stop.is_set() or posted[0] >= before + 2)
        return time.time()

    def load(url: str) -> None:
        while not stop.wait(0.005):
            assert post(url, entry_bytes(posted[0])).status == 201
            posted[0] += 1

    with live_witness(tmp_path, 1, late) as one, ThreadPoolExecutor(1) as pool:
        trusted = witnessed(1, one)
        with live_board(tmp_path / "log", policy=trusted) as url:
            loading = pool.submit(load, url)
            try:
                assert until(lambda: ask(url, "GET", "/v1/cosigned").status == 200)
                sizes: list[int] = []
                lasting = client(url, policy=trusted)

                def several_were_read() -> bool:
                    newcomer = client(url, policy=trusted)
                    sizes.extend(len(list(reader.entries())) for reader in (lasting, newcomer))
                    assert not trusted.cosignatures(client(url).update())
                    return len(set(sizes)) >= 4

                assert until(several_were_read)
            finally:
                stop.set()
                loading.result(LONG)
            assert sizes == sorted(sizes)
            assert sizes[0] > 0


def test_a_board_without_witnesses_has_nothing_cosigned(tmp_path: Path) -> None:
    """Its policy asks for none: a barrier is an entry like others there."""
    with live_board(tmp_path / "log", admission=Barriers) as url:
        assert post(url, entry_bytes(0, phase=BARRIER)).status == 201
        assert ask(url, "GET", "/checkpoint").status == 200
        assert ask(url, "GET", "/v1/cosigned").status == 404


EXTENSION = "an extension line\n"


@dataclass(frozen=True)
class Said:
    status: int
    headers: list[str]
    body: bytes


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[LiveWitness]:
    with live_witness(tmp_path, 1) as found:
        yield found


def checkpoint(size: int, root: bytes, more: str = "") -> bytes:
    text = f"{ORIGIN}\n{size}\n{encode_base64(root)}\n{more}"
    return sign_note(text, signer()).to_bytes()


def add(witness: LiveWitness, old: int, note: bytes) -> Said:
    body = AddCheckpoint(old, (), note).to_bytes()
    answer = urllib3.request("POST", f"{witness.url}/add-checkpoint", body=body, retries=False)
    return Said(answer.status, answer.headers.getlist("Content-Type"), answer.data)


def shown(witness: LiveWitness, path: str) -> tuple[int, str]:
    answer = urllib3.request("GET", f"{witness.url}/{path}", retries=False)
    return answer.status, answer.data.decode()


def test_a_witness_says_how_far_it_is_and_whether_it_can_go_on(witness: LiveWitness) -> None:
    """Its operator is told of a full disk before the board's is."""
    _, files = memory_log(5)
    figures = "gopa_witness_cosigned_entries"
    assert shown(witness, "healthz") == (200, f"ok\nlog {ORIGIN} is cosigned up to 0 entries\n")
    assert add(witness, 0, files["checkpoint"]).status == 200
    assert add(witness, 0, files["checkpoint"]).status == 409
    assert shown(witness, "healthz") == (200, f"ok\nlog {ORIGIN} is cosigned up to 5 entries\n")
    status, page = shown(witness, "metrics")
    assert status == 200
    assert f'{figures}{{log="{ORIGIN}"}} 5' in page
    counts = 'gopa_witness_requests_total{outcome="%s"} %d'
    for outcome, count in (("cosigned", 1), ("refused", 1), ("failed", 0)):
        assert counts % (outcome, count) in page
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        assert add(witness, 5, files["checkpoint"]).status == 503
        status, said = shown(witness, "healthz")
        assert (status, said.startswith("ok")) == (503, False)
        assert "gopa_witness_healthy 0" in shown(witness, "metrics")[1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert shown(witness, "healthz")[0] == 200  # nobody has to ask for a cosignature first
    assert "gopa_witness_healthy 1" in shown(witness, "metrics")[1]


def test_a_conflict_has_exactly_the_media_type_of_a_size(witness: LiveWitness) -> None:
    """Clients compare it as a whole: a charset behind it is another type to them."""
    _, files = memory_log(5)
    good = add(witness, 0, files["checkpoint"])
    assert (good.status, good.headers) == (200, ["text/plain; charset=utf-8"])
    again = add(witness, 0, files["checkpoint"])
    assert again == Said(409, ["text/x.tlog.size"], b"5\n")


def test_another_root_at_the_same_size_is_no_hint_to_ask_again(witness: LiveWitness) -> None:
    one = leaf_hash(b"one")
    assert add(witness, 0, checkpoint(1, one)).status == 200
    assert add(witness, 1, checkpoint(1, one)).status == 200
    other = add(witness, 1, checkpoint(1, leaf_hash(b"two")))
    assert (other.status, other.body) == (409, b"1\n")
    assert other.headers != ["text/x.tlog.size"]


def test_an_empty_log_has_one_root(witness: LiveWitness) -> None:
    wrong = add(witness, 0, checkpoint(0, leaf_hash(b"")))
    assert wrong.status == 422
    assert add(witness, 0, checkpoint(0, EMPTY_ROOT)).status == 200
    assert add(witness, 0, checkpoint(1, leaf_hash(b""))).status == 200


def test_extension_lines_are_cosigned_and_not_read(witness: LiveWitness) -> None:
    one, two = checkpoint(1, leaf_hash(b"one"), EXTENSION), checkpoint(1, leaf_hash(b"one"))
    done = add(witness, 0, one)
    assert done.status == 200
    key = signer("witness.example/1", KeyKind.WITNESS).verifier
    assert len(verify_note(SignedNote.parse(one + done.body), [key])) == 1
    assert add(witness, 0, one) == Said(409, ["text/x.tlog.size"], b"1\n")
    assert add(witness, 1, two).status == 200
    assert add(witness, 1, checkpoint(1, leaf_hash(b"one"), f"{EXTENSION}\n")).status == 400


def test_keys_of_ml_dsa_are_refused_by_name() -> None:
    known = log_key()
    assert VerifierKey.parse(str(known)) == known
    text = f"w.example+01234567+{encode_base64(bytes([6]) + bytes(1_312))}"
    with pytest.raises(MalformedMessage) as caught:
        VerifierKey.parse(text)
    assert caught.value.field == "ML-DSA-44 vkey"


def test_cosignatures_of_ml_dsa_are_lines_of_strangers(witness: LiveWitness) -> None:
    """A witness may have two keys under one name and sign with both: the other one counts."""
    note = checkpoint(1, leaf_hash(b"one"))
    line = add(witness, 0, note).body
    other = SignatureLine("witness.example/1", b"\x12\x34\x56\x78", bytes(8) + bytes(2_420))
    trusted = witnessed(1, witness)
    for lines in (line, line + str(other).encode(), str(other).encode() + line):
        signed = trusted.open(note + lines)
        assert len(trusted.cosignatures(signed)) == 1
        assert trusted.cosignatures(signed)[0].time == cosignature_time(
            SignedNote.parse(note + line).signatures[1].signature
        )
    with pytest.raises(InvalidProof):
        trusted.open(note + str(other).encode())
