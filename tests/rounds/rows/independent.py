"""Rules H1 to H5 of 14 once more, slowly, from the text: Python's integers, lists and hashes."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256, shake_128

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from commitments.group import Group, Point
from tests.zkp.independent.bases import blinding_base, vector_base

Q = 2**252 + 27742317777372353535851937790883648493
KAPPA = 360


class Bytes:
    """ChaCha20 with the first 12 bytes of a label's hash as nonce."""

    def __init__(self, key: bytes, label: bytes) -> None:
        nonce = bytes(4) + sha256(label).digest()[:12]
        self._cipher = Cipher(algorithms.ChaCha20(key, nonce), None).encryptor()

    def take(self, count: int) -> bytes:
        return self._cipher.update(bytes(count))

    def bits(self, count: int) -> list[int]:
        data = self.take(-(-count // 8))
        return [data[at // 8] >> (at % 8) & 1 for at in range(count)]


def framed(label: bytes, *fields: bytes) -> bytes:
    return bytes([len(label)]) + label + b"".join(fields)


def stream(label: bytes, *fields: bytes) -> Bytes:
    return Bytes(sha256(framed(label, *fields)).digest(), label)


def shape(d: int) -> tuple[int, int, int, int]:
    """s, h, r and v of [L2], each by its definition."""
    length = next(length for length in range(64) if 2**length >= d)
    s = max(5, (length + 3) // 2)
    h = next(h for h in range(1, d + 1) if h * 2**s >= d)
    pads = next(rows for rows in range(1, 361) if rows * 2**s >= KAPPA)
    r = next(r for r in range(64) if 2**r >= max(h, pads))
    return s, h, r, r + s


Tests = list[tuple[list[int], ...]]


def input_tests(d: int, joint: bytes, session: bytes, number: int) -> Tests:
    """[H1]."""
    s, h, _, _ = shape(d)
    drawn = stream(b"gopa/v1/beacon/input-tests", joint, session, number.to_bytes(2, "big"))
    return [(drawn.bits(h), drawn.bits(h), drawn.bits(2**s)) for _ in range(KAPPA)]


def permutation(
    d: int, joint: bytes, session: bytes, number: int, party: bytes
) -> tuple[list[int], list[int]]:
    """[H2]: pi, and the signs, 1 for minus."""
    label = b"gopa/v1/beacon/signed-permutation"
    drawn = stream(label, joint, session, number.to_bytes(2, "big"), party)
    places = list(range(d))
    for i in range(d - 1, 0, -1):
        while True:
            g = int.from_bytes(drawn.take(4), "little")
            if g < 2**32 - 2**32 % (i + 1):
                break
        j = g % (i + 1)
        places[i], places[j] = places[j], places[i]
    return places, drawn.bits(d)


def carry_tests(d: int, session: bytes, number: int, leaf: bytes) -> Tests:
    """[H3]."""
    s, h, _, _ = shape(d)
    drawn = stream(b"gopa/v1/protocol/carry-tests", session, number.to_bytes(2, "big"), leaf)
    return [(drawn.bits(h), drawn.bits(2**s)) for _ in range(KAPPA)]


def points(d: int, session: bytes, number: int, leaf: bytes, t: int) -> list[list[int]]:
    """[H4]."""
    label, v = b"gopa/v1/protocol/equation-points", shape(d)[3]
    fields = (session, number.to_bytes(2, "big"), leaf, t.to_bytes(2, "big"))
    data = shake_128(framed(label, *fields)).digest(48 * t * v)
    scalars = [int.from_bytes(data[at : at + 48], "little") % Q for at in range(0, len(data), 48)]
    return [scalars[v * i : v * (i + 1)] for i in range(t)]


def eq(z: Sequence[int], j: int) -> int:
    """eq(z, j), bits from the most significant."""
    product = 1
    for at, value in enumerate(z):
        bit = j >> (len(z) - 1 - at) & 1
        product = product * (value if bit else 1 - value) % Q
    return product


def extension(z: Sequence[int], values: Sequence[int]) -> int:
    return sum(eq(z, j) * value for j, value in enumerate(values)) % Q


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869, for 32 bytes."""
    return hmac.digest(hmac.digest(salt, secret, sha256), info + b"\x01", sha256)


def words(key: bytes, label: bytes, count: int, width: int) -> list[int]:
    """[M15], [M16] of 08, as integers below 2^width."""
    size, drawn = (4 if width <= 32 else 8), Bytes(key, label)
    return [int.from_bytes(drawn.take(size), "little") % 2**width for _ in range(count)]


def committed(group: Group, values: Sequence[int], blinding: int) -> Point:
    t = len(values)
    bases = [vector_base(group, t, i) for i in range(t)]
    terms = [base * group.scalar(m) for base, m in zip(bases, values, strict=True)]
    total = blinding_base(group) * group.scalar(blinding)
    for term in terms:
        total = total + term
    return total


def equation(  # noqa: PLR0917 - what a commitment depends on
    group: Group, z: Sequence[Sequence[int]], leaf: bytes, key: bytes, info: bytes, kind: str,
    masks: Sequence[int],
) -> Point:  # fmt: skip
    """[H5], [P6]: the commitment to what the masks are at the points."""
    fresh = hkdf(key, leaf, b"gopa/v1/masks/equation-key" + info)
    data = Bytes(fresh, f"gopa/v1/masks/{kind}-equation".encode()).take(64)
    blinding = int.from_bytes(data, "little") % Q
    return committed(group, [extension(each, masks) for each in z], blinding)
