"""Boards whose files are in memory, and whose requests need no socket where that is no matter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Final

import pytest

from tests.board.conftest import tmp_path
from tests.board.direct import without_sockets

__all__ = ["direct", "tmp_path"]

CONNECTIONS: Final = frozenset({"idle-crowd"})
"""Attacks on the connections themselves: they need real ones."""


@pytest.fixture(autouse=True)
def direct(request: pytest.FixtureRequest) -> Iterator[None]:
    """No sockets, but for attacks on them."""
    call = getattr(request.node, "callspec", None)
    attacked = call is not None and not CONNECTIONS.isdisjoint(
        each for each in call.params.values() if isinstance(each, str)
    )
    with nullcontext() if attacked else without_sockets():
        yield
