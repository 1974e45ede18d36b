"""Opening a log: finish or undo what an interrupted writer left, refuse contradictions.

Rules S1 to S6 of `specs/05-bulletin-board.md`, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bulletin_board.note import SignedCheckpoint, VerifierKey, open_checkpoint
from bulletin_board.source import CHECKPOINT, MissingResource, Source, resource_limit
from bulletin_board.storage import Held, Inconsistent, Staged, Storage
from bulletin_board.storage.ownership import noticing_another_writer
from bulletin_board.tree import TILE_WIDTH, RightEdge, leaf_hash
from bulletin_board.verified import VerifiedTiles
from bulletin_board.writing import boundary, boundary_edge, superseded, write_entries
from wire.errors import MalformedMessage, ProtocolError


@dataclass(frozen=True, slots=True)
class Opened:
    """A storage that is consistent and belongs to this writer."""

    held: Held
    signed: SignedCheckpoint


def open_storage(storage: Storage, log: VerifierKey) -> Opened:
    """Take the lock and make the storage consistent, or raise `StorageError`.

    Taking the lock comes first: a writer that still runs can no longer commit
    the batch that is about to be judged here.
    """
    held = storage.lock.fence()  # S1
    with noticing_another_writer(storage.lock, held):
        return _opened(storage, log, held)


def _opened(storage: Storage, log: VerifierKey, held: Held) -> Opened:
    locked = locked_checkpoint(held, log)
    published = _published(storage.public, log)
    if published is not None and published.size > locked.size:  # S2
        raise _restored("public log", published.size, locked.size)
    _undo_uncommitted(storage, locked.size, held.epoch)  # S3, S4
    storage.lock.check(held)
    storage.public.clean()
    _write_again(storage, held, locked, published)  # S5
    _check_edge(storage.public, locked)  # S6
    return Opened(held, locked)


def _undo_uncommitted(storage: Storage, size: int, epoch: int) -> None:
    """The index may be ahead of the lock by exactly one stored batch, and never behind."""
    if storage.index.size() > size:
        uncommitted = storage.index.staged(size)
        ends = [batch.end for batch in uncommitted if batch.start == size]
        if len(uncommitted) != 1 or ends != [storage.index.size()]:
            raise _restored("index", storage.index.size(), size)
        storage.index.discard(size, epoch)
    if storage.index.size() != size:
        raise _restored("index", storage.index.size(), size)


def _write_again(
    storage: Storage, held: Held, locked: SignedCheckpoint, published: SignedCheckpoint | None
) -> None:
    """Write the public files of every committed batch that is still stored.

    They may be missing, or damaged by a loss of power; whole bundles below the
    first stored batch are durable. Nothing is written before the batches are
    known to lead to the lock's root, and to the public one on the way.
    """
    staged = storage.index.staged()
    try:
        edge = _durable_edge(storage.public, staged, locked.size)
        start = edge.copy()
        roots = {start.size: start.root()}
        entries = _stored_entries(staged, start.size)
        ends = {batch.end for batch in staged}
        for entry in entries:
            start.extend([leaf_hash(entry)])
            if start.size in ends:
                roots[start.size] = start.root()
        if roots.get(locked.size) != locked.root:
            raise Inconsistent("the stored batches do not lead to the lock's checkpoint")
        if published is not None and roots.get(published.size) != published.root:
            raise _restored("public log", published.size, locked.size)
        storage.lock.check(held)
        write_entries(storage.public, edge, entries)
    except ProtocolError as error:
        raise Inconsistent(f"the public files are damaged: {error}") from error
    storage.lock.check(held)
    if published is None or published.note.text != locked.note.text:
        storage.public.write({CHECKPOINT: locked.to_bytes()})
    for older in [batch.start for batch in staged]:
        storage.public.remove(superseded(older, locked.size))
    storage.public.sync()
    storage.index.drop(boundary(locked.size))


def _durable_edge(source: Source, staged: Sequence[Staged], size: int) -> RightEdge:
    """The right edge where the stored batches take over."""
    first = staged[0].start if staged else size
    start = -(-first // TILE_WIDTH) * TILE_WIDTH
    return boundary_edge(source, start)


def _stored_entries(staged: Sequence[Staged], start: int) -> list[bytes]:
    """The stored entries from index `start` on; `Inconsistent` if there are gaps."""
    entries: list[bytes] = []
    for batch in staged:
        position = start + len(entries)
        if not batch.start <= position <= batch.end:
            raise Inconsistent("the stored batches have gaps")
        entries += batch.entries[position - batch.start :]
    return entries


def _restored(what: str, size: int, locked: int) -> Inconsistent:
    return Inconsistent(
        f"the {what} has {size} entries and the lock says {locked}: one of them comes from a"
        " backup or belongs to another log. Nothing was changed"
    )


def _published(source: Source, log: VerifierKey) -> SignedCheckpoint | None:
    """The public checkpoint, or None if a loss of power has taken it."""
    try:
        return open_checkpoint(source.fetch(CHECKPOINT, resource_limit(CHECKPOINT)), log)
    except (MissingResource, MalformedMessage):
        return None
    except ProtocolError as error:
        raise Inconsistent(f"the public checkpoint is not this log's: {error}") from error


def locked_checkpoint(held: Held, log: VerifierKey) -> SignedCheckpoint:
    """What the lock says that the log has signed last; `Inconsistent` if it says nothing of it."""
    try:
        return open_checkpoint(held.checkpoint, log)
    except ProtocolError as error:
        raise Inconsistent(f"the lock holds no checkpoint of this log: {error}") from error


def _check_edge(source: Source, signed: SignedCheckpoint) -> None:
    """Read back the right edge and the last bundle, and hash them anew."""
    try:
        tiles = VerifiedTiles(source, signed.checkpoint)
        if signed.size:
            tiles.bundle((signed.size - 1) // TILE_WIDTH)
    except ProtocolError as error:
        raise Inconsistent(f"the public files contradict their checkpoint: {error}") from error
