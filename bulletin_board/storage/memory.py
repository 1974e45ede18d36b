"""Stores a log in memory: for tests and for simulations in one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from bulletin_board.entry import Slot
from bulletin_board.reader import CHECKPOINT, MemorySource
from bulletin_board.storage.interface import (
    Digest,
    EntryLocation,
    HeldLock,
    IndexRow,
    LostLock,
    StagedBatch,
    StagedEntry,
    Storage,
    StorageError,
)


class MemoryIndex:
    """An `Index` in dictionaries."""

    def __init__(self) -> None:
        self._slots: dict[tuple[Slot, int], EntryLocation] = {}
        self._staged: dict[int, tuple[int, tuple[StagedEntry, ...]]] = {}

    def places(self, slot: Slot) -> tuple[EntryLocation, ...]:
        found = (self._slots.get((slot, copy)) for copy in (0, 1))
        return tuple(place for place in found if place is not None)

    def size(self) -> int:
        return len(self._slots)

    def rows(self, start: int) -> Iterator[IndexRow]:
        found = sorted(self._slots.items(), key=lambda item: item[1].index)
        for (slot, copy), place in found[start:]:
            yield IndexRow(slot, copy, place.leaf)

    def absorb(self, stop: int, digest: Digest) -> None:
        for row in islice(self.rows(0), stop):
            digest.update(row.to_bytes())

    def stage(self, start: int, entries: Sequence[StagedEntry], epoch: int) -> None:
        self.discard(start, epoch)
        taken = {
            (entry.slot, entry.copy): EntryLocation(i, entry.leaf)
            for i, entry in enumerate(entries, start)
        }
        if len(taken) != len(entries) or not taken.keys().isdisjoint(self._slots):
            raise StorageError("a slot is taken")
        if start != len(self._slots):
            raise StorageError("another batch is staged here")
        self._slots |= taken
        self._staged[start] = epoch, tuple(entries)

    def staged(self, start: int = 0) -> tuple[StagedBatch, ...]:
        return tuple(
            StagedBatch(first, tuple(entry.raw for entry in entries))
            for first, (_, entries) in self._staged.items()
            if first >= start
        )

    def drop(self, end: int) -> None:
        for batch in self.staged():
            if batch.end <= end:
                del self._staged[batch.start]

    def discard(self, start: int, epoch: int) -> None:
        for batch in self.staged(start):
            staged_in, entries = self._staged[batch.start]
            if staged_in < epoch:
                del self._staged[batch.start]
                for entry in entries:
                    del self._slots[entry.slot, entry.copy]

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class MemoryLock:
    """A `Lock` in two variables."""

    def __init__(self, checkpoint: bytes) -> None:
        self._held = HeldLock(0, checkpoint)

    def fence(self) -> HeldLock:
        self._held = self._held._replace(epoch=self._held.epoch + 1)
        return self._held

    def check(self, held: HeldLock) -> None:
        if held != self._held:
            raise LostLock("another writer has taken over")

    def epoch(self) -> int:
        return self._held.epoch

    def swap(self, held: HeldLock, checkpoint: bytes) -> HeldLock:
        self.check(held)
        self._held = held._replace(checkpoint=checkpoint)
        return self._held

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class MemoryFiles(MemorySource):
    """`PublicFiles` in a dictionary."""

    def __init__(self, checkpoint: bytes) -> None:
        self.files = {CHECKPOINT: checkpoint}
        super().__init__(self.files)

    def write(self, files: Mapping[str, bytes]) -> None:
        self.files |= files

    def sync(self) -> None:
        """Do nothing: there is no medium."""

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)

    def clean(self) -> None:
        """Do nothing: nothing is ever left behind."""


class MemorySnapshots:
    """The snapshot in a variable."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def load(self) -> bytes | None:
        return self.data

    def keep(self, data: bytes) -> None:
        self.data = data


def memory_storage(checkpoint: bytes) -> Storage:
    """A storage that holds the signed checkpoint of an empty log."""
    return Storage(
        MemoryIndex(), MemoryLock(checkpoint), MemoryFiles(checkpoint), MemorySnapshots()
    )
