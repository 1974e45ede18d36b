"""What `specs/vectors/two_party.json` holds: hashes, gates, circuits, noise and whole runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from commitments import ristretto255
from commitments.gates import gate_kernels
from commitments.group import Group
from gopa.twoparty import (
    Circuit,
    Evaluator,
    Garbler,
    comparison,
    concordance,
    distance,
    equality,
    laplace_noise,
    randomised_answer,
)
from tests.randomness import seeded
from tests.twoparty.runs import Pair

KEY = bytes(range(16))
FIPS_197 = bytes.fromhex("00112233445566778899aabbccddeeff")
CIRCUITS = {
    "comparison 16": comparison(16),
    "equality 9": equality(9),
    "distance 5": distance(5),
    "concordance 3": concordance(3),
    "comparison 6, 2 answers, epsilon 1": comparison(6, randomised_answer(2, 1)),
    "concordance 3, 3 answers, epsilon 1/2": concordance(3, randomised_answer(3, Fraction(1, 2))),
    "distance 4, Laplace 2": distance(4, laplace_noise(2)),
}


def records(group: Group | None = None) -> dict[str, object]:
    """The content of the vector file, computed on one backend."""
    made = ristretto255() if group is None else group
    return {
        "format": "byte strings in hexadecimal, large integers in decimal strings",
        "hashes": [_hash(made, tweak) for tweak in (0, 1, 2**128 - 1)],
        "gates": _gates(made),
        "circuits": [_circuit(name, circuit) for name, circuit in CIRCUITS.items()],
        "answers": [_answer(values, epsilon) for values in (2, 3, 7) for epsilon in ("1", "5/2")],
        "laplace": [_laplace(scale) for scale in ("1/2", "1", "7/3", "100")],
        "runs": [
            _run(made, comparison(4), [9], [12], whole=True),
            _run(made, concordance(3), [1, 5], [2, 4], whole=False),
            _run(made, distance(4, laplace_noise(2)), [3], [11], whole=False),
        ],
    }


def _hash(group: Group, tweak: int) -> dict[str, str]:
    block = np.frombuffer(FIPS_197, np.uint8)
    hashed = gate_kernels(group).hash_blocks(KEY, tweak, block.copy())
    return {
        "key": KEY.hex(),
        "tweak": str(tweak),
        "block": FIPS_197.hex(),
        "hash": hashed.hex(),
    }


def _gates(group: Group) -> dict[str, Any]:
    """Both kinds of gates, with an input that is used twice."""
    kernels, rng = gate_kernels(group), seeded("vectors of gates")
    gates = [[1, 0, 1], [0, 3, 2], [1, 4, 4], [1, 0, 5], [0, 6, 6]]
    labels = np.zeros((8, 16), np.uint8)
    labels[:3] = np.frombuffer(rng(48), np.uint8).reshape(3, 16)
    offset = np.frombuffer(rng(16), np.uint8).copy()
    offset[0] |= 1
    words = np.array(gates, np.uint32).reshape(-1)
    tables = kernels.garble_gates(KEY, 5, words, offset, labels)
    active = labels.copy()
    active[0] ^= offset
    active[2] ^= offset
    active[3:] = 0
    kernels.evaluate_gates(KEY, 5, words, tables, active)
    return {
        "key": KEY.hex(),
        "tweak": "5",
        "gates": gates,
        "offset": offset.tobytes().hex(),
        "zero_labels": [label.tobytes().hex() for label in labels],
        "tables": tables.hex(),
        "labels_for_1_0_1": [label.tobytes().hex() for label in active],
    }


def _circuit(name: str, circuit: Circuit) -> dict[str, object]:
    return {
        "name": name,
        "coins": circuit.coins,
        "gates": len(circuit.gates),
        "ands": circuit.ands,
        "outputs": len(circuit.outputs),
        "low": circuit.low,
        "digest": circuit.digest.hex(),
    }


def _answer(values: int, epsilon: str) -> dict[str, object]:
    law = randomised_answer(values, Fraction(epsilon), coins=40)
    return {"values": values, "epsilon": epsilon, "coins": 40, "other": str(law.numerator)}


def _laplace(scale: str) -> dict[str, object]:
    law = laplace_noise(Fraction(scale))
    return {
        "scale": scale,
        "magnitude": law.magnitude,
        "coins": law.coins,
        "ones": [str(numerator) for numerator in law.numerators],
    }


class _Drawn:
    """A source that writes down what it gave."""

    def __init__(self, seed: str) -> None:
        self._rng = seeded(seed)
        self.given: list[str] = []

    def __call__(self, count: int) -> bytes:
        data = self._rng(count)
        self.given.append(data.hex())
        return data


def _run(
    group: Group, circuit: Circuit, mine: Sequence[int], yours: Sequence[int], *, whole: bool
) -> dict[str, object]:
    """The messages of a run; of a long one their hashes."""
    name, context = circuit.digest.hex()[:8], b"round 7, users 3 and 8"
    drawn = _Drawn(f"garbler {name}"), _Drawn(f"evaluator {name}")
    parties = Pair(
        Garbler(circuit, mine, context=context, rng=drawn[0], group=group),
        Evaluator(circuit, yours, context=context, rng=drawn[1], group=group),
    )
    frames = [frame for _, frame in parties.messages()]
    shown = frames if whole else [hashlib.sha256(frame).digest() for frame in frames]
    return {
        "circuit": circuit.digest.hex(),
        "context": context.hex(),
        "garbler": list(mine),
        "evaluator": list(yours),
        "garbler_draws": drawn[0].given,
        "evaluator_draws": drawn[1].given,
        "messages" if whole else "sha256_of_messages": [frame.hex() for frame in shown],
        "bytes": [len(frame) for frame in frames],
        "result": parties.garbler.result,
    }
