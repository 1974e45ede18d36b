"""Signed notes, checkpoints and cosignatures (C2SP signed-note, tlog-checkpoint, tlog-cosignature).

Pure: no files, no clock. Specification: `specs/05-bulletin-board.md`, section 2.
"""

from bulletin_board.note.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    checkpoint_lines,
    open_checkpoint,
)
from bulletin_board.note.cosignature import Cosignature, cosign, cosignature_time
from bulletin_board.note.keys import KeyKind, NoteSigner, VerifierKey, check_name
from bulletin_board.note.lines import SignatureLine
from bulletin_board.note.signed import Note, sign_note, verify_note

__all__ = [
    "Checkpoint",
    "Cosignature",
    "KeyKind",
    "Note",
    "NoteSigner",
    "SignatureLine",
    "SignedCheckpoint",
    "VerifierKey",
    "check_name",
    "checkpoint_lines",
    "cosign",
    "cosignature_time",
    "open_checkpoint",
    "sign_note",
    "verify_note",
]
