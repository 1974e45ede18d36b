"""Derives seeds and the keys of streams, and reads exact parameters.

Specification: `specs/15-noise.md`, section 1.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from numbers import Integral, Real
from typing import Final

from commitments.group import Group, Stream
from wire.domains import NOISE_DRAWS, NOISE_KEY, NOISE_SEED, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

SEED_SIZE: Final = 32


def subseed(seed: int | str | bytes, *path: int | str | bytes) -> bytes:
    """The 32-byte seed of one use: different paths give seeds that say nothing of each other.

    Take `os.urandom(32)` as the seed where noise has to hide something: a number or a word
    can be guessed, and makes a simulation that anybody can repeat.

    Raises:
        UsageError: the seed or a part of the path is no integer, text or bytes.
    """
    parts = [_encoded(part) for part in (seed, *path)]
    count = len(parts).to_bytes(4)
    return hashlib.sha256(NOISE_SEED + count + b"".join(parts)).digest()


def stream_of(group: Group, seed: bytes, law: str) -> Stream:
    """The stream of the draws from the law of this name."""
    key = hashlib.sha256(NOISE_KEY + require_seed(seed) + law.encode()).digest()
    return group.stream(SecretBytes(key), stream_domain(NOISE_DRAWS))


def require_seed(seed: bytes) -> bytes:
    """The seed, if it has 32 bytes."""
    if type(seed) is not bytes or len(seed) != SEED_SIZE:
        message = "a seed has 32 bytes: os.urandom(32), or noise.subseed(7) to repeat a run"
        raise UsageError(message, "seed")
    return seed


def exact(value: object, low: Fraction, high: Fraction, field: str) -> Fraction:
    """The number that this one is written as, if it lies in [low, high]: 0.1 is one tenth."""
    require_real(value, field)
    try:
        number = Fraction(str(value))
    except ValueError:
        raise UsageError("must be a finite number", field) from None
    if not low <= number <= high:
        raise UsageError(f"must lie between {low} and {high}", field)
    return number


def require_real(value: object, field: str) -> None:
    """Raises `UsageError` for anything but a number on the real line, NaN and infinity included."""
    if isinstance(value, bool) or not isinstance(value, Real):
        message = f"must be an integer, a float or a Fraction, not {type(value).__name__}"
        raise UsageError(message, field)


def whole(value: object, low: int, field: str) -> int:
    """The integer, also one of numpy's, if it is at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise UsageError(f"must be an integer, {low} or more", field)
    return int(value)


def _encoded(part: object) -> bytes:
    if not isinstance(part, bool) and isinstance(part, Integral):
        number = int(part)
        return _framed(1, number.to_bytes(number.bit_length() // 8 + 1, signed=True))
    if isinstance(part, str):
        return _framed(2, part.encode(errors="surrogatepass"))
    if isinstance(part, bytes):
        return _framed(3, part)
    raise UsageError(f"must be integers, text or bytes, not {type(part).__name__}", "seed")


def _framed(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(8) + data
