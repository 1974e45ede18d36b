"""Builds the index of a log anew from its public files.

Specification: `specs/05-bulletin-board.md`, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bulletin_board.entry import SlotTable, Submission
from bulletin_board.note import NoteSigner, SignedCheckpoint
from bulletin_board.reader import DirectorySource, VerifiedTiles
from bulletin_board.recovery import boundary, locked_checkpoint
from bulletin_board.storage import Inconsistent, StagedEntry
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.files import FileOperations, OsFiles
from bulletin_board.storage.sqlite import SqliteIndex, SqliteLock
from bulletin_board.tree import TILE_WIDTH
from wire.errors import ProtocolError

_ROWS_AT_ONCE = 4_096
_NEW = "index.new"


def rebuild_index(
    place: BoardDirectory, signer: NoteSigner, files: FileOperations | None = None
) -> SignedCheckpoint:
    """Replace the index by what the public files say, and return what they lead to.

    The lock says how far they must lead: a batch that is committed and not written there yet
    is in the old index alone. Whatever goes wrong leaves the old index, or none, and this may
    be run again. Raises `Inconsistent` if the public files do not hold the log, `InUse` while
    a board runs, `UsageError` if this is no directory of a log.
    """
    with place.writing():
        place.require_parts()
        lock = SqliteLock.open(place.lock_path)
        try:
            held = lock.fence()
            signed = locked_checkpoint(held, signer.verifier)
        finally:
            lock.close()
        operations = files or OsFiles()
        try:
            tiles = VerifiedTiles(DirectorySource(place.public), signed.checkpoint)
            _write(place, tiles, held.epoch)
        except ProtocolError as error:
            raise Inconsistent(
                "the public files do not hold all that the lock's checkpoint commits to, so"
                f" nothing was changed: {error}"
            ) from error
        # Batches in the old index made up for public files that a loss of power takes.
        for path in [place.public, *place.public.rglob("*")]:
            (operations.sync_directory if path.is_dir() else operations.sync_file)(path)
        _exchange(place, operations)
    return signed


def _write(place: BoardDirectory, tiles: VerifiedTiles, epoch: int) -> None:
    """Rows of whole bundles, and the rest as the batch from which partial files are written."""
    new = place.state / _NEW
    _remove(place, _NEW)
    index = SqliteIndex.open(new)
    whole = boundary(tiles.size)
    try:
        entries = _staged(tiles)
        for start in range(0, whole, _ROWS_AT_ONCE):
            index.insert(start, list(islice(entries, min(_ROWS_AT_ONCE, whole - start))))
        if tiles.size > whole:
            index.stage(whole, list(entries), epoch)
    finally:
        index.close()


def _staged(tiles: VerifiedTiles) -> Iterator[StagedEntry]:
    seen = SlotTable()
    for number in range(-(-tiles.size // TILE_WIDTH)):
        for raw in tiles.bundle(number):
            submission = Submission.decode(raw)
            slot, before = submission.entry.slot, len(seen)
            copy = int(seen.add(slot) != before)
            yield StagedEntry(slot, copy, submission.leaf, raw)


def _exchange(place: BoardDirectory, files: FileOperations) -> None:
    """The old one goes first, with what belongs to it: a log without an index does not open."""
    files.sync_file(place.state / _NEW)
    _remove(place, place.index_path.name)
    files.rename(place.state / _NEW, place.index_path)
    files.sync_directory(place.state)


def _remove(place: BoardDirectory, name: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        (place.state / f"{name}{suffix}").unlink(missing_ok=True)
