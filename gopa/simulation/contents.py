"""What is inside of signed entries."""

from __future__ import annotations

from collections.abc import Sequence

from bulletin_board import Entry, Submission


def first_entry(entries: Sequence[bytes]) -> Entry:
    """The first entry of a message."""
    return Submission.decode(entries[0]).entry


def body_of(entries: Sequence[bytes]) -> bytes:
    """The body of a message, from all of its entries."""
    return b"".join(Submission.decode(raw).entry.body for raw in entries)
