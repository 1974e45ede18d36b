"""Frames the messages of two parties, and refuses every one that is not the next.

Specification: `specs/21-two-parties.md`, section 6.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from gopa.twoparty.circuits import Circuit
from gopa.twoparty.errors import OutOfTurn
from wire.domains import TWO_PARTY_RUN
from wire.errors import MalformedMessage, UsageError

_TAG: Final = 16
HEADER: Final = 1 + 4 + _TAG
"""The kind of a message, the length of its body, and a tag of everything said before."""


class MessageKind(IntEnum):
    """The messages of two parties."""

    CHOICES = 1
    COLUMNS = 2
    GARBLED = 3
    RESULT = 4


class MessageChain:
    """All messages of one run, in both directions, chained by a hash.

    `sizes` are the lengths of bodies, which both parties know from the circuit.
    """

    __slots__ = ("_sizes", "digest")

    def __init__(self, circuit: Circuit, context: bytes, sizes: Mapping[MessageKind, int]) -> None:
        if not isinstance(context, bytes) or len(context) > 255:
            raise UsageError("must be at most 255 bytes that name this run", "context")
        start = TWO_PARTY_RUN + bytes([len(context)]) + context + circuit.digest
        self.digest = hashlib.sha256(start).digest()
        self._sizes = sizes

    def write(self, kind: MessageKind, *parts: bytes) -> bytes:
        """The frame of the next message."""
        body = b"".join(parts)
        frame = bytes([kind]) + len(body).to_bytes(4) + self.digest[:_TAG] + body
        self._chain(frame)
        return frame

    def check(self, header: bytes, kind: MessageKind) -> int:
        """The length of the body behind the header of the next message.

        Raises:
            OutOfTurn: another kind of message, or one of another conversation.
            MalformedMessage: not the length that the circuit says.
        """
        size = self._sizes[kind]
        if len(header) != HEADER:
            raise MalformedMessage(f"a message begins with {HEADER} bytes", "header", len(header))
        if header[0] != kind:
            raise OutOfTurn(f"expected {kind.name.lower()}, not message {header[0]}", "kind")
        if header[5:] != self.digest[:_TAG]:
            raise OutOfTurn("the message follows another circuit, context or message", "tag")
        if int.from_bytes(header[1:5]) != size:
            raise MalformedMessage(f"needs {size} bytes", "length", 1)
        return size

    def read(self, frame: bytes, kind: MessageKind) -> bytes:
        """The body of the next message.

        Raises:
            OutOfTurn: as `check`.
            MalformedMessage: as `check`, or the frame ends too early or too late.
        """
        size, body = self.check(frame[:HEADER], kind), frame[HEADER:]
        if len(body) != size:
            raise MalformedMessage(f"{len(body)} bytes, not {size}", "body", len(frame))
        self._chain(frame)
        return body

    def _chain(self, frame: bytes) -> None:
        self.digest = hashlib.sha256(self.digest + frame).digest()
