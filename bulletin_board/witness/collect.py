"""Asking witnesses for cosignatures until a quorum has given them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bulletin_board.client.http import NetworkError, Transport
from bulletin_board.note import Note, SignatureLine, SignedCheckpoint
from bulletin_board.note.signed import LARGEST_NOTE
from bulletin_board.policy import Peer, TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.source import Source
from bulletin_board.text import parse_decimal
from bulletin_board.witness.request import AddCheckpoint
from wire.errors import InvalidProof, MalformedMessage, ProtocolError

log = logging.getLogger("gopa.board")

_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0


class WitnessRefusal(ProtocolError):
    """A witness holds a history that contradicts this one; `request` and `status` show it."""

    def __init__(self, message: str, request: bytes = b"", status: int = 0) -> None:
        super().__init__(message, request, status)
        self.message = message
        self.request = request
        self.status = status

    def __str__(self) -> str:
        return self.message


def ask_witness(
    transport: Transport, witness: Peer, reader: LogReader, old: int
) -> tuple[SignatureLine, ...]:
    """The cosignature lines of one witness for the reader's checkpoint.

    `old` is a guess of the size that the witness holds; its answer corrects it.
    Raises `WitnessRefusal` if the histories contradict each other, `NetworkError`
    or another `ProtocolError` if the witness cannot help now.
    """
    for _ in range(_ATTEMPTS):
        proof = tuple(reader.consistency_proof(old)) if 0 < old <= reader.size else ()
        request = AddCheckpoint(old, proof, reader.signed.to_bytes()).to_bytes()
        answer = transport.request(
            "POST",
            f"{witness.url}/add-checkpoint",
            body=request,
            media_type="text/plain",
            limit=LARGEST_NOTE,
        )
        if answer.status == 200:
            return Note.parse(reader.signed.note.text.encode() + b"\n" + answer.body).signatures
        if answer.status == 422:
            raise WitnessRefusal(f"{witness.key.name} refuses the proof", request, 422)
        if answer.status != 409:
            raise NetworkError(f"{witness.key.name} answers {answer.status}")
        held = _held_size(answer.body)
        if held == old or held > reader.size:
            raise WitnessRefusal(
                f"{witness.key.name} holds another history of {held} entries", request, 409
            )
        old = held
    raise NetworkError(f"{witness.key.name} answers with a new size each time")


def _held_size(body: bytes) -> int:
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedMessage("a size", "witness") from None
    if not text.endswith("\n"):
        raise MalformedMessage("a size and a newline", "witness")
    return parse_decimal(text[:-1], "witness")


class Collector:
    """A thread that keeps the newest checkpoint cosigned.

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
        self._held = dict.fromkeys(policy.witnesses, 0)
        self._times: dict[str, int | None] = dict.fromkeys(policy.witnesses)
        self._latest: SignedCheckpoint | None = None
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._closed = False
        self.problem = ""
        self._thread = threading.Thread(target=self._run, name="board-witnesses", daemon=True)

    def start(self) -> None:
        """Begin asking."""
        self._wake.set()
        self._thread.start()

    def notify(self) -> None:
        """There is a newer checkpoint."""
        self._wake.set()

    def times(self) -> dict[str, int | None]:
        """When each witness last cosigned, by its own clock."""
        return dict(self._times)

    def wait_for(self, index: int, seconds: float) -> LogReader | None:
        """A reader of a quorum-cosigned checkpoint that covers entry `index`, or None in time."""
        deadline = time.monotonic() + seconds
        self._wake.set()
        with self._changed:
            while self._latest is None or self._latest.size <= index:
                left = deadline - time.monotonic()
                if left <= 0 or self._closed or self.problem:
                    return None
                self._changed.wait(min(left, _PAUSE_SECONDS))
            return LogReader(self._source, self._latest)

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        done = ""
        while not self._closed and not self.problem:
            self._wake.wait(_PAUSE_SECONDS)
            self._wake.clear()
            signed = self._current()
            if signed is None or signed.note.text == done or not signed.size:
                continue
            try:
                if self.collect(signed):
                    done = signed.note.text
            except WitnessRefusal as error:
                self._stop(error)
            except ProtocolError as error:
                log.warning("cosignatures: %s", error)

    def collect(self, signed: SignedCheckpoint) -> bool:
        """Ask every witness once; whether the quorum is reached."""
        reader = LogReader(self._source, signed)
        note = signed.note
        for name, witness in self._policy.witnesses.items():
            if witness.url:
                note = self._with_one(note, name, witness, reader)
        found = SignedCheckpoint(signed.checkpoint, note)
        for cosignature in self._policy.cosignatures(found):
            for name, witness in self._policy.witnesses.items():
                if witness.key == cosignature.witness:
                    self._times[name] = cosignature.time
        try:
            self._policy.check_quorum(found)
        except InvalidProof:
            return False
        with self._changed:
            self._latest = found
            self._changed.notify_all()
        self._cosigned(found)
        return True

    def _with_one(self, note: Note, name: str, witness: Peer, reader: LogReader) -> Note:
        """The note with the valid cosignatures of one witness; the same note if it cannot help."""
        try:
            lines = ask_witness(self._transport, witness, reader, self._held[name])
            longer = note.with_signatures(
                line for line in lines if (line.name, line.key_id) == _identity(witness)
            )
            self._policy.cosignatures(SignedCheckpoint(reader.signed.checkpoint, longer))
        except WitnessRefusal:
            raise
        except ProtocolError as error:
            log.warning("witness %s: %s", name, error)
            return note
        self._held[name] = reader.size
        return longer

    def _stop(self, error: WitnessRefusal) -> None:
        log.critical("%s: this log may have forked; nothing more will be cosigned", error)
        if self._evidence is not None:
            self._evidence.write_bytes(error.request)
        with self._changed:
            self.problem = str(error)
            self._changed.notify_all()


def _identity(witness: Peer) -> tuple[str, bytes]:
    return witness.key.name, witness.key.key_id
