"""The test-only group P-256, against the elliptic curves of another library."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.zkp.p256 import P256_CURVE, P, p256_group
from wire.errors import MalformedMessage, UsageError

ORDER = P256_CURVE.order
LOGARITHMS = [1, 2, 3, 4, 2**64, 2**255, ORDER // 2, ORDER - 3, ORDER - 1]


def expected(logarithm: int) -> bytes:
    key = ec.derive_private_key(logarithm, ec.SECP256R1()).public_key()
    return key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


@pytest.mark.parametrize("logarithm", LOGARITHMS)
def test_multiples_of_the_generator(logarithm: int) -> None:
    group = p256_group()
    point = group.generator * group.scalar(logarithm)
    assert point.to_bytes() == expected(logarithm)
    assert group.decode_point(expected(logarithm)) == point


def test_sums() -> None:
    group = p256_group()
    points = group.decode_points(b"".join(map(expected, LOGARITHMS)), len(LOGARITHMS))
    for factors in (range(9), range(ORDER - 9, ORDER), [pow(7, k, ORDER) for k in range(100, 109)]):
        dot = sum(a * b for a, b in zip(LOGARITHMS, factors, strict=True)) % ORDER
        assert points.vartime_msm(group.scalars(factors)).to_bytes() == expected(dot)
    many = points.gather([i % 9 for i in range(90)])
    assert many.vartime_msm(group.scalars([5] * 90)) == points.sum() * group.scalar(50)


def test_the_incomplete_cases_of_addition() -> None:
    group = p256_group()
    G, zero = group.generator, group.identity
    twice = G * group.scalar(2)
    assert twice == (G + G)
    assert twice - G == G
    assert (G - G).is_identity()
    assert G + zero == zero + G == G
    assert (zero + zero).is_identity()
    assert zero == G - G
    assert zero != G
    assert hash(zero) == hash(G - G)
    assert group.points([G, -G, zero, G, G]).sum() == twice


def test_scalars_are_big_endian() -> None:
    group = p256_group()
    data = (5).to_bytes(32, "big")
    assert group.scalar(5).to_bytes() == data
    assert group.decode_scalars(data, 1).ints() == [5]
    with pytest.raises(MalformedMessage) as caught:
        group.decode_scalars(data + ORDER.to_bytes(32, "big"), 2)
    assert caught.value.offset == 32


def test_the_identity_has_no_encoding() -> None:
    group = p256_group()
    with pytest.raises(UsageError):
        group.identity.to_bytes()
    for data in (bytes(33), b"\x02" + bytes(32)[:31] + b"\x01"):
        for allow_identity in (False, True):
            with pytest.raises(MalformedMessage):
                group.decode_point(data, allow_identity=allow_identity)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\x00" + data[1:],
        lambda data: b"\x04" + data[1:],
        lambda data: b"\x05" + data[1:],
        lambda data: data[:1] + int(P).to_bytes(32, "big"),
        lambda data: data[:1] + (int(P) + 5).to_bytes(32, "big"),
        lambda data: data[:1] + b"\xff" * 32,
        lambda data: data[:-1],
        lambda data: data + b"\x00",
        lambda _: b"\x00",
        lambda _: b"",
    ],
)
def test_invalid_encodings(change) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    group = p256_group()
    valid = expected(1)
    assert group.decode_point(valid) == group.generator
    with pytest.raises(MalformedMessage):
        group.decode_point(change(valid))
