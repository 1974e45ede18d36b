"""Stores a log: an index of slots, a lock with the newest checkpoint, public files.

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
