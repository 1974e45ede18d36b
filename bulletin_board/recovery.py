"""Opens a log: finishes or undoes what an interrupted writer left, refuses contradictions.

Rules S1 to S6 of `specs/05-bulletin-board.md`, section 5. Entries become public files here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bulletin_board.note import SignedCheckpoint, VerifierKey, open_checkpoint
from bulletin_board.reader import (
    CHECKPOINT,
    LARGEST_TILE,
    MissingResource,
    Source,
    VerifiedTiles,
    resource_limit,
)
from bulletin_board.storage import HeldLock, Inconsistent, PublicFiles, StagedBatch, Storage
from bulletin_board.storage.interface import noticing_another_writer
from bulletin_board.tree import (
    TILE_WIDTH,
    Bundle,
    RightEdge,
    Tile,
    TileContent,
    bundle_at,
    decode_tile,
    edge_tiles,
    encode_bundle,
    leaf_hash,
    tile_root,
)
from wire.errors import MalformedMessage, ProtocolError


def write_entries(
    public: PublicFiles,
    edge: RightEdge,
    entries: Sequence[bytes],
    leaves: Sequence[bytes] | None = None,
) -> None:
    """Write the tiles and bundles that `entries` change; `edge` grows by them.

    The entries in front of them in their first bundle are read back. May be
    repeated after a crash: the same bytes are written again. `leaves` spares hashing
    entries again where the caller has done so.
    """
    start = edge.size
    contents = edge.extend(leaves or map(leaf_hash, entries)) + edge.partial()
    files = {content.tile.path: content.data for content in contents}
    public.write(files | _bundles(public, start, entries))


def publish(public: PublicFiles, signed: SignedCheckpoint, older: int) -> None:
    """Show the checkpoint, then remove the partial files of the tree of size `older`."""
    public.write({CHECKPOINT: signed.to_bytes()})
    public.remove(superseded(older, signed.size))


def boundary(size: int) -> int:
    """The largest multiple of 256 up to `size`: entries below it fill whole bundles."""
    return size - size % TILE_WIDTH


def boundary_edge(source: Source, size: int) -> RightEdge:
    """The right edge at a multiple of 256, computed from full tiles alone.

    Partial tiles vanish when the log grows; full ones are written once. The
    caller compares what grows out of this edge with a signed root.
    """
    if size % TILE_WIDTH:
        raise Inconsistent(f"{size} entries do not fill whole bundles")
    contents = []
    for tile in edge_tiles(size):
        first = tile.number * TILE_WIDTH
        below = [Tile(tile.level - 1, first + i, TILE_WIDTH) for i in range(tile.width)]
        roots = (
            tile_root(decode_tile(source.fetch(full.path, LARGEST_TILE), TILE_WIDTH))
            for full in below
        )
        contents.append(TileContent(tile, tuple(roots)))
    return RightEdge(size, contents)


def _bundles(source: Source, start: int, entries: Sequence[bytes]) -> dict[str, bytes]:
    files = {}
    size = start + len(entries)
    number, used = divmod(start, TILE_WIDTH)
    head = b""
    if used:
        path = bundle_at(number, start).path
        head = source.fetch(path, resource_limit(path))
    position = 0
    while position < len(entries):
        bundle = bundle_at(number, size)
        stop = position + bundle.width - used
        files[bundle.path] = encode_bundle(entries[position:stop], head)
        number, used, head, position = number + 1, 0, b"", stop
    return files


def superseded(older: int, size: int) -> list[str]:
    """Partial files of the older tree that the newer one replaces."""
    old = [tile.path for tile in edge_tiles(older)]
    if older % TILE_WIDTH:
        old.append(Bundle(older // TILE_WIDTH, older % TILE_WIDTH).path)
    kept = {tile.path for tile in edge_tiles(size)}
    kept |= {bundle_at(size // TILE_WIDTH, size).path} if size % TILE_WIDTH else set()
    return [path for path in old if path not in kept]


@dataclass(frozen=True, slots=True)
class OpenedStorage:
    """What a storage holds that is consistent and belongs to this writer."""

    held: HeldLock
    signed: SignedCheckpoint


def open_storage(storage: Storage, log: VerifierKey) -> OpenedStorage:
    """Take the lock and make the storage consistent, or raise `StorageError`.

    Taking the lock comes first: a writer that still runs can no longer commit
    the batch that is about to be judged here.
    """
    held = storage.lock.fence()  # S1
    with noticing_another_writer(storage.lock, held):
        return _opened(storage, log, held)


def _opened(storage: Storage, log: VerifierKey, held: HeldLock) -> OpenedStorage:
    locked = locked_checkpoint(held, log)
    published = _published(storage.public, log)
    if published is not None and published.size > locked.size:  # S2
        raise _restored("public log", published.size, locked.size)
    _undo_uncommitted(storage, locked.size, held.epoch)  # S3, S4
    storage.lock.check(held)
    storage.public.clean()
    _write_again(storage, held, locked, published)  # S5
    _check_edge(storage.public, locked)  # S6
    return OpenedStorage(held, locked)


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
    storage: Storage, held: HeldLock, locked: SignedCheckpoint, published: SignedCheckpoint | None
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


def _durable_edge(source: Source, staged: Sequence[StagedBatch], size: int) -> RightEdge:
    """The right edge where the stored batches take over."""
    first = staged[0].start if staged else size
    start = -(-first // TILE_WIDTH) * TILE_WIDTH
    return boundary_edge(source, start)


def _stored_entries(staged: Sequence[StagedBatch], start: int) -> list[bytes]:
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


def locked_checkpoint(held: HeldLock, log: VerifierKey) -> SignedCheckpoint:
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
