"""What `specs/vectors/board.json` holds: a small log, its proofs, and what is rejected."""

from __future__ import annotations

from bulletin_board.client.forks import FORK_EVIDENCE, UNPROVEN_PAIR, ForkEvidence, UnprovenPair
from bulletin_board.note import KeyKind, SignatureLine, SignedNote, cosign, sign_note
from bulletin_board.witness.judging import AddCheckpoint
from tests.board.tools import append, log_key, memory_log, signer, submission, submissions

SIZE = 7


def records() -> dict[str, object]:
    """Keys are derived from fixed seeds; everything here is public."""
    log, files = memory_log(SIZE)
    checkpoint = files["checkpoint"]
    return {
        "log": str(log_key()),
        "witness": str(signer("witness.example/1", KeyKind.WITNESS).verifier),
        "entries": [item.raw.hex() for item in submissions(SIZE)],
        "leaves": [item.leaf.hex() for item in submissions(SIZE)],
        "files": {path: data.hex() for path, data in sorted(files.items())},
        "receipts": [log.receipt(index).decode() for index in range(SIZE)],
        "consistency": {
            str(older): [item.hex() for item in log.consistency_proof(older)]
            for older in range(1, SIZE + 1)
        },
        "add_checkpoint": AddCheckpoint(3, tuple(log.consistency_proof(3)), checkpoint)
        .to_bytes()
        .decode(),
        "cosigned": _cosigned(checkpoint).decode(),
        "fork": _fork().hex(),
        "unproven": _unproven(checkpoint).hex(),
        "rejected_checkpoints": _rejected(checkpoint),
    }


def _cosigned(checkpoint: bytes) -> bytes:
    note = SignedNote.parse(checkpoint)
    witness = signer("witness.example/1", KeyKind.WITNESS)
    return note.with_signatures([cosign(note.text, witness, 1_700_000_000)]).to_bytes()


def _fork() -> bytes:
    """The older checkpoint belongs to another log of three entries of the same key."""
    other, other_files = memory_log(0)
    append(other, [submission(n, body=b"other") for n in range(3)])
    log, files = memory_log(SIZE)
    evidence = ForkEvidence(
        other_files["checkpoint"], files["checkpoint"], tuple(log.consistency_proof(3))
    )
    return FORK_EVIDENCE.encode(evidence)


def _unproven(checkpoint: bytes) -> bytes:
    older = memory_log(3)[1]["checkpoint"]
    request = b"https://board.example/tile/0/000.p/7"
    return UNPROVEN_PAIR.encode(UnprovenPair(older, checkpoint, request))


def _rejected(checkpoint: bytes) -> dict[str, str]:
    """Each differs from the good checkpoint as its name says; all but one are signed."""
    note = SignedNote.parse(checkpoint)
    size = f"\n{SIZE}\n"
    line = note.signatures[0]
    bad = SignatureLine(line.name, line.key_id, bytes(64))
    texts = {
        "leading zeros": note.text.replace(size, f"\n00{SIZE}\n"),
        "plus sign": note.text.replace(size, f"\n+{SIZE}\n"),
        "carriage return": note.text.replace(size, f"\n{SIZE}\r\n"),
        "extension line": note.text + "extension\n",
        "other origin": note.text.replace(log_key().name, "other.example/log"),
        "arabic digit": note.text.replace(size, "\n\u0667\n"),
    }
    signed = {name: sign_note(text, signer()).to_bytes().decode() for name, text in texts.items()}
    return signed | {
        "good then bad signature": note.with_signatures([bad]).to_bytes().decode(),
        "bad then good signature": SignedNote(note.text, (bad, line)).to_bytes().decode(),
        "not signed by the log": sign_note(note.text, signer("other.example/log"))
        .to_bytes()
        .decode(),
        "empty log with a root": sign_note(note.text.replace(size, "\n0\n"), signer())
        .to_bytes()
        .decode(),
    }
