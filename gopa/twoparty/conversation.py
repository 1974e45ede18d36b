"""Frames the messages of two parties, and refuses every one that is not the next.

Specification: `specs/21-pairwise-and-two-parties.md`, section 6.
"""

from __future__ import annotations

import hashlib
import socket
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from gopa.twoparty.circuits import Circuit
from gopa.twoparty.errors import OutOfTurn
from wire.domains import TWO_PARTY_RUN
from wire.errors import MalformedMessage, Unattributed, UsageError

_TAG: Final = 16
HEADER: Final = 1 + 4 + _TAG
"""The kind of a message, the length of its body, and a tag of everything said before."""


class MessageKind(IntEnum):
    """Names the messages of two parties."""

    CHOICES = 1
    COLUMNS = 2
    GARBLED = 3
    RESULT = 4


class Awaited(NamedTuple):
    """The kind of a message and the length of its body, which both parties know beforehand."""

    kind: MessageKind
    size: int


class MessageChain:
    """Chains all messages of one run, in both directions, by a hash."""

    __slots__ = ("digest",)

    def __init__(self, circuit: Circuit, context: bytes) -> None:
        if not isinstance(context, bytes) or len(context) > 255:
            raise UsageError("must be at most 255 bytes that name this run", "context")
        start = TWO_PARTY_RUN + bytes([len(context)]) + context + circuit.digest
        self.digest = hashlib.sha256(start).digest()

    def write(self, kind: MessageKind, body: bytes) -> bytes:
        """The frame of the next message."""
        frame = bytes([kind]) + len(body).to_bytes(4) + self.digest[:_TAG] + body
        self._chain(frame)
        return frame

    def check(self, header: bytes, awaited: Awaited) -> None:
        """Refuses a header that is not the one of this message.

        Raises:
            OutOfTurn: another kind of message, or one of another conversation.
            MalformedMessage: not the length that the circuit says.
        """
        if len(header) != HEADER:
            raise MalformedMessage(f"a message begins with {HEADER} bytes", "header", len(header))
        if header[0] != awaited.kind:
            raise OutOfTurn(
                f"expected {awaited.kind.name.lower()}, not message {header[0]}", "kind"
            )
        if header[5:] != self.digest[:_TAG]:
            raise OutOfTurn("the message follows another circuit, context or message", "tag")
        if int.from_bytes(header[1:5]) != awaited.size:
            raise MalformedMessage(f"needs {awaited.size} bytes", "length", 1)

    def read(self, frame: bytes, awaited: Awaited) -> bytes:
        """The body of the next message.

        Raises:
            OutOfTurn: as `check`.
            MalformedMessage: as `check`, or the frame ends too early or too late.
        """
        self.check(frame[:HEADER], awaited)
        if len(frame) != HEADER + awaited.size:
            raise MalformedMessage(
                f"{len(frame) - HEADER} bytes, not {awaited.size}", "body", len(frame)
            )
        self._chain(frame)
        return frame[HEADER:]

    def _chain(self, frame: bytes) -> None:
        self.digest = hashlib.sha256(self.digest + frame).digest()


class Speaker(Protocol):
    """Answers messages one at a time, such as `Garbler` and `Evaluator`."""

    def start(self) -> bytes:
        """The first message, or nothing if the other party begins."""

    def check(self, header: bytes) -> int:
        """The length of the body behind the header of the next message."""

    def step(self, frame: bytes) -> bytes:
        """The answer to a message, or nothing."""

    def close(self) -> None:
        """Erases the secrets of a run that does not go on."""

    @property
    def result(self) -> int | None:
        """What was computed, once it is."""


def converse(party: Speaker, connection: socket.socket, *, seconds: float = 30.0) -> int:
    """Speaks for a party over a connected socket or TLS connection, and returns the result.

    The connection stays open. Whoever can change what travels on it could lie for either party:
    take TLS, or a socket between processes of one machine.

    Raises:
        OutOfTurn: a message that is not the next one.
        MalformedMessage: a message that no honest party writes, or that ends too early.
        WrongLabel: a label that was not made for this run.
        Unattributed: the connection ended between two messages, or nothing came for so long.
    """
    connection.settimeout(seconds)
    try:
        _send(connection, party.start())
        while party.result is None:
            header = _receive(connection, HEADER, 0)
            _send(
                connection, party.step(header + _receive(connection, party.check(header), HEADER))
            )
    except OSError as error:
        name = type(error).__name__
        raise Unattributed(f"the connection to the other party failed ({name})") from error
    finally:
        party.close()
    return party.result


def _send(connection: socket.socket, frame: bytes) -> None:
    if frame:
        connection.sendall(frame)


def _receive(connection: socket.socket, size: int, offset: int) -> bytes:
    """Exactly so many bytes, which stand at this offset of their message."""
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(size - len(received))
        if not piece:
            if offset or received:
                end = offset + len(received)
                raise MalformedMessage("the connection ended inside of a message", "frame", end)
            raise Unattributed("the other party left before there was a result")
        received += piece
    return bytes(received)
