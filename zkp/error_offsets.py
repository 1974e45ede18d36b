"""Makes refusals of a part of a message name the byte of the whole message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wire.errors import MalformedMessage


@contextmanager
def errors_offset_by(start: int) -> Iterator[None]:
    """Inside, parts of a proof are decoded that begin at byte `start` of it."""
    try:
        yield
    except MalformedMessage as error:
        offset = None if error.offset is None else start + error.offset
        raise MalformedMessage(error.message, "proof", offset) from error
