"""Oblivious transfer: what the receiver gets, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from commitments import derive_generators
from commitments.group import Group
from gopa import MalformedMessage
from gopa.twoparty.labels import fresh_offset
from gopa.twoparty.transfer import (
    COLUMNS,
    FAMILY,
    BaseReceiver,
    BaseSender,
    extend_as_receiver,
    extend_as_sender,
)
from tests.group.backends import installed_groups
from tests.randomness import seeded

GROUPS = pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)
SAID = bytes(range(32))


def choices_of(count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2, count).astype(np.bool_)


@GROUPS
def test_the_receiver_has_the_key_of_its_choice(group: Group) -> None:
    choices, rng = choices_of(12), seeded("transfer")
    receiver, sender = BaseReceiver(group, choices, rng), BaseSender(group, rng)
    zero, one = sender.keys(SAID, receiver.message)
    received = receiver.keys(SAID, sender.point)
    assert (received == np.where(choices[:, None], one, zero)).all()
    assert (received != np.where(choices[:, None], zero, one)).any(axis=1).all()
    everything = {key.tobytes() for keys in (zero, one) for key in keys}
    assert len(everything) == 24


@GROUPS
def test_keys_belong_to_one_conversation(group: Group) -> None:
    rng = seeded("transfer")
    receiver, sender = BaseReceiver(group, choices_of(3), rng), BaseSender(group, rng)
    keys = receiver.keys(SAID, sender.point)
    assert (receiver.keys(SAID, sender.point) == keys).all()
    assert (receiver.keys(bytes(32), sender.point) != keys).any(axis=1).all()
    assert (receiver.keys(SAID, group.generator) != keys).any(axis=1).all()


@GROUPS
def test_keys_belong_to_one_place_and_one_point(group: Group) -> None:
    """Though the shared point is the same: of a point twice, and of P + C with the other choice."""
    sender, base = BaseSender(group, seeded("transfer")), derive_generators(group, FAMILY, 1)[0]
    received = group.generator + base
    message = b"".join(point.to_bytes() for point in (received, received, received + base))
    zero, one = sender.keys(SAID, message)
    assert len({key.tobytes() for keys in (zero, one) for key in keys}) == 6
    shifted = sender.keys(SAID, (received + base).to_bytes() + message[32:])[1]
    assert (shifted[0] != zero[0]).any()


@GROUPS
def test_points_of_both_choices_are_the_same_but_for_the_offset(group: Group) -> None:
    """So a uniform exponent makes either one a uniform point."""
    base = derive_generators(group, FAMILY, 1)[0]
    received = [
        BaseReceiver(group, np.array([choice]), seeded("same")).message for choice in (False, True)
    ]
    zero, one = (group.decode_point(message) for message in received)
    assert one == zero + base


@GROUPS
def test_points_that_do_not_decode_are_refused(group: Group) -> None:
    sender = BaseSender(group, seeded("transfer"))
    message = BaseReceiver(group, choices_of(3), seeded("points")).message
    sender.keys(SAID, message)
    for wrong in (bytes(32), bytes(31) + b"\xff", b"\x01" + bytes(31)):
        with pytest.raises(MalformedMessage) as caught:
            sender.keys(SAID, message[:32] + wrong + message[64:])
        assert caught.value.offset == 32


@GROUPS
@pytest.mark.parametrize("count", [1, 7, 128, 1001])
def test_extension_gives_labels_that_differ_by_the_offset(group: Group, count: int) -> None:
    rng, choices = seeded("extension"), choices_of(count)
    offset = fresh_offset(rng)
    bits = np.unpackbits(offset, bitorder="little").astype(np.bool_)
    zero, one = (np.frombuffer(rng(16 * COLUMNS), np.uint8).reshape(-1, 16) for _ in range(2))
    labels, columns = extend_as_receiver(SAID, (zero, one), choices)
    assert len(columns) == COLUMNS * -(-count // 8)
    made = extend_as_sender(SAID, np.where(bits[:, None], one, zero), bits, columns, count)
    assert (labels == made ^ choices[:, None] * offset).all()
    assert len({label.tobytes() for label in labels}) == count
    assert group.name


def test_no_label_stays_behind_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def kept(draw: Any) -> Any:
        def remembered(*arguments: Any, **options: Any) -> Any:
            made.append(draw(*arguments, **options))
            return made[-1]

        return remembered

    bits, keys = choices_of(COLUMNS), np.ones((COLUMNS, 16), np.uint8)
    for name in ("unpackbits", "ascontiguousarray", "empty"):
        monkeypatch.setattr(np, name, kept(getattr(np, name)))
    labels = extend_as_sender(SAID, keys, bits, bytes(COLUMNS * 20), 160)
    monkeypatch.undo()
    assert labels.any(axis=1).all()
    assert len(made) == 3
    assert not any(array.any() for array in made)


def test_columns_belong_to_one_place_and_one_conversation() -> None:
    """So what is computed for the keys of one run says nothing of another one."""
    alike = np.zeros((COLUMNS, 16), np.uint8), np.ones((COLUMNS, 16), np.uint8)
    seen = set()
    for conversation in (SAID, bytes(32)):
        _, sent = extend_as_receiver(conversation, alike, choices_of(160))
        seen |= {sent[at : at + 20] for at in range(0, len(sent), 20)}
    assert len(seen) == 2 * COLUMNS


def test_columns_hide_the_choices() -> None:
    """The same keys with other choices give other columns in the same places, and equal labels."""
    rng = seeded("extension")
    zero, one = (np.frombuffer(rng(16 * COLUMNS), np.uint8).reshape(-1, 16) for _ in range(2))
    some, other = choices_of(200, 1), choices_of(200, 2)
    first, second = (extend_as_receiver(SAID, (zero, one), choices) for choices in (some, other))
    assert (first[0] == second[0]).all()
    differ = np.frombuffer(first[1], np.uint8) ^ np.frombuffer(second[1], np.uint8)
    packed = np.packbits(some ^ other, bitorder="little")
    assert (differ.reshape(COLUMNS, -1) == packed).all()


def test_the_offset_has_the_select_bit() -> None:
    rng = seeded("offsets")
    offsets = [fresh_offset(rng) for _ in range(64)]
    assert all(offset[0] & 1 for offset in offsets)
    assert len({offset.tobytes() for offset in offsets}) == 64
