"""Says where a message is cut into entries. `specs/04-protocol.md`, section 1, [E1].

The sums of a long result stand in entries of their own: who needs no sums is shown the others, and
those with sums by their hashes alone.
"""

from __future__ import annotations

from typing import Final

from bulletin_board.entry import LARGEST_BODY
from gopa.messages.organiser import SUM_SIZE, SUMS_BEGIN, sums_end
from gopa.messages.phases import Kind

MOST_SUMS_TOGETHER: Final = (LARGEST_BODY - SUMS_BEGIN) // SUM_SIZE
"""So many sums stand together with the rest of a result, in one entry if there is room for it."""

SHORT: Final = 2
"""Entries of a long result that may be short besides the last: the first, and the last of sums."""


def own_sums(kind: int, beginning: bytes) -> int:
    """Where sums end that stand in entries of their own; 0 for all other messages."""
    end = sums_end(beginning) if kind == Kind.RESULT else 0
    return end if end > LARGEST_BODY else 0


def full_size(chunk: int, sums: int) -> int:
    """The most bytes of a chunk, which it has if another one follows; `sums` is `own_sums`."""
    if not sums:
        return LARGEST_BODY
    if not chunk:
        return SUMS_BEGIN
    rest = sums - SUMS_BEGIN - (chunk - 1) * LARGEST_BODY
    return min(rest, LARGEST_BODY) if rest > 0 else LARGEST_BODY


def least_size(chunks: int, sums: int) -> int:
    """A message of so many chunks has at least so many bytes; one more makes it exact."""
    return max(0, chunks - 1 - (SHORT if sums else 0)) * LARGEST_BODY


def pieces_of(kind: int, body: bytes) -> list[bytes]:
    """The bodies of the entries of a message."""
    sums, at = own_sums(kind, body), 0
    made: list[bytes] = []
    while at < len(body) or not made:
        size = full_size(len(made), sums)
        made.append(body[at : at + size])
        at += size
    return made


def chunks_of(size: int) -> int:
    """How many entries a message of so many bytes takes, unless it is a long result."""
    return max(1, -(-size // LARGEST_BODY))
