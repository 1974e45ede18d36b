"""The test vectors of RFC 9496 through every entry point that takes bytes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from commitments.group import Group
from tests.external import vectors
from wire.errors import MalformedMessage


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
