from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from wire.errors import UsageError
from zkp.range import Interval, require_unambiguous, secret_bits

ENDS = st.integers(-(10**30), 10**30)


@given(ENDS, st.integers(1, 10**30), st.data())
def test_bits_and_weights_give_the_value_back(low: int, span: int, data: st.DataObject) -> None:
    interval = Interval(low, low + span)
    value = data.draw(st.integers(low, low + span) | st.sampled_from([low, low + span]))
    bits = interval.bits(value)
    assert set(bits) <= {0, 1}
    assert low + sum(w * b for w, b in zip(interval.weights, bits, strict=True)) == value


@pytest.mark.parametrize("span", range(1, 70))
def test_sums_of_weights_are_exactly_the_interval(span: int) -> None:
    sums = {0}
    for weight in Interval(5, 5 + span).weights:
        sums |= {known + weight for known in sums}
    assert sums == set(range(span + 1))


@given(ENDS, st.integers(1, 10**30), st.integers(1, 10**30))
def test_values_outside_are_refused(low: int, span: int, beyond: int) -> None:
    interval = Interval(low, low + span)
    interval.bits(low)
    interval.bits(low + span)
    for value in (low - 1, low + span + 1, low - beyond, low + span + beyond):
        with pytest.raises(UsageError):
            interval.bits(value)


@pytest.mark.parametrize(("low", "high"), [(3, 3), (3, 2), (0, 0)])
def test_an_interval_has_two_integers(low: int, high: int) -> None:
    with pytest.raises(UsageError):
        Interval(low, high)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1), (0, 1.5), (False, True)])
def test_ends_are_integers(low: int, high: int) -> None:
    with pytest.raises(UsageError):
        Interval(low, high)


def test_ends_stay_within_half_the_order(group: Group) -> None:
    half = group.order // 2
    require_unambiguous(Interval(-half, half), group)
    for low, high in ((-half - 1, 0), (0, half + 1)):
        with pytest.raises(UsageError):
            require_unambiguous(Interval(low, high), group)


def test_residues_are_read_as_signed(group: Group) -> None:
    values = group.secret_scalars([group.order - 3, 4])
    bits = secret_bits(group, values, [Interval(-4, 3), Interval(-4, 4)]).reveal().ints()
    assert bits == [1, 0, 0, 1, 1, 1, 1]
