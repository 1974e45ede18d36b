"""Reads messages about long vectors, and says what of them is kept ([M1], [M2], [L3] of 14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gopa.protocol.rules.mailbox import BreaksRule
from gopa.rounds.context import RoundContext
from gopa.rounds.rows.statements import decoded_points
from wire.errors import MalformedMessage

Rows: TypeAlias = tuple[bytes, ...]
"""Commitments to the rows of a vector, in order."""


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Keeps the rows that a party fixed before the coins: of its input, its noise and pads."""

    input: Rows
    noise: Rows
    pads: Rows


@dataclass(frozen=True, slots=True)
class CommittedRows:
    """Keeps what a listed party fixed before its masked words; `entry` is where it committed."""

    input: Rows
    noise: Rows
    entry: int


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """Keeps the rows that came with masked words: those of their carries, and of pads."""

    carries: Rows
    pads: Rows


@dataclass(frozen=True, slots=True)
class Proved:
    """Keeps what a party whose mask proof holds said about masks: by edges, and of its own.

    `entries` are where it committed and where it proved.
    """

    edges: Mapping[int, bytes]
    own: bytes
    entries: tuple[int, int]


def require_rows(context: RoundContext, rows: Rows, count: int) -> None:
    """Require so many rows, each of which hides something ([M1], [L3] of 14).

    A row that is the identity hides nothing, and no honest one is.

    Raises:
        BreaksRule: there are more or fewer, or one is no commitment.
    """
    if len(rows) != count:
        raise BreaksRule("14-M1", f"{count} rows, not {len(rows)}")
    try:
        decoded_points(context.group, b"".join(rows), count)
    except MalformedMessage:
        raise BreaksRule("14-L3", "a row that is no commitment") from None
