"""Gzip, the content encoding of HTTP, within bounds."""

from __future__ import annotations

import re
import zlib
from typing import Final

from wire.errors import MalformedMessage

GZIP: Final = "gzip"

_WBITS: Final = 31
"""A gzip header and trailer around one deflate stream."""
_LEVEL: Final = 1
_REFUSED: Final = re.compile(r"q=0(\.0{0,3})?")


def gzipped(data: bytes) -> bytes:
    """One gzip member without name and time: the same data give the same bytes."""
    made = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WBITS)
    return made.compress(data) + made.flush()


def without_encoding(data: bytes, encoding: str, most: int) -> bytes:
    """What was encoded, at most `most` + 1 bytes of it: a few bytes can stand for gigabytes.

    Raises:
        MalformedMessage: an encoding that was not asked for, or something else than
            exactly one gzip member.
    """
    if encoding.strip().lower() in {"", "identity"}:
        return data
    if encoding.strip().lower() != GZIP:
        raise MalformedMessage("an encoding that was not asked for", "content-encoding")
    opened = zlib.decompressobj(_WBITS)
    try:
        found = opened.decompress(data, most + 1)
    except zlib.error:
        raise MalformedMessage("something else than gzip", "content-encoding") from None
    if len(found) <= most and (not opened.eof or opened.unused_data):
        raise MalformedMessage("gzip that is cut off or has something behind it", "body")
    return found


def takes_gzip(accepted: str) -> bool:
    """Whether an `Accept-Encoding` names gzip and does not refuse it."""
    for item in accepted.split(","):
        name, *options = (part.strip().lower() for part in item.split(";"))
        if name == GZIP:
            return not any(_REFUSED.fullmatch(option) for option in options)
    return False
