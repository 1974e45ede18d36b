"""One curve for two purposes: Ed25519 signatures (00, section 5) and ristretto255 (01)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha512
from typing import TypeAlias

from codec import Malformed

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


def double(point: Point) -> Point:
    """The point added to itself, faster."""
    x, y, z, _ = point
    a, b, c = x * x % P, y * y % P, 2 * z * z % P
    h, g = a + b, a - b
    e, f = h - (x + y) ** 2 % P, c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def negative(point: Point) -> Point:
    """The inverse."""
    return -point[0] % P, point[1], point[2], -point[3] % P


def multi(terms: Iterable[tuple[int, Point]]) -> Point:
    """The sum of k P over all (k, P), with one doubling for all points (Straus)."""
    digits: list[list[Point]] = [[] for _ in range(64)]
    for factor, point in terms:
        left, table = factor % Q, [IDENTITY, point]
        for digit in digits:
            while len(table) <= left & 15:
                table.append(add(table[-1], point))
            if left & 15:
                digit.append(table[left & 15])
            left >>= 4
    total = IDENTITY
    for digit in reversed(digits):
        for _ in range(4):
            total = double(total)
        for point in digit:
            total = add(total, point)
    return total


def is_zero(point: Point) -> bool:
    """Whether a sum of ristretto255 points is the identity (RFC 9496, section 4.3.3)."""
    return point[0] == 0 or point[1] == 0


def square_root(u: int, v: int) -> tuple[bool, int]:
    """SQRT_RATIO_M1 of RFC 9496, section 4.2: the even root of u/v, or of ROOT u/v."""
    r = u * v**3 * pow(u * v**7 % P, (P - 5) // 8, P) % P
    check = v * r * r % P
    if check in {-u % P, -u * ROOT % P}:
        r = r * ROOT % P
    return check in {u % P, -u % P}, min(r, P - r, key=lambda root: root & 1)


# ristretto255


@cache
def decode_point(data: bytes) -> Point:
    """[G3], [G4] of 01; Malformed for other bytes and for the identity."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or s & 1 or not s:
        raise Malformed("a canonical encoding of a point other than the identity")
    u1, u2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    square, inverse = square_root(1, v * u2 * u2 % P)
    x = 2 * s * inverse * u2 % P
    x = min(x, P - x, key=lambda root: root & 1)
    y = u1 * inverse * inverse * u2 * v % P
    t = x * y % P
    if not square or t & 1 or not y:
        raise Malformed("a point of ristretto255")
    return x, y, 1, t


def decode_scalar(data: bytes) -> int:
    """[G2] of 01."""
    value = int.from_bytes(data, "little")
    if len(data) != 32 or value >= Q:
        raise Malformed("a canonical scalar")
    return value


def _map(t: int) -> Point:
    """MAP of RFC 9496, section 4.3.4."""
    r = ROOT * t * t % P
    u, v = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P
    square, s = square_root(u, v)
    if not square:
        s = s * t % P
        s = max(s, P - s, key=lambda root: root & 1)
    n = ((-1 if square else r) * (r - 1) * (D - 1) ** 2 - v) % P
    root = P - square_root(-D - 1, 1)[1]
    w = 2 * s * v % P, n * root % P, (1 - s * s) % P, (1 + s * s) % P
    return w[0] * w[3] % P, w[2] * w[1] % P, w[1] * w[3] % P, w[0] * w[2] % P


@cache
def base(family: bytes, index: int = 0, dimension: int = 0) -> Point:
    """[B1], [B2] of 01."""
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
    """[E1] to [E4] of 00; Malformed for other bytes."""
    y = int.from_bytes(data, "little") % 2**255
    odd = data[-1] >> 7
    if len(data) != 32 or y >= P or (odd and y in {1, P - 1}):
        raise Malformed("a canonical encoding of a key")
    square, x = square_root(y * y - 1, D * y * y + 1)
    if not square:
        raise Malformed("a key on the curve")
    x = P - x if odd else x
    point = x, y, 1, x * y % P
    eight = double(double(double(point)))
    if eight[0] == 0 and eight[1] == eight[2]:
        raise Malformed("a key whose order does not divide 8")
    return point


def signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """[E1] to [E8] of 00."""
    try:
        decode_key(signature[:32])  # [E5], [E6]; an R off the curve fails [E8]
        point = decode_key(key)
    except (Malformed, IndexError):
        return False
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= Q:
        return False
    k = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % Q
    x, y, z, _ = multi([(s, GENERATOR), (k, negative(point))])
    inverse = pow(z, -1, P)
    encoded = y * inverse % P + ((x * inverse % P & 1) << 255)
    return encoded.to_bytes(32, "little") == signature[:32]


GENERATOR = decode_key((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
"""B of Ed25519, which is also the generator of ristretto255."""
