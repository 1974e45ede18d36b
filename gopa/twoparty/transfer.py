"""Transfers one of two keys obliviously: a few by points, many by hashes behind a few.

Both parties are honest but curious. Specification: `specs/21-two-parties.md`,
section 4.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from commitments import derive_generators
from commitments.gates import Labels
from commitments.group import FixedBases, Group, Point, PointVec, SecretScalar, SecretScalarVec
from gopa.twoparty.circuits import Bits
from gopa.twoparty.labels import BLOCK, add_where, erasing
from wire.domains import TWO_PARTY_COLUMN, TWO_PARTY_TRANSFER
from wire.randomness import Rng

FAMILY: Final = b"two-party/transfer"
COLUMNS: Final = 8 * BLOCK
"""From this many transfers on, hashes make all of them out of this many by points."""


class BaseReceiver:
    """The receiver of one key of each pair: the one that its choice bit names."""

    __slots__ = ("_exponents", "_group", "message")

    def __init__(self, group: Group, choices: Bits, rng: Rng) -> None:
        self._group = group
        self._exponents: SecretScalarVec = group.random_scalars(len(choices), rng)
        words = choices.astype(np.int64)
        hidden = group.secret_scalars(words)
        words.fill(0)
        self.message = _bases(group).combine(self._exponents, hidden).to_bytes()
        """A point for each choice, uniform whatever the choice is."""

    def keys(self, conversation: bytes, sender: Point) -> Labels:
        """The chosen keys, given the sender's point."""
        repeated = self._group.points([sender] * len(self._exponents))
        shared = repeated * self._exponents
        return _hashed(self._group, conversation, sender, self.message, shared)


class BaseSender:
    """The sender with two keys for each transfer, of which the receiver learns one."""

    __slots__ = ("_exponent", "_group", "point")

    def __init__(self, group: Group, rng: Rng) -> None:
        self._group = group
        self._exponent: SecretScalar = group.random_scalars(1, rng)[0]
        self.point: Point = group.generator * self._exponent

    def keys(self, conversation: bytes, received: bytes) -> tuple[Labels, Labels]:
        """The keys of the choices 0 and 1.

        Raises:
            MalformedMessage: the receiver's points do not decode.
        """
        group = self._group
        points = group.decode_points(received, len(received) // group.point_size)
        zero = points * self._exponent
        one = zero - _offset_base(group) * self._exponent
        made = (_hashed(group, conversation, self.point, received, each) for each in (zero, one))
        return next(made), next(made)


def extend_as_receiver(
    conversation: bytes, keys: tuple[Labels, Labels], choices: Bits
) -> tuple[Labels, bytes]:
    """A label for each choice bit, and the columns that the sender needs for both of its own."""
    size = -(-len(choices) // 8)
    with erasing() as secret:
        zero, one = (secret(_columns(conversation, each, size)) for each in keys)
        one ^= zero
        one ^= secret(np.packbits(choices, bitorder="little"))
        return _rows(zero, len(choices)), one.tobytes()


def extend_as_sender(
    conversation: bytes, keys: Labels, chosen: Bits, sent: bytes, count: int
) -> Labels:
    """The zero labels: the receiver has them, plus the offset where its choice bit is 1.

    `chosen` are the bits of the offset, `keys` those that they chose.
    """
    size = -(-count // 8)
    with erasing() as secret:
        columns = secret(_columns(conversation, keys, size))
        add_where(columns, chosen, np.frombuffer(sent, np.uint8).reshape(COLUMNS, size))
        return _rows(columns, count)


def _columns(conversation: bytes, keys: Labels, size: int) -> npt.NDArray[np.uint8]:
    """A row of so many pseudorandom bytes for each key."""
    start = hashlib.shake_128(TWO_PARTY_COLUMN + conversation)
    rows = np.empty((len(keys), size), np.uint8)
    for index, key in enumerate(keys):
        state = start.copy()
        state.update(index.to_bytes(4) + key.tobytes())
        rows[index] = np.frombuffer(state.digest(size), np.uint8)
    return rows


def _rows(columns: npt.NDArray[np.uint8], count: int) -> Labels:
    """The transposed bits: label i is made of bit i of all columns."""
    with erasing() as secret:
        bits = secret(np.unpackbits(columns, axis=1, count=count, bitorder="little"))
        turned = secret(np.ascontiguousarray(bits.T))
        return np.packbits(turned, axis=1, bitorder="little")


def _hashed(
    group: Group, conversation: bytes, sender: Point, received: bytes, shared: PointVec
) -> Labels:
    """One key for each shared point."""
    size = group.point_size
    start = hashlib.sha256(TWO_PARTY_TRANSFER + conversation + sender.to_bytes())
    points = shared.to_bytes()
    keys = bytearray(BLOCK * len(shared))
    for index in range(len(shared)):
        state, place = start.copy(), slice(size * index, size * (index + 1))
        state.update(index.to_bytes(4) + received[place] + points[place])
        keys[BLOCK * index : BLOCK * (index + 1)] = state.digest()[:BLOCK]
    return np.frombuffer(keys, np.uint8).reshape(-1, BLOCK)


def _offset_base(group: Group) -> Point:
    """A point whose discrete logarithm nobody knows."""
    return derive_generators(group, FAMILY, 1)[0]


@lru_cache(maxsize=4)
def _bases(group: Group) -> FixedBases:
    return group.fixed_bases(group.points([group.generator, _offset_base(group)]))
