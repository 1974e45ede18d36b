"""Collecting cosignatures from witnesses of which some are slow, silent or liars."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulletin_board.client.http import NetworkError, Response, Transport
from bulletin_board.note import (
    KeyKind,
    NoteSigner,
    SignatureLine,
    SignedCheckpoint,
    SignedNote,
    cosign,
)
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.server.public_files import OutgrownFiles
from bulletin_board.storage.files import EvidenceFolder
from bulletin_board.witness import asking as standing_module
from bulletin_board.witness import collecting as collect_module
from bulletin_board.witness.asking import MOST_REFUSALS, WitnessHealth, WitnessState
from bulletin_board.witness.collecting import MOST_WAITING, SILENT_SECONDS, Collector
from bulletin_board.witness.judging import AddCheckpoint, CosignatureRequest, read_request
from bulletin_board.witness.service import Witness, WitnessStore
from tests.board.tools import append, log_key, memory_log, signer, source_of, submissions, trust
from tests.board.waiting import LONG, until

NOWHERE = Path("/proc/nothing/can/be/stored/here")
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


def forging(body: bytes) -> Response:
    """Its own name and key id, and a signature over something else."""
    del body
    return Response(200, {}, str(cosign("another text\n", key(1), 1_000)).encode())


def truncated(body: bytes) -> Response:
    text = SignedNote.parse(AddCheckpoint.parse(body).checkpoint).text
    line = cosign(text, key(1), 1_000)
    short = SignatureLine(line.name, line.key_id, line.signature[:-1])
    return Response(200, {}, str(short).encode())


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
    return Response(422, {}, b"\x1b[2Jyour proof \xff does not hold\n")


def larger(_: bytes) -> Response:
    return Response(409, {}, b"999999\n")


def contradicting(body: bytes) -> Response:
    return Response(409, {}, b"%d\n" % AddCheckpoint.parse(body).old)


def many_lines(root: Path) -> Behaviour:
    """Signs the checkpoint a hundred times, each time with another valid signature."""
    root.mkdir(exist_ok=True)
    ask = honest(0, root)

    def answer(body: bytes) -> Response:
        found = ask(body)
        text = SignedNote.parse(AddCheckpoint.parse(body).checkpoint).text
        lines = [str(cosign(text, key(0), 1_000 + number)) for number in range(100)]
        return Response(found.status, {}, "".join(lines).encode())

    return answer


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
        assert isinstance(
            read_request(body or b"", {log_key().name: log_key()}), CosignatureRequest
        )
        return self.behaviours[number](body or b"")


@contextmanager
def collecting(
    threshold: int,
    *behaviours: Behaviour,
    evidence: Path = NOWHERE,
    clock: Callable[[], float] = lambda: 1_234.0,
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
        EvidenceFolder(evidence),
        clock,
    )
    collector.start()
    try:
        yield collector, published
    finally:
        collector.close()


def covered(collector: Collector, index: int) -> LogReader:
    """The log under a quorum that covers the entry."""
    reader = collector.wait_for(index, LONG)
    assert reader is not None
    return reader


def test_all_sign(tmp_path: Path) -> None:
    with collecting(2, honest(0, tmp_path), honest(1, tmp_path)) as (collector, published):
        reader = covered(collector, 4)
        policy(2, 2).check_quorum(reader.signed)
        standings = collector.standings()
        assert [standings[name].time for name in ("w0", "w1")] == [1_000, 1_000]
        assert {found.state for found in standings.values()} == {WitnessState.COSIGNING}
        assert collector.wait_for(5, 0.1) is None
    assert published[-1].note == reader.signed.note


@pytest.mark.parametrize("bad", [lying, forging, truncated, silent, broken])
def test_a_bad_witness_does_not_stop_the_others(tmp_path: Path, bad: Behaviour) -> None:
    with collecting(2, honest(0, tmp_path), bad, honest(2, tmp_path)) as (collector, _):
        reader = covered(collector, 4)
        policy(2, 3).check_quorum(reader.signed)
        assert collector.standings()["w1"].time is None
        assert until(lambda: collector.standings()["w1"].state is WitnessState.FAILING)
        assert not collector.problem
    with collecting(3, honest(0, tmp_path), bad, honest(2, tmp_path)) as (collector, _):
        assert collector.wait_for(4, 1.0) is None


def test_lines_of_others_are_left_out(tmp_path: Path) -> None:
    with collecting(2, flooding(tmp_path), honest(1, tmp_path)) as (collector, _):
        reader = covered(collector, 4)
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
        release.wait(2 * LONG)
        raise NetworkError("late")

    with collecting(2, hanging, honest(1, tmp_path), honest(2, tmp_path)) as (collector, _):
        covered(collector, 4)
        release.set()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 0.001)


LIARS = [refusing, larger, contradicting]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("liar", LIARS)
def test_a_witness_that_refuses_excludes_only_itself(tmp_path: Path, liar: Behaviour) -> None:
    with collecting(2, honest(0, tmp_path), liar, honest(2, tmp_path)) as (collector, published):
        assert until(lambda: collector.standings()["w1"].state is WitnessState.EXCLUDED)
        reader = covered(collector, 4)
        policy(2, 3).check_quorum(reader.signed)
        assert not collector.problem
        assert collector.standings()["w1"].refusals == MOST_REFUSALS
        assert collector.standings()["w1"].reason
        assert {collector.standings()[w].state for w in ("w0", "w2")} == {WitnessState.COSIGNING}
    assert published


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("liar", LIARS)
def test_without_enough_others_the_board_fails_closed(tmp_path: Path, liar: Behaviour) -> None:
    with collecting(3, honest(0, tmp_path), liar, honest(2, tmp_path)) as (collector, published):
        assert until(lambda: collector.standings()["w1"].state is WitnessState.EXCLUDED)
        assert collector.problem
        assert is_hopeless(collector, 4)
    assert published == []


def is_hopeless(collector: Collector, index: int) -> bool:
    """Whoever asks is told at once that no quorum will cover the entry."""
    future = collector.covering(index)
    return future is not None and future.done() and future.result() is None


def test_whoever_waits_is_told_at_once_that_no_quorum_is_possible(tmp_path: Path) -> None:
    release = threading.Event()

    def late(body: bytes) -> Response:
        release.wait(2 * LONG)
        return refusing(body)

    with collecting(2, honest(0, tmp_path), late) as (collector, _):
        future = collector.covering(4)
        assert future is not None
        assert not future.done()
        release.set()
        assert future.result(LONG) is None


@pytest.mark.usefixtures("impatient")
def test_retries_are_bounded_and_a_witness_may_recant(tmp_path: Path) -> None:
    good, calls = honest(0, tmp_path), []

    def recanting(body: bytes) -> Response:
        calls.append(body)
        return refusing(body) if len(calls) < MOST_REFUSALS else good(body)

    with collecting(1, recanting) as (collector, _):
        assert until(lambda: collector.standings()["w0"].state is WitnessState.COSIGNING)
        covered(collector, 4)
        assert collector.problem == ""
        assert collector.standings()["w0"].refusals == MOST_REFUSALS - 1
    assert len(calls) == MOST_REFUSALS
    calls.clear()

    def stubborn(body: bytes) -> Response:
        calls.append(body)
        return refusing(body)

    with collecting(1, stubborn) as (collector, _):
        assert until(lambda: collector.standings()["w0"].state is WitnessState.EXCLUDED)
        assert until(lambda: not any(thread.is_alive() for thread in collector._threads))
        assert len(calls) == MOST_REFUSALS


def test_pauses_grow_and_end() -> None:
    standing, pauses = WitnessHealth(), []
    while standing.state is not WitnessState.EXCLUDED:
        standing = standing.after_refusing("no")
        pauses.append(standing.pause)
    assert pauses == [1, 2, 4, 8, 16, 32]
    failing, pauses = WitnessHealth(), []
    for _ in range(5_000):
        failing = failing.after_failing("silent")
        pauses.append(failing.pause)
    assert pauses[:5] == [1, 2, 4, 8, 8]
    assert set(pauses[3:]) == {8}
    assert failing.state is WitnessState.FAILING
    assert failing.after_cosigning(3, 4.0).pause == 0
    assert failing.after_cosigning(3, 4.0).state is WitnessState.COSIGNING
    assert WitnessHealth().state is WitnessState.WAITING


def test_silence_between_refusals_starts_no_new_count() -> None:
    """Else a liar that keeps quiet now and then is asked for ever."""
    standing = WitnessHealth()
    for number in range(MOST_REFUSALS):
        assert standing.state is not WitnessState.EXCLUDED
        standing = standing.after_refusing("no").after_failing("silent")
        assert standing.reason == "no"
        assert standing.pause >= 2**number
    assert standing.state is WitnessState.EXCLUDED
    assert (standing.refusals, standing.failures) == (MOST_REFUSALS, MOST_REFUSALS)
    recanted = standing.after_cosigning(3, 4.0).after_refusing("no")
    assert (recanted.state, recanted.time, recanted.seen) == (WitnessState.REFUSING, 3, 4.0)


def test_a_witness_that_goes_away_is_noticed_although_nothing_is_posted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board that needs it could not start again, and no barrier would be acknowledged."""
    monkeypatch.setattr(collect_module, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 0.001)
    gone = threading.Event()
    now = [1_000.0]
    ask = honest(1, tmp_path)

    def leaving(body: bytes) -> Response:
        return silent(body) if gone.is_set() else ask(body)

    others = honest(0, tmp_path), leaving
    with collecting(2, *others, clock=lambda: now[0]) as (collector, published):
        covered(collector, 4)
        assert until(lambda: bool(published))
        count = len(published)
        now[0] += SILENT_SECONDS / 2
        assert until(lambda: collector.standings()["w1"].seen == now[0])
        now[0] += SILENT_SECONDS / 2 + 1
        assert until(lambda: {each.seen for each in collector.standings().values()} == {now[0]})
        gone.set()
        assert until(lambda: collector.standings()["w1"].state is WitnessState.FAILING)
        now[0] += SILENT_SECONDS - 1
        assert not collector.problem
        now[0] += 2
        assert until(lambda: "w1" in collector.problem and "w0" not in collector.problem)
        gone.clear()
        assert until(lambda: not collector.problem)
        assert collector.standings()["w1"].state is WitnessState.COSIGNING
        assert len(published) == count  # it is the same checkpoint


def test_a_witness_that_was_never_seen_makes_no_quorum_after_a_while() -> None:
    now = [1_000.0]
    with collecting(1, silent, clock=lambda: now[0]) as (collector, _):
        assert until(lambda: collector.standings()["w0"].state is WitnessState.FAILING)
        assert not collector.problem
        now[0] += SILENT_SECONDS + 1
        assert "w0" in collector.problem


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("liar", LIARS)
def test_the_evidence_of_a_refusal_is_complete(tmp_path: Path, liar: Behaviour) -> None:
    folder = tmp_path / "evidence"
    with collecting(1, liar, evidence=folder) as (collector, published):
        assert until(lambda: collector.standings()["w0"].state is WitnessState.EXCLUDED)
        assert published == []
    stored = list(folder.iterdir())
    assert stored
    document = json.loads(stored[0].read_bytes())
    assert document["witness"] == str(key(0).verifier)
    assert document["url"] == "http://w0"
    assert document["time"] == 1_234
    request = AddCheckpoint.parse(document["request"].encode())
    answer = liar(request.to_bytes())
    assert document["status"] == answer.status
    assert document["answer"].encode("latin-1") == answer.body
    assert trust().open(request.checkpoint).size == 5


@pytest.mark.usefixtures("impatient")
def test_evidence_is_never_overwritten_and_bounded(tmp_path: Path) -> None:
    folder = EvidenceFolder(tmp_path / "evidence", most=3)
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "witness-refusal.evidence").write_bytes(b"older")
    paths = [folder.keep("kind", bytes([n])) for n in range(5)]
    assert [path is not None for path in paths] == [True, True, True, False, False]
    again = EvidenceFolder(tmp_path / "evidence", most=3)
    assert again.keep("kind", b"\0") == paths[0]
    assert again.keep("kind", b"\7") is None
    assert again.keep("other", b"\7") is not None
    assert paths[1] is not None
    paths[1].write_bytes(b"damaged")
    EvidenceFolder(tmp_path / "evidence", most=4).keep("kind", b"\1")
    assert sorted(again.read("kind")) == [b"\0", b"\1", b"\2"]
    assert (tmp_path / "evidence" / "witness-refusal.evidence").read_bytes() == b"older"


def test_a_witness_that_signs_often_counts_once(tmp_path: Path) -> None:
    """A note with too many lines could be read by nobody."""
    with collecting(2, many_lines(tmp_path), honest(1, tmp_path)) as (collector, _):
        reader = covered(collector, 4)
        assert len(reader.signed.note.signatures) == 3
        policy(2, 2).open(reader.signed.to_bytes())
        assert collector.standings()["w0"].time == 1_099
    with collecting(2, many_lines(tmp_path / "again"), silent) as (collector, _):
        assert collector.wait_for(4, 0.5) is None


def test_only_so_many_wait(tmp_path: Path) -> None:
    with collecting(2, honest(0, tmp_path), silent) as (collector, _):
        futures = [collector.covering(4) for _ in range(MOST_WAITING)]
        assert None not in futures
        assert collector.covering(4) is None
        assert collector.wait_for(4, 0.1) is None
        assert futures[0] is not None
        futures[0].cancel()
        assert collector.covering(4) is not None
    assert futures[1] is not None
    assert futures[1].result(LONG) is None


def test_a_quorum_of_witnesses_without_addresses_is_a_problem(tmp_path: Path) -> None:
    del tmp_path
    _, files = memory_log(5)
    signed = LogReader.open(source_of(files), trust()).signed
    text = policy(1, 1).to_bytes().replace(b" http://w0", b"")
    collector = Collector(
        TrustPolicy.parse(text),
        Witnesses(),
        source_of(files),
        lambda: signed,
        lambda _: None,
        EvidenceFolder(NOWHERE),
    )
    assert "w0" in collector.problem
    assert is_hopeless(collector, 4)


# A log that grows while witnesses are asked


class Growing:
    """A log whose checkpoint is whichever of its sizes the test chooses."""

    def __init__(self, *sizes: int) -> None:
        log, self.files = memory_log(0)
        self.signed: dict[int, SignedCheckpoint] = {0: log.signed}
        for size in sizes:
            append(log, submissions(size - log.signed.size, log.signed.size))
            self.signed[size] = log.signed
        self.current: SignedCheckpoint | None = None
        self.looks = 0
        self.published: list[SignedCheckpoint] = []

    def collector(self, threshold: int, *behaviours: Behaviour) -> Collector:
        return Collector(
            policy(threshold, len(behaviours)),
            Witnesses(*behaviours),
            OutgrownFiles(source_of(self.files)),
            self._look,
            self.published.append,
            EvidenceFolder(NOWHERE),
        )

    def asked_about(
        self, threshold: int, *behaviours: Behaviour, at: int | None = None
    ) -> Collector:
        """A collector that has started, from one of the sizes on."""
        self.current = None if at is None else self.signed[at]
        collector = self.collector(threshold, *behaviours)
        collector.start()
        return collector

    def grows(self, collector: Collector, size: int) -> None:
        self.current = self.signed[size]
        collector.notify()

    def _look(self) -> SignedCheckpoint | None:
        self.looks += 1
        return self.current


def test_a_closed_or_empty_log_is_not_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_module, "_PAUSE_SECONDS", 0.01)
    log, calls = Growing(5), []
    ask = honest(0, tmp_path)

    def counting(body: bytes) -> Response:
        calls.append(body)
        return ask(body)

    collector = log.asked_about(1, counting)
    for current in (None, log.signed[0]):
        log.current, log.looks = current, 0
        assert until(lambda: log.looks > 5)
    assert calls == []
    assert collector.standings()["w0"].failures == 0
    log.grows(collector, 5)
    covered(collector, 4)
    collector.close()


def test_a_log_that_grew_is_asked_about_as_soon_as_the_older_one_has_its_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when its time is over."""
    monkeypatch.setattr(collect_module, "_ROUND_SECONDS", 3_600.0)
    log = Growing(5, 9, 20)
    collector = log.asked_about(1, honest(0, tmp_path))
    for size in (5, 9, 20):
        log.grows(collector, size)
        assert covered(collector, size - 1).size == size
    collector.close()
    assert [signed.size for signed in log.published] == [5, 9, 20]
    assert is_hopeless(collector, 20)


def test_a_cosignature_that_comes_too_late_changes_nothing(tmp_path: Path) -> None:
    log, release, asked = Growing(5, 9), threading.Event(), threading.Event()
    good = honest(1, tmp_path)

    def late(body: bytes) -> Response:
        answer = good(body)
        asked.set()
        release.wait(2 * LONG)
        return answer

    collector = log.asked_about(1, honest(0, tmp_path), late, at=5)
    covered(collector, 4)
    assert asked.wait(LONG)
    log.grows(collector, 9)
    covered(collector, 8)
    release.set()
    assert until(lambda: collector.standings()["w1"].state is WitnessState.COSIGNING)
    assert until(lambda: len(log.published) >= 3)
    collector.close()
    assert [found.failures for found in collector.standings().values()] == [0, 0]
    for signed in log.published:
        policy(1, 2).open(signed.to_bytes())
    assert log.published[-1].size == 9


def test_a_checkpoint_without_a_quorum_gives_way_to_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_module, "_ROUND_SECONDS", 0.1)
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 0.02)
    log, ready = Growing(5, 9), threading.Event()
    tried: list[int] = []
    signed: list[int] = []
    good = honest(1, tmp_path)

    def back_later(body: bytes) -> Response:
        tried.append(trust().open(AddCheckpoint.parse(body).checkpoint).size)
        if not ready.is_set():
            raise NetworkError("not yet")
        signed.append(tried[-1])
        return good(body)

    collector = log.asked_about(2, honest(0, tmp_path), back_later, at=5)
    assert until(lambda: collector.standings()["w0"].state is WitnessState.COSIGNING)
    time.sleep(0.3)  # the round is over, the log has not grown: what was collected stays
    assert until(lambda: 5 in tried)
    log.grows(collector, 9)
    assert until(lambda: 9 in tried)
    ready.set()
    covered(collector, 8)
    collector.close()
    assert set(signed) == {9}


def test_a_slow_second_cosignature_still_makes_the_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log does not grow meanwhile: nothing that was collected is thrown away."""
    monkeypatch.setattr(collect_module, "_ROUND_SECONDS", 0.05)
    log, good, release = Growing(5), honest(1, tmp_path), threading.Event()

    def slow(body: bytes) -> Response:
        release.wait(2 * LONG)
        return good(body)

    collector = log.asked_about(2, honest(0, tmp_path), slow, at=5)
    assert until(lambda: collector.standings()["w0"].state is WitnessState.COSIGNING)
    for _ in range(20):
        collector.notify()
        time.sleep(0.02)
    release.set()
    covered(collector, 4)
    collector.close()


def test_a_silent_witness_is_not_asked_without_a_pause(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is wrong with an answer is no fault of the program."""
    monkeypatch.setattr(standing_module, "_FIRST_PAUSE", 3_600.0)
    monkeypatch.setattr(standing_module, "_LONGEST_FAILURE_PAUSE", 3_600.0)
    log = Growing(5)
    collector = log.asked_about(1, lambda _: Response(200, {}, b""), lying, silent, at=5)
    assert until(lambda: all(found.failures for found in collector.standings().values()))
    time.sleep(0.2)
    assert [found.failures for found in collector.standings().values()] == [1, 1, 1]
    collector.close()
    assert caplog.records
    assert not any(record.exc_info for record in caplog.records)


def test_a_collector_that_never_started_can_be_closed(tmp_path: Path) -> None:
    Growing(5).collector(1, honest(0, tmp_path)).close()
