"""The kernels over vectors of gates: their definition, and that both backends agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from commitments.gates import GateKernels, gate_kernels
from gopa import MalformedMessage, UsageError
from tests.group.backends import installed_groups
from tests.randomness import seeded

GROUPS = installed_groups()
KERNELS = {group.backend: gate_kernels(group) for group in GROUPS}
KEY = bytes(range(16))
BOTH = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)


def blocks(seed: str, count: int) -> Any:
    return np.frombuffer(seeded(seed)(16 * count), np.uint8).reshape(-1, 16).copy()


def offset_of(seed: str) -> Any:
    found = blocks(seed, 1)[0]
    found[0] |= 1
    return found


def random_gates(inputs: int, count: int, seed: int) -> Any:
    """Gates of both kinds, each of any two wires before it."""
    draws = np.random.default_rng(seed)
    rows = [(k % 3 > 0, *draws.integers(0, inputs + k, 2)) for k in range(count)]
    return np.array(rows, np.uint32).reshape(-1)


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)  # noqa: S305


def test_the_cipher_is_that_of_fips_197() -> None:
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes(KEY, plain).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@BOTH
def test_the_hash_is_its_definition(kernels: GateKernels) -> None:
    """H(x, i) = P(P(x) + i) + P(x); with tweak 0 the inner block of FIPS 197 shows."""
    given, first = blocks("hash", 20), 2**128 - 7
    hashed = kernels.hash_blocks(KEY, first, given)
    for index, block in enumerate(given):
        inner = int.from_bytes(aes(KEY, block.tobytes()), "little")
        tweaked = inner ^ (first + index) % 2**128
        outer = int.from_bytes(aes(KEY, tweaked.to_bytes(16, "little")), "little")
        assert hashed[16 * index : 16 * index + 16] == (outer ^ inner).to_bytes(16, "little")
    plain = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8)
    inner_block = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")
    expected = bytes(a ^ b for a, b in zip(aes(KEY, inner_block), inner_block, strict=True))
    assert kernels.hash_blocks(KEY, 0, plain.copy()) == expected


@BOTH
def test_labels_follow_the_values(kernels: GateKernels) -> None:
    inputs, count = 10, 300
    gates, offset = random_gates(inputs, count, 5), offset_of("offset")
    zero = np.zeros((inputs + count, 16), np.uint8)
    zero[:inputs] = blocks("labels", inputs)
    tables = kernels.garble_gates(KEY, 9, gates, offset, zero)
    assert len(tables) == 32 * int(gates.reshape(-1, 3)[:, 0].sum())
    for trial in range(20):
        values = list(np.random.default_rng(trial).integers(0, 2, inputs))
        for kind, left, right in gates.reshape(-1, 3).tolist():
            values.append(values[left] & values[right] if kind else values[left] ^ values[right])
        active = np.zeros_like(zero)
        active[:inputs] = zero[:inputs] ^ np.array(values[:inputs], np.uint8)[:, None] * offset
        kernels.evaluate_gates(KEY, 9, gates, tables, active)
        assert (active == zero ^ np.array(values, np.uint8)[:, None] * offset).all()


@pytest.mark.skipif(len(KERNELS) < 2, reason="needs both backends")
def test_backends_agree() -> None:
    results = []
    for kernels in KERNELS.values():
        gates, offset = random_gates(7, 500, 6), offset_of("other")
        labels = np.zeros((507, 16), np.uint8)
        labels[:7] = blocks("seven", 7)
        tables = kernels.garble_gates(KEY, 2**127, gates, offset, labels)
        active = labels.copy()
        active[7:] = 0
        kernels.evaluate_gates(KEY, 2**127, gates, tables, active)
        hashed = kernels.hash_blocks(KEY, 3, labels)
        results.append((tables, labels.tobytes(), active.tobytes(), hashed))
    assert results[0] == results[1]


@BOTH
def test_wrong_arguments_are_refused(kernels: GateKernels) -> None:
    offset, gates = offset_of("offset"), np.array([1, 0, 1], np.uint32)
    labels = blocks("labels", 3)
    tables = kernels.garble_gates(KEY, 0, gates, offset, labels)
    kernels.evaluate_gates(KEY, 0, gates, tables, labels)
    for wrong in ([2, 0, 1], [1, 0, 2], [1, 3, 0], [0, 1], [1, 2, 2]):
        with pytest.raises(UsageError):
            kernels.garble_gates(KEY, 0, np.array(wrong, np.uint32), offset, labels)
        with pytest.raises(UsageError):
            kernels.evaluate_gates(KEY, 0, np.array(wrong, np.uint32), tables, labels)
    for cut in (tables[:-1], tables + tables, b"", tables + b"\0"):
        with pytest.raises(MalformedMessage):
            kernels.evaluate_gates(KEY, 0, gates, cut, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, offset, labels.reshape(-1)[:47])
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, np.tile(gates, 4), offset, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY[:15], 0, gates, offset, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, labels, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, -1, gates, offset, labels)
    labels.flags.writeable = False
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, offset, labels)


@BOTH
def test_labels_that_are_cut_or_mixed_up_do_not_decode(kernels: GateKernels) -> None:
    with pytest.raises(UsageError):
        kernels.hash_blocks(KEY, 0, np.zeros(17, np.uint8))
    assert kernels.hash_blocks(KEY, 0, np.zeros(0, np.uint8)) == b""
