"""Computes in ristretto255 (RFC 9496), in extended twisted Edwards coordinates (X, Y, Z, T).

x = X / Z, y = Y / Z, x * y = T / Z on the curve -x^2 + y^2 = 1 + d x^2 y^2.
Coordinates of elements are reduced mod p. An addend is (y + x, y - x, 2 d x y)
of the affine point, not reduced. Nothing here is constant-time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from commitments.reference.bigint import invert_all, mpz, powmod
from commitments.reference.curve import Addend, Element

P: Final = mpz(2**255 - 19)
D: Final = mpz(37095705934669439343138083508754565189542113879843219016388785533085940283555)

# RFC 9496, section 4.1. Each is one of two square roots; the map and the encoding
# depend on which, so they are stated rather than computed.
SQRT_M1: Final = mpz(19681161376707505956807079304988542015446066515923890162744021073123829784752)
SQRT_AD_MINUS_ONE: Final = mpz(
    25063068953384623474111414158702152701244531502492656460079210482610430750235
)
INVSQRT_A_MINUS_D: Final = mpz(
    54469307008909316920995813868745141605393597292927456921205312896311721017578
)
ONE_MINUS_D_SQ: Final = (1 - D * D) % P
D_MINUS_ONE_SQ: Final = (D - 1) ** 2 % P

_ROOT_EXPONENT: Final = (P - 5) // 8
_TWICE_D: Final = 2 * D % P
_LOW_255_BITS: Final = 2**255 - 1
_IDENTITY: Final[Element] = (mpz(0), mpz(1), mpz(1), mpz(0))
_GENERATOR_BYTES: Final = bytes.fromhex(
    "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"
)


def _magnitude(value: int) -> int:
    """The one of value and -value that is even, where "even" means non-negative."""
    return P - value if value & 1 else value


def sqrt_ratio(numerator: int, denominator: int) -> tuple[bool, int]:
    """SQRT_RATIO_M1 of RFC 9496, section 4.2.

    Returns:
        True and the non-negative root of numerator / denominator, or False and
        the non-negative root of SQRT_M1 * numerator / denominator if the ratio is
        not a square. A zero denominator gives a zero root.
    """
    v3 = denominator * denominator % P * denominator % P
    v7 = v3 * v3 % P * denominator % P
    root = numerator * v3 % P * powmod(numerator * v7 % P, _ROOT_EXPONENT, P) % P
    check = denominator * root % P * root % P
    target = numerator % P
    if check == target:
        return True, _magnitude(root)
    root_of_minus_one_off = root * SQRT_M1 % P
    if check == (-target) % P:
        return True, _magnitude(root_of_minus_one_off)
    if check == (-target * SQRT_M1) % P:
        return False, _magnitude(root_of_minus_one_off)
    return False, _magnitude(root)


def _decode(data: bytes) -> Element | None:
    """RFC 9496, section 4.3.1."""
    s = mpz(int.from_bytes(data, "little"))
    if len(data) != 32 or s >= P or s & 1:
        return None
    square = s * s % P
    u1 = 1 - square
    u2 = 1 + square
    u2_square = u2 * u2 % P
    v = (-D * (u1 * u1 % P) - u2_square) % P
    was_square, inverse_root = sqrt_ratio(mpz(1), v * u2_square % P)
    x_denominator = inverse_root * u2 % P
    y_denominator = inverse_root * x_denominator % P * v % P
    x = _magnitude(2 * s * x_denominator % P)
    y = u1 * y_denominator % P
    t = x * y % P
    if not was_square or t & 1 or y == 0:
        return None
    return x, y, mpz(1), t


def _encode(element: Element) -> bytes:
    """RFC 9496, section 4.3.2."""
    x, y, z, t = element
    u1 = (z + y) * (z - y) % P
    u2 = x * y % P
    _, inverse_root = sqrt_ratio(mpz(1), u1 * (u2 * u2 % P) % P)
    x_inverse = inverse_root * u1 % P
    y_inverse = inverse_root * u2 % P
    z_inverse = x_inverse * y_inverse % P * t % P
    if t * z_inverse % P & 1:
        x, y = y * SQRT_M1 % P, x * SQRT_M1 % P
        denominator = x_inverse * INVSQRT_A_MINUS_D % P
    else:
        denominator = y_inverse
    if x * z_inverse % P & 1:
        y = -y
    return int(_magnitude(denominator * (z - y) % P)).to_bytes(32, "little")


def _map_half(data: bytes) -> Element:
    """MAP of RFC 9496, section 4.3.4. The top bit of the 32 bytes is ignored."""
    t = mpz(int.from_bytes(data, "little") & _LOW_255_BITS)
    r = SQRT_M1 * t * t % P
    u = (r + 1) * ONE_MINUS_D_SQ % P
    v = (-1 - r * D) * (r + D) % P
    was_square, s = sqrt_ratio(u, v)
    c = mpz(-1)
    if not was_square:
        s = -_magnitude(s * t % P)
        c = r
    n = (c * (r - 1) * D_MINUS_ONE_SQ - v) % P
    w0 = 2 * s * v % P
    w1 = n * SQRT_AD_MINUS_ONE % P
    s_square = s * s % P
    w2 = 1 - s_square
    w3 = 1 + s_square
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def _add(left: Element, right: Element) -> Element:
    x1, y1, z1, t1 = left
    x2, y2, z2, t2 = right
    a = (y1 - x1) * (y2 - x2)
    b = (y1 + x1) * (y2 + x2)
    c = t1 * t2 % P * _TWICE_D % P
    d = 2 * z1 * z2 % P
    e = (b - a) % P
    f = d - c
    g = d + c
    h = (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def _one_way_map(data: bytes) -> Element:
    """RFC 9496, section 4.3.4: the sum of the maps of both halves of 64 bytes."""
    return _add(_map_half(data[:32]), _map_half(data[32:]))


class Ristretto255:
    """The `Curve` of ristretto255. Use the constant `RISTRETTO255`."""

    name: Final = "ristretto255"
    order: Final = 2**252 + 27742317777372353535851937790883648493
    scalar_size: Final = 32
    scalar_byteorder: Final[Literal["little", "big"]] = "little"
    point_size: Final = 32
    identity: Final = _IDENTITY
    one_way_map = staticmethod(_one_way_map)
    encode = staticmethod(_encode)
    decode = staticmethod(_decode)
    add = staticmethod(_add)

    def __init__(self) -> None:
        generator = _decode(_GENERATOR_BYTES)
        if generator is None:
            raise ArithmeticError("the generator of RFC 9496 does not decode: this build is broken")
        self.generator: Element = generator

    def __reduce__(self) -> str:
        return "RISTRETTO255"

    def negate(self, element: Element, /) -> Element:
        x, y, z, t = element
        return -x % P, y, z, -t % P

    def equal(self, left: Element, right: Element, /) -> bool:
        """RFC 9496, section 4.3.3: equal up to the torsion that the encoding drops."""
        x1, y1, *_ = left
        x2, y2, *_ = right
        return (x1 * y2 - y1 * x2) % P == 0 or (y1 * y2 - x1 * x2) % P == 0

    def is_identity(self, element: Element, /) -> bool:
        return element[0] == 0 or element[1] == 0

    def double(self, element: Element, times: int, /) -> Element:
        """The element multiplied by 2^times. T is only computed at the end."""
        if times == 0:
            return element
        x, y, z, _ = element
        e = h = mpz(0)
        for _ in range(times):
            x_square = x * x
            y_square = y * y
            e = 2 * x * y % P
            g = (y_square - x_square) % P
            f = (g - 2 * z * z) % P
            h = -(x_square + y_square) % P
            x, y, z = e * f % P, g * h % P, f * g % P
        return x, y, z, e * h % P

    def addends(self, elements: Sequence[Element], /) -> list[Addend]:
        inverses = invert_all([z for _, _, z, _ in elements if z != 1], P)
        inverses.reverse()
        prepared: list[Addend] = []
        for x, y, z, t in elements:
            if z != 1:
                z_inverse = inverses.pop()
                x, y, t = x * z_inverse % P, y * z_inverse % P, t * z_inverse % P  # noqa: PLW2901
            prepared.append((y + x, y - x, t * _TWICE_D % P))
        return prepared

    def negate_addend(self, addend: Addend, /) -> Addend:
        plus, minus, twice_dt = addend
        return minus, plus, -twice_dt

    def add_all(self, start: Element, addends: Iterable[Addend], /) -> Element:
        """Add all addends to `start`; the innermost loop of every multiplication.

        Products that only meet additions are left unreduced: seven reductions for
        seven multiplications, and no reduction for anything else.
        """
        p = P
        x, y, z, t = start
        for plus, minus, twice_dt in addends:
            a = (y - x) * minus
            b = (y + x) * plus
            c = t * twice_dt % p
            d = z + z
            e = (b - a) % p
            f = d - c
            g = d + c
            h = (b + a) % p
            x = e * f % p
            y = g * h % p
            z = f * g % p
            t = e * h % p
        return x, y, z, t


RISTRETTO255: Final = Ristretto255()
