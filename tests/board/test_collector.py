"""Collecting cosignatures from witnesses of which some are slow, silent or liars."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulletin_board.client.http import NetworkError, Response, Transport
from bulletin_board.note import KeyKind, NoteSigner, SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.witness.collect import Collector
from bulletin_board.witness.core import Proposal, read_request
from bulletin_board.witness.request import AddCheckpoint
from bulletin_board.witness.service import Witness
from bulletin_board.witness.store import WitnessStore
from tests.board.tools import log_key, memory_log, signer, source_of, trust

Behaviour = Callable[[bytes], Response]


def policy(threshold: int, count: int) -> TrustPolicy:
    names = [f"w{number}" for number in range(count)]
    lines = [f"log {log_key()}"]
    lines += [f"witness {n} {key(i).verifier} http://{n}" for i, n in enumerate(names)]
    lines += [f"group g {threshold} {' '.join(names)}", "quorum g", ""]
    return TrustPolicy.parse("\n".join(lines).encode())


def key(number: int) -> NoteSigner:
    return signer(f"witness.example/{number}", KeyKind.WITNESS)


def honest(number: int, root: Path) -> Behaviour:
    witness = Witness(key(number), [log_key()], WitnessStore(root / str(number)), lambda: 1_000.0)

    def answer(body: bytes) -> Response:
        found = witness.add_checkpoint(body)
        return Response(found.status, {}, found.body)

    return answer


def lying(_: bytes) -> Response:
    return Response(200, {}, b"\xe2\x80\x94 witness.example/1 " + b"AAAA" * 25 + b"\n")


def flooding(root: Path) -> Behaviour:
    """Signs, and adds so many lines that nobody could read the note."""
    ask = honest(0, root)

    def answer(body: bytes) -> Response:
        found = ask(body)
        line = "\N{EM DASH} stranger{} AAAAAAAA\n"
        junk = "".join(line.format(number) for number in range(127))
        return Response(found.status, {}, found.body + junk.encode())

    return answer


def silent(_: bytes) -> Response:
    raise NetworkError("nobody there")


def broken(_: bytes) -> Response:
    raise RuntimeError("\x1b[31ma fault of the transport")


def refusing(_: bytes) -> Response:
    return Response(422, {}, b"")


class Witnesses(Transport):
    def __init__(self, *behaviours: Behaviour) -> None:
        self.behaviours = behaviours
        self.asked: list[int] = []

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        del method, media_type, limit
        number = int(url.removeprefix("http://w")[0])
        self.asked.append(number)
        assert isinstance(read_request(body or b"", {log_key().name: log_key()}), Proposal)
        return self.behaviours[number](body or b"")


@contextmanager
def collecting(
    threshold: int, *behaviours: Behaviour, evidence: Path | None = None
) -> Iterator[tuple[Collector, list[SignedCheckpoint]]]:
    _, files = memory_log(5)
    signed = LogReader.open(source_of(files), trust()).signed
    published: list[SignedCheckpoint] = []
    collector = Collector(
        policy(threshold, len(behaviours)),
        Witnesses(*behaviours),
        source_of(files),
        lambda: signed,
        published.append,
        evidence,
    )
    collector.start()
    try:
        yield collector, published
    finally:
        collector.close()


def test_all_sign(tmp_path: Path) -> None:
    with collecting(2, honest(0, tmp_path), honest(1, tmp_path)) as (collector, published):
        reader = collector.wait_for(4, 10)
        assert reader is not None
        policy(2, 2).check_quorum(reader.signed)
        assert collector.times() == {"w0": 1_000, "w1": 1_000}
        assert collector.wait_for(5, 0.1) is None
    assert published[-1].note == reader.signed.note


@pytest.mark.parametrize("bad", [lying, silent, broken])
def test_a_bad_witness_does_not_stop_the_others(tmp_path: Path, bad: Behaviour) -> None:
    with collecting(2, honest(0, tmp_path), bad, honest(2, tmp_path)) as (collector, _):
        reader = collector.wait_for(4, 10)
        assert reader is not None
        policy(2, 3).check_quorum(reader.signed)
        assert collector.times()["w1"] is None
        assert not collector.problem
    with collecting(3, honest(0, tmp_path), bad, honest(2, tmp_path)) as (collector, _):
        assert collector.wait_for(4, 1.0) is None


def test_lines_of_others_are_left_out(tmp_path: Path) -> None:
    with collecting(2, flooding(tmp_path), honest(1, tmp_path)) as (collector, _):
        reader = collector.wait_for(4, 10)
        assert reader is not None
        policy(2, 2).open(reader.signed.to_bytes())
        assert len(reader.signed.note.signatures) == 3


def test_a_first_proof_is_empty(tmp_path: Path) -> None:
    _, files = memory_log(5)
    ask = honest(0, tmp_path)
    bad = AddCheckpoint(0, (bytes(32),), files["checkpoint"]).to_bytes()
    assert ask(bad).status == 422
    assert ask(AddCheckpoint(0, (), files["checkpoint"]).to_bytes()).status == 200


def test_a_witness_that_hangs_delays_only_itself(tmp_path: Path) -> None:
    release = threading.Event()

    def hanging(_: bytes) -> Response:
        release.wait(20)
        raise NetworkError("late")

    started = time.monotonic()
    with collecting(2, hanging, honest(1, tmp_path), honest(2, tmp_path)) as (collector, _):
        assert collector.wait_for(4, 10) is not None
        assert time.monotonic() - started < 5
        release.set()


def test_a_refusal_is_final_also_if_the_evidence_cannot_be_stored(tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "evidence"
    with collecting(1, refusing, evidence=nowhere) as (collector, published):
        assert collector.wait_for(4, 5) is None
        assert collector.problem
    stored = tmp_path / "evidence"
    with collecting(1, refusing, evidence=stored) as (collector, published):
        assert collector.wait_for(4, 5) is None
    deadline = time.monotonic() + 5
    while not stored.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stored.read_bytes().startswith(b"old 0\n")
    assert published == []
