"""Runs the two parties of a garbled circuit: messages in, messages out.

Each run is one between strangers: nothing of it serves another one. Specification:
`specs/21-two-parties.md`, section 6.
"""

from __future__ import annotations

import socket
from abc import abstractmethod
from collections.abc import Generator, Sequence
from time import monotonic
from typing import ClassVar, Final, TypeAlias

import numpy as np

from commitments import ristretto255
from commitments.group import Group
from gopa.twoparty.circuits import Circuit, Role
from gopa.twoparty.conversation import HEADER, MessageChain, MessageKind
from gopa.twoparty.labels import BLOCK, TABLE, GarbledRun, add_where, erasing, fresh_offset
from gopa.twoparty.transfer import (
    COLUMNS,
    BaseReceiver,
    BaseSender,
    extend_as_receiver,
    extend_as_sender,
)
from wire.errors import MalformedMessage, Unattributed, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded

_MOST_SECONDS: Final = 86_400

_Talk: TypeAlias = Generator[tuple[bytes, MessageKind | None], bytes, None]
"""Yields what to send and what to wait for, and is sent the bodies of messages."""


class _Party(Guarded):
    """What both parties share: their own bits, what was said, and whose turn it is."""

    __slots__ = ("_awaited", "_bits", "_chain", "_started", "_talk", "result")

    role: ClassVar[Role]

    def __init__(
        self,
        circuit: Circuit,
        values: Sequence[int],
        *,
        context: bytes,
        rng: Rng,
        group: Group | None = None,
    ) -> None:
        """Takes this party's integers; `context` names the run, equally for both parties.

        Raises:
            UsageError: integers that the circuit does not take, or a context that is no bytes.
        """
        used = ristretto255() if group is None else group
        self._bits = circuit.bits_of(self.role, values, draw(rng, -(-circuit.coins // 8)))
        self._chain = MessageChain(circuit, context, _sizes(circuit, used.point_size))
        self._talk, self._started = self._speak(circuit, used, rng), False
        self._awaited: MessageKind | None = None
        self.result: int | None = None
        """What was computed, once it is."""

    def start(self) -> bytes:
        """The first message, or nothing if the other party begins."""
        if self._started:
            raise UsageError("a party runs once: make a new one for each run")
        self._started = True
        frame, self._awaited = next(self._talk)
        return frame

    def check(self, header: bytes) -> int:
        """The size of the body behind the header of the next message.

        Raises:
            OutOfTurn: a message that is not the next one.
            MalformedMessage: not the length that the circuit says.
        """
        return self._chain.check(header, self._next())

    def step(self, frame: bytes) -> bytes:
        """The answer to a message, or nothing. After an error the party is done.

        Raises:
            OutOfTurn: a message that is not the next one.
            MalformedMessage: a message that no honest party writes.
            WrongLabel: a label that was not made for this run.
        """
        awaited, self._awaited = self._next(), None
        try:
            answer, self._awaited = self._talk.send(self._chain.read(frame, awaited))
        except StopIteration:
            return b""
        finally:
            if self._awaited is None:
                self.close()
        return answer

    def close(self) -> None:
        """Erases the secrets of a run that does not go on; a run that is over has none left."""
        self._awaited, self._started = None, True
        self._talk.close()
        self._bits.fill(False)

    def _next(self) -> MessageKind:
        if self._awaited is None:
            raise UsageError("a party that was not started, or is done, awaits no message")
        return self._awaited

    @abstractmethod
    def _speak(self, circuit: Circuit, group: Group, rng: Rng) -> _Talk: ...


class Garbler(_Party):
    """The side that garbles the circuit; it learns the result from the labels that come back."""

    __slots__ = ()
    role = "garbler"

    def _speak(self, circuit: Circuit, group: Group, rng: Rng) -> _Talk:
        chain, size = self._chain, group.point_size
        with erasing() as secret:
            offset = secret(fresh_offset(rng))
            if _is_extended(circuit):
                bits = secret(np.unpackbits(offset, bitorder="little")).view(np.bool_)
                receiver = BaseReceiver(group, bits, rng)
                frame = chain.write(MessageKind.CHOICES, receiver.message)
                asked = chain.digest
                body = yield frame, MessageKind.COLUMNS
                point, columns = body[:size], body[size:]
                keys = secret(receiver.keys(asked, group.decode_point(point)))
                zero = secret(extend_as_sender(asked, keys, bits, columns, circuit.evaluator_bits))
                transfer = b""
            else:
                body = yield b"", MessageKind.CHOICES
                sender = BaseSender(group, rng)
                zero, one = map(secret, sender.keys(chain.digest, body))
                one ^= zero
                add_where(one, np.ones(len(one), np.bool_), offset)
                transfer = sender.point.to_bytes() + one.tobytes()
            seed = draw(rng, BLOCK)
            run = GarbledRun.derive(group, circuit, chain.digest, seed)
            tables, decoding = run.garble(self._bits, offset, zero)
        frame = chain.write(MessageKind.GARBLED, seed, transfer, tables, decoding)
        body = yield frame, MessageKind.RESULT
        outputs = np.frombuffer(body, np.uint8).reshape(-1, BLOCK)
        self.result = run.decode(outputs, decoding)


class Evaluator(_Party):
    """The side that evaluates the garbled circuit and learns the result first."""

    __slots__ = ()
    role = "evaluator"

    def _speak(self, circuit: Circuit, group: Group, rng: Rng) -> _Talk:
        chain, size = self._chain, group.point_size
        with erasing() as secret:
            if _is_extended(circuit):
                body = yield b"", MessageKind.CHOICES
                sender, asked = BaseSender(group, rng), chain.digest
                zero, one = map(secret, sender.keys(asked, body))
                labels, columns = extend_as_receiver(asked, (zero, one), self._bits)
                frame = chain.write(MessageKind.COLUMNS, sender.point.to_bytes(), columns)
            else:
                receiver = BaseReceiver(group, self._bits, rng)
                frame = chain.write(MessageKind.CHOICES, receiver.message)
            asked = chain.digest
            body = yield frame, MessageKind.GARBLED
            seed, body = body[:BLOCK], body[BLOCK:]
            if not _is_extended(circuit):
                labels = receiver.keys(asked, group.decode_point(body[:size]))
                end = size + BLOCK * circuit.evaluator_bits
                corrections = np.frombuffer(body[size:end], np.uint8).reshape(-1, BLOCK)
                add_where(labels, self._bits, corrections)
                body = body[end:]
            run = GarbledRun.derive(group, circuit, asked, seed)
            tables, decoding = body[: TABLE * circuit.ands], body[TABLE * circuit.ands :]
            outputs = run.evaluate(tables, secret(labels))
            self.result = run.decode(outputs, decoding)
        yield chain.write(MessageKind.RESULT, outputs.tobytes()), None


def converse(
    party: Garbler | Evaluator, connection: socket.socket, *, seconds: float = 30.0
) -> int:
    """Speaks for a party over a connected socket or TLS connection, and returns the result.

    The connection stays open. Whoever can change what travels on it could lie for either party:
    take TLS, or a socket between processes of one machine.

    Raises:
        OutOfTurn: a message that is not the next one.
        MalformedMessage: a message that no honest party writes, or that ends too early.
        WrongLabel: a label that was not made for this run.
        Unattributed: the connection ended between two messages, or one took so many seconds.
    """
    if not 0 < seconds <= _MOST_SECONDS:
        raise UsageError(f"must lie between 0 and {_MOST_SECONDS}", "seconds")
    try:
        frame = party.start()
        while True:
            if frame:
                connection.settimeout(seconds)
                connection.sendall(frame)
            if party.result is not None:
                return party.result
            # For the whole message: who sends a byte now and then does not hold us up.
            deadline = monotonic() + seconds
            header = _receive(connection, HEADER, 0, deadline)
            body = _receive(connection, party.check(header), HEADER, deadline)
            frame = party.step(header + body)
    except OSError as error:
        name = type(error).__name__
        raise Unattributed(f"the connection to the other party failed ({name})") from error
    finally:
        party.close()


def traffic(circuit: Circuit, group: Group | None = None) -> tuple[int, int]:
    """How many messages one run takes, and their bytes in all."""
    sizes = _sizes(circuit, (ristretto255() if group is None else group).point_size)
    if not _is_extended(circuit):
        del sizes[MessageKind.COLUMNS]
    return len(sizes), sum(HEADER + size for size in sizes.values())


def _receive(connection: socket.socket, size: int, offset: int, deadline: float) -> bytes:
    """Exactly so many bytes, which stand at this offset of their message."""
    received = bytearray()
    while len(received) < size:
        seconds = deadline - monotonic()
        if seconds <= 0:
            raise TimeoutError
        connection.settimeout(seconds)
        piece = connection.recv(size - len(received))
        if not piece:
            if offset or received:
                end = offset + len(received)
                raise MalformedMessage("the connection ended inside of a message", "frame", end)
            raise Unattributed("the other party left before there was a result")
        received += piece
    return bytes(received)


def _is_extended(circuit: Circuit) -> bool:
    """Whether so many transfers are made by hashes behind a few by points."""
    return circuit.evaluator_bits >= COLUMNS


def _sizes(circuit: Circuit, point: int) -> dict[MessageKind, int]:
    """The length of every message's body, which the circuit fixes."""
    choices, outputs = circuit.evaluator_bits, len(circuit.outputs)
    garbled = BLOCK + TABLE * circuit.ands + 2 * BLOCK * outputs
    extended = _is_extended(circuit)
    return {
        MessageKind.CHOICES: point * (COLUMNS if extended else choices),
        MessageKind.COLUMNS: point + COLUMNS * -(-choices // 8),
        MessageKind.GARBLED: garbled + (0 if extended else point + BLOCK * choices),
        MessageKind.RESULT: BLOCK * outputs,
    }
