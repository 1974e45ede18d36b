"""Two writers that do not see each other's file lock, in every order of their steps.

What is known about them: the newer one wins; the older one stops and says why; whatever
either acknowledged is in the log; nobody signs two histories. What may happen: the older
one, stopped between its commit and its last look at the lock, leaves public files that the
newer log has outgrown, or shows a checkpoint that is older than the newest. Both are files
of the one log; the newer writer finds the checkpoint when it is idle and opens the log anew,
which removes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bulletin_board.admission import Refused
from bulletin_board.entry import Submission
from bulletin_board.fsck import fsck_directory
from bulletin_board.note import SignedCheckpoint
from bulletin_board.sequencer import Accepted, Sequencer
from bulletin_board.storage import LostLock, StorageError
from bulletin_board.storage import sqlite as database_module
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.tree import verify_consistency
from tests.board.faults import Plan, faulty_storage
from tests.board.tools import (
    append,
    copy_of,
    filled_board,
    open_log,
    submission,
    submissions,
    trust,
)
from wire.errors import ProtocolError

BEFORE = 250
OLDER = submissions(12, BEFORE)
NEWER = [submission(n, author=1, body=b"newer") for n in range(9)]


@pytest.fixture(scope="module")
def template(scratch: Path) -> BoardDirectory:
    return filled_board(scratch / "template", submissions(BEFORE))


@pytest.fixture(autouse=True)
def no_waiting_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both run in one thread here: one that waits for the other waits in vain."""
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.01)


class Newer:
    """Opens the log and appends, once, when it is called; tries again later if it could not."""

    def __init__(self, board: BoardDirectory, *, post: bool) -> None:
        self._board = board
        self._post = post
        self.log: Sequencer | None = None
        self.acknowledged: list[Submission] = []

    def __call__(self) -> None:
        try:
            self.log = open_log(self._board)
            if self._post:
                append(self.log, NEWER)
                self.acknowledged = NEWER
        except StorageError:  # the older one is inside of a transaction
            if self.log is not None:
                self.log.close()
                self.log = None


def older_appends(log: Sequencer) -> list[Submission]:
    outcomes = log.append(OLDER)
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    return OLDER


def older_looks(log: Sequencer) -> list[Submission]:
    log.check()
    return []


def older_publishes(log: Sequencer) -> list[Submission]:
    log.publish_cosigned(log.signed)
    return []


def test_a_replaced_writer_does_not_show_its_older_checkpoint(
    template: BoardDirectory, tmp_path: Path
) -> None:
    """It stalls after its commit, before it publishes: the newer one has gone on meanwhile."""
    board = copy_of(template, tmp_path / "log")
    older, newer = open_log(board), Newer(board, post=True)
    write = older._storage.public.write
    calls: list[int] = []

    def stall(files: Mapping[str, bytes]) -> None:
        write(files)
        if not calls:
            calls.append(1)
            newer()

    older._storage.public.write = stall  # type: ignore[method-assign]
    with pytest.raises(LostLock):
        older.append(OLDER)
    older.close()
    assert newer.log is not None
    newer.log.check()
    assert newer.log.signed.size == BEFORE + len(OLDER) + len(NEWER)
    newer.log.close()


def steps_of(template: BoardDirectory, root: Path, work: Callable[[Sequencer], object]) -> int:
    plan = Plan()
    log = open_log(template, faulty_storage(copy_of(template, root), plan))
    plan.armed = True
    work(log)
    plan.armed = False
    log.close()
    return len(plan.steps)


def settle(board: BoardDirectory, newer: Newer) -> Sequencer:
    """What the newer writer's process does when it is idle: look, and open anew if need be."""
    try:
        if newer.log is not None:
            newer.log.check()
            return newer.log
    except LostLock:
        raise
    except (StorageError, ProtocolError):
        assert newer.log is not None
        newer.log.close()
    return open_log(board)


PARTS = 6


@pytest.mark.thirds
@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize(
    ("work", "part"),
    [
        *((older_appends, slice(part, None, PARTS)) for part in range(PARTS)),
        (older_looks, slice(None)),
        (older_publishes, slice(None)),
    ],
)
def test_a_takeover_at_every_step(
    template: BoardDirectory,
    tmp_path: Path,
    work: Callable[[Sequencer], list[Submission]],
    post: bool,
    part: slice,
) -> None:
    lost = 0
    for at in range(steps_of(template, tmp_path / "dry", work))[part]:
        board = copy_of(template, tmp_path / str(at))
        newer = Newer(board, post=post)
        plan = Plan(at, "interrupt", interrupt=newer)
        older = open_log(board, faulty_storage(board, plan))
        acknowledged: list[Submission] = []
        plan.armed = True
        try:
            acknowledged = work(older)
        except LostLock:
            lost += 1
        except StorageError:  # the newer one holds a transaction: it had no turn to finish
            assert newer.log is None
        finally:
            plan.armed = False
        checkpoint = older.signed
        older.close()
        log = settle(board, newer)
        check(log, board, checkpoint, acknowledged + newer.acknowledged)
    assert lost


def check(
    log: Sequencer, board: BoardDirectory, seen: SignedCheckpoint, acknowledged: list[Submission]
) -> None:
    """Everything acknowledged is there once, and what the older one had signed is a prefix."""
    proof = log.consistency_proof(seen.size)
    verify_consistency(seen.size, log.signed.size, proof, seen.root, log.signed.root)
    again = log.append(acknowledged)
    assert all(isinstance(outcome, Accepted) and not outcome.fresh for outcome in again)
    assert not any(isinstance(outcome, Refused) for outcome in log.append(OLDER + NEWER))
    log.close()
    open_log(board).close()
    report = fsck_directory(board.public, trust())
    assert report.size == BEFORE + len(OLDER) + len(NEWER)
    assert report.equivocations == 0


@pytest.mark.thirds
@pytest.mark.parametrize("part", range(PARTS))
def test_a_takeover_at_every_step_of_opening(
    template: BoardDirectory, tmp_path: Path, part: int
) -> None:
    """The one that fenced last may write; the other one notices."""
    dry = Plan(armed=True)
    open_log(template, faulty_storage(copy_of(template, tmp_path / "dry"), dry)).close()
    for at in range(part, len(dry.steps), PARTS):
        board = copy_of(template, tmp_path / str(at))
        newer = Newer(board, post=True)
        plan = Plan(at, "interrupt", interrupt=newer, armed=True)
        storage = faulty_storage(board, plan)
        try:
            older = open_log(board, storage)
            plan.armed = False
            acknowledged = older_appends(older)
        except LostLock:
            acknowledged = []
        finally:
            plan.armed = False
            storage.close()
        if newer.log is not None and acknowledged:
            with pytest.raises(LostLock):
                newer.log.check()
            newer.log.close()
            newer.log = None
        log = settle(board, newer)
        check(log, board, log.signed, acknowledged + newer.acknowledged)
