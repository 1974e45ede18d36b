"""Which edges are disputed: those whose listed ends said different things (14-P8, 14-K5)."""

from __future__ import annotations

from typing import cast

import pytest

from gopa.protocol.rules.roll_and_edges import Edges
from gopa.protocol.rules.rows import Proved, disputed_edges

EDGE = 7


class BetweenTwo:
    """The one edge that there is, in the place of all edges of a round."""

    def ends(self, edge: int) -> tuple[int, int]:
        assert edge == EDGE
        return 0, 1


@pytest.mark.parametrize(
    ("other", "members", "disputed"),
    [(b"a", (0, 1), ()), (b"b", (0, 1), (EDGE,)), (b"b", (0,), ()), (b"b", (1,), ())],
    ids=["alike", "unlike", "one peeled", "the other peeled"],
)
def test_an_edge_is_disputed_by_listed_ends_that_differ(
    other: bytes, members: tuple[int, ...], disputed: tuple[int, ...]
) -> None:
    proved = {0: Proved({EDGE: b"a"}, b"", (1, 2)), 1: Proved({EDGE: other}, b"", (3, 4))}
    assert disputed_edges(cast("Edges", BetweenTwo()), proved, members) == disputed
