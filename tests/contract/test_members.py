"""Lists as bit strings: one string for each list, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.contract.organiser import pack_members, unpack_members
from wire.errors import MalformedMessage, UsageError


def naive(positions: set[int], parties: int) -> bytes:
    """Section 2 of the specification, word by word."""
    packed = [0] * ((parties + 7) // 8)
    for position in positions:
        packed[position // 8] += 2 ** (position % 8)
    return bytes(packed)


@given(st.integers(1, 40), st.data())
def test_lists_round_trip(parties: int, data: st.DataObject) -> None:
    members = data.draw(st.sets(st.integers(0, parties - 1)))
    packed = pack_members(members, parties)
    assert packed == naive(members, parties)
    assert unpack_members(packed, parties) == tuple(sorted(members))


def test_order_and_repetition_do_not_matter() -> None:
    assert pack_members([3, 1, 3], 9) == pack_members([1, 3], 9) == b"\x0a\x00"


@pytest.mark.parametrize("parties", [1, 7, 8, 9, 15, 16, 17])
def test_lengths_and_padding_are_strict(parties: int) -> None:
    everybody = pack_members(range(parties), parties)
    assert unpack_members(everybody, parties) == tuple(range(parties))
    for wrong in (everybody[:-1], everybody + b"\0", b""):
        with pytest.raises(MalformedMessage):
            unpack_members(wrong, parties)
    for bit in range(parties % 8 or 8, 8):
        padded = everybody[:-1] + bytes([everybody[-1] | 1 << bit])
        with pytest.raises(MalformedMessage):
            unpack_members(padded, parties)


@given(st.binary(min_size=2, max_size=2))
def test_every_string_is_refused_or_packs_to_itself(data: bytes) -> None:
    try:
        members = unpack_members(data, 11)
    except MalformedMessage:
        assert data[1] >> 3
        return
    assert pack_members(members, 11) == data


@pytest.mark.parametrize("position", [-1, 5, 8])
def test_positions_are_on_the_roll(position: int) -> None:
    assert pack_members([0, 4], 5) == b"\x11"
    with pytest.raises(UsageError):
        pack_members([0, position], 5)
