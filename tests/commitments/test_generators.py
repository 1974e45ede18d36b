from __future__ import annotations

import hashlib

import pytest

from commitments import Pedersen, VectorPedersen, derive_generators
from commitments.generators import MAX_BASES, generator_name
from commitments.group import Group
from wire.errors import UsageError

DST = b"gopa/v1/commitments/generators"


def expand(message: bytes) -> bytes:
    """expand_message_xmd for 64 bytes, written again from RFC 9380 section 5.3.1."""
    tail = DST + bytes([len(DST)])
    b0 = hashlib.sha512(bytes(128) + message + b"\x00\x40" + b"\x00" + tail).digest()
    return hashlib.sha512(b0 + b"\x01" + tail).digest()


def name(family: str, dimension: int, index: int) -> bytes:
    encoded = family.encode()
    return bytes([len(encoded)]) + encoded + dimension.to_bytes(4, "big") + index.to_bytes(4, "big")


def test_pedersen_bases_are_rederived_from_their_names(group: Group) -> None:
    key = Pedersen(group)
    expected = group.map_to_points(
        expand(name("pedersen/value", 0, 0)) + expand(name("pedersen/blinding", 0, 0))
    )
    assert key.value_base == expected[0]
    assert key.blinding_base == expected[1]


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_vector_bases_are_rederived_from_their_names(group: Group, dimension: int) -> None:
    names = [name("vector-pedersen/value", dimension, index) for index in range(dimension)]
    expected = group.map_to_points(b"".join(map(expand, names)))
    assert VectorPedersen(group, dimension).value_bases == expected


def test_no_two_bases_are_equal(group: Group) -> None:
    seen = {group.generator.to_bytes(), group.identity.to_bytes()}
    key = Pedersen(group)
    bases = [key.value_base, key.blinding_base]
    for dimension in (1, 2, 3, 11, 12):
        bases += list(VectorPedersen(group, dimension).value_bases)
    for base in bases:
        encoded = base.to_bytes()
        assert encoded not in seen
        seen.add(encoded)


def test_names_frame_their_parts() -> None:
    spliced = [(b"g", 0, 12), (b"g1", 0, 2), (b"g", 1, 2), (b"g\x00", 0, 12), (b"g", 12, 0)]
    names = {generator_name(*parts) for parts in spliced}
    assert len(names) == len(spliced)


def test_a_prefix_family_grows_without_changing(group: Group) -> None:
    assert derive_generators(group, b"test", 5)[:3] == derive_generators(group, b"test", 3)


@pytest.mark.parametrize(
    ("family", "count"), [(b"", 1), (b"x" * 256, 1), (b"x", -1), (b"x", MAX_BASES + 1)]
)
def test_impossible_families_are_refused(group: Group, family: bytes, count: int) -> None:
    assert len(derive_generators(group, b"x", 1)) == 1
    with pytest.raises(UsageError):
        derive_generators(group, family, count)
