"""Hashes, garbles and evaluates a vector of gates in Python: slow, and not in constant time.

The tests hold the native kernels against these. Specification:
`specs/21-two-parties.md`, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB

from commitments.gates import Gates, Labels
from wire.errors import MalformedMessage, UsageError

BLOCK = 16
_END = 1 << 128


def hash_blocks(key: bytes, tweak: int, blocks: Labels, /) -> bytes:
    """The hash of every 16-byte block, the first one under the tweak, the next under tweak + 1."""
    hashed = _hash_under(key, tweak)
    return b"".join(
        _to_bytes(hashed(block, (tweak + i) % _END)) for i, block in enumerate(_integers(blocks))
    )


def garble_gates(key: bytes, tweak: int, gates: Gates, delta: Labels, labels: Labels, /) -> bytes:
    """Tables of the AND gates; the zero labels of all gates are filled in."""
    hashed, offsets, zero = _hash_under(key, tweak), _integers(delta), _integers(labels)
    if len(offsets) != 1:
        raise UsageError("the offset has 16 bytes")
    (offset,) = offsets
    tables = bytearray()
    for output, kind, left, right in _checked(gates, len(zero)):
        a, b = zero[left], zero[right]
        if kind == 0:
            zero[output] = a ^ b
            continue
        of_a, of_b = hashed(a, tweak), hashed(b, tweak + 1)
        garbler = of_a ^ hashed(a ^ offset, tweak) ^ offset * (b & 1)
        evaluator = of_b ^ hashed(b ^ offset, tweak + 1)
        tables += _to_bytes(garbler) + _to_bytes(evaluator ^ a)
        zero[output] = of_a ^ garbler * (a & 1) ^ of_b ^ evaluator * (b & 1)
        tweak += 2
    _store(labels, zero)
    return bytes(tables)


def evaluate_gates(key: bytes, tweak: int, gates: Gates, tables: bytes, labels: Labels, /) -> None:
    """The labels of all gates are filled in, given one label for each input."""
    hashed, active = _hash_under(key, tweak), _integers(labels)
    checked = list(_checked(gates, len(active)))
    if len(tables) != 2 * BLOCK * sum(kind for _, kind, _, _ in checked):
        raise MalformedMessage("every AND gate has a table of 32 bytes", "", 0)
    halves = iter(_integers(np.frombuffer(tables, np.uint8)))
    for output, kind, left, right in checked:
        a, b = active[left], active[right]
        if kind == 0:
            active[output] = a ^ b
            continue
        garbler, evaluator = next(halves), next(halves)
        of_a = hashed(a, tweak) ^ garbler * (a & 1)
        active[output] = of_a ^ hashed(b, tweak + 1) ^ (evaluator ^ a) * (b & 1)
        tweak += 2
    _store(labels, active)


def _hash_under(key: bytes, tweak: int) -> Callable[[int, int], int]:
    """H(x, i) = P(P(x) + i) + P(x) with + for exclusive or, P for AES-128 under the key."""
    if type(key) is not bytes or len(key) != BLOCK:
        raise UsageError("the key must have 16 bytes")
    if not 0 <= tweak < _END:
        raise UsageError("a tweak lies between 0 and 2^128 - 1")
    permute = Cipher(AES128(key), ECB()).encryptor().update  # noqa: S305 - one block, a permutation

    def hashed(block: int, tweak: int) -> int:
        inner = int.from_bytes(permute(_to_bytes(block)), "little")
        return inner ^ int.from_bytes(permute(_to_bytes(inner ^ tweak % _END)), "little")

    return hashed


def _checked(gates: Gates, wires: int) -> Iterator[tuple[int, int, int, int]]:
    """The wire, kind and inputs of every gate."""
    flat = gates.reshape(-1)
    if flat.size % 3 or flat.size // 3 > wires:
        raise UsageError("three words make a gate, and every gate has a wire")
    rows = flat.reshape(-1, 3).tolist()
    for output, (kind, left, right) in enumerate(rows, wires - len(rows)):
        if kind > 1 or max(left, right) >= output:
            raise UsageError("a gate is 0 (xor) or 1 (and) of two wires before it")
        yield output, kind, left, right


def _integers(labels: Labels) -> list[int]:
    data = labels.tobytes()
    if len(data) % BLOCK:
        raise UsageError("labels have 16 bytes each")
    return [int.from_bytes(data[i : i + BLOCK], "little") for i in range(0, len(data), BLOCK)]


def _to_bytes(block: int) -> bytes:
    return block.to_bytes(BLOCK, "little")


def _store(labels: Labels, values: list[int]) -> None:
    if not labels.flags.writeable:
        raise UsageError("labels are filled in: give a buffer that can be written")
    stored = np.frombuffer(b"".join(map(_to_bytes, values)), np.uint8)
    labels[...] = stored.reshape(labels.shape)
