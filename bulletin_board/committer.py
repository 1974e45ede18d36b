"""Runs the thread in which a log grows: it writes many waiting posts at once."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.entry import Submission
from bulletin_board.sequencer import Outcome, Sequencer
from bulletin_board.storage import DiskFull, Inconsistent, LostLock, Overtaken, StorageError
from wire.errors import GopaError

_LOG: Final = logging.getLogger("gopa.board")

_FULL_SECONDS: Final = 30
"""Until it is worth asking again whether there is room on the disk."""

OpenSequencer = Callable[[], Sequencer]
Committed = Callable[[Sequencer], None]


@dataclass(frozen=True, slots=True)
class CommitterLimits:
    """Bounds of what waits and goes in one batch, and how often an idle log is checked."""

    queue: int = 2_048
    batch: int = 512
    pulse_seconds: float = 5.0
    retry_seconds: int = 1


@dataclass(frozen=True, slots=True)
class _Job:
    submission: Submission
    future: Future[Outcome]


class Committer:
    """The queue of posts, with the sequencer and the thread that calls it.

    If a write fails, the waiting posts are refused as unavailable, which says
    nothing about whether they are in the log, and the log is opened anew.
    Posting the same bytes again is always safe. It stays closed, and `fatal` says why, if
    another writer has taken over, the storage contradicts itself, or witnesses hold a newer log.
    `submit` may be called by any thread.
    """

    def __init__(
        self,
        open_sequencer: OpenSequencer,
        limits: CommitterLimits = CommitterLimits(),
        *,
        committed: Committed | None = None,
        watch: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the log now; raises `StorageError` if it cannot be opened.

        `committed` is called after each batch, `watch` now and then.
        """
        self._open = open_sequencer
        self._limits = limits
        self._committed = committed
        self._watch = watch
        self._clock = clock
        self._queue: queue.Queue[_Job | Callable[[Sequencer], None] | None] = queue.Queue(
            limits.queue
        )
        self._sequencer: Sequencer | None = open_sequencer()
        self._closed = False
        self.fatal: StorageError | None = None
        self.closed_by: Exception | None = None
        self.last_good = self.last_commit = clock()
        self.commits = 0
        self.commit_seconds = 0.0
        self._watched = float("-inf")
        self._thread = threading.Thread(target=self._run, name="board-committer", daemon=True)
        self._thread.start()

    @property
    def sequencer(self) -> Sequencer | None:
        """The sequencer, for reading `signed` and `census`; None while the log is closed."""
        return self._sequencer

    @property
    def waiting(self) -> int:
        """About how many posts wait."""
        return self._queue.qsize()

    def submit(self, submission: Submission) -> Future[Outcome]:
        """Queue an entry whose signature is verified. Raises `Refused` if nothing can be queued."""
        if self._closed or self._sequencer is None:
            raise self._unavailable()
        job = _Job(submission, Future())
        try:
            self._queue.put_nowait(job)
        except queue.Full:
            raise Refused(RefusalReason.BUSY, "", self._limits.retry_seconds) from None
        return job.future

    def call(self, work: Callable[[Sequencer], None], seconds: float = 0) -> bool:
        """Run `work` in the writing thread, between two batches.

        Dropped, and False, if the queue is full for so many seconds.
        """
        try:
            self._queue.put(work, block=seconds > 0, timeout=seconds)
        except queue.Full:
            _LOG.warning("the queue is full: postponed work was dropped")
            return False
        return True

    def close(self) -> None:
        """Refuse new posts, commit those that wait, close the log."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        stop = False
        while not stop:
            jobs, works, stop = self._gather()
            try:
                self._serve(jobs, works)
            except Exception as error:  # noqa: BLE001 - whatever it was, posts must be answered
                self._fail(jobs, error)
        if self._sequencer is not None:
            _close_quietly(self._sequencer)
        self._refuse_late_posts()

    def _patience(self) -> float:
        """Seconds to wait for a post before the log is checked, or opened again."""
        waiting = self._sequencer is None
        return self._limits.retry_seconds if waiting else self._limits.pulse_seconds

    def _refuse_late_posts(self) -> None:
        """Refuse posts that were queued while `close` was called."""
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if isinstance(item, _Job) and item.future.set_running_or_notify_cancel():
                item.future.set_result(self._unavailable())

    def _unavailable(self) -> Refused:
        if isinstance(self.closed_by, DiskFull):
            return Refused(RefusalReason.STORAGE, "its disk is full", _FULL_SECONDS)
        return Refused(RefusalReason.UNAVAILABLE, "", self._limits.retry_seconds)

    def _gather(self) -> tuple[list[_Job], list[Callable[[Sequencer], None]], bool]:
        """Wait for something to do, then take everything that fits in one batch."""
        jobs: list[_Job] = []
        works: list[Callable[[Sequencer], None]] = []
        try:
            item = self._queue.get(timeout=self._patience())
            while True:
                if item is None:
                    return jobs, works, True
                if isinstance(item, _Job):
                    if item.future.set_running_or_notify_cancel():
                        jobs.append(item)
                else:
                    works.append(item)
                if len(jobs) == self._limits.batch:
                    break
                item = self._queue.get_nowait()
        except queue.Empty:
            pass
        return jobs, works, False

    def _serve(self, jobs: list[_Job], works: list[Callable[[Sequencer], None]]) -> None:
        sequencer = self._sequencer or self._reopen()
        if self._clock() >= self._watched + self._limits.pulse_seconds:
            self._watched = self._clock()
            self._watch()
        if jobs:
            started = self._clock()
            outcomes = sequencer.append([job.submission for job in jobs])
            self.last_commit = self._clock()
            self.commits += 1
            self.commit_seconds += self.last_commit - started
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.future.set_result(outcome)
            taken = sum(not isinstance(outcome, Refused) for outcome in outcomes)
            _LOG.info(
                "the log has %d entries: %d of %d posts taken",
                sequencer.signed.size,
                taken,
                len(jobs),
            )
            if self._committed is not None:
                self._committed(sequencer)
        for work in works:
            work(sequencer)
        if not jobs and not works:
            sequencer.check()
        self.last_good = self._clock()

    def _reopen(self) -> Sequencer:
        if self.fatal is not None:
            raise self.fatal
        self._sequencer = self._open()
        self.closed_by = None
        _LOG.info("the log is open again at size %d", self._sequencer.signed.size)
        return self._sequencer

    def _fail(self, jobs: list[_Job], error: Exception) -> None:
        _LOG.error("the log cannot be written: %s", error)
        if not isinstance(error, GopaError | OSError):
            _LOG.error("unexpected error", exc_info=error)
        # Opening it again would take it back from another writer, in turns, or sign a fork.
        if isinstance(error, LostLock | Overtaken):
            self.fatal = error
        if self._sequencer is None and isinstance(error, Inconsistent):
            self.fatal = error
        sequencer, self._sequencer = self._sequencer, None
        self.closed_by = error
        for job in jobs:
            if not job.future.done():  # outcomes are set only after the commit
                job.future.set_result(self._unavailable())
        if sequencer is not None:
            _close_quietly(sequencer)


def _close_quietly(sequencer: Sequencer) -> None:
    try:
        sequencer.close()
    except StorageError as error:
        _LOG.warning("closing the log: %s", error)
