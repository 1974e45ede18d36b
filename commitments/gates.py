"""What both backends compute over vectors of gates: hashes, garbled tables, labels.

Nothing here knows who garbles or why. Labels have 16 bytes each, little-endian, and the lowest bit
of a label is its select bit. A gate is three words: 0 (exclusive or) or 1 (and), and its two input
wires. Wires are numbered: inputs, then gates in order. Specification:
`specs/21-two-parties.md`, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import Group

Labels: TypeAlias = npt.NDArray[np.uint8]
Gates: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class GateKernels:
    """Hashes and half gates; on the native backend in time that depends on no label.

    hash_blocks(key, tweak, blocks): the hash of each block, under tweak, tweak + 1, ..
    garble_gates(key, tweak, gates, offset, labels): the tables; fills in the gates' zero labels.
    evaluate_gates(key, tweak, gates, tables, labels): fills in the gates' labels.
    """

    hash_blocks: Callable[[bytes, int, Labels], bytes]
    garble_gates: Callable[[bytes, int, Gates, Labels, Labels], bytes]
    evaluate_gates: Callable[[bytes, int, Gates, bytes, Labels], None]


def gate_kernels(group: Group) -> GateKernels:
    """The kernels of the backend that this group runs on."""
    if group.backend == "native":
        from commitments import native

        return GateKernels(native.hash_blocks, native.garble_gates, native.evaluate_gates)
    from commitments.reference import gates

    return GateKernels(gates.hash_blocks, gates.garble_gates, gates.evaluate_gates)
