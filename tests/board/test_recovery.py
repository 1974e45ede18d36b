"""The right edge of a log that is opened again is computed from full tiles alone."""

from __future__ import annotations

import pytest

from bulletin_board.reader import MemorySource
from bulletin_board.recovery import boundary_edge
from bulletin_board.storage import Inconsistent
from bulletin_board.tree import TILE_WIDTH, RightEdge, leaf_hash

MANY = 2 * TILE_WIDTH + 5


def test_the_edge_at_full_bundles_is_that_of_the_log() -> None:
    leaves = [leaf_hash(bytes([at % 251])) for at in range(MANY)]
    whole, short = RightEdge(), RightEdge()
    contents = whole.extend(iter(leaves)) + whole.partial()
    source = MemorySource({content.tile.path: content.data for content in contents})
    short.extend(iter(leaves[: 2 * TILE_WIDTH]))
    found = boundary_edge(source, 2 * TILE_WIDTH)
    assert (found.size, found.root()) == (2 * TILE_WIDTH, short.root())
    for size in (1, 2 * TILE_WIDTH + 1, MANY):
        with pytest.raises(Inconsistent, match="whole bundles"):
            boundary_edge(source, size)
