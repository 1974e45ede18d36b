"""Names tiles and bundles of a log (C2SP tlog-tiles), and computes tree nodes from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bulletin_board.tree.hashing import node_hash
from wire.errors import UsageError

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
    """A `Node` function over tiles. Trusts `fetch` to return the hashes of the tree.

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
