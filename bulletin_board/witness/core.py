"""What a witness decides. Pure: the clock and the memory of the witness are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bulletin_board.note import (
    Checkpoint,
    Note,
    NoteSigner,
    SignedCheckpoint,
    VerifierKey,
    cosign,
    open_checkpoint,
)
from bulletin_board.tree import EMPTY_ROOT, verify_consistency
from bulletin_board.witness.request import AddCheckpoint
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage

SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and media type of the witness's answer."""

    status: int
    body: bytes = b""
    media_type: str = TEXT_TYPE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request that is well-formed and signed by a log that the witness knows."""

    request: AddCheckpoint
    signed: SignedCheckpoint


def read_request(data: bytes, logs: Mapping[str, VerifierKey]) -> Proposal | Answer:
    """The proposal, or the answer 400, 403 or 404 that refuses it."""
    try:
        request = AddCheckpoint.parse(data)
        note = Note.parse(request.checkpoint)
        origin = Checkpoint.from_text(note.text).origin
        log = logs.get(origin)
        if log is None:
            return Answer(404, b"this witness does not know the log\n")
        proposal = Proposal(request, open_checkpoint(request.checkpoint, log))
    except MalformedMessage as error:
        return Answer(400, f"{error}\n".encode())
    except InvalidSignature as error:
        return Answer(403, f"{error}\n".encode())
    if request.old > proposal.signed.size:
        return Answer(400, b"the old size is larger than the new one\n")
    return proposal


def judge(proposal: Proposal, known: Checkpoint | None) -> Answer | None:
    """None to cosign, or the answer 409 or 422 that refuses.

    `known` is the newest checkpoint of this log that the witness has cosigned.
    """
    request, new = proposal.request, proposal.signed.checkpoint
    size, root = (known.size, known.root) if known else (0, EMPTY_ROOT)
    if request.old != size or (size == new.size and root != new.root):
        return Answer(409, f"{size}\n".encode(), SIZE_TYPE)
    try:
        if size == 0:
            if request.proof:
                return Answer(422, b"a proof from size 0 is empty\n")
        else:
            verify_consistency(size, new.size, request.proof, root, new.root)
    except InvalidProof as error:
        return Answer(422, f"{error}\n".encode())
    return None


def cosigned(proposal: Proposal, signer: NoteSigner, time: int) -> Answer:
    """The answer 200 with the cosignature. The caller has stored the checkpoint already."""
    return Answer(200, str(cosign(proposal.signed.note.text, signer, time)).encode())
