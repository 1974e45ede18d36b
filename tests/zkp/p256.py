"""P-256 for the tests alone: foreign vectors run through the same protocols.

Jacobian coordinates (X, Y, Z), x = X / Z^2, y = Y / Z^3; the identity has Z = 0.
Points encode compressed (SEC 1, 2.3.3), 33 bytes; the identity has no encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, Literal

from commitments.group import Group
from commitments.reference import ReferenceGroup
from commitments.reference.bigint import invert, mpz, powmod
from commitments.reference.curve import Addend, Element
from wire.errors import UsageError

P: Final = mpz(2**256 - 2**224 + 2**192 + 2**96 - 1)
B: Final = mpz(0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B)


def _double_once(x: int, y: int, z: int) -> Element:
    y_square = y * y % P
    s = 4 * x * y_square % P
    m = 3 * (x - z * z) * (x + z * z) % P
    x3 = (m * m - 2 * s) % P
    return x3, (m * (s - x3) - 8 * y_square * y_square) % P, 2 * y * z % P


class P256:
    """The `Curve` of NIST P-256. Use the constant `P256_CURVE`."""

    name: Final = "P-256"
    order: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    scalar_size: Final = 32
    scalar_byteorder: Final[Literal["little", "big"]] = "big"
    point_size: Final = 33
    one_way_map: Final = None
    identity: Final[Element] = (mpz(1), mpz(1), mpz(0))
    generator: Final[Element] = (
        mpz(0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296),
        mpz(0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5),
        mpz(1),
    )

    def __reduce__(self) -> str:
        return "P256_CURVE"

    def encode(self, element: Element, /) -> bytes:
        x, y, z = element
        if z == 0:
            raise UsageError("the identity of P-256 has no encoding")
        z_inverse = invert(z, P)
        z_inverse_square = z_inverse * z_inverse % P
        sign = 2 + (y * z_inverse_square * z_inverse % P & 1)
        return bytes([sign]) + int(x * z_inverse_square % P).to_bytes(32, "big")

    def decode(self, data: bytes, /) -> Element | None:
        x = mpz(int.from_bytes(data[1:], "big"))
        if len(data) != 33 or data[0] not in {2, 3} or x >= P:
            return None
        square = (x * x * x - 3 * x + B) % P
        y = powmod(square, (P + 1) // 4, P)
        if y * y % P != square:
            return None
        return x, y if y & 1 == data[0] & 1 else P - y, mpz(1)

    def add(self, left: Element, right: Element, /) -> Element:
        x1, y1, z1 = left
        x2, y2, z2 = right
        if z1 == 0:
            return right
        if z2 == 0:
            return left
        z1_square, z2_square = z1 * z1 % P, z2 * z2 % P
        u1, u2 = x1 * z2_square % P, x2 * z1_square % P
        s1, s2 = y1 * z2 * z2_square % P, y2 * z1 * z1_square % P
        h, r = u2 - u1, s2 - s1
        if h == 0:
            return _double_once(x1, y1, z1) if r == 0 else self.identity
        h_square = h * h % P
        h_cube = h * h_square % P
        v = u1 * h_square % P
        x3 = (r * r - h_cube - 2 * v) % P
        return x3, (r * (v - x3) - s1 * h_cube) % P, z1 * z2 * h % P

    def negate(self, element: Element, /) -> Element:
        x, y, z = element
        return x, -y % P, z

    def equal(self, left: Element, right: Element, /) -> bool:
        return self.is_identity(self.add(left, self.negate(right)))

    def is_identity(self, element: Element, /) -> bool:
        return element[2] == 0

    def double(self, element: Element, times: int, /) -> Element:
        for _ in range(times):
            element = _double_once(*element)
        return element

    def addends(self, elements: Sequence[Element], /) -> list[Addend]:
        return list(elements)

    def negate_addend(self, addend: Addend, /) -> Addend:
        return self.negate(addend)

    def add_all(self, start: Element, addends: Iterable[Addend], /) -> Element:
        total = start
        for addend in addends:
            total = self.add(total, addend)
        return total


P256_CURVE: Final = P256()


@cache
def p256_group() -> Group:
    """P-256 with every operation of the group interface but the one-way map."""
    return ReferenceGroup(P256_CURVE)
