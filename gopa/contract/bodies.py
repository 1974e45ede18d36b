"""The codec of the body of every kind of message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bulletin_board.entry import LARGEST_BODY
from gopa.contract.manifest import MANIFEST, Path
from gopa.contract.organiser import ABORT, CLOSE, OPEN, RESULT
from gopa.contract.party import (
    ACCUSATION,
    COMMIT,
    CONFIRM,
    JOIN,
    OPENING,
    PUBLISH,
    RECOVER,
    REVEAL,
    UNMASK,
)
from gopa.contract.phases import Kind
from gopa.contract.rows import PROVE, ROW_COMMIT, ROW_JOIN, ROW_PUBLISH
from wire.codec import Codec

BODIES: Final[Mapping[int, Codec[Any]]] = {
    Kind.MANIFEST: MANIFEST,
    Kind.OPEN: OPEN,
    Kind.CLOSE: CLOSE,
    Kind.RESULT: RESULT,
    Kind.ABORT: ABORT,
    Kind.JOIN: JOIN,
    Kind.REVEAL: REVEAL,
    Kind.COMMIT: COMMIT,
    Kind.ACCUSATION: ACCUSATION,
    Kind.PUBLISH: PUBLISH,
    Kind.OPENING: OPENING,
    Kind.CONFIRM: CONFIRM,
    Kind.UNMASK: UNMASK,
    Kind.RECOVER: RECOVER,
    Kind.PROVE: PROVE,
}

BODIES_OF_ROWS: Final[Mapping[int, Codec[Any]]] = {
    **BODIES,
    Kind.JOIN: ROW_JOIN,
    Kind.COMMIT: ROW_COMMIT,
    Kind.PUBLISH: ROW_PUBLISH,
}
"""The same where vectors are proved row by row: three kinds have bodies of their own there."""


def bodies_of(path: Path) -> Mapping[int, Codec[Any]]:
    """The codecs of the sessions with this path."""
    return BODIES_OF_ROWS if path is Path.ROWS else BODIES


def widest_body(kind: int) -> int:
    """The most bytes of a body of this kind in any session; one entry for unknown kinds."""
    if kind not in BODIES:
        return LARGEST_BODY
    return max(BODIES[kind].max_size, BODIES_OF_ROWS[kind].max_size)
