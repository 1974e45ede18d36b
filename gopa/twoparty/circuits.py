"""Describes what two parties compute as a circuit of XOR and AND gates, and builds one.

Specification: `specs/21-two-parties.md`, section 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NewType, TypeAlias

import numpy as np
import numpy.typing as npt

from wire.domains import TWO_PARTY_CIRCUIT
from wire.errors import UsageError

Wire = NewType("Wire", int)
Word: TypeAlias = tuple[Wire, ...]
"""Wires of an unsigned integer, the lowest bit first."""

Role: TypeAlias = Literal["garbler", "evaluator"]
Bits: TypeAlias = npt.NDArray[np.bool_]

XOR: Final = 0
AND: Final = 1
ONE: Final = Wire(0)
ZERO: Final = Wire(-1)
"""Stands for exclusive or of ONE with itself, which becomes a gate if it is an output."""

_MOST_BITS: Final = 62


@dataclass(frozen=True, eq=False)
class Circuit:
    """A map from integers of both parties, and coins of both, to one integer.

    Wires are numbered: the constant one, the garbler's integers, its coins, the evaluator's
    integers, its coins, then one wire for each gate (kind, left, right). The result is the
    unsigned integer of the output wires, plus `low`.
    """

    garbler: tuple[int, ...]
    evaluator: tuple[int, ...]
    coins: int
    gates: npt.NDArray[np.uint32]
    outputs: Word
    low: int

    @property
    def garbler_bits(self) -> int:
        """Wires of the garbler, the constant among them."""
        return 1 + sum(self.garbler) + self.coins

    @property
    def evaluator_bits(self) -> int:
        """Wires of the evaluator."""
        return sum(self.evaluator) + self.coins

    @property
    def wires(self) -> int:
        """The number of all wires."""
        return self.garbler_bits + self.evaluator_bits + len(self.gates)

    @cached_property
    def ands(self) -> int:
        """Gates that cost something: an exclusive or is free."""
        return int((self.gates[:, 0] == AND).sum())

    @cached_property
    def digest(self) -> bytes:
        """The hash that names this circuit."""
        widths = [len(self.garbler), *self.garbler, len(self.evaluator), *self.evaluator]
        sizes = [*widths, self.coins, len(self.gates), len(self.outputs), *self.outputs]
        state = hashlib.sha256(TWO_PARTY_CIRCUIT + np.array(sizes, ">u4").tobytes())
        state.update(self.low.to_bytes(8, signed=True) + self.gates.astype(">u4").tobytes())
        return state.digest()

    def bits_of(self, role: Role, values: Sequence[int], coins: bytes) -> Bits:
        """The input bits of one party: its integers, then its coins, one from each bit of these.

        Raises:
            UsageError: not as many integers as the circuit takes, or one that is out of range.
        """
        widths = self.garbler if role == "garbler" else self.evaluator
        if not isinstance(values, Sequence | np.ndarray) or len(values) != len(widths):
            raise UsageError(f"the {role} puts in a list of {len(widths)} integers", "values")
        bits: list[int] = []
        for index, (value, width) in enumerate(zip(values, widths, strict=True)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise UsageError("must be an integer", f"values[{index}]")
            if not 0 <= value < 1 << width:
                raise UsageError(f"must lie between 0 and 2^{width} - 1", f"values[{index}]")
            bits += (int(value) >> place & 1 for place in range(width))
        drawn = np.unpackbits(np.frombuffer(coins, np.uint8), bitorder="little")[: self.coins]
        if drawn.size != self.coins:
            raise UsageError(f"{self.coins} coins are needed", "coins")
        return np.concatenate([np.array(bits, np.uint8), drawn]).astype(np.bool_)

    def compute(self, garbler: Bits, evaluator: Bits) -> npt.NDArray[np.int64]:
        """The result in the clear, for many inputs at once: bits stand along the last axis."""
        rows = garbler.shape[:-1]
        wires = np.empty((self.wires, *rows), np.bool_)
        wires[0] = True
        wires[1 : self.garbler_bits] = np.moveaxis(garbler, -1, 0)
        wires[self.garbler_bits : self.wires - len(self.gates)] = np.moveaxis(evaluator, -1, 0)
        start = self.wires - len(self.gates)
        for output, (kind, left, right) in enumerate(self.gates.tolist(), start):
            join = np.bitwise_and if kind == AND else np.bitwise_xor
            wires[output] = join(wires[left], wires[right])
        return self.read(np.moveaxis(wires[list(self.outputs)], 0, -1))

    def read(self, outputs: Bits) -> npt.NDArray[np.int64]:
        """The integer that output bits, along the last axis, stand for."""
        places = np.int64(1) << np.arange(len(self.outputs), dtype=np.int64)
        return np.asarray(outputs.astype(np.int64) @ places + self.low, dtype=np.int64)


class Builder:
    """Wires and gates on their way to a circuit; what no output depends on is left out.

    Gates of constants and gates that exist already cost nothing.
    """

    def __init__(self) -> None:
        self._widths: dict[Role, list[int]] = {"garbler": [], "evaluator": []}
        self._inputs: dict[tuple[Role, bool], list[Wire]] = {
            (role, coin): [] for role in self._widths for coin in (False, True)
        }
        self._gates: dict[Wire, tuple[int, Wire, Wire]] = {}
        self._made: dict[tuple[int, Wire, Wire], Wire] = {}
        self._next = 1

    def word(self, role: Role, width: int) -> Word:
        """A new integer that this party puts in."""
        if type(width) is not int or not 1 <= width <= _MOST_BITS:
            raise UsageError(f"must be an int from 1 to {_MOST_BITS}", "width")
        self._widths[role].append(width)
        wires = tuple(self._fresh() for _ in range(width))
        self._inputs[role, False] += wires
        return wires

    def coins(self, count: int) -> Word:
        """New fair bits that neither party knows: each is the exclusive or of one of both."""
        joint: list[Wire] = []
        for _ in range(count):
            mine, yours = self._fresh(), self._fresh()
            self._inputs["garbler", True].append(mine)
            self._inputs["evaluator", True].append(yours)
            joint.append(self.xor(mine, yours))
        return tuple(joint)

    def xor(self, left: Wire, right: Wire) -> Wire:
        """Exclusive or, which is free."""
        if left == right:
            return ZERO
        if ZERO in {left, right}:
            return Wire(left + right - ZERO)
        return self._gate(XOR, left, right)

    def not_(self, wire: Wire) -> Wire:
        """The opposite, which is free."""
        return self.xor(wire, ONE)

    def and_(self, left: Wire, right: Wire) -> Wire:
        """Both, at the price of one table."""
        if ZERO in {left, right}:
            return ZERO
        if left in {right, ONE}:
            return right
        return left if right == ONE else self._gate(AND, left, right)

    def or_(self, left: Wire, right: Wire) -> Wire:
        """The wire that is 1 if either is, at the same price."""
        return self.not_(self.and_(self.not_(left), self.not_(right)))

    def build(self, outputs: Iterable[Wire], *, low: int = 0) -> Circuit:
        """The circuit whose result is the unsigned integer of the outputs, plus `low`.

        Raises:
            UsageError: no output, or more than 62, or a `low` that has more bits.
        """
        wanted = tuple(outputs)
        if not 1 <= len(wanted) <= _MOST_BITS:
            raise UsageError(f"a result has 1 to {_MOST_BITS} bits", "outputs")
        if type(low) is not int or abs(low) >> _MOST_BITS:
            raise UsageError(f"must be an int of at most {_MOST_BITS} bits", "low")
        gates = self._needed(wanted)
        if ZERO in wanted:
            gates[ZERO] = (XOR, ONE, ONE)
        roles: tuple[Role, Role] = ("garbler", "evaluator")
        inputs = [
            wire for role in roles for coin in (False, True) for wire in self._inputs[role, coin]
        ]
        number = {wire: new for new, wire in enumerate([ONE, *inputs, *gates])}
        rows = [(kind, number[left], number[right]) for kind, left, right in gates.values()]
        table = np.array(rows, np.uint32).reshape(-1, 3)
        table.flags.writeable = False
        garbler, evaluator = (tuple(self._widths[role]) for role in roles)
        coins = len(self._inputs["garbler", True])
        ordered = tuple(Wire(number[wire]) for wire in wanted)
        return Circuit(garbler, evaluator, coins, table, ordered, low)

    def _needed(self, wanted: Word) -> dict[Wire, tuple[int, Wire, Wire]]:
        """The gates that the wanted wires depend on, in order."""
        needed = set(wanted)
        for wire, (_, left, right) in reversed(self._gates.items()):
            if wire in needed:
                needed |= {left, right}
        return {wire: gate for wire, gate in self._gates.items() if wire in needed}

    def _gate(self, kind: int, left: Wire, right: Wire) -> Wire:
        gate = (kind, min(left, right), max(left, right))
        if gate not in self._made:
            self._made[gate] = self._fresh()
            self._gates[self._made[gate]] = gate
        return self._made[gate]

    def _fresh(self) -> Wire:
        self._next += 1
        return Wire(self._next - 1)
