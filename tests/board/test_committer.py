"""Group commit under concurrency, failure and shutdown."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulletin_board import sequencer as sequencer_module
from bulletin_board.admission import Anyone, RefusalReason, Refused, RosterAdmission
from bulletin_board.committer import Committer, CommitterLimits, _Job
from bulletin_board.entry import Entry, Submission
from bulletin_board.fsck import fsck, fsck_directory
from bulletin_board.note import KeyKind, SignedCheckpoint, cosign
from bulletin_board.reader import DirectorySource
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.sequencer import Accepted, Outcome, Sequencer, first_checkpoint
from bulletin_board.server.service import BoardService
from bulletin_board.storage import Inconsistent, LostLock, StorageError, memory_storage
from bulletin_board.storage.directory import BoardDirectory
from tests.board.faults import Plan, faulty_storage
from tests.board.tools import (
    anyone,
    append,
    copy_of,
    log_key,
    memory_log,
    must_accept,
    new_board,
    open_log,
    party,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from tests.board.waiting import LONG, until
from wire.errors import UsageError

LIMITS = CommitterLimits(pulse_seconds=0.05, retry_seconds=0)


@contextmanager
def committing(board: BoardDirectory) -> Iterator[Committer]:
    committer = Committer(lambda: open_log(board), LIMITS)
    try:
        yield committer
    finally:
        committer.close()


def test_100_threads_and_one_slot(tmp_path: Path) -> None:
    """Exactly one wins, one is kept as evidence, the others are refused."""
    board = new_board(tmp_path / "log")
    posts = [submission(0, body=bytes([n])) for n in range(100)]
    with committing(board) as committer, ThreadPoolExecutor(100) as pool:
        outcomes = list(pool.map(lambda post: committer.submit(post).result(LONG), posts))
    winners = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert (len(winners), len(refused)) == (1, 99)
    assert {(r.reason, r.first, r.evidence) for r in refused} == {(RefusalReason.CONFLICT, 0, 1)}
    report = fsck_directory(board.public, trust(), signatures=True)
    assert (report.size, report.equivocations) == (2, 1)


def test_100_threads_and_the_same_bytes(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    post = submission(0)
    with committing(board) as committer, ThreadPoolExecutor(100) as pool:
        outcomes = list(pool.map(lambda _: committer.submit(post).result(LONG), range(100)))
    assert sum(isinstance(outcome, Accepted) and outcome.fresh for outcome in outcomes) == 1
    assert {outcome.index for outcome in outcomes if isinstance(outcome, Accepted)} == {0}
    assert fsck_directory(board.public, trust()).size == 1


def test_closing_commits_what_waits(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    with committing(board) as committer:
        futures = [committer.submit(submission(n)) for n in range(500)]
    assert [must(future.result(0)) for future in futures] == list(range(500))
    assert fsck_directory(board.public, trust()).size == 500
    with pytest.raises(Refused) as caught:
        committer.submit(submission(501))
    assert caught.value.reason is RefusalReason.UNAVAILABLE


def must(outcome: Outcome) -> int:
    assert isinstance(outcome, Accepted)
    return outcome.index


def occupy(committer: Committer) -> threading.Event:
    """Its thread does nothing until the event is set."""
    working, release = threading.Event(), threading.Event()

    def work(_: Sequencer) -> None:
        working.set()
        release.wait(2 * LONG)

    committer.call(work)
    assert working.wait(LONG)
    return release


def occupied(root: Path, limits: CommitterLimits = LIMITS) -> tuple[Committer, threading.Event]:
    """On a new board, with its thread occupied until the event is set."""
    board = new_board(root / "log")
    committer = Committer(lambda: open_log(board), limits)
    return committer, occupy(committer)


def closing_with_a_late_post(
    committer: Committer,
) -> tuple[threading.Event, threading.Thread, Future[Outcome]]:
    """A post comes behind the wish to close, while the thread is occupied until the event."""
    release = occupy(committer)
    closing = threading.Thread(target=committer.close)
    closing.start()
    assert until(lambda: committer._closed and committer.waiting >= 1)
    late: Future[Outcome] = Future()
    committer._queue.put(_Job(submission(0), late))
    return release, closing, late


def test_more_posts_than_fit_in_a_batch_are_all_committed(tmp_path: Path) -> None:
    committer, release = occupied(tmp_path, CommitterLimits())
    futures = [committer.submit(submission(number)) for number in range(1_500)]
    release.set()
    assert [must(future.result(LONG)) for future in futures] == list(range(1_500))
    committer.close()


def test_a_full_queue_is_busy(tmp_path: Path) -> None:
    committer, release = occupied(tmp_path, CommitterLimits(queue=1, pulse_seconds=0.05))
    posts = [submission(number) for number in range(10)]
    with pytest.raises(Refused) as caught:
        list(map(committer.submit, posts))
    assert caught.value.reason is RefusalReason.BUSY
    assert caught.value.retry_after is not None
    release.set()
    committer.close()


def test_postponed_work_never_waits_for_a_full_queue(tmp_path: Path) -> None:
    """Whoever postpones it may be the one that everybody waits for."""
    committer, release = occupied(tmp_path, CommitterLimits(queue=1, pulse_seconds=0.05))
    done: list[int] = []
    for number in range(3):
        committer.call(lambda _, number=number: done.append(number))  # type: ignore[misc]
    release.set()
    assert until(lambda: done != [])
    committer.close()
    assert done == [0]


def test_a_post_that_is_called_off_in_time_does_not_enter(tmp_path: Path) -> None:
    committer, release = occupied(tmp_path)
    futures = [committer.submit(submission(number)) for number in range(3)]
    assert futures[1].cancel()
    release.set()
    assert [must(futures[number].result(LONG)) for number in (0, 2)] == [0, 1]
    committer.close()
    committer.close()
    assert fsck_directory(tmp_path / "log" / "public", trust()).size == 2


def test_work_with_a_mistake_does_not_end_the_log(tmp_path: Path) -> None:
    """Nor does it change what a post in the same batch was told: that is in the log."""
    board = new_board(tmp_path / "log")
    opened: list[Sequencer] = []

    def opening() -> Sequencer:
        opened.append(open_log(board))
        return opened[-1]

    def mistake(_: Sequencer) -> None:
        raise LookupError

    committer = Committer(opening, LIMITS)
    release = occupy(committer)
    future = committer.submit(submission(0))
    committer.call(mistake)
    release.set()
    assert must(future.result(LONG)) == 0
    assert until(lambda: len(opened) == 2 and committer.sequencer is opened[1])
    assert must(committer.submit(submission(1)).result(LONG)) == 1
    assert committer.fatal is None
    committer.close()


def broken_at_the_end(board: BoardDirectory) -> Sequencer:
    log = open_log(board)
    close = log.close

    def fail_to_close() -> None:
        close()
        fail()

    log.close = fail_to_close  # type: ignore[method-assign]
    return log


def test_a_log_that_cannot_be_closed_keeps_nobody_waiting(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    opened: list[Sequencer] = []

    def opening() -> Sequencer:
        opened.append(broken_at_the_end(board))
        return opened[-1]

    committer = Committer(opening, LIMITS)
    committer.call(lambda _: fail())
    # What is asked for in the same batch as a failure is not done.
    assert until(lambda: len(opened) == 2 and committer.sequencer is opened[1])
    release, closing, late = closing_with_a_late_post(committer)
    release.set()
    assert isinstance(late.result(LONG), Refused)
    closing.join(LONG)
    assert not closing.is_alive()


def test_a_failed_write_is_survived(tmp_path: Path) -> None:
    """The disk fails once: the post is refused as unavailable, and posting again works."""
    board = new_board(tmp_path / "log")
    plan = Plan(at=5, how="error")

    def open_faulty() -> Sequencer:
        return open_log(board, faulty_storage(board, plan))

    committer = Committer(open_faulty, LIMITS)
    release = occupy(committer)  # an idle committer looks at the log, which would count as a step
    future = committer.submit(submission(0))
    plan.armed = True
    release.set()
    outcome = future.result(LONG)
    assert isinstance(outcome, Refused)
    assert outcome.reason is RefusalReason.UNAVAILABLE
    plan.armed = False
    assert until(lambda: committer.sequencer is not None)
    assert must(committer.submit(submission(0)).result(LONG)) == 0
    committer.close()
    assert fsck_directory(board.public, trust()).size == 1


@pytest.mark.parametrize("path", ["tile/0/000.p/1", "checkpoint"])
@pytest.mark.parametrize("content", [bytes(32), None, b"older"], ids=["damaged", "gone", "older"])
def test_an_idle_log_is_looked_at(tmp_path: Path, path: str, content: bytes | None) -> None:
    """Damage to its public files is found, and repaired from the stored batch."""
    board = new_board(tmp_path / "log")
    older, file = (board.public / "checkpoint").read_bytes(), board.public / path
    with committing(board) as committer:
        assert must(committer.submit(submission(0)).result(LONG)) == 0
        good = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(older if content == b"older" else content)
        assert until(lambda: file.exists() and file.read_bytes() == good)
        assert until(lambda: committer.sequencer is not None)
        assert committer.fatal is None
        assert must(committer.submit(submission(1)).result(LONG)) == 1
    assert fsck_directory(board.public, trust()).size == 2


def test_a_writer_that_was_replaced_does_not_come_back(tmp_path: Path) -> None:
    """Two writers that open the log in turns would each undo the other."""
    board = new_board(tmp_path / "log")
    with committing(board) as committer:
        assert must(committer.submit(submission(0)).result(LONG)) == 0
        release = occupy(committer)  # an idle committer would find out before the post comes
        future = committer.submit(submission(1))
        other = open_log(board)
        release.set()
        outcome = future.result(LONG)
        assert isinstance(outcome, Refused)
        assert outcome.reason is RefusalReason.UNAVAILABLE
        time.sleep(0.3)
        assert isinstance(committer.fatal, LostLock)
        assert committer.sequencer is None
        other.check()
        other.close()


def test_a_log_that_cannot_be_opened_for_a_while_is_opened_again(tmp_path: Path) -> None:
    """A disk that fails and recovers; meanwhile posts are refused at once."""
    board = new_board(tmp_path / "log")
    tried: list[bool] = []
    away = threading.Event()

    def open_sometimes() -> Sequencer:
        tried.append(away.is_set())
        if tried[-1]:
            raise StorageError("the disk is away")
        return open_log(board)

    committer = Committer(open_sometimes, CommitterLimits(pulse_seconds=0.05, retry_seconds=1))
    service = BoardService(committer, DirectorySource(board.public), trust())
    assert not service.problem()
    away.set()
    committer.call(lambda _: fail())
    assert until(lambda: tried.count(True) >= 2)
    assert committer.sequencer is None
    assert service.problem()
    with pytest.raises(Refused) as caught:
        committer.submit(submission(0))
    assert caught.value.reason is RefusalReason.UNAVAILABLE
    away.clear()
    assert until(lambda: committer.sequencer is not None)
    assert committer.fatal is None
    assert must(committer.submit(submission(0)).result(LONG)) == 0
    assert not service.problem()
    service.close()
    assert tried.count(False) == 2


def fail() -> None:
    raise StorageError("the disk is away")


def test_a_log_that_contradicts_itself_stays_closed(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    older = copy_of(board, tmp_path / "older")
    with committing(board) as committer:
        assert must(committer.submit(submission(0)).result(LONG)) == 0
        shutil.copy(older.index_path, tmp_path / "index")

        def lose_the_index(_: Sequencer) -> None:
            for path in board.state.glob("index.sqlite*"):
                path.unlink()
            shutil.copy(tmp_path / "index", board.index_path)
            fail()

        committer.call(lose_the_index)
        assert until(lambda: isinstance(committer.fatal, Inconsistent))
        assert committer.sequencer is None
        time.sleep(0.2)
        assert committer.sequencer is None
        with pytest.raises(Refused):
            committer.submit(submission(1))


def test_a_commit_is_told(tmp_path: Path) -> None:
    board, told = new_board(tmp_path / "log"), []
    committer = Committer(
        lambda: open_log(board), LIMITS, committed=lambda log: told.append(log.signed.size)
    )
    committer.submit(submission(0)).result(LONG)
    assert until(lambda: told == [1])
    sequencer = committer.sequencer
    committer.close()
    assert sequencer is not None
    with pytest.raises(StorageError):  # what was opened is closed
        sequencer._storage.index.size()


def test_a_post_that_slips_in_while_the_log_closes_is_answered(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    committer = Committer(lambda: open_log(board), LIMITS)
    release, closing, late = closing_with_a_late_post(committer)
    committer._queue.put(lambda _: None)
    release.set()
    outcome = late.result(LONG)
    assert isinstance(outcome, Refused)
    assert outcome.reason is RefusalReason.UNAVAILABLE
    closing.join(LONG)
    assert not closing.is_alive()


def test_work_waits_for_room_in_the_queue_or_says_that_there_was_none(tmp_path: Path) -> None:
    """Else strangers who fill it would keep an operator from shutting somebody out, unnoticed."""
    board, busy, go = new_board(tmp_path / "log"), threading.Event(), threading.Event()
    committer = Committer(lambda: open_log(board), CommitterLimits(queue=1))
    done: list[int] = []

    def slow(_: Sequencer) -> None:
        busy.set()
        assert go.wait(LONG)

    try:
        assert committer.call(slow)
        assert busy.wait(LONG)
        assert committer.call(lambda _: done.append(1))
        assert not committer.call(lambda _: done.append(2))
        assert not committer.call(lambda _: done.append(3), 0.01)
        threading.Timer(0.05, go.set).start()
        assert committer.call(lambda _: done.append(4), LONG)
    finally:
        go.set()
        committer.close()
    assert done == [1, 4]


def refusal(outcome: Outcome) -> Refused:
    assert isinstance(outcome, Refused)
    return outcome


def test_receipts_prove_what_they_say() -> None:
    log, _ = memory_log(300)
    entries = submissions(20, 300)
    for entry, accepted in zip(entries, append(log, entries), strict=True):
        found = verify_receipt(Receipt.parse(accepted.receipt), entry.raw, log_key())
        assert found.index == accepted.index
        assert found.signed.size == 320
        assert accepted.fresh


def test_the_same_bytes_again_have_the_same_index() -> None:
    log, files = memory_log(10)
    before = dict(files)
    again = append(log, [submissions(10)[3], submissions(10)[3]])
    assert [(accepted.index, accepted.fresh) for accepted in again] == [(3, False)] * 2
    assert files == before
    twice = submission(77)
    fresh = append(log, [twice, twice])
    assert [(accepted.index, accepted.fresh) for accepted in fresh] == [(10, True), (10, False)]


def test_the_first_conflict_is_kept_and_later_ones_are_refused() -> None:
    log, files = memory_log()
    conflicting = [submission(0, body=bytes([n])) for n in range(100)]
    outcomes = log.append(conflicting)
    assert must_accept(outcomes[0]).index == 0
    for outcome in outcomes[1:]:
        found = refusal(outcome)
        assert (found.reason, found.first, found.evidence) == (RefusalReason.CONFLICT, 0, 1)
    assert log.signed.size == 2
    assert fsck(source_of(files), trust(), signatures=True).equivocations == 1
    assert refusal(log.append([submission(0, body=b"late")])[0]).evidence == 1
    assert [must_accept(o).index for o in log.append(conflicting[:1])] == [0]
    assert must_accept(log.append(conflicting[1:2])[0]).fresh is False
    assert log.signed.size == 2


def test_a_flood_of_conflicts_does_not_grow_the_log(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(20))
    log.append([submission(n, body=b"other") for n in range(20)])

    def used() -> int:
        return sum(p.stat().st_size for p in board.public.rglob("*") if p.is_file())

    before = used()
    for flood in range(20):
        log.append([submission(n % 20, body=bytes([flood, n])) for n in range(200)])
    assert log.signed.size == 40
    assert used() == before


def test_a_roster_and_its_quota() -> None:
    storage = memory_storage(first_checkpoint(signer()))
    log = Sequencer(storage, signer(), lambda: RosterAdmission([party(0).public.data], quota=3))
    outcomes = log.append([*submissions(4), submission(0, author=1)])
    assert [isinstance(outcome, Accepted) for outcome in outcomes] == [True] * 3 + [False] * 2
    assert refusal(outcomes[3]).reason is RefusalReason.QUOTA
    assert refusal(outcomes[4]).reason is RefusalReason.UNREGISTERED


class ClosesAfter(Anyone):
    """Phase 1 is open until an entry of phase 9 is in the log."""

    def __init__(self) -> None:
        super().__init__(10**9)
        self.closed = False

    def admit(self, entry: Entry) -> None:
        if self.closed and entry.phase == 1:
            raise Refused(RefusalReason.PHASE)

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        super().observe(index, entry, evidence=evidence)
        self.closed |= entry.phase == 9


def test_a_post_after_the_close_in_the_same_batch_is_late(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = Sequencer(board.storage(), signer(), ClosesAfter)
    outcomes = log.append([submission(0), submission(0, phase=9), submission(1)])
    assert refusal(outcomes[2]).reason is RefusalReason.PHASE
    log.close()
    log = Sequencer(board.storage(), signer(), ClosesAfter)  # rebuilt from the log
    assert refusal(log.append([submission(2)])[0]).reason is RefusalReason.PHASE
    assert must_accept(log.append([submission(0)])[0]).fresh is False
    log.close()


def test_the_largest_entry_and_one_more_byte() -> None:
    log, files = memory_log()
    largest = submission(0, body=bytes(60_000))
    append(log, [largest])
    assert fsck(source_of(files), trust()).entry_bytes == len(largest.raw)
    with pytest.raises(UsageError):
        submission(1, body=bytes(60_001))


def test_a_batch_is_bounded() -> None:
    log = Sequencer(memory_storage(first_checkpoint(signer())), signer(), anyone)
    one = submission(0)
    assert len(append(log, [one] * 1_024, 1_024)) == 1_024
    with pytest.raises(UsageError):
        log.append([one] * 1_025)
    assert Submission.decode(one.raw) == one


def test_cosignatures_of_an_older_checkpoint_are_not_published() -> None:
    log, files = memory_log(3)
    line = cosign(log.signed.note.text, signer("w.example", KeyKind.WITNESS), 1)
    older = SignedCheckpoint(log.signed.checkpoint, log.signed.note.with_signatures([line]))
    log.publish_cosigned(older)
    assert files["checkpoint"] == older.to_bytes()
    append(log, submissions(1, 3))
    newest = files["checkpoint"]
    log.publish_cosigned(older)
    assert files["checkpoint"] == newest


@pytest.mark.parametrize(
    ("limit", "dropped"), [("SYNC_BYTES", True), ("SYNC_ENTRIES", True), ("", False)]
)
def test_stored_batches_are_forgotten_by_bytes_and_by_number(
    monkeypatch: pytest.MonkeyPatch, limit: str, dropped: bool
) -> None:
    if limit:
        monkeypatch.setattr(sequencer_module, limit, 256)
    log = Sequencer(memory_storage(first_checkpoint(signer())), signer(), anyone)
    append(log, submissions(600), 100)
    starts = [batch.start for batch in log._storage.index.staged()]
    assert starts == ([500] if dropped else [0, 100, 200, 300, 400, 500])
