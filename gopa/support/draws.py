"""Draws integers from a seed for simulations: equal on every machine, never for a secret.

Words of 64 bits are read off SHAKE-128, and everything else is made of them in integer
arithmetic. What is drawn does not depend on how much is asked for at a time.
Specification: `specs/17-graphs-and-clocks.md`, section 1.
"""

from __future__ import annotations

import hashlib
import math
import operator
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from wire.domains import DRAWS
from wire.errors import UsageError

Seed: TypeAlias = int | bytes
"""What a simulation starts from; a whole number and bytes never mean the same seed."""

Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]

_BLOCK: Final = 1024
"""Words that one call of the hash gives."""

_WORDS: Final = 2**64


class Draws:
    """One stream of random integers: that of a seed, for one purpose."""

    def __init__(self, seed: Seed, *purpose: str | int) -> None:
        first = seed if isinstance(seed, bytes) else _whole(seed)
        parts = [_part(each) for each in (first, *purpose)]
        self._hash = hashlib.shake_128(DRAWS + len(parts).to_bytes(4) + b"".join(parts))
        self._blocks = 0
        self._left: Words = np.empty(0, dtype=np.uint64)

    def words(self, count: int) -> Words:
        """The next words of 64 bits, each uniform."""
        missing = count - len(self._left)
        if missing > 0:
            fresh = [self._block() for _ in range(-(-missing // _BLOCK))]
            self._left = np.concatenate([self._left, *fresh])
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn

    def below(self, bound: int, count: int) -> Numbers:
        """Integers from 0 to `bound` - 1, exactly uniform: words that favour some are skipped."""
        if not 1 <= bound <= 2**63:
            raise UsageError("a bound lies between 1 and 2^63", "bound")
        largest = np.uint64(_WORDS - _WORDS % bound - 1)
        drawn = np.empty(0, dtype=np.uint64)
        while len(drawn) < count:
            fresh = self.words(count - len(drawn))
            fair = fresh[fresh <= largest]
            drawn = np.concatenate([drawn, fair]) if len(drawn) else fair
        return (drawn % np.uint64(bound)).astype(np.int64)

    def shared_out(self, thresholds: Words, count: int) -> Numbers:
        """Integers by the shares of `thresholds_of`, one word each."""
        found = np.searchsorted(thresholds, self.words(count), side="right")
        return np.asarray(found, dtype=np.int64)

    def order(self, count: int) -> Numbers:
        """All orders of the integers below `count` are equally likely."""
        while True:
            words = self.words(count)
            order = np.argsort(words, kind="stable")
            ordered = words[order]
            # Of two equal words the first would always come first.
            if not (ordered[1:] == ordered[:-1]).any():
                return order.astype(np.int64)

    def _block(self) -> Words:
        stream = self._hash.copy()
        stream.update(self._blocks.to_bytes(8))
        self._blocks += 1
        return np.frombuffer(stream.digest(8 * _BLOCK), dtype="<u8").astype(np.uint64)


def thresholds_of(weights: Sequence[float] | npt.NDArray[np.float64]) -> Words:
    """Cuts the words into one piece for each weight, which are as long as the weights tell.

    Threshold i is the floor of 2^64 times the share of the first i + 1 weights; the last one,
    2^64, and those of weights 0 behind it are left out. No probability is wrong by 2^-64 or
    more, and weight 0 is never drawn.
    """
    listed = _weights(weights)
    while not listed[-1]:
        listed.pop()
    ratios = [weight.as_integer_ratio() for weight in listed]
    scale = max(below for _, below in ratios)
    total, reached = sum(above * (scale // below) for above, below in ratios), 0
    thresholds = []
    for above, below in ratios[:-1]:
        reached += above * (scale // below)
        thresholds.append(_WORDS * reached // total)
    return np.array(thresholds, dtype=np.uint64)


def threshold_of(probability: float) -> int:
    """Words below this number have the probability, to 2^-64; 2^64 for probability 1."""
    if not 0 <= probability <= 1:
        raise UsageError("a probability lies between 0 and 1", "probability")
    above, below = float(probability).as_integer_ratio()
    return _WORDS * above // below


def _weights(weights: Sequence[float] | npt.NDArray[np.float64]) -> list[float]:
    listed = np.asarray(weights, dtype=np.float64)
    if listed.ndim != 1 or not len(listed):
        raise UsageError("weights are a list of at least one number", "weights")
    if not (np.isfinite(listed).all() and (listed >= 0).all() and listed.any()):
        raise UsageError("weights are finite, not negative, and not all 0", "weights")
    return [float(weight) for weight in listed]


def _part(value: str | int | bytes) -> bytes:
    """One part of what a stream is named by: its kind, its length and itself."""
    if isinstance(value, str):
        kind, body = b"s", value.encode()
    elif isinstance(value, bytes):
        kind, body = b"b", value
    else:
        number = _whole(value)
        kind, body = b"i", number.to_bytes(max(1, math.ceil(number.bit_length() / 8)))
    return kind + len(body).to_bytes(8) + body


def _whole(value: int) -> int:
    """A seed that is a number; what is no whole number would be rounded to another seed."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise UsageError("a seed is bytes, or a whole number that is not negative", "seed")
    return number
