"""Both parties in one process, and circuits many times over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from commitments.group import Group
from gopa.twoparty import Circuit, Evaluator, Garbler, Wire
from tests.randomness import seeded
from wire.randomness import Rng

CONTEXT = b"round 7, users 3 and 8"


class Pair(NamedTuple):
    """Two parties of one run."""

    garbler: Garbler
    evaluator: Evaluator

    def messages(self) -> Iterator[tuple[Garbler | Evaluator, bytes]]:
        """Every message and who receives it; goes on with the answer when it is asked for more."""
        to_evaluator, to_garbler = self.garbler.start(), self.evaluator.start()
        while self.garbler.result is None:
            if to_evaluator:
                yield self.evaluator, to_evaluator
                to_evaluator, to_garbler = b"", self.evaluator.step(to_evaluator)
            else:
                yield self.garbler, to_garbler
                to_evaluator, to_garbler = self.garbler.step(to_garbler), b""

    def run(self) -> tuple[int, int]:
        """The result, the same for both, and the bytes of all messages."""
        size = sum(len(frame) for _, frame in self.messages())
        assert self.garbler.result == self.evaluator.result
        assert self.garbler.result is not None
        return self.garbler.result, size


def pair(
    circuit: Circuit,
    mine: Sequence[int],
    yours: Sequence[int],
    *,
    rng: Rng | None = None,
    group: Group | None = None,
    context: bytes = CONTEXT,
) -> Pair:
    """Parties with these integers, reproducible by default."""
    chance = seeded("two parties") if rng is None else rng
    return Pair(
        Garbler(circuit, mine, context=context, rng=chance, group=group),
        Evaluator(circuit, yours, context=context, rng=chance, group=group),
    )


def tiled(circuit: Circuit, copies: int) -> Circuit:
    """Copies of a circuit side by side, to garble many instances in one call.

    Outputs are listed copy by copy, so `read` does not apply; the constant is shared.
    """
    mine, yours, gates = circuit.garbler_bits - 1, circuit.evaluator_bits, len(circuit.gates)
    first_yours, first_gate = 1 + mine * copies, 1 + (mine + yours) * copies
    wires, copy = np.arange(circuit.wires), np.arange(copies)[:, None]
    places = np.where(wires == 0, 0, wires + copy * mine)
    is_yours = (wires > mine) & (wires <= mine + yours)
    places = np.where(is_yours, first_yours + wires - 1 - mine + copy * yours, places)
    is_gate = wires > mine + yours
    places = np.where(is_gate, first_gate + wires - 1 - mine - yours + copy * gates, places)
    kinds = np.broadcast_to(circuit.gates[:, 0], (copies, gates))
    joined = [kinds, places[:, circuit.gates[:, 1]], places[:, circuit.gates[:, 2]]]
    table = np.stack(joined, axis=2).reshape(-1, 3).astype(np.uint32)
    outputs = tuple(map(Wire, places[:, list(circuit.outputs)].reshape(-1).tolist()))
    widths = circuit.garbler * copies, circuit.evaluator * copies
    return Circuit(*widths, circuit.coins * copies, table, outputs, 0)
