"""Rows hide what they are given, entries that fit, and are compared before anybody sees them."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

from commitments import VectorPedersen
from commitments.group import Group
from tests.randomness import seeded
from wire.errors import ComputationFault, UsageError
from zkp.rows.product_tests import draw_pads
from zkp.rows.rows import _packed, hide_pads, hide_rows
from zkp.rows.shape import PAD_BITS, TESTS, RowShape
from zkp.transcript import NonceSource

SHAPE = RowShape(40)


def vector(*entries: int) -> Any:
    found = np.zeros(SHAPE.dimension, np.int64)
    found[-len(entries) :] = entries
    return found


@pytest.mark.parametrize("bits", [1, 12, 58])
def test_entries_have_so_many_bits(group: Group, bits: int) -> None:
    most = (1 << bits) - 1
    hidden = hide_rows(group, SHAPE, vector(most, -most - 1), bits, rng=seeded("rows"))
    assert hidden.values[: SHAPE.dimension].tolist()[-2:] == [most, -most - 1]
    for wrong in (most + 1, -most - 2, (1 << 63) - 1, -(1 << 63)):
        with pytest.raises(UsageError, match="does not fit"):
            hide_rows(group, SHAPE, vector(wrong, 0), bits, rng=seeded("rows"))


def test_pads_are_the_bytes_that_were_drawn(group: Group) -> None:
    data = seeded("pads")(TESTS * PAD_BITS // 8)
    size = PAD_BITS // 8
    expected = [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    assert draw_pads(group, seeded("pads")).reveal().ints() == expected
    assert max(expected) >> (PAD_BITS - 1)


def test_a_row_without_its_blinding_is_not_handed_out(group: Group) -> None:
    """As a fault would leave it; also one whose entries are others."""
    values, rng = vector(1, 2, 3), seeded("rows")
    hide_rows(group, SHAPE, values, 12, rng=rng)
    real = VectorPedersen.commit_rows

    def bare(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows, blindings - blindings, **how)

    def exchanged(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows[::-1], blindings, **how)

    for fault in (bare, exchanged):
        with (
            mock.patch.object(VectorPedersen, "commit_rows", fault),
            pytest.raises(ComputationFault, match="commit again"),
        ):
            hide_rows(group, SHAPE, values, 12, rng=rng)


def test_blindings_are_drawn_a_second_time(group: Group) -> None:
    """A fault that left the first ones as zeros, or others, is seen before anything is sent."""
    values, pads = vector(1, 2, 3), draw_pads(group, seeded("pads"))
    real = NonceSource.draw
    for fault in (
        lambda drawn: drawn - drawn,
        lambda drawn: drawn + drawn,
        lambda drawn: drawn[::-1],
    ):
        for hide, given in ((hide_rows, (values, 12)), (hide_pads, (pads,))):
            done: list[NonceSource] = []

            def faulty(source: Any, done: Any = done, fault: Any = fault) -> Any:
                drawn = real(source)
                done.append(source)
                return fault(drawn) if len(done) == 1 else drawn

            made: Any = hide
            made(group, SHAPE, *given, rng=seeded("rows"))
            with (
                mock.patch.object(NonceSource, "draw", faulty),
                pytest.raises(ComputationFault, match="commit again"),
            ):
                made(group, SHAPE, *given, rng=seeded("rows"))
            assert len(done) == 2


def test_a_generator_that_gives_zeros_still_hides_and_compares(group: Group) -> None:
    """Blindings are of the vector, and weights of the comparison of the points."""
    made = [hide_rows(group, SHAPE, vector(*v), 12, rng=bytes) for v in ((1, 2), (2, 1), (1, 2))]
    drawn = [each.blindings.reveal().ints() for each in made]
    assert drawn[0] == drawn[2]
    assert len({*drawn[0], *drawn[1]}) == 2 * SHAPE.rows
    real = VectorPedersen.commit_rows

    def bare(key: Any, rows: Any, blindings: Any, **how: Any) -> Any:
        return real(key, rows, blindings - blindings, **how)

    with (
        mock.patch.object(VectorPedersen, "commit_rows", bare),
        pytest.raises(ComputationFault, match="commit again"),
    ):
        hide_rows(group, SHAPE, vector(1, 2), 12, rng=bytes)


@pytest.mark.parametrize("bits", [1, 7, 12, 15, 30, 31, 58, 62])
def test_packed_entries_are_told_apart(bits: int) -> None:
    """Each integer gives its entries back, the least and the largest among them."""
    ends = np.array([-(1 << bits), (1 << bits) - 1, -1, 0, 1], np.int64)
    values = np.random.default_rng(bits).choice(ends, 128)
    packed = _packed(values, bits)
    count, size = len(values) // len(packed), 1 << (bits + 1)
    assert count * (bits + 1) <= 63 < 2 * count * (bits + 1)
    found = []
    for left in packed.tolist():
        whole = left
        for _ in range(count):
            found.append((whole + size // 2) % size - size // 2)
            whole = (whole - found[-1]) // size
        assert whole == 0
    assert found == values.tolist()


def test_pads_without_their_blinding_are_not_handed_out(group: Group) -> None:
    pads, rng = draw_pads(group, seeded("pads")), seeded("rows")
    hide_pads(group, SHAPE, pads, rng=rng)
    with (
        mock.patch("zkp.rows.rows.HiddenPads.combined", return_value=_other(group)),
        pytest.raises(ComputationFault, match="commit again"),
    ):
        hide_pads(group, SHAPE, pads, rng=rng)


def _other(group: Group) -> Any:
    zeros = group.secret_scalars([0] * SHAPE.width)
    return zeros, zeros[0]
