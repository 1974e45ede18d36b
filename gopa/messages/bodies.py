"""Says which codec reads the body of which kind of message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bulletin_board.entry import LARGEST_BODY
from gopa.messages.manifest import MANIFEST
from gopa.messages.organiser import ABORT, CLOSE, OPEN, RESULT
from gopa.messages.party import (
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
from gopa.messages.phases import Kind
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
}


def widest_body(kind: int) -> int:
    """The most bytes of a body of this kind in any session; one entry for unknown kinds."""
    codec = BODIES.get(kind)
    return LARGEST_BODY if codec is None else codec.max_size
