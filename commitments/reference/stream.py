"""Deterministic streams of secret values: ChaCha20 (RFC 8439), and draws from exact tables."""

from __future__ import annotations

import builtins
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from commitments.group import WideTable, Words
from commitments.reference.arguments import count, integer, integer_buffer
from commitments.reference.bigint import mpz
from commitments.reference.curve import Curve
from commitments.reference.scalar_vectors import ReferenceScalarVec, ReferenceSecretScalarVec
from wire.errors import UsageError
from wire.secret import SecretBytes, refuse

DRAW_SIZE: Final = 16
_RANGE: Final = 1 << 128
_LARGEST_RADIUS: Final = 2**31 - 1


class ReferenceWideTable:
    """`commitments.group.WideTable` in Python."""

    __slots__ = ("_bounds", "_radius")

    def __init__(self, lower: Sequence[int]) -> None:
        try:
            bounds = [integer(bound, "a bound of a wide table") for bound in lower]
        except TypeError:
            raise UsageError("a wide table is made from a sequence of integers") from None
        if not 1 <= len(bounds) <= _LARGEST_RADIUS:
            raise UsageError("a wide table has at least one and below 2^31 lower bounds")
        rising = all(low <= high for low, high in pairwise(bounds))
        if not (bounds[0] >= 1 and bounds[-1] <= _RANGE // 2 and rising):
            raise UsageError("the lower bounds of a wide table rise from 1 or more to 2^127")
        self._radius = len(bounds)
        self._bounds = bounds + [_RANGE - bound for bound in reversed(bounds)]

    @property
    def radius(self) -> int:
        """Draws lie in -radius .. radius."""
        return self._radius

    def draws(self, data: bytes) -> Iterator[int]:
        """One value for every 16 bytes."""
        for start in range(0, len(data), DRAW_SIZE):
            draw = int.from_bytes(data[start : start + DRAW_SIZE], "little")
            yield bisect_right(self._bounds, draw) - self._radius

    def __repr__(self) -> str:
        return f"<WideTable: radius {self._radius}>"


def reference_table(table: WideTable) -> ReferenceWideTable:
    """The table, if it is one of this backend."""
    if isinstance(table, ReferenceWideTable):
        return table
    raise UsageError(f"expected a wide table of the reference backend, not {type(table).__name__}")


SEED_SIZE: Final = 32
DOMAIN_SIZE: Final = 12
_CAPACITY: Final = 64 << 32
_UNIFORM_SIZE: Final = 64
_CHUNK_BYTES: Final = 1 << 20


class ReferenceStream:
    """`commitments.group.Stream` in Python. One thread at a time.

    A call that raises takes nothing from the stream.
    """

    __slots__ = ("_cipher", "_curve", "_left")

    def __init__(self, curve: Curve, seed: SecretBytes, domain: bytes) -> None:
        if not isinstance(seed, SecretBytes) or len(seed) != SEED_SIZE:
            raise UsageError(f"the seed of a stream is SecretBytes of {SEED_SIZE} bytes")
        if not isinstance(domain, bytes) or len(domain) != DOMAIN_SIZE:
            raise UsageError(f"the domain of a stream has {DOMAIN_SIZE} bytes")
        # The library takes the 32-bit little-endian block counter as part of its nonce.
        algorithm = ChaCha20(seed.reveal(), bytes(4) + domain)
        self._cipher = Cipher(algorithm, mode=None).encryptor()
        self._curve = curve
        self._left = _CAPACITY

    def bytes(self, n: int, /) -> bytes:
        return self._take(count(n))

    def scalars(self, n: int, /) -> ReferenceSecretScalarVec:
        data = self._take(_UNIFORM_SIZE * count(n))
        return ReferenceScalarVec(
            self._curve, reduce_wide(data, _UNIFORM_SIZE, self._curve.order)
        ).secret()

    def bits(self, width: int, n: int, /) -> list[int]:
        width = integer(width, "the width")
        if not 1 <= width <= 64:
            raise UsageError("the width must lie in 1..64")
        values: list[int] = self._words(width, count(n)).tolist()
        return values

    def permutation(self, n: int, /) -> builtins.bytes:
        if count(n) > 1 << 31:
            raise UsageError("a permutation has at most 2^31 places")
        places = list(range(n))
        for last in range(len(places) - 1, 0, -1):
            unbiased = (1 << 32) - (1 << 32) % (last + 1)
            while (draw := int.from_bytes(self._take(4), "little")) >= unbiased:
                pass
            chosen = draw % (last + 1)
            places[last], places[chosen] = places[chosen], places[last]
        return np.array(places, np.uint32).tobytes()

    def add_to(self, array: Words, sign: int, /) -> None:
        sign, target = _sign(sign), _writable_words(array)
        size = target.itemsize
        self._require(size * len(target))
        step = _CHUNK_BYTES // size
        for start in range(0, len(target), step):
            part = target[start : start + step]
            words = np.frombuffer(self._take(size * len(part)), dtype=f"<u{size}")
            _add(part, words, sign)

    def wide_table_draws(self, table: WideTable, n: int, /) -> list[int]:
        rows = reference_table(table)
        return list(rows.draws(self._take(DRAW_SIZE * count(n))))

    def wide_table_scalars(self, table: WideTable, n: int, /) -> ReferenceSecretScalarVec:
        order = self._curve.order
        draws = self.wide_table_draws(table, n)
        return ReferenceScalarVec(self._curve, tuple(mpz(draw % order) for draw in draws)).secret()

    def add_wide_draws_to(self, array: Words, sign: int, table: WideTable, /) -> None:
        rows, sign, target = reference_table(table), _sign(sign), _writable_words(array)
        self._require(DRAW_SIZE * len(target))
        step = _CHUNK_BYTES // DRAW_SIZE
        for start in range(0, len(target), step):
            part = target[start : start + step]
            draws = rows.draws(self._take(DRAW_SIZE * len(part)))
            _add(part, np.fromiter(draws, dtype=np.int64).astype(part.dtype), sign)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse("pickled or copied")

    def _words(self, width: int, n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Integers of `width` bits, each from its own whole bytes."""
        size = (width + 7) // 8
        data = np.frombuffer(self._take(size * n), dtype=np.uint8)
        padded = np.zeros((n, 8), dtype=np.uint8)
        padded[:, :size] = data.reshape(n, size)
        words = padded.reshape(-1).view("<u8").astype(np.uint64)
        return words & np.uint64((1 << width) - 1)

    def _take(self, n: int) -> builtins.bytes:
        self._require(n)
        taken = self._cipher.update(bytes(n))
        self._left -= n
        return taken

    def _require(self, n: int) -> None:
        if n > self._left:
            raise UsageError("a stream ends after 2^32 blocks; use another seed or domain")


def _writable_words(array: object) -> np.ndarray[Any, Any]:
    """The buffer as unsigned words, whose arithmetic wraps."""
    target = integer_buffer(array)
    if target is None:
        raise UsageError(f"expected a buffer of integers, not {type(array).__name__}")
    if not target.flags.writeable or not target.flags.c_contiguous:
        raise UsageError("the buffer must be writable and C-contiguous")
    return target.view(f"=u{target.itemsize}")


def _sign(sign: int) -> int:
    sign = integer(sign, "the sign")
    if sign not in {1, -1}:
        raise UsageError("the sign must be 1 or -1")
    return sign


def _add(part: np.ndarray[Any, Any], words: np.ndarray[Any, Any], sign: int) -> None:
    """Add words in place, with this sign; unsigned words wrap."""
    if sign == 1:
        part += words
    else:
        part -= words


def reduce_wide(data: bytes, width: int, order: int) -> tuple[int, ...]:
    """Consecutive little-endian integers of `width` bytes, mod the order."""
    return tuple(
        mpz(int.from_bytes(data[start : start + width], "little") % order)
        for start in range(0, len(data), width)
    )
