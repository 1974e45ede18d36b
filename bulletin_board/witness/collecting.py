"""Asks witnesses for cosignatures until a quorum has given them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Final

from bulletin_board.client.http import Transport
from bulletin_board.display import visible
from bulletin_board.note import SignatureLine, SignedCheckpoint, cosignature_time
from bulletin_board.policy import KnownServer, TrustPolicy
from bulletin_board.reader import LogReader, Source
from bulletin_board.storage import Overtaken
from bulletin_board.storage.files import EvidenceFolder
from bulletin_board.witness.asking import (
    WitnessHealth,
    WitnessRefusal,
    WitnessState,
    ask_witness,
    keep_refusal,
    require_own,
)
from bulletin_board.witness.opening import require_possible
from wire.errors import ProtocolError

_LOG: Final = logging.getLogger("gopa.board")

MOST_WAITING = 256

_PAUSE_SECONDS = 1.0
_ROUND_SECONDS = 5.0
_LEAVE_SECONDS = 10.0

PROBE_SECONDS: Final = 20.0
"""After so long without a new checkpoint a witness is asked again, to see whether it is there."""

SILENT_SECONDS: Final = 60.0
"""A witness that has not cosigned for so long makes no quorum: a board does not start without."""

Covered = Future[SignedCheckpoint | None]


class CosignatureWaiters:
    """Futures of those who wait for a cosigned checkpoint above an index; bounded.

    The caller serialises the calls.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: list[tuple[int, Covered]] = []

    def add(self, index: int) -> Covered | None:
        """A future for a checkpoint that covers entry `index`; None if too many wait."""
        self._waiting = [item for item in self._waiting if not item[1].done()]
        if len(self._waiting) >= self._most:
            return None
        future: Covered = Future()
        self._waiting.append((index, future))
        return future

    def announce(self, signed: SignedCheckpoint) -> None:
        """Give the checkpoint to all that it covers."""
        covered = [future for index, future in self._waiting if index < signed.size]
        self._waiting = [item for item in self._waiting if item[0] >= signed.size]
        for future in covered:
            _resolve(future, signed)

    def give_up(self) -> None:
        """Give None to everyone: there will be no quorum."""
        waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            _resolve(future, None)


def _resolve(future: Covered, value: SignedCheckpoint | None) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(value)


class Collector:
    """The newest checkpoint cosigned, by one thread for each witness.

    A witness that is slow, silent, wrong or a liar excludes nobody but itself. All of
    them are asked about one checkpoint until it has its quorum, or for some seconds:
    under load, each would else sign another one.

    Fails closed: without a quorum nothing that needs witnesses is acknowledged. Of a log that does
    not grow they are asked for the same cosignature again now and then: else nobody would notice
    that one is gone before it is needed.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - every edge is injected
        self,
        policy: TrustPolicy,
        transport: Transport,
        source: Source,
        current: Callable[[], SignedCheckpoint | None],
        cosigned: Callable[[SignedCheckpoint], object],
        evidence: EvidenceFolder,
        clock: Callable[[], float] = time.time,
        overtaken: Callable[[Overtaken], object] = lambda _: None,
    ) -> None:
        """`source` has the tiles of any checkpoint that `current` returns, also outgrown ones.

        `overtaken` is told when witnesses that hold more than this log leave no quorum, unless
        one has cosigned since the board started.
        """
        self._policy = policy
        self._transport = transport
        self._source = source
        self._current = current
        self._cosigned = cosigned
        self._evidence = evidence
        self._clock = clock
        self._overtaken = overtaken
        self._ahead: dict[str, int] = {}
        self._standings = {name: WitnessHealth() for name in policy.witnesses}
        self._target: SignedCheckpoint | None = None
        self._since = 0.0
        self._begun: float | None = None
        self._latest: SignedCheckpoint | None = None
        self._waiters = CosignatureWaiters(MOST_WAITING)
        self._changed = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, args=item, name="board-witness", daemon=True)
            for item in policy.witnesses.items()
            if item[1].url
        ]

    def start(self) -> None:
        """Begin to ask the witnesses."""
        for thread in self._threads:
            thread.start()

    def notify(self) -> None:
        """Note that there is a newer checkpoint."""
        with self._changed:
            self._changed.notify_all()

    def standings(self) -> dict[str, WitnessHealth]:
        """How each witness behaves."""
        with self._changed:
            return dict(self._standings)

    @property
    def latest(self) -> SignedCheckpoint | None:
        """The newest checkpoint that the quorum has cosigned since the board started."""
        return self._latest

    @property
    def problem(self) -> str:
        """Why the quorum cannot be met, or the empty string."""
        with self._changed:
            if self._is_possible():
                return self._silence()
            refusing = [name for name, found in self._standings.items() if found.refused]
        silent = [name for name, witness in self._policy.witnesses.items() if not witness.url]
        return (
            "no quorum is possible. These witnesses claim another history:"
            f" {_names(refusing)}; these have no address in the policy: {_names(silent)}"
        )

    def covering(self, index: int) -> Covered | None:
        """A future of a quorum-cosigned checkpoint that covers entry `index`.

        It gives None when a quorum is impossible. The answer is None itself if too many wait.
        """
        with self._changed:
            done: Covered = Future()
            if self._latest is not None and index < self._latest.size:
                done.set_result(self._latest)
            elif self._closed or not self._is_possible():
                done.set_result(None)
            else:
                return self._waiters.add(index)
            return done

    def wait_for(self, index: int, seconds: float) -> LogReader | None:
        """A reader of a quorum-cosigned checkpoint that covers entry `index`, or None in time."""
        future = self.covering(index)
        if future is None:
            return None
        try:
            found = future.result(seconds)
        except NotInTime:
            future.cancel()
            return None
        return None if found is None else self.reader(found)

    def reader(self, signed: SignedCheckpoint) -> LogReader:
        """A reader of a checkpoint that was collected here."""
        return LogReader(self._source, signed)

    def close(self) -> None:
        """Stop asking. A request on its way is not waited for: it ends with the process."""
        with self._changed:
            self._closed = True
            self._waiters.give_up()
            self._changed.notify_all()
        deadline = time.monotonic() + _LEAVE_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, name: str, witness: KnownServer) -> None:
        held, done, probe = 0, "", 0.0
        while (target := self._next(done, probe)) is not None:
            try:
                reader = LogReader(self._source, target)
                lines = ask_witness(self._transport, witness, reader, held)
                own = self._confirm(name, witness, target, lines)
                if done != target.note.text:
                    self._add(target, own)
                held, done, probe = target.size, target.note.text, time.monotonic() + PROBE_SECONDS
                continue
            except WitnessRefusal as error:
                if self._refused(name, witness, target, error).state is WitnessState.EXCLUDED:
                    return
            except Exception as error:  # noqa: BLE001 - whatever it was, it is this witness's
                self._failed(name, error)
            probe = 0.0
            self._pause(name)

    def _next(self, done: str, probe: float) -> SignedCheckpoint | None:
        """Wait for a checkpoint with another text than `done`, or any from `probe` on.

        None to end.
        """
        with self._changed:
            while not self._closed:
                target = self._choose()
                due = time.monotonic() >= probe
                if target is not None and (due or target.note.text != done):
                    return target
                self._changed.wait(_PAUSE_SECONDS)
        return None

    def _choose(self) -> SignedCheckpoint | None:
        """The checkpoint that all witnesses are asked about now. Holds the lock."""
        target, now = self._target, time.monotonic()
        served = target is None or (self._latest is not None and self._latest.size >= target.size)
        if served or now - self._since > _ROUND_SECONDS:
            current = self._current()
            if current is not None and current.size and (not target or current.size > target.size):
                self._target, self._since = current, now
                if self._begun is None:
                    self._begun = self._clock()
                self._changed.notify_all()
        return self._target

    def _pause(self, name: str) -> None:
        with self._changed:
            deadline = time.monotonic() + self._standings[name].pause
            while not self._closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _confirm(
        self,
        name: str,
        witness: KnownServer,
        asked: SignedCheckpoint,
        lines: Iterable[SignatureLine],
    ) -> SignatureLine:
        """The newest cosignature of a witness, which is there, as it shows.

        Only one line of each: a note with too many lines is one that nobody can read.
        Raises `InvalidSignature` if one does not verify, `Unattributed` if there is none.
        """
        signed = require_own(witness, asked.note, lines)
        own = max(signed, key=lambda line: cosignature_time(line.signature))
        with self._changed:
            time_stated = cosignature_time(own.signature)
            self._ahead.pop(name, None)
            found = self._standings[name].after_cosigning(time_stated, self._clock())
            self._change(name, found)
        return own

    def _add(self, asked: SignedCheckpoint, own: SignatureLine) -> None:
        """Keep a cosignature; announce the checkpoint if there is a quorum now."""
        with self._changed:
            target = self._target
            if target is None or target.note.text != asked.note.text:
                return  # too late: the others are asked about a newer one
            found = SignedCheckpoint(target.checkpoint, target.note.with_signatures([own]))
            self._target = found
            if not self._policy.is_quorum(c.witness for c in self._policy.cosignatures(found)):
                return
            self._latest = found
            self._waiters.announce(found)
            self._changed.notify_all()
        self._cosigned(found)

    def _refused(
        self, name: str, witness: KnownServer, asked: SignedCheckpoint, error: WitnessRefusal
    ) -> WitnessHealth:
        """Keep what a witness said that contradicts this log; it does not count for now."""
        stored = keep_refusal(self._evidence, witness, error, int(self._clock()))
        with self._changed:
            found = self._change(name, self._standings[name].after_refusing(visible(str(error))))
            if not self._is_possible():
                self._waiters.give_up()
        _LOG.critical(
            "witness %s %s (%d): it is mistaken or this log has forked; %s",
            visible(name),
            found.reason,
            error.status,
            visible(stored),
        )
        if found.state is WitnessState.EXCLUDED:
            _LOG.critical("witness %s is excluded until the board starts again", visible(name))
        self._look_back(name, asked, error)
        return found

    def _look_back(self, name: str, asked: SignedCheckpoint, error: WitnessRefusal) -> None:
        """Stop the board if a witness that was silent when it opened knows more of the log."""
        with self._changed:
            if error.ahead is None:
                self._ahead.pop(name, None)
            else:
                self._ahead[name] = error.ahead
            ahead = dict(self._ahead) if self._latest is None else {}
        try:
            require_possible(self._policy, ahead, asked.size)
        except Overtaken as overtaken:
            self._overtaken(overtaken)

    def _failed(self, name: str, error: Exception) -> None:
        with self._changed:
            found = self._change(name, self._standings[name].after_failing(visible(str(error))))
        if found.failed & (found.failed - 1):
            return  # the first, second, fourth, eighth ... in a row is logged
        unexpected = None if isinstance(error, ProtocolError) else error
        _LOG.warning(
            "witness %s has failed %d times in a row: %s",
            visible(name),
            found.failed,
            found.reason,
            exc_info=unexpected,
        )

    def _change(self, name: str, found: WitnessHealth) -> WitnessHealth:
        """Change how a witness stands; the caller holds the lock."""
        before, self._standings[name] = self._standings[name].state, found
        if found.state is not before:
            _LOG.info("witness %s is %s now", visible(name), found.state.value)
        return found

    def _silence(self) -> str:
        """The words for too few cosignatures lately; empty otherwise. Holds the lock."""
        if self._begun is None or not self._policy.needs_witnesses:
            return ""
        now = self._clock()
        ages = {
            name: now - (self._begun if found.seen is None else found.seen)
            for name, found in self._standings.items()
        }
        awake = [name for name, age in ages.items() if age <= SILENT_SECONDS]
        if self._policy.is_quorum(self._policy.witnesses[name].key for name in awake):
            return ""
        silent = (
            f"{visible(name)} for {age:.0f} seconds"
            for name, age in ages.items()
            if name not in awake
        )
        return f"too few witnesses cosign. These have been silent: {', '.join(silent)}"

    def _is_possible(self) -> bool:
        """Whether the witnesses that do not contradict this log make a quorum. Holds the lock."""
        return self._policy.is_quorum(
            witness.key
            for name, witness in self._policy.witnesses.items()
            if witness.url and not self._standings[name].refused
        )


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(visible, names)) or "none"
