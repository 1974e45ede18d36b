"""What the sequencer needs from a storage, in three small parts.

The parts fail separately on purpose: the lock may live on another machine than
the index, so that restoring one of them from a backup is noticed.

A writer that was replaced is told from one whose disk is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bulletin_board.entry import Slot
from bulletin_board.reader import PartialFiles
from wire.errors import GopaError


class StorageError(GopaError):
    """A failure of the storage; what was being written may or may not be there."""


class DiskFull(StorageError):
    """A disk that is full, or a used-up quota of its owner."""


class LostLock(StorageError):
    """A lock that another writer has taken over, or that has another checkpoint."""


class InUse(StorageError):
    """A storage to which another process writes."""


class Inconsistent(StorageError):
    """A storage whose parts contradict each other. Then nothing is written."""


class Overtaken(Inconsistent):
    """A storage behind what others have of the log, because it comes from a backup."""


class Unconfirmed(StorageError):
    """Too few witnesses that confirm to have no more of the log than this storage."""


@dataclass(frozen=True, slots=True)
class EntryLocation:
    """Where an entry of the log is."""

    index: int
    leaf: bytes


class StagedEntry(NamedTuple):
    """An entry with the slot it takes; `copy` is 0, or 1 for evidence of equivocation."""

    slot: Slot
    copy: int
    leaf: bytes
    raw: bytes


class IndexRow(NamedTuple):
    """What the index says about one entry; rows are in the order of the log."""

    slot: Slot
    copy: int
    leaf: bytes

    def to_bytes(self) -> bytes:
        """Encode the row as digests of rows take it."""
        slot = self.slot
        numbers = (((slot.phase << 16 | slot.round) << 1 | self.copy) << 32) | slot.seq
        return b"%b%b%b%d;" % (slot.session, slot.author, self.leaf, numbers)


class Digest(Protocol):
    """A hash (SHA-256) computed while its input arrives."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class StagedBatch(NamedTuple):
    """A stored batch: the index of its first entry, and the entries."""

    start: int
    entries: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.entries)


class HeldLock(NamedTuple):
    """The number of the owner and the checkpoint that a writer last saw in the lock."""

    epoch: int
    checkpoint: bytes


class Index(Protocol):
    """Which entry is in which slot, and the batches whose public files may still be lost.

    At most two entries share a slot; the storage enforces it (unique slot and copy).
    """

    def places(self, slot: Slot) -> tuple[EntryLocation, ...]:
        """Find a slot's entries: none, the entry, or that and the evidence, in this order."""

    def size(self) -> int:
        """How many entries the index knows, staged ones included."""

    def rows(self, start: int) -> Iterator[IndexRow]:
        """Read the rows of all entries from `start` on, in the order of the log, without gaps."""

    def absorb(self, stop: int, digest: Digest) -> None:
        """Add the bytes of all rows below `stop`, in the same order, to a digest."""

    def stage(self, start: int, entries: Sequence[StagedEntry], epoch: int) -> None:
        """Store a batch and its slots, durably and at once, or nothing.

        Takes the place of a batch that a writer of an earlier epoch staged at or above
        `start`, where the caller, who holds the lock, knows that nothing is committed.
        Raises `StorageError` if another batch is there.
        """

    def staged(self, start: int = 0) -> tuple[StagedBatch, ...]:
        """The stored batches that begin at `start` or later, read back from the medium."""

    def drop(self, end: int) -> None:
        """Forget the bytes of batches that end at or before `end`; keep their slots."""

    def discard(self, start: int, epoch: int) -> None:
        """Forget batches from `start` that were staged before `epoch`, bytes and slots.

        The caller has fenced the lock to `epoch` and found `start` entries in it: no
        such batch was committed, nor can be. Those of later epochs are another's.
        """

    def close(self) -> None: ...


class Lock(Protocol):
    """The newest signed checkpoint. Whoever took it last is the writer."""

    def fence(self) -> HeldLock:
        """Take the lock from whoever had it: their next `swap` fails."""

    def check(self, held: HeldLock) -> None:
        """Return if the lock is as held, raise `LostLock` otherwise."""

    def epoch(self) -> int:
        """How often the lock was taken; another number than the held one means another writer."""

    def swap(self, held: HeldLock, checkpoint: bytes) -> HeldLock:
        """Replace the checkpoint durably, or raise `LostLock` if it is not as held."""

    def close(self) -> None: ...


class PublicFiles(PartialFiles, Protocol):
    """What everyone may read: checkpoint, tiles and bundles."""

    def write(self, files: Mapping[str, bytes]) -> None:
        """Store files; readers see each as a whole or not at all. Durable after `sync`."""

    def sync(self) -> None:
        """Return when everything written so far is on the medium."""

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that no checkpoint needs any more, if they are there."""

    def clean(self) -> None:
        """Remove what an interrupted writer left behind."""


class Snapshots(Protocol):
    """One sealed snapshot, which is never needed: whatever is lost is computed again."""

    def load(self) -> bytes | None:
        """Load the snapshot that was kept last, if it can be read."""

    def keep(self, data: bytes) -> None:
        """Durably replace the snapshot: a crash leaves the old or the new one. Raises `OSError`."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The parts of a storage. Without `snapshots` all of the log is read when it opens."""

    index: Index
    lock: Lock
    public: PublicFiles
    snapshots: Snapshots | None = None

    def close(self) -> None:
        self.index.close()
        self.lock.close()


@contextmanager
def noticing_another_writer(lock: Lock, held: HeldLock) -> Iterator[None]:
    """Turn whatever fails inside into `LostLock` if the lock was taken by another writer.

    The newer writer removes files in `scratch`, discards what is staged, takes places in
    the index, shows a newer checkpoint. To the older one all of that looks like a broken
    disk, which it would answer by opening the log anew, and so by taking it back.
    """
    try:
        yield
    except Exception:
        if _epoch(lock, held) != held.epoch:
            raise LostLock("another writer has taken over") from None
        raise


def _epoch(lock: Lock, held: HeldLock) -> int:
    try:
        return lock.epoch()
    except StorageError:
        return held.epoch  # the disk is broken indeed
