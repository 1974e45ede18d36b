"""Where a log is kept: an index of slots, a lock with the newest checkpoint, public files.

`interface` says what a backend has to promise; `memory` and `directory` (of `sqlite` and `files`)
are the two that there are. CONTRIBUTING has a checklist for another one.

    >>> from bulletin_board.storage import memory_storage
    >>> storage = memory_storage(b"a first checkpoint")
    >>> storage.index.size()
    0

Specification: `specs/05-bulletin-board.md`, section 5.
"""

from bulletin_board.storage.interface import (
    Digest,
    DiskFull,
    EntryLocation,
    HeldLock,
    Inconsistent,
    Index,
    IndexRow,
    InUse,
    Lock,
    LostLock,
    Overtaken,
    PublicFiles,
    Snapshots,
    StagedBatch,
    StagedEntry,
    Storage,
    StorageError,
    Unconfirmed,
)
from bulletin_board.storage.memory import memory_storage

__all__ = [
    "Digest",
    "DiskFull",
    "EntryLocation",
    "HeldLock",
    "InUse",
    "Inconsistent",
    "Index",
    "IndexRow",
    "Lock",
    "LostLock",
    "Overtaken",
    "PublicFiles",
    "Snapshots",
    "StagedBatch",
    "StagedEntry",
    "Storage",
    "StorageError",
    "Unconfirmed",
    "memory_storage",
]
