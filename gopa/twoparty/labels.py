"""Labels of wires: garbled, evaluated and decoded, and erased afterwards.

Specification: `specs/21-two-parties.md`, section 3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from commitments.gates import GateKernels, Labels, gate_kernels
from commitments.group import Group
from gopa.twoparty.circuits import Bits, Circuit
from gopa.twoparty.errors import WrongLabel
from wire.domains import TWO_PARTY_KEY
from wire.randomness import Rng, draw

BLOCK: Final = 16
TABLE: Final = 2 * BLOCK
_VALUE: Final = np.array([1] + 15 * [0], np.uint8)


@contextmanager
def erasing() -> Iterator[Callable[[Labels], Labels]]:
    """Gives a function that returns its argument, and erases all its arguments in the end."""
    held: list[Labels] = []

    def secret(labels: Labels) -> Labels:
        held.append(labels)
        return labels

    try:
        yield secret
    finally:
        for labels in held:
            labels.fill(0)


def fresh_offset(rng: Rng) -> Labels:
    """The secret difference between the two labels of every wire; its select bit is 1."""
    # Folded: what the source returns is bytes, which Python does not erase.
    halves = np.frombuffer(draw(rng, 2 * BLOCK), np.uint8).reshape(2, BLOCK)
    offset: Labels = np.bitwise_xor(halves[0], halves[1])
    offset[0] |= 1
    return offset


def add_where(labels: Labels, bits: Bits, offset: Labels) -> None:
    """Adds the offset, or its row, to the labels whose bit is 1, without branching on bits.

    All operands get one shape first: numpy would copy smaller ones to memory that nobody erases.
    """
    with erasing() as secret:
        masked, chosen = (secret(np.empty_like(labels)) for _ in range(2))
        masked[:] = offset
        np.negative(bits.view(np.uint8), out=chosen[:, 0])
        chosen[:] = chosen[:, :1]
        masked &= chosen
        labels ^= masked


@dataclass(frozen=True, slots=True)
class GarbledRun:
    """Garbles, evaluates and decodes one circuit for one pair, once.

    `key` is the public key of the run's hash. `labels` are those of the wires that the garbler
    puts in, of the bits that it really has; they are public too.
    """

    kernels: GateKernels
    circuit: Circuit
    key: bytes
    labels: bytes

    @classmethod
    def derive(cls, group: Group, circuit: Circuit, conversation: bytes, seed: bytes) -> GarbledRun:
        """The run that follows from everything said so far and the garbler's fresh seed."""
        size = BLOCK * (1 + circuit.garbler_bits)
        data = hashlib.shake_128(TWO_PARTY_KEY + conversation + seed).digest(size)
        return cls(gate_kernels(group), circuit, data[:BLOCK], data[BLOCK:])

    def garble(self, bits: Bits, offset: Labels, evaluator: Labels) -> tuple[bytes, bytes]:
        """Tables of the gates, and the decoding table of the outputs.

        `bits` are the garbler's, `evaluator` has the zero labels of the other party's wires.
        """
        circuit = self.circuit
        with erasing() as secret:
            labels = secret(self._open(evaluator))
            # The label at hand is that of the garbler's bit, and of 1 for the constant.
            labels[0] ^= offset
            add_where(labels[1 : circuit.garbler_bits], bits, offset)
            gates = circuit.gates.reshape(-1)
            tables = self.kernels.garble_gates(self.key, 0, gates, offset, labels)
            outputs = secret(labels[list(circuit.outputs)])
            return tables, self._decoding_table(outputs, offset)

    def evaluate(self, tables: bytes, evaluator: Labels) -> Labels:
        """The labels of the outputs, given one label for each of the evaluator's wires."""
        with erasing() as secret:
            labels = secret(self._open(evaluator))
            gates = self.circuit.gates.reshape(-1)
            self.kernels.evaluate_gates(self.key, 0, gates, tables, labels)
            return labels[list(self.circuit.outputs)]

    def decode(self, labels: Labels, table: bytes) -> int:
        """The result that output labels stand for.

        Raises:
            WrongLabel: a label that the garbler did not make for its output.
        """
        rows = np.frombuffer(table, np.uint8).reshape(-1, 2, BLOCK)
        listed = rows[np.arange(len(labels)), labels[:, 0] & 1]
        wrong = ((self._tags(labels) ^ listed) & ~_VALUE).any(axis=1)
        if wrong.any():
            raise WrongLabel("the label is of another circuit or run", int(wrong.argmax()))
        return int(self.circuit.read((listed[:, 0] & 1).view(np.bool_)))

    def _open(self, evaluator: Labels) -> Labels:
        """A row for each wire: the garbler's labels, the evaluator's, and zeros for gates."""
        rows, own = np.zeros((self.circuit.wires, BLOCK), np.uint8), self.circuit.garbler_bits
        rows[:own] = np.frombuffer(self.labels, np.uint8).reshape(own, BLOCK)
        rows[own : own + len(evaluator)] = evaluator
        return rows

    def _tags(self, labels: Labels) -> Labels:
        """The hashes of output labels, under tweaks that no gate has."""
        hashed = self.kernels.hash_blocks(self.key, 2 * self.circuit.ands, labels)
        return np.frombuffer(hashed, np.uint8).reshape(-1, BLOCK).copy()

    def _decoding_table(self, labels: Labels, offset: Labels) -> bytes:
        """The tags of each output's labels with the select bits 0 and 1.

        The lowest bit of a tag is replaced by the value that the label stands for.
        """
        swapped = labels[:, 0] & 1
        tags = []
        for value in (0, 1):
            tags.append(self._tags(labels))
            tags[value][:, 0] = tags[value][:, 0] & 254 | value
            add_where(labels, np.ones(len(labels), np.bool_), offset)
        rows = np.stack(tags, axis=1)
        # The zero label has the select bit `swapped`.
        rows ^= (rows[:, ::-1] ^ rows) * swapped[:, None, None]
        return rows.tobytes()
