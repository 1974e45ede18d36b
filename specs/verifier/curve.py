"""One curve for two purposes: Ed25519 signatures (00, section 5) and ristretto255 (01)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import sha512
from itertools import accumulate
from typing import TypeAlias

from codec import refusing, require

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
"""The prime order of ristretto255, and L of Ed25519."""
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
"""A square root of -1."""

Point: TypeAlias = tuple[int, int, int, int]
"""X, Y, Z, T with x = X/Z, y = Y/Z and xy = T/Z on -x^2 + y^2 = 1 + D x^2 y^2."""
IDENTITY: Point = (0, 1, 1, 0)


def add(one: Point, other: Point) -> Point:
    """Complete addition (RFC 8032, section 5.1.4)."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * D % P * t2 % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


@lru_cache(4096)
def _multiples(point: Point) -> list[Point]:
    return list(accumulate([point] * 15, add, initial=IDENTITY))


def multi(terms: Iterable[tuple[int, Point]]) -> Point:
    """The sum of k P over all (k, P), four bits of every k at a time (Straus)."""
    tables = [(factor % Q, _multiples(point)) for factor, point in terms]
    total = IDENTITY
    for shift in range(252, -1, -4):
        for _ in range(4):
            total = add(total, total)
        for factor, table in tables:
            if digit := factor >> shift & 15:
                total = add(total, table[digit])
    return total


def same(one: Point, other: Point) -> bool:
    """Whether two points of ristretto255 are equal (RFC 9496, section 4.3.3)."""
    (x1, y1, *_), (x2, y2, *_) = one, other
    return (x1 * y2 - y1 * x2) % P == 0 or (y1 * y2 - x1 * x2) % P == 0


def _even(root: int) -> int:
    """The root that is not negative: RFC 9496 and RFC 8032 mean the even one."""
    return P - root if root & 1 else root


def square_root(u: int, v: int) -> tuple[bool, int]:
    """SQRT_RATIO_M1 of RFC 9496, section 4.2: the even root of u/v, or of ROOT u/v."""
    r = u * v**3 * pow(u * v**7 % P, (P - 5) // 8, P) % P
    check = v * r * r % P
    if check in {-u % P, -u * ROOT % P}:
        r = r * ROOT % P
    return check in {u % P, -u % P}, _even(r)


# ristretto255


@cache
def decode_point(data: bytes) -> Point:
    """01-G3, 01-G4; Wrong for other bytes and for the identity."""
    s = int.from_bytes(data, "little")
    require(len(data) == 32 and 0 < s < P and not s & 1)
    u1, u2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    square, inverse = square_root(1, v * u2 * u2 % P)
    x, y = _even(2 * s * inverse * u2 % P), u1 * inverse * inverse * u2 * v % P
    require(square and y and not x * y % P & 1)
    return x, y, 1, x * y % P


@refusing
def are_points(*encodings: bytes) -> bool:
    """Whether all are canonical points other than the identity."""
    return all(map(decode_point, encodings))


def encode_point(point: Point) -> bytes:
    """ENCODE of RFC 9496, section 4.3.2."""
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    inverse = square_root(1, u1 * u2 * u2)[1]
    one, two = inverse * u1 % P, inverse * u2 % P
    back = one * two * t % P
    if t * back % P & 1:
        x, y, two = y * ROOT, x * ROOT, one * square_root(1, -1 - D)[1]
    if x * back % P & 1:
        y = -y
    return _even(two * (z - y) % P).to_bytes(32, "little")


def decode_scalar(data: bytes) -> int:
    """01-G2."""
    value = int.from_bytes(data, "little")
    require(len(data) == 32 and value < Q)
    return value


def _map(t: int) -> Point:
    """MAP of RFC 9496, section 4.3.4."""
    r = ROOT * t * t % P
    u, v = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P
    square, s = square_root(u, v)
    s, c = (s, -1) if square else (-_even(s * t % P), r)
    n = (c * (r - 1) * (D - 1) ** 2 - v) % P
    root = -square_root(-D - 1, 1)[1]
    w = 2 * s * v % P, n * root % P, (1 - s * s) % P, (1 + s * s) % P
    return w[0] * w[3] % P, w[2] * w[1] % P, w[1] * w[3] % P, w[0] * w[2] % P


@cache
def base(family: bytes, index: int = 0, dimension: int = 0) -> Point:
    """01-B1, 01-B2."""
    name = bytes([len(family)]) + family + dimension.to_bytes(4) + index.to_bytes(4)
    tag = b"gopa/v1/commitments/generators"
    suffix = tag + bytes([len(tag)])
    first = sha512(bytes(128) + name + b"\x00\x40\x00" + suffix).digest()
    expanded = sha512(first + b"\x01" + suffix).digest()
    halves = [int.from_bytes(expanded[at : at + 32], "little") % 2**255 for at in (0, 32)]
    return add(_map(halves[0]), _map(halves[1]))


# Ed25519


@cache
def decode_key(data: bytes) -> Point:
    """00-E1 to 00-E4; Wrong for other bytes."""
    require(len(data) == 32)
    y, odd = int.from_bytes(data, "little") % 2**255, data[-1] >> 7
    require(y < P and not (odd and y in {1, P - 1}))
    square, x = square_root(y * y - 1, D * y * y + 1)
    require(square)
    x = P - x if odd else x
    point = x, y, 1, x * y % P
    x8, y8, z8, _ = _multiples(point)[8]
    require(x8 or y8 != z8)  # an order that divides 8
    return point


@refusing
def signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """00-E1 to 00-E8."""
    rx, ry, _, _ = decode_key(signature[:32])  # 00-E5, 00-E6; an R off the curve fails 00-E8
    x, y, _, t = decode_key(key)
    s = int.from_bytes(signature[32:], "little")
    require(len(signature) == 64 and s < Q)
    k = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % Q
    x, y, z, _ = multi([(s, GENERATOR), (k, (-x, y, 1, -t))])
    return (x - rx * z) % P == 0 == (y - ry * z) % P


GENERATOR = decode_key((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
"""B of Ed25519, which is also the generator of ristretto255."""
