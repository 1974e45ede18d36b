"""The rules E1 to E8 of specification 00, transcribed as slowly and plainly as possible.

An oracle that shares nothing with the library: orders are found by multiplying,
canonicity by encoding again.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point: TypeAlias = tuple[int, int]
IDENTITY: Point = (0, 1)


def add(p: Point, q: Point) -> Point:
    product = D * p[0] * q[0] * p[1] * q[1] % P
    x = (p[0] * q[1] + q[0] * p[1]) * pow(1 + product, -1, P) % P
    y = (p[1] * q[1] + p[0] * q[0]) * pow(1 - product, -1, P) % P
    return x, y


def multiply(scalar: int, point: Point) -> Point:
    result = IDENTITY
    for bit in f"{scalar:b}":
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def encode(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def lenient_decode(encoding: bytes) -> Point | None:
    """The point, if there is one; any y and any sign are taken."""
    sign, y = divmod(int.from_bytes(encoding, "little"), 2**255)
    y %= P
    x_squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x_squared, (P + 3) // 8, P)
    if x * x % P != x_squared:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != x_squared:
        return None
    return (P - x if x % 2 != sign else x) % P, y


def is_strict_point(encoding: bytes) -> bool:
    """Canonical, on the curve, and of an order that does not divide 8."""
    point = lenient_decode(encoding)
    return point is not None and encode(point) == encoding and multiply(8, point) != IDENTITY


def accepts(key: bytes, message: bytes, signature: bytes) -> bool:
    if len(key) != 32 or len(signature) != 64:  # E1
        return False
    R, S = signature[:32], int.from_bytes(signature[32:], "little")
    if not is_strict_point(key) or not is_strict_point(R):  # E2 to E6
        return False
    if S >= L:  # E7
        return False
    A = lenient_decode(key)
    assert A is not None
    minus_A = (P - A[0], A[1])
    return encode(add(multiply(S, BASE), multiply(challenge(R, key, message), minus_A))) == R  # E8


def challenge(R: bytes, key: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(R + key + message).digest(), "little") % L


def _point(y: int) -> Point:
    point = lenient_decode(y.to_bytes(32, "little"))
    assert point is not None
    return point


BASE = _point(4 * pow(5, -1, P) % P)


def torsion() -> list[Point]:
    """The eight points whose order divides 8, multiples of one of order 8."""
    y = next(y for y in range(2, 100) if multiply(4, _torsion_part(y)) != IDENTITY)
    generator = _torsion_part(y)
    return [multiply(k, generator) for k in range(8)]


def _torsion_part(y: int) -> Point:
    point = lenient_decode(y.to_bytes(32, "little"))
    return IDENTITY if point is None else multiply(L, point)


def encodings(point: Point) -> list[bytes]:
    """Every 32-byte string that a lenient decoder takes for the point."""
    ys = [y for y in (point[1], point[1] + P) if y < 2**255]
    signs = [0, 1] if point[0] == 0 else [point[0] & 1]
    return [(y | sign << 255).to_bytes(32, "little") for y in ys for sign in signs]
