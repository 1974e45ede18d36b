"""The public bulletin board: a transparency log of signed entries.

The log knows bytes, slots and keys. Which phase is open and who may post come from an
`AdmissionPolicy`; what a session means to people comes from a view; both are handed in. Read
`entry`, `note`, `tree`, `sequencer` (what accepts), `reader` and `receipt` (what checks), then
`storage`; `server`, `client` and `witness` are imported by their own names. A board alone:

    >>> import os
    >>> from bulletin_board import (
    ...     Anyone, Entry, KeyKind, NoteSigner, Receipt, Sequencer, Submission, first_checkpoint,
    ...     sign_entry, verify_receipt,
    ... )
    >>> from bulletin_board.storage import memory_storage
    >>> from bulletin_board.tree import EMPTY_ROOT
    >>> from wire.ed25519 import SigningKey
    >>> from wire.secret import SecretBytes
    >>> signer = NoteSigner("board.example/1", KeyKind.LOG, SecretBytes(os.urandom(32)))
    >>> log = Sequencer(memory_storage(first_checkpoint(signer)), signer, lambda: Anyone(quota=3))
    >>> ada = SigningKey.generate(os.urandom)
    >>> entry = Entry(
    ...     version=1, session=bytes(32), phase=0, kind=1, round=0, chunk=0, chunks=1,
    ...     author=ada.public, seq=0, prev_own_leaf=bytes(32), seen_size=0, seen_root=EMPTY_ROOT,
    ...     body=b"hello",
    ... )
    >>> (accepted,) = log.append([Submission.decode(sign_entry(entry, ada))])
    >>> log.signed.size
    1
    >>> receipt = Receipt.parse(log.receipt(0))
    >>> verify_receipt(receipt, sign_entry(entry, ada), signer.verifier).index
    0

Specification: `specs/05-bulletin-board.md`. In a shell: `gopa board --help`.
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
