"""Reads a log strictly: from a directory, from memory, from an archive's files, over HTTP.

Nobody trusts the source of the files: tiles are verified against a verified checkpoint.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from bulletin_board.note import LARGEST_NOTE, Checkpoint, SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.receipt import Receipt
from bulletin_board.tree import (
    HASH_SIZE,
    LARGEST_BUNDLE,
    TILE_WIDTH,
    RightEdge,
    Tile,
    TileContent,
    TileNodes,
    bundle_at,
    consistency_proof,
    decode_bundle,
    decode_tile,
    edge_tiles,
    inclusion_proof,
    leaf_hash,
    tile_at,
    tile_root,
)
from wire.errors import InvalidProof, MalformedMessage, Unattributed, UsageError

CHECKPOINT = "checkpoint"
COSIGNED = "v1/cosigned"
"""The newest checkpoint with a quorum; a log that grows fast is always ahead of its witnesses."""
LARGEST_TILE = TILE_WIDTH * HASH_SIZE

_ANY = 2**63
_T = TypeVar("_T")


class MissingResource(Unattributed):
    """Something that a checkpoint commits to and its log does not serve.

    Nobody is proved faulty: a network may hide it. `path` says what is missing.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Source(Protocol):
    """Public files by path. Nothing it returns is trusted."""

    def fetch(self, path: str, limit: int) -> bytes:
        """Return a file of at most `limit` bytes.

        Raises `MissingResource` if there is no such file and `MalformedMessage`
        if it is larger; never reads more than limit + 1 bytes.
        """


def resource_limit(path: str) -> int:
    """The most bytes that a public file of a log can have."""
    if path == CHECKPOINT:
        return LARGEST_NOTE
    return LARGEST_BUNDLE if path.startswith("tile/entries/") else LARGEST_TILE


class PartialFiles(Source, Protocol):
    """Public files, also in parts."""

    def size(self, path: str) -> int:
        """How many bytes the file has; raises `MissingResource`."""

    def part(self, path: str, start: int, size: int) -> bytes:
        """The file's bytes from `start` on, `size` at most; raises `MissingResource`."""

    def quick_part(self, path: str, start: int, size: int) -> tuple[bytes, int]:
        """The part of `part` that needs no waiting for a disk, and the file's length."""


class MemorySource:
    """Public files in a mapping."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def fetch(self, path: str, limit: int) -> bytes:
        data = self._files.get(path)
        if data is None:
            raise MissingResource("there is no such file of a log", path)
        return check_limit(data, limit, path)

    def size(self, path: str) -> int:
        return len(self.fetch(path, _ANY))

    def part(self, path: str, start: int, size: int) -> bytes:
        return self.fetch(path, _ANY)[start : start + size]

    def quick_part(self, path: str, start: int, size: int) -> tuple[bytes, int]:
        return self.part(path, start, size), self.size(path)


class DirectorySource:
    """Public files below a directory. Paths are made by this package, never received."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def fetch(self, path: str, limit: int) -> bytes:
        return check_limit(self._read(path, lambda file: file.read(limit + 1)), limit, path)

    def size(self, path: str) -> int:
        return self._read(path, lambda file: os.fstat(file.fileno()).st_size)

    def part(self, path: str, start: int, size: int) -> bytes:
        def read(file: BinaryIO) -> bytes:
            file.seek(start)
            return file.read(size)

        return self._read(path, read)

    def quick_part(self, path: str, start: int, size: int) -> tuple[bytes, int]:
        def read(file: BinaryIO) -> tuple[bytes, int]:
            handle = file.fileno()
            return _in_memory(handle, start, size), os.fstat(handle).st_size

        return self._read(path, read, buffering=0)

    def _read(self, path: str, work: Callable[[BinaryIO], _T], buffering: int = -1) -> _T:
        try:
            # A pipe among the files must not keep a reader waiting for ever.
            with open(self._root / path, "rb", buffering, opener=_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise MissingResource("not a file", path)
                return work(file)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise MissingResource("there is no such file of a log", path) from None
        except OSError as error:
            raise MissingResource(f"cannot be read ({error.strerror})", path) from None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _in_memory(handle: int, start: int, size: int) -> bytes:
    """What the system has in memory of this part of a file, maybe nothing."""
    without_waiting = getattr(os, "RWF_NOWAIT", None)
    if without_waiting is None:  # a system that cannot tell
        return b""
    buffer = bytearray(size)
    try:
        found = os.preadv(handle, [buffer], start, without_waiting)
    except BlockingIOError:
        return b""
    except OSError:  # a file system that cannot tell, such as one that is all in memory
        found = os.preadv(handle, [buffer], start)
    return bytes(memoryview(buffer)[:found])


def check_limit(data: bytes, limit: int, path: str) -> bytes:
    """The data, or `MalformedMessage` if it is longer than `limit`."""
    if len(data) > limit:
        raise MalformedMessage(f"more than {limit} bytes", path)
    return data


_CACHED_TILES = 1_024


def load_edge(source: Source, checkpoint: Checkpoint) -> RightEdge:
    """The right edge of the checkpoint's tree; `InvalidProof` (05-L2) if it has another root."""
    contents = [
        TileContent(tile, decode_tile(source.fetch(tile.path, LARGEST_TILE), tile.width))
        for tile in edge_tiles(checkpoint.size)
    ]
    edge = RightEdge(checkpoint.size, contents)
    if edge.root() != checkpoint.root:
        raise InvalidProof("the partial tiles do not lead to the checkpoint's root", "05-L2")
    return edge


class VerifiedTiles:
    """Hashes and entries of one checkpoint's tree, and proofs about it.

    Every tile is checked against its parent, up to the root, before anything is
    read from it. Memory is bounded: about 1,000 tiles are kept. Not thread-safe.
    """

    def __init__(
        self,
        source: Source,
        checkpoint: Checkpoint,
        edge: RightEdge | None = None,
        older: VerifiedTiles | None = None,
    ) -> None:
        """Reads the right edge now, unless the caller has it and has compared its root.

        `older` belongs to a tree of which the caller knows that this one extends it;
        what was computed for it is not computed again.
        """
        self._source = source
        self.size = checkpoint.size
        found = edge or load_edge(source, checkpoint)
        self._edge = {content.tile: content.hashes for content in found.partial()}
        self._full: OrderedDict[Tile, tuple[bytes, ...]] = OrderedDict()
        known = None if older is None else older.node
        self.node: TileNodes = TileNodes(self.size, self.hashes, known)
        self._ends: dict[int, bytes] = {}

    def hashes(self, tile: Tile) -> Sequence[bytes]:
        """The verified hashes of a tile of this tree."""
        if tile in self._edge:
            return self._edge[tile]
        if tile in self._full:
            self._full.move_to_end(tile)
            return self._full[tile]
        found = decode_tile(self._source.fetch(tile.path, LARGEST_TILE), tile.width)
        parent = tile_at(tile.level + 1, tile.number // TILE_WIDTH, self.size)
        # A mirror may serve the tile of another tree: nothing is read before this holds.
        if tile_root(found) != self.hashes(parent)[tile.number % TILE_WIDTH]:
            raise InvalidProof(f"{tile.path} does not belong to the checkpoint", "05-L2")
        self._full[tile] = found
        if len(self._full) > _CACHED_TILES:
            self._full.popitem(last=False)
        return found

    def bundle(self, number: int) -> list[bytes]:
        """The verified entries of one bundle."""
        bundle = bundle_at(number, self.size)
        data = self._source.fetch(bundle.path, LARGEST_BUNDLE)
        entries = decode_bundle(data, bundle.width)
        expected = self.hashes(tile_at(0, number, self.size))
        for offset, (entry, leaf) in enumerate(zip(entries, expected, strict=True)):
            if leaf_hash(entry) != leaf:
                index = number * TILE_WIDTH + offset
                raise InvalidProof(f"entry {index} is not the committed one", "05-L3")
        return entries

    def leaf(self, index: int) -> bytes:
        """The leaf hash at `index`."""
        return self.hashes(tile_at(0, index // TILE_WIDTH, self.size))[index % TILE_WIDTH]

    def inclusion_proof(self, index: int) -> list[bytes]:
        return inclusion_proof(index, self.size, self.node, self._ends)

    def consistency_proof(self, older: int) -> list[bytes]:
        """Prove that the tree of size `older` is the beginning of this one."""
        return consistency_proof(older, self.size, self.node)


class LogReader:
    """One checkpoint's entries and proofs about them, verified as they are read.

    Not thread-safe.
    """

    def __init__(self, source: Source, signed: SignedCheckpoint) -> None:
        """Read the right edge of a checkpoint that the caller has verified."""
        self.signed = signed
        self._tiles = VerifiedTiles(source, signed.checkpoint)

    @classmethod
    def open(cls, source: Source, policy: TrustPolicy) -> LogReader:
        """Open the source's checkpoint, and read under it.

        Raises `ProtocolError`s if it, its signatures or the quorum do not hold.
        """
        return cls(source, policy.open(source.fetch(CHECKPOINT, resource_limit(CHECKPOINT))))

    @property
    def size(self) -> int:
        return self.signed.size

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The entries from `start` to `stop`, in order, each verified before it is handed out."""
        end = self.size if stop is None else stop
        if not 0 <= start <= end <= self.size:
            raise UsageError(f"entries {start} to {end} of a log of {self.size}")
        while start < end:
            number, offset = divmod(start, TILE_WIDTH)
            part = self._tiles.bundle(number)[offset : offset + end - start]
            yield from part
            start += len(part)

    def bundles(self) -> Iterator[list[bytes]]:
        """All entries, one verified bundle at a time."""
        for number in range(-(-self.size // TILE_WIDTH)):
            yield self._tiles.bundle(number)

    def leaf(self, index: int) -> bytes:
        return self._tiles.leaf(index)

    def node(self, height: int, index: int) -> bytes:
        """The node above the leaves from index * 2^height to (index + 1) * 2^height."""
        return self._tiles.node(height, index)

    def receipt(self, index: int) -> Receipt:
        """The proof that this checkpoint covers entry `index`."""
        proof = tuple(self._tiles.inclusion_proof(index))
        return Receipt(index, proof, self.signed.to_bytes())

    def consistency_proof(self, older: int) -> list[bytes]:
        """Prove that the tree of size `older` is the beginning of this checkpoint's."""
        return self._tiles.consistency_proof(older)
