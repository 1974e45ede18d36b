"""Tiles and entry bundles of a log: their names and bytes, and older roots (C2SP tlog-tiles).

The partial tiles at the right edge of a growing tree are all that is needed to append to it and
to compute its root.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from bulletin_board.tree.merkle import EMPTY_ROOT, HASH_SIZE, node_hash
from wire.errors import MalformedMessage, UsageError

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
HIGHEST_LEVEL = 63

_PATH = re.compile(
    r"tile/(entries|[0-9]|[1-6][0-9])/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?"
)


class Tile(NamedTuple):
    """`width` consecutive hashes of one level; 256 is a full tile."""

    level: int
    number: int
    width: int

    @property
    def path(self) -> str:
        return f"tile/{self.level}/{_number_path(self.number)}{_suffix(self.width)}"


class Bundle(NamedTuple):
    """`width` consecutive entries; 256 is a full bundle."""

    number: int
    width: int

    @property
    def path(self) -> str:
        return f"tile/entries/{_number_path(self.number)}{_suffix(self.width)}"


def tile_at(level: int, index: int, size: int) -> Tile:
    """The tile at this place in a tree of `size` leaves; `UsageError` if it has none."""
    return Tile(level, index, _width(index, size >> TILE_HEIGHT * level))


def bundle_at(index: int, size: int) -> Bundle:
    """The bundle at this place in a log of `size` entries; `UsageError` if it has none."""
    return Bundle(index, _width(index, size))


def tiles(size: int) -> Iterator[Tile]:
    """Every tile of a tree of `size` leaves, level by level, left to right."""
    level = 0
    while size >> TILE_HEIGHT * level:
        for index in range(-(-(size >> TILE_HEIGHT * level) // TILE_WIDTH)):
            yield tile_at(level, index, size)
        level += 1


def bundles(size: int) -> Iterator[Bundle]:
    """Every entry bundle of a log of `size` entries, left to right."""
    for index in range(-(-size // TILE_WIDTH)):
        yield bundle_at(index, size)


def edge_tiles(size: int) -> list[Tile]:
    """The partial tiles, lowest level first. They alone determine the root."""
    found = []
    level = 0
    while hashes := size >> TILE_HEIGHT * level:
        if hashes % TILE_WIDTH:
            found.append(tile_at(level, hashes // TILE_WIDTH, size))
        level += 1
    return found


def resources(size: int) -> Iterator[str]:
    """The path of everything a log of `size` entries serves besides its checkpoint."""
    yield from (tile.path for tile in tiles(size))
    yield from (bundle.path for bundle in bundles(size))


def is_resource(path: str, size: int) -> bool:
    """Whether `resources(size)` has this path; takes no time that grows with the size."""
    found = parse_path(path)
    if found is None:
        return False
    level = found.level if isinstance(found, Tile) else 0
    return found.width == min(TILE_WIDTH, (size >> TILE_HEIGHT * level) - found.number * TILE_WIDTH)


def parse_path(path: str) -> Tile | Bundle | None:
    """The tile or bundle whose path is exactly `path`, or None.

    A server looks up the path of what this returns, never the path it was sent.
    """
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    kind, steps, width_text = match.groups()
    number = int(steps.replace("/", "").replace("x", ""))
    width = int(width_text or TILE_WIDTH)
    if kind != "entries" and int(kind) > HIGHEST_LEVEL:
        return None
    found = Bundle(number, width) if kind == "entries" else Tile(int(kind), number, width)
    return found if found.path == path else None


def _width(index: int, hashes: int) -> int:
    width = min(TILE_WIDTH, hashes - index * TILE_WIDTH)
    if index < 0 or width <= 0:
        raise UsageError("there is no tile at this place in a tree of this size")
    return width


def _number_path(number: int) -> str:
    """Three digits in each step, `x` in front of all but the last: `x001/x234/067`."""
    steps = [f"{number % 1000:03d}"]
    while number := number // 1000:
        steps.append(f"x{number % 1000:03d}")
    return "/".join(reversed(steps))


def _suffix(width: int) -> str:
    return "" if width == TILE_WIDTH else f".p/{width}"


_MOST_REMEMBERED = 100_000

FetchTile = Callable[[Tile], Sequence[bytes]]


class TileNodes:
    """Nodes of a tree, from its tiles. Trusts `fetch` to return the hashes of the tree.

    Remembers the inner nodes it computed, so that many proofs about one tree
    share their work, and forgets them all when they become too many.
    """

    def __init__(self, size: int, fetch: FetchTile, older: TileNodes | None = None) -> None:
        """`older` are the nodes of a tree that this one extends: none of them ever changes."""
        self.size = size
        self._fetch = fetch
        self._tiles: dict[tuple[int, int], Sequence[bytes]] = {}
        self.inner: dict[tuple[int, int], bytes] = {} if older is None else older.inner

    def __call__(self, height: int, index: int) -> bytes:
        """The node above the leaves from index * 2^height to (index + 1) * 2^height."""
        level, above = divmod(height, TILE_HEIGHT)
        if above == 0:
            return self._tile(level, index // TILE_WIDTH)[index % TILE_WIDTH]
        known = self.inner.get((height, index))
        if known is None:
            known = node_hash(self(height - 1, 2 * index), self(height - 1, 2 * index + 1))
            if len(self.inner) > _MOST_REMEMBERED:
                self.inner.clear()
                self._tiles.clear()
            self.inner[height, index] = known
        return known

    def _tile(self, level: int, index: int) -> Sequence[bytes]:
        known = self._tiles.get((level, index))
        if known is None:
            known = self._fetch(tile_at(level, index, self.size))
            self._tiles[level, index] = known
        return known


LARGEST_LEAF = 65_535
LARGEST_BUNDLE = TILE_WIDTH * (2 + LARGEST_LEAF)


def encode_bundle(entries: Iterable[bytes], head: bytes = b"") -> bytes:
    """Write each entry behind its length in two bytes, big-endian, and all behind `head`."""
    parts = [head]
    for entry in entries:
        if len(entry) > LARGEST_LEAF:
            raise UsageError(f"an entry of the log has at most {LARGEST_LEAF} bytes")
        parts += [len(entry).to_bytes(2), entry]
    return b"".join(parts)


def decode_bundle(data: bytes, width: int) -> list[bytes]:
    """Read exactly `width` entries that fill `data` exactly, or raise `MalformedMessage`.

    The width comes from the checkpoint: a bundle that carries more entries than
    its place holds would show some readers entries that the log does not commit to.
    """
    entries = []
    position = 0
    for number in range(width):
        start = position + 2
        stop = start + int.from_bytes(data[position:start])
        if start > len(data) or stop > len(data):
            raise MalformedMessage("the bundle ends inside an entry", f"[{number}]", position)
        entries.append(data[start:stop])
        position = stop
    if position != len(data):
        raise MalformedMessage(f"bytes after the last of {width} entries", "", position)
    return entries


def truncate_bundle(data: bytes, width: int) -> bytes:
    """The first `width` entries of a bundle that holds more."""
    position = 0
    for number in range(width):
        position += 2 + int.from_bytes(data[position : position + 2])
        if position > len(data):
            raise MalformedMessage("the bundle ends inside an entry", f"[{number}]")
    return data[:position]


def decode_tile(data: bytes, width: int) -> tuple[bytes, ...]:
    """Read exactly `width` hashes, or raise `MalformedMessage`."""
    if len(data) != width * HASH_SIZE:
        raise MalformedMessage(f"a tile of {width} hashes, not {len(data)} bytes", "tile")
    return tuple(data[i : i + HASH_SIZE] for i in range(0, len(data), HASH_SIZE))


class TileContent(NamedTuple):
    """A tile and its hashes."""

    tile: Tile
    hashes: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.hashes)


class RightEdge:
    """The partial tiles of a growing tree of `size` leaves. Memory grows with its height.

    The caller vouches for the hashes given to the constructor: compare `root`
    with a verified checkpoint before trusting anything here.
    """

    def __init__(self, size: int = 0, partial: Iterable[TileContent] = ()) -> None:
        self.size = size
        self._levels: list[list[bytes]] = []
        contents = {content.tile: content.hashes for content in partial}
        if sorted(contents) != edge_tiles(size):
            raise UsageError(f"these are not the partial tiles of a tree of {size} leaves")
        for tile, hashes in contents.items():
            if len(hashes) != tile.width:
                raise UsageError(f"{tile.path} has {tile.width} hashes, not {len(hashes)}")
            self._level(tile.level).extend(hashes)

    def extend(self, leaves: Iterable[bytes]) -> list[TileContent]:
        """Add leaf hashes; returns the tiles that they complete, in the order of their last leaf.

        Of those that one leaf completes the lowest comes first.
        """
        completed: list[TileContent] = []
        rest = iter(leaves)
        while more := list(islice(rest, TILE_WIDTH - self.size % TILE_WIDTH)):
            self.size += len(more)
            self._level(0).extend(more)
            completed += self._completed()
        return completed

    def _completed(self) -> Iterator[TileContent]:
        """Take out the tiles that are full now, lowest level first."""
        level = 0
        while len(hashes := self._level(level)) == TILE_WIDTH:
            full = tuple(hashes)
            hashes.clear()
            index = (self.size >> TILE_HEIGHT * (level + 1)) - 1
            yield TileContent(Tile(level, index, TILE_WIDTH), full)
            level += 1
            self._level(level).append(tile_root(full))

    def partial(self) -> list[TileContent]:
        """The partial tiles, lowest level first."""
        return [
            TileContent(tile, tuple(self._levels[tile.level])) for tile in edge_tiles(self.size)
        ]

    def root(self) -> bytes:
        """The root of all leaves so far."""
        root = b""
        for hashes in self._levels:
            for peak in reversed(_peaks(hashes)):
                root = node_hash(peak, root) if root else peak
        return root or EMPTY_ROOT

    def copy(self) -> RightEdge:
        """Copy the edge; both grow on their own."""
        return RightEdge(self.size, self.partial())

    def _level(self, level: int) -> list[bytes]:
        while len(self._levels) <= level:
            self._levels.append([])
        return self._levels[level]


def tile_root(hashes: Sequence[bytes]) -> bytes:
    """The root above a power of two of hashes, such as those of a full tile."""
    row = list(hashes)
    while len(row) > 1:
        row = [node_hash(row[i], row[i + 1]) for i in range(0, len(row), 2)]
    return row[0]


def _peaks(hashes: Sequence[bytes]) -> list[bytes]:
    """Roots of the perfect subtrees over `hashes`, left to right."""
    peaks = []
    start = 0
    while count := len(hashes) - start:
        width = 1 << (count.bit_length() - 1)
        peaks.append(tile_root(hashes[start : start + width]))
        start += width
    return peaks


class PastRoots:
    """The root of the first leaves, for any number of them; cheap where numbers grow.

    `leaves` may grow meanwhile. Each of them is hashed into the tree once, unless an earlier root
    is asked for behind a later one.
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves
        self._edge = RightEdge()
        self._root = self._edge.root()

    def at(self, size: int) -> bytes | None:
        """The root of `size` leaves; None if there are fewer."""
        if not 0 <= size <= len(self._leaves):
            return None
        if size == self._edge.size:
            return self._root
        if size < self._edge.size:
            self._edge = RightEdge()
        self._edge.extend(self._leaves[at] for at in range(self._edge.size, size))
        self._root = self._edge.root()
        return self._root
