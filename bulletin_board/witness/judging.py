"""Decides what a witness signs. Pure: the clock and the memory of the witness are arguments.

It reads the body of an add-checkpoint request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bulletin_board.note import (
    LARGEST_NOTE,
    Checkpoint,
    NoteSigner,
    SignedCheckpoint,
    SignedNote,
    VerifierKey,
    checkpoint_lines,
    cosign,
    encode_base64,
    parse_decimal,
    parse_hash,
    verify_note,
)
from bulletin_board.tree import EMPTY_ROOT, verify_consistency
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage

MOST_HASHES = 63
LARGEST_REQUEST = LARGEST_NOTE + 32 + 45 * MOST_HASHES


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """A request for a cosignature: the size that the witness may have, a proof, the checkpoint."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def to_bytes(self) -> bytes:
        lines = [f"old {self.old}", *map(encode_base64, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> AddCheckpoint:
        """The request whose only encoding is `data`, or `MalformedMessage`."""
        if len(data) > LARGEST_REQUEST:
            raise MalformedMessage(f"at most {LARGEST_REQUEST} bytes", "request")
        head, blank, checkpoint = data.partition(b"\n\n")
        try:
            first, *hashes = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise MalformedMessage("ASCII before the checkpoint", "request") from None
        if not blank or not first.startswith("old "):
            raise MalformedMessage("old size, hashes, a blank line, a checkpoint", "request")
        if len(hashes) > MOST_HASHES:
            raise MalformedMessage(f"at most {MOST_HASHES} hashes", "proof")
        old = parse_decimal(first.removeprefix("old "), "old")
        return cls(old, tuple(parse_hash(line, "proof") for line in hashes), checkpoint)


SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class WitnessAnswer:
    """Status, body and media type of the witness's answer."""

    status: int
    body: bytes = b""
    media_type: str = TEXT_TYPE


@dataclass(frozen=True, slots=True)
class CosignatureRequest:
    """A request that is well-formed and signed by a log that the witness knows."""

    request: AddCheckpoint
    signed: SignedCheckpoint


def read_request(
    data: bytes, logs: Mapping[str, VerifierKey]
) -> CosignatureRequest | WitnessAnswer:
    """Read a request; or return the answer 400, 403, 404 or 422 that refuses it.

    A log that is not one of ours may have extension lines: they are cosigned unread, as the
    format wants it.
    """
    try:
        return _read(AddCheckpoint.parse(data), logs)
    except MalformedMessage as error:
        return WitnessAnswer(400, f"{error}\n".encode())
    except InvalidSignature as error:
        return WitnessAnswer(403, f"{error}\n".encode())


def _read(
    request: AddCheckpoint, logs: Mapping[str, VerifierKey]
) -> CosignatureRequest | WitnessAnswer:
    note = SignedNote.parse(request.checkpoint)
    origin, size, root = checkpoint_lines(note.text)
    log = logs.get(origin)
    if log is None:
        return WitnessAnswer(404, b"this witness does not know the log\n")
    if not verify_note(note, [log]):
        return WitnessAnswer(403, b"the log has not signed this checkpoint\n")
    if request.old > size:
        return WitnessAnswer(400, b"the old size is larger than the new one\n")
    if size == 0 and root != EMPTY_ROOT:
        return WitnessAnswer(422, b"an empty log has the empty root\n")
    return CosignatureRequest(request, SignedCheckpoint(Checkpoint(origin, size, root), note))


def judge(proposal: CosignatureRequest, known: Checkpoint | None) -> WitnessAnswer | None:
    """Return None to cosign, or the answer 409 or 422 that refuses.

    `known` is the newest checkpoint of this log that the witness has cosigned.
    """
    request, new = proposal.request, proposal.signed.checkpoint
    size, root = (known.size, known.root) if known else (0, EMPTY_ROOT)
    if request.old != size:
        return WitnessAnswer(409, f"{size}\n".encode(), SIZE_TYPE)
    if size == new.size and root != new.root:
        # Under the type of a size, a client would take this for a hint, and ask again.
        return WitnessAnswer(409, f"{size}\n".encode())
    try:
        if size == 0:
            if request.proof:
                return WitnessAnswer(422, b"a proof from size 0 is empty\n")
        else:
            verify_consistency(size, new.size, request.proof, root, new.root)
    except InvalidProof as error:
        return WitnessAnswer(422, f"{error}\n".encode())
    return None


def cosigned(proposal: CosignatureRequest, signer: NoteSigner, time: int) -> WitnessAnswer:
    """Cosign, and answer 200. The caller has stored the checkpoint already."""
    return WitnessAnswer(200, str(cosign(proposal.signed.note.text, signer, time)).encode())
