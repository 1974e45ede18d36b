"""Requests of one participant as a front sees them, and what may be done to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from bulletin_board import Entry, Submission
from bulletin_board.client.http import Response
from bulletin_board.reader import CHECKPOINT, COSIGNED
from gopa.messages.organiser import CLOSE
from gopa.messages.phases import Kind, Phase

ENTRIES: Final = "/v1/entries"
LOOKUP: Final = "/v1/lookup"
CHECKPOINTS: Final = frozenset({f"/{CHECKPOINT}", f"/{COSIGNED}"})


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """One request; `path` is below the board's address, `limit` the most that will be read."""

    method: str
    path: str
    body: bytes | None
    media_type: str
    limit: int

    @property
    def posted(self) -> Entry | None:
        """The entry that it would put into the log, if it is a post."""
        if self.path != ENTRIES:
            return None
        return Submission.decode(self.body or b"").entry


Onward: TypeAlias = Callable[[BoardRequest], Response]
"""What would happen to a request otherwise."""


class Tampering(Protocol):
    """What a front does to a request or to its answer. Called by several threads at once."""

    def __call__(self, asked: BoardRequest, onward: Onward) -> Response:
        """Raises `NetworkError` as if no answer had come."""


Which: TypeAlias = Callable[[Entry], bool]
"""Some entries and not others."""


def said(phase: Phase) -> Which:
    """What parties say in this phase."""
    return lambda entry: entry.phase == phase


def closing(phase: Phase) -> Which:
    """The organiser's close of this phase."""
    return lambda entry: closed_by(entry) is phase


def closed_by(entry: Entry) -> Phase | None:
    """The phase that an entry closes."""
    return CLOSE.decode(entry.body).phase if entry.kind == Kind.CLOSE else None
