"""The test vectors of RFC 9496 through every entry point that takes bytes."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.generators import expand_message_xmd, hash_to_points
from commitments.group import Group
from tests.external import vectors
from tests.group.values import MANY
from tests.zkp.p256 import p256_group
from wire.errors import MalformedMessage, UsageError


@cache
def published() -> Any:
    return json.loads(vectors("ristretto255.json").read_text())


def invalid_encodings() -> list[bytes]:
    return [bytes.fromhex(case["encoding"]) for case in published()["invalid_encodings"]]


def test_the_file_is_complete() -> None:
    assert len(published()["multiples_of_generator"]) == 16
    assert len(invalid_encodings()) == 29
    assert len(published()["from_uniform_bytes"]) == 11


def test_multiples_of_the_generator(group: Group) -> None:
    point = group.identity
    for k, encoding in enumerate(published()["multiples_of_generator"]):
        data = bytes.fromhex(encoding)
        assert point.to_bytes() == data
        assert (group.generator * group.scalar(k)).to_bytes() == data
        assert group.decode_point(data, allow_identity=True) == point
        point += group.generator


def test_multiples_as_one_batch(group: Group) -> None:
    data = b"".join(bytes.fromhex(text) for text in published()["multiples_of_generator"])
    points = group.decode_points(data, 16, allow_identity=True)
    assert points.to_bytes() == data
    assert points.find_identity() == 0
    assert points == group.points([group.generator] * 16) * group.scalars(range(16))


@pytest.mark.parametrize("allow_identity", [False, True])
def test_invalid_encodings_alone(group: Group, allow_identity: bool) -> None:
    valid = group.generator.to_bytes()
    group.decode_point(valid, allow_identity=allow_identity)
    for data in invalid_encodings():
        with pytest.raises(MalformedMessage) as caught:
            group.decode_point(data, allow_identity=allow_identity)
        assert caught.value.offset == 0


@pytest.mark.parametrize("position", [0, 3, 6])
def test_invalid_encodings_in_a_batch(group: Group, position: int) -> None:
    valid = [bytes.fromhex(text) for text in published()["multiples_of_generator"][1:8]]
    group.decode_points(b"".join(valid), 7)
    for data in invalid_encodings():
        batch = list(valid)
        batch[position] = data
        with pytest.raises(MalformedMessage) as caught:
            group.decode_points(b"".join(batch), 7)
        assert caught.value.offset == 32 * position


def test_the_first_of_several_invalid_encodings_is_named(group: Group) -> None:
    good = group.generator.to_bytes()
    for data in invalid_encodings():
        with pytest.raises(MalformedMessage) as caught:
            group.decode_points(good + data + good + data, 4)
        assert caught.value.offset == 32


def test_invalid_encodings_in_a_large_batch(group: Group) -> None:
    """Large enough for a backend to cut the work into pieces."""
    bad = invalid_encodings()
    batch = [group.generator.to_bytes()] * 1000
    group.decode_points(b"".join(batch), 1000)
    batch[400:429] = bad
    batch[999] = bad[0]
    with pytest.raises(MalformedMessage) as caught:
        group.decode_points(b"".join(batch), 1000)
    assert caught.value.offset == 32 * 400


def test_one_way_map(group: Group) -> None:
    cases = published()["from_uniform_bytes"]
    for case in cases:
        mapped = group.map_to_points(bytes.fromhex(case["input"]))
        assert mapped.to_bytes().hex() == case["output"]
    together = group.map_to_points(b"".join(bytes.fromhex(case["input"]) for case in cases))
    assert together.to_bytes().hex() == "".join(case["output"] for case in cases)


SHA512_TAG = b"QUUX-V01-CS02-with-expander-SHA512-256"


SHA256_TAG = b"QUUX-V01-CS02-with-expander-SHA256-128"


LONG_TAG = b"QUUX-V01-CS02-with-expander-SHA256-128-long-DST-".ljust(256, b"1")


@pytest.mark.parametrize(
    ("hash_name", "dst", "msg", "start"),
    [
        ("sha512", SHA512_TAG, b"", "6b9a7312411d92f921c6f68ca0b63807"),
        ("sha512", SHA512_TAG, b"abc", "0da749f12fbe5483eb066a5f59505567"),
        ("sha512", SHA512_TAG, b"abcdef0123456789", "087e45a86e2939ee8b91100af1583c49"),
        ("sha256", SHA256_TAG, b"", "68a985b87eb6b46952128911f2a4412b"),
        ("sha256", SHA256_TAG, b"abc", "d8ccab23b5985ccea865c6c97b6e5b83"),
        ("sha256", LONG_TAG, b"", "e8dc0c8b686b7ef2074086fbdd2f30e3"),
        ("sha256", LONG_TAG, b"abc", "52dbf4f36cf560fca57dedec2ad924ee"),
    ],
)
def test_published_expansions(hash_name: str, dst: bytes, msg: bytes, start: str) -> None:
    """RFC 9380, appendices K.1 to K.3: the first half of outputs of 32 bytes."""
    assert expand_message_xmd(msg, dst, 32, hash_name=hash_name)[:16].hex() == start


def test_published_point(group: Group) -> None:
    """RFC 9497, appendix A.1.1, test vector 1: a hashed input times its blind."""
    hashed = hash_to_points(group, [b"\0"], b"HashToGroup-OPRFV1-\0-ristretto255-SHA512")
    blind = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"
    blinded = hashed * group.decode_scalars(bytes.fromhex(blind), 1)
    expected = "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c"
    assert blinded.to_bytes().hex() == expected


def expand_by_definition(msg: bytes, dst: bytes, n: int, hash_name: str) -> bytes:
    """RFC 9380, section 5.3.1, step by step, with integers for the exclusive or."""

    def H(*parts: bytes) -> bytes:
        return hashlib.new(hash_name, b"".join(parts)).digest()

    b_in_bytes, s_in_bytes = hashlib.new(hash_name).digest_size, hashlib.new(hash_name).block_size
    if len(dst) > 255:
        dst = H(b"H2C-OVERSIZE-DST-", dst)
    ell = -(-n // b_in_bytes)
    DST_prime = dst + bytes([len(dst)])
    b = [H(bytes(s_in_bytes), msg, n.to_bytes(2, "big"), bytes(1), DST_prime)]
    b.append(H(b[0], bytes([1]), DST_prime))
    for i in range(2, ell + 1):
        mixed = int.from_bytes(b[0], "big") ^ int.from_bytes(b[i - 1], "big")
        b.append(H(mixed.to_bytes(b_in_bytes, "big"), bytes([i]), DST_prime))
    return b"".join(b[1 : ell + 1])[:n]


@MANY
@given(
    msg=st.binary(max_size=300),
    dst=st.binary(min_size=1, max_size=300),
    n=st.integers(1, 400),
    hash_name=st.sampled_from(["sha512", "sha256", "sha384", "sha3_256"]),
)
def test_expansion_follows_the_definition(msg: bytes, dst: bytes, n: int, hash_name: str) -> None:
    expected = expand_by_definition(msg, dst, n, hash_name)
    assert expand_message_xmd(msg, dst, n, hash_name=hash_name) == expected


@pytest.mark.parametrize("size", [254, 255, 256, 257, 1000])
def test_long_tags(size: int) -> None:
    dst = b"t" * size
    made = expand_message_xmd(b"m", dst, 64)
    assert made == expand_by_definition(b"m", dst, 64, "sha512")
    oversize = hashlib.sha512(b"H2C-OVERSIZE-DST-" + dst).digest()
    assert (made == expand_message_xmd(b"m", oversize, 64)) == (size > 255)


@pytest.mark.parametrize(("hash_name", "most"), [("sha512", 16320), ("sha256", 8160)])
def test_the_longest_output(hash_name: str, most: int) -> None:
    made = expand_message_xmd(b"m", b"t", most, hash_name=hash_name)
    assert made == expand_by_definition(b"m", b"t", most, hash_name)
    for n in (0, -1, most + 1, 65535, 65536, 2**70):
        with pytest.raises(UsageError):
            expand_message_xmd(b"m", b"t", n, hash_name=hash_name)


@pytest.mark.parametrize(
    "arguments",
    [("m", b"t", 64), (b"m", "t", 64), (b"m", b"", 64), (b"m", None, 64), (bytearray(1), b"t", 64),
     (b"m", b"t", 64.0), (b"m", b"t", True), (b"m", b"t", "64")],
)  # fmt: skip
def test_wrong_arguments(arguments: tuple[Any, Any, Any]) -> None:
    assert len(expand_message_xmd(b"m", b"t", 64)) == 64
    with pytest.raises(UsageError):
        expand_message_xmd(*arguments)


@pytest.mark.parametrize("hash_name", ["shake_128", "md5", "sha1", "sha224", "", "none", None])
def test_wrong_hashes(hash_name: Any) -> None:
    with pytest.raises(UsageError):
        expand_message_xmd(b"m", b"t", 32, hash_name=hash_name)


def test_points_of_messages(group: Group) -> None:
    messages = [b"", b"a", b"b", b"a", b"ab"]
    points = hash_to_points(group, messages, b"tests")
    assert len(points) == 5
    assert points[1] == points[3]
    assert len({point.to_bytes() for point in points}) == 4
    for message, point in zip(messages, points, strict=True):
        uniform = expand_by_definition(message, b"tests", 64, "sha512")
        assert point == group.map_to_points(uniform)[0]
        assert point == hash_to_points(group, [message], b"tests")[0]
    assert hash_to_points(group, [b"a"], b"other")[0] != points[1]
    assert len(hash_to_points(group, [], b"tests")) == 0


def test_a_group_without_a_map() -> None:
    with pytest.raises(UsageError):
        hash_to_points(p256_group(), [b"a"], b"tests")
