"""Keeps the public bulletin board: a transparency log of signed entries.

The log knows bytes, slots and keys. Which phase is open and who may post come from an
`AdmissionPolicy`; what a session means to people comes from a view; both are injected.
Importing this package is light: the server, the client and the witness service are
subpackages that are imported by their own names.

Specification: `specs/05-bulletin-board.md`.
"""

from bulletin_board.admission import (
    AdmissionPolicy,
    Anyone,
    RefusalReason,
    Refused,
    RosterAdmission,
)
from bulletin_board.archive import ArchiveReader, write_archive
from bulletin_board.entry import Entry, Slot, Submission, sign_entry, verify_entry
from bulletin_board.note import Checkpoint, KeyKind, NoteSigner, SignedCheckpoint, VerifierKey
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt, VerifiedReceipt, verify_receipt
from bulletin_board.sequencer import Accepted, Sequencer, first_checkpoint

__all__ = [
    "Accepted",
    "AdmissionPolicy",
    "Anyone",
    "ArchiveReader",
    "Checkpoint",
    "Entry",
    "KeyKind",
    "LogReader",
    "NoteSigner",
    "Receipt",
    "RefusalReason",
    "Refused",
    "RosterAdmission",
    "Sequencer",
    "SignedCheckpoint",
    "Slot",
    "Submission",
    "TrustPolicy",
    "VerifiedReceipt",
    "VerifierKey",
    "first_checkpoint",
    "sign_entry",
    "verify_entry",
    "verify_receipt",
    "write_archive",
]
