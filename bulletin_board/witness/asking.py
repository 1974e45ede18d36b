"""One witness: the question for its cosignature, its refusals, and when it is asked again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from bulletin_board.client.http import NetworkError, Transport
from bulletin_board.note import LARGEST_NOTE, SignatureLine, SignedNote, parse_decimal, verify_note
from bulletin_board.policy import KnownServer
from bulletin_board.reader import LogReader
from bulletin_board.storage.files import EvidenceFolder
from bulletin_board.witness.judging import AddCheckpoint
from wire.errors import MalformedMessage, ProtocolError, Unattributed

KIND = "witness-refusal"


def keep_refusal(
    folder: EvidenceFolder, witness: KnownServer, refusal: WitnessRefusal, time: int
) -> str:
    """Store a refusal durably, and return where it is, or why it was not stored.

    Never raises for a full or failing disk: what follows from the refusal must not
    depend on it. The bytes of the answer are shown as the characters U+0000 to U+00FF.
    """
    document = {
        "witness": str(witness.key),
        "url": witness.url,
        "time": time,
        "status": refusal.status,
        "answer": refusal.answer.decode("latin-1"),
        "request": refusal.request.decode(),
    }
    data = json.dumps(document, indent=1).encode() + b"\n"
    try:
        path = folder.keep(f"{KIND}-{witness.key.key_id.hex()}", data)
    except OSError as error:
        return f"the evidence could not be stored: {error.strerror}"
    return f"evidence in {path}" if path else "enough evidence of this witness is stored already"


_ATTEMPTS = 3


class WitnessRefusal(ProtocolError):
    """A witness's claim to know a history that contradicts this one.

    `request` and the whole answer, `status` and `answer`, show what it was asked
    and what it said. An answer is not signed: it proves nothing about anyone. `ahead` is the
    size that it claims to hold, if that is more than it was asked about.
    """

    def __init__(
        self,
        message: str,
        request: bytes = b"",
        status: int = 0,
        answer: bytes = b"",
        ahead: int | None = None,
    ) -> None:
        super().__init__(message, request, status, answer, ahead)
        self.message = message
        self.request = request
        self.status = status
        self.answer = answer
        self.ahead = ahead

    def __str__(self) -> str:
        return self.message


def ask_witness(
    transport: Transport, witness: KnownServer, reader: LogReader, old: int
) -> tuple[SignatureLine, ...]:
    """Ask one witness to cosign the reader's checkpoint, and return its signature lines.

    `old` is a guess of the size that the witness holds; its answer corrects it.
    Raises `WitnessRefusal` if the histories contradict each other, `NetworkError`
    or another `ProtocolError` if the witness cannot help now.
    """
    for _ in range(_ATTEMPTS):
        proof = tuple(reader.consistency_proof(old)) if 0 < old <= reader.size else ()
        request = AddCheckpoint(old, proof, reader.signed.to_bytes()).to_bytes()
        answer = transport.request(
            "POST",
            f"{witness.url.rstrip('/')}/add-checkpoint",
            body=request,
            media_type="text/plain",
            limit=LARGEST_NOTE,
        )
        if answer.status == 200:
            return SignedNote.parse(
                reader.signed.note.text.encode() + b"\n" + answer.body
            ).signatures
        if answer.status == 422:
            raise WitnessRefusal(f"{witness.key.name} refuses the proof", request, 422, answer.body)
        if answer.status != 409:
            raise NetworkError(f"{witness.key.name} answers {answer.status}")
        held = _held_size(answer.body)
        # A smaller size only corrects the guess; these two cannot be of this history.
        if held == old or held > reader.size:
            raise WitnessRefusal(
                f"{witness.key.name} claims another history of {held} entries",
                request,
                409,
                answer.body,
                held if held > reader.size else None,
            )
        old = held
    raise NetworkError(f"{witness.key.name} answers with a new size each time")


def require_own(
    witness: KnownServer, checkpoint: SignedNote, lines: Iterable[SignatureLine]
) -> tuple[SignatureLine, ...]:
    """Return the lines of the witness itself, if there is one and all of them verify.

    Raises `InvalidSignature` if one does not, `Unattributed` if there is none.
    """
    key = witness.key
    own = tuple(line for line in lines if (line.name, line.key_id) == (key.name, key.key_id))
    if not own:
        raise Unattributed("the witness answers without a cosignature of its own")
    verify_note(SignedNote(checkpoint.text, own), [key])
    return own


def _held_size(body: bytes) -> int:
    try:
        text = body.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedMessage("a size", "witness") from None
    if not text.endswith("\n"):
        raise MalformedMessage("a size and a newline", "witness")
    return parse_decimal(text[:-1], "witness")


MOST_REFUSALS = 6
"""Refusals without a cosignature in between, after which a witness is asked no more."""

_FIRST_PAUSE = 1.0
_LONGEST_FAILURE_PAUSE = 8.0
"""A witness that comes back is noticed within this time."""


class WitnessState(Enum):
    """The states of a witness, in the words that `/healthz`, `/metrics` and the page use."""

    WAITING = "waiting"
    COSIGNING = "cosigning"
    FAILING = "failing"
    REFUSING = "refusing"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class WitnessHealth:
    """How one witness behaves; every change gives a new object.

    A failure (no answer, or one that is no cosignature) is retried for ever, more
    and more slowly. A refusal says that the witness holds another history: the
    witness is mistaken, or lies, or the board has forked. It is retried a few
    times, and until it has cosigned again the witness does not count for the quorum.
    `refused` and `failed` count since the last cosignature, `refusals` and `failures`
    since the board started. `time` is what its last cosignature states, `seen` when that came by
    the board's own clock.
    """

    time: int | None = None
    reason: str = ""
    refused: int = 0
    failed: int = 0
    refusals: int = 0
    failures: int = 0
    seen: float | None = None

    def after_cosigning(self, time: int, seen: float) -> WitnessHealth:
        return WitnessHealth(time, "", 0, 0, self.refusals, self.failures, seen)

    def after_failing(self, reason: str) -> WitnessHealth:
        return replace(
            self,
            reason=self.reason if self.refused else reason,
            failed=self.failed + 1,
            failures=self.failures + 1,
        )

    def after_refusing(self, reason: str) -> WitnessHealth:
        return replace(
            self, reason=reason, refused=self.refused + 1, failed=0, refusals=self.refusals + 1
        )

    @property
    def state(self) -> WitnessState:
        if self.refused:
            return WitnessState.EXCLUDED if self.refused >= MOST_REFUSALS else WitnessState.REFUSING
        if self.failed:
            return WitnessState.FAILING
        return WitnessState.WAITING if self.time is None else WitnessState.COSIGNING

    @property
    def pause(self) -> float:
        """Seconds until it is asked again."""
        after_failure: float = _FIRST_PAUSE * 2 ** min(self.failed - 1, MOST_REFUSALS)
        after_refusal: float = _FIRST_PAUSE * 2 ** (self.refused - 1)
        return max(
            min(after_failure, _LONGEST_FAILURE_PAUSE) if self.failed else 0.0,
            after_refusal if self.refused else 0.0,
        )
