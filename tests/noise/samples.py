"""Seeds, key streams told by another implementation, and chi-square against closed forms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

SEED = bytes(range(32))
MILLION = 10**6
UNLIKELY = 5.5
"""A right sampler's chi-square lies further above its mean, in deviations, once in 10^5 seeds."""


def uniform(key: bytes, label: bytes, count: int) -> list[int]:
    """The 128-bit integers of a stream, from RFC 8439 and the rules on domains alone."""
    nonce = hashlib.sha256(label).digest()[:12]
    data = Cipher(ChaCha20(key, bytes(4) + nonce), mode=None).encryptor().update(bytes(16 * count))
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, 16 * count, 16)]


def excess(drawn: Any, below: Callable[[float], float], ends: Sequence[int]) -> float:
    """Chi-square in the cells between these ends, in deviations above its mean.

    `below(x)` is the chance of less than x, for x halfway between integers.
    """
    ends = sorted(set(ends))
    counts = np.bincount(np.searchsorted(ends, drawn.ravel(), side="left"), minlength=len(ends) + 1)
    chances = [high - low for low, high in pairwise([0.0, *(below(e + 0.5) for e in ends), 1.0])]
    means = np.array(chances) * drawn.size
    assert means.min() > 20
    freedom = len(ends)
    return float(((counts - means) ** 2 / means).sum() - freedom) / float(np.sqrt(2 * freedom))
