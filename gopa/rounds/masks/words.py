"""Adds masks to long vectors of words, for the modes in which nothing is proved.

Arrays are changed in place and wrap: mod 2^32 or 2^64, and so mod every smaller power of
two to which they are packed. Specification: `specs/08-masks.md`, section 5.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments import ristretto255
from commitments.group import Group, Words
from gopa.contract.words import PackedWords, word_type
from gopa.rounds.masks.keys import EdgeContext, SelfContext, require_key
from gopa.rounds.masks.law import MaskLaw, UniformMask, require_law
from gopa.rounds.masks.self_masks import self_key
from wire.domains import (
    EDGE_HASH,
    EDGE_WORDS,
    SEED_HASH,
    SELF_WORDS,
    stream_domain,
)
from wire.secret import SecretBytes

Words64: TypeAlias = npt.NDArray[np.uint64]


def add_edge_words(
    array: Words,
    key: SecretBytes,
    sign: int,
    law: MaskLaw,
    *,
    group: Group | None = None,
) -> None:
    """Add (sign = 1) or subtract (sign = -1) the mask an edge key stands for, in place.

    Uniform masks are words of the array's size; Gaussian ones are the same integers for
    every size. `group` picks the backend whose streams are used, by default the active one.

    Raises:
        UsageError: the array is not writable, contiguous, one-dimensional and of 32- or
            64-bit integers; another sign, or a key that does not have 32 bytes.
    """
    require_key(key)
    require_law(law)
    group = ristretto255() if group is None else group
    stream = group.stream(key, stream_domain(EDGE_WORDS))
    law.add_words(group, stream, array, sign)


def add_self_words(
    array: Words,
    seed: SecretBytes,
    context: SelfContext,
    sign: int = 1,
    *,
    group: Group | None = None,
) -> None:
    """Add the uniform mask of a party's own seed, or take it away with sign = -1, in place.

    Raises:
        UsageError: as for `add_edge_words`.
    """
    group = ristretto255() if group is None else group
    group.stream(self_key(seed, context), stream_domain(SELF_WORDS)).add_to(array, sign)


def edge_words(key: SecretBytes, count: int, width: int, *, group: Group | None = None) -> Words64:
    """The uniform mask of an edge key, as integers of `width` bits.

    Raises:
        UsageError: a key that does not have 32 bytes, or a width that no word has.
    """
    words: PackedWords = np.zeros(count, word_type(width))
    add_edge_words(words, key, 1, UniformMask(), group=group)
    return _low_bits(words, width)


def self_words(
    seed: SecretBytes, context: SelfContext, count: int, width: int, *, group: Group | None = None
) -> Words64:
    """The mask of a party's own seed, as integers of `width` bits.

    Raises:
        UsageError: as for `edge_words`.
    """
    words: PackedWords = np.zeros(count, word_type(width))
    add_self_words(words, seed, context, group=group)
    return _low_bits(words, width)


def _low_bits(words: PackedWords, width: int) -> Words64:
    return words.astype(np.uint64) & np.uint64((1 << width) - 1)


def edge_key_hash(key: SecretBytes, context: EdgeContext) -> bytes:
    """32 bytes that commit to an edge key; both ends publish the same.

    The context is hashed with it: the hash of another edge, round or session commits to
    nothing here.

    Raises:
        UsageError: the key does not have 32 bytes.
    """
    return _hash(EDGE_HASH, context.session + context.to_bytes(), key)


def seed_hash(seed: SecretBytes, context: SelfContext) -> bytes:
    """32 bytes that commit a party to its seed, bound to its id, the round and the session.

    Raises:
        UsageError: the seed does not have 32 bytes.
    """
    return _hash(SEED_HASH, context.session + context.to_bytes(), seed)


def _hash(label: bytes, context: bytes, secret: SecretBytes) -> bytes:
    require_key(secret)
    return hashlib.sha256(label + context + secret.reveal()).digest()
