"""Group commit under concurrency, failure and shutdown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulletin_board.admission import Reason, Refused
from bulletin_board.committer import Committer, CommitterLimits
from bulletin_board.fsck import fsck_directory
from bulletin_board.sequencer import Accepted, Outcome, Sequencer
from bulletin_board.storage import LostLock
from bulletin_board.storage.directory import BoardDirectory
from tests.board.faults import Plan, faulty_storage
from tests.board.tools import new_board, open_log, submission, trust

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
        outcomes = list(pool.map(lambda post: committer.submit(post).result(10), posts))
    winners = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert (len(winners), len(refused)) == (1, 99)
    assert {(r.reason, r.first, r.evidence) for r in refused} == {(Reason.CONFLICT, 0, 1)}
    report = fsck_directory(board.public, trust(), signatures=True)
    assert (report.size, report.equivocations) == (2, 1)


def test_100_threads_and_the_same_bytes(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    post = submission(0)
    with committing(board) as committer, ThreadPoolExecutor(100) as pool:
        outcomes = list(pool.map(lambda _: committer.submit(post).result(10), range(100)))
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
    assert caught.value.reason is Reason.UNAVAILABLE


def must(outcome: Outcome) -> int:
    assert isinstance(outcome, Accepted)
    return outcome.index


def test_a_full_queue_is_busy(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    committer = Committer(lambda: open_log(board), CommitterLimits(queue=1, pulse_seconds=0.05))
    committer.call(lambda _: time.sleep(0.3))
    time.sleep(0.1)
    posts = [submission(number) for number in range(10)]
    with pytest.raises(Refused) as caught:
        list(map(committer.submit, posts))
    assert caught.value.reason is Reason.BUSY
    assert caught.value.retry_after is not None
    committer.close()


def test_a_failed_write_is_survived(tmp_path: Path) -> None:
    """The disk fails once: the post is refused as unavailable, and posting again works."""
    board = new_board(tmp_path / "log")
    plan = Plan(at=5, how="error")

    def open_faulty() -> Sequencer:
        return open_log(board, faulty_storage(board, plan))

    committer = Committer(open_faulty, LIMITS)
    plan.armed = True
    outcome = committer.submit(submission(0)).result(10)
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.UNAVAILABLE
    plan.armed = False
    deadline = time.monotonic() + 10
    while committer.sequencer is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert must(committer.submit(submission(0)).result(10)) == 0
    committer.close()
    assert fsck_directory(board.public, trust()).size == 1


def test_an_idle_log_is_looked_at(tmp_path: Path) -> None:
    """Damage to the public files of an idle log is found, and repaired from the stored batch."""
    board = new_board(tmp_path / "log")
    with committing(board) as committer:
        committer.submit(submission(0)).result(10)
        (board.public / "tile/0/000.p/1").write_bytes(bytes(32))
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if (board.public / "tile/0/000.p/1").read_bytes() == submission(0).leaf:
                break
            time.sleep(0.01)
    assert fsck_directory(board.public, trust()).size == 1


def test_a_writer_that_was_replaced_does_not_come_back(tmp_path: Path) -> None:
    """Two writers that open the log in turns would each undo the other."""
    board = new_board(tmp_path / "log")
    with committing(board) as committer:
        assert must(committer.submit(submission(0)).result(10)) == 0
        other = open_log(board)
        outcome = committer.submit(submission(1)).result(10)
        assert isinstance(outcome, Refused)
        assert outcome.reason is Reason.UNAVAILABLE
        time.sleep(0.3)
        assert isinstance(committer.fatal, LostLock)
        assert committer.sequencer is None
        other.check()
        other.close()


def test_an_idle_writer_repairs_its_checkpoint(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    with committing(board) as committer:
        assert must(committer.submit(submission(0)).result(10)) == 0
        (board.public / "checkpoint").unlink()
        deadline = time.monotonic() + 10
        while not (board.public / "checkpoint").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert fsck_directory(board.public, trust()).size == 1
        assert committer.fatal is None
