"""Asking witnesses for cosignatures until a quorum has given them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from bulletin_board.client.http import Transport
from bulletin_board.note import SignatureLine, SignedCheckpoint
from bulletin_board.policy import Peer, TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.source import Source
from bulletin_board.visible import visible
from bulletin_board.witness.ask import WitnessRefusal, ask_witness
from wire.errors import InvalidProof, ProtocolError

log = logging.getLogger("gopa.board")

_PAUSE_SECONDS = 1.0
_ROUND_SECONDS = 5.0
_LEAVE_SECONDS = 10.0


class Collector:
    """Threads that keep the newest checkpoint cosigned, one for each witness.

    A witness that is slow, silent or wrong delays nobody but itself. All of them are
    asked about one checkpoint until it has its quorum, or for some seconds: under load,
    each would else sign another one.

    Fails closed: without a quorum `wait_for` answers None and nothing that needs
    witnesses is acknowledged. A contradiction is final until the process ends.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - every edge is injected
        self,
        policy: TrustPolicy,
        transport: Transport,
        source: Source,
        current: Callable[[], SignedCheckpoint | None],
        cosigned: Callable[[SignedCheckpoint], None],
        evidence: Path | None = None,
    ) -> None:
        """`source` has the tiles of any checkpoint that `current` returns, also outgrown ones."""
        self._policy = policy
        self._transport = transport
        self._source = source
        self._current = current
        self._cosigned = cosigned
        self._evidence = evidence
        self._times: dict[str, int | None] = dict.fromkeys(policy.witnesses)
        self._target: SignedCheckpoint | None = None
        self._since = 0.0
        self._latest: SignedCheckpoint | None = None
        self._changed = threading.Condition()
        self._closed = False
        self.problem = ""
        self._threads = [
            threading.Thread(target=self._run, args=item, name="board-witness", daemon=True)
            for item in policy.witnesses.items()
            if item[1].url
        ]

    def start(self) -> None:
        """Begin asking."""
        for thread in self._threads:
            thread.start()

    def notify(self) -> None:
        """There is a newer checkpoint."""
        with self._changed:
            self._changed.notify_all()

    def times(self) -> dict[str, int | None]:
        """When each witness last cosigned, by its own clock."""
        with self._changed:
            return dict(self._times)

    def wait_for(self, index: int, seconds: float) -> LogReader | None:
        """A reader of a quorum-cosigned checkpoint that covers entry `index`, or None in time."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._latest is None or self._latest.size <= index:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed or self.problem:
                    return None
                self._changed.wait(min(left, _PAUSE_SECONDS))
            latest = self._latest
        return LogReader(self._source, latest)

    def close(self) -> None:
        """Stop asking. A request on its way is not waited for: it ends with the process."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        deadline = time.monotonic() + _LEAVE_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, name: str, witness: Peer) -> None:
        held, done = 0, ""
        while (target := self._next(done)) is not None:
            try:
                reader = LogReader(self._source, target)
                lines = ask_witness(self._transport, witness, reader, held)
                self._add(name, witness, target, lines)
                held, done = target.size, target.note.text
            except WitnessRefusal as error:
                self._stop(error)
            except Exception as error:
                unexpected = None if isinstance(error, ProtocolError) else error
                shown = visible(name), visible(str(error))
                log.warning("witness %s: %s", *shown, exc_info=unexpected)
                self._pause()

    def _next(self, done: str) -> SignedCheckpoint | None:
        """Wait for a checkpoint with another text than `done`; None to end."""
        with self._changed:
            while not self._closed and not self.problem:
                target = self._choose()
                if target is not None and target.note.text != done:
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
                self._changed.notify_all()
        return self._target

    def _pause(self) -> None:
        deadline = time.monotonic() + _PAUSE_SECONDS
        with self._changed:
            while not self._closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _add(
        self, name: str, witness: Peer, asked: SignedCheckpoint, lines: Iterable[SignatureLine]
    ) -> None:
        """Keep a witness's valid cosignatures; announce the checkpoint if they make a quorum.

        Raises `InvalidSignature` if they do not verify.
        """
        own = [line for line in lines if _identity(line) == _identity_of(witness)]
        with self._changed:
            target = self._target
            if target is None or target.note.text != asked.note.text:
                return  # too late: the others are asked about a newer one
            found = SignedCheckpoint(target.checkpoint, target.note.with_signatures(own))
            for cosignature in self._policy.cosignatures(found):
                if cosignature.witness == witness.key:
                    self._times[name] = cosignature.time
            self._target = found
            try:
                self._policy.check_quorum(found)
            except InvalidProof:
                return
            self._latest = found
            self._changed.notify_all()
        self._cosigned(found)

    def _stop(self, error: WitnessRefusal) -> None:
        log.critical("%s: this log may have forked; nothing more will be cosigned", error)
        with self._changed:
            first = not self.problem
            self.problem = str(error)
            self._changed.notify_all()
        if first and self._evidence is not None:
            try:
                self._evidence.write_bytes(error.request)
            except OSError as failure:
                log.critical("the evidence could not be stored: %s", failure.strerror)


def _identity(line: SignatureLine) -> tuple[str, bytes]:
    return line.name, line.key_id


def _identity_of(witness: Peer) -> tuple[str, bytes]:
    return witness.key.name, witness.key.key_id
