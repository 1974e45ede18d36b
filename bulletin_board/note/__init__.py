"""Signed notes, checkpoints and cosignatures (C2SP signed-note, tlog-checkpoint, tlog-cosignature).

Pure: no files, no clock. Specification: `specs/05-bulletin-board.md`, section 2.
"""

from bulletin_board.note.keys import KeyKind, NoteSigner, SignatureLine, VerifierKey, check_name
from bulletin_board.note.notes import (
    Checkpoint,
    Cosignature,
    SignedCheckpoint,
    SignedNote,
    checkpoint_lines,
    cosign,
    cosignature_time,
    open_checkpoint,
    sign_note,
    verify_note,
)

__all__ = [
    "Checkpoint",
    "Cosignature",
    "KeyKind",
    "NoteSigner",
    "SignatureLine",
    "SignedCheckpoint",
    "SignedNote",
    "VerifierKey",
    "check_name",
    "checkpoint_lines",
    "cosign",
    "cosignature_time",
    "open_checkpoint",
    "sign_note",
    "verify_note",
]
