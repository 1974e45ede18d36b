"""Scalars are the integers mod the order, one by one and in vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.values import FEW, MANY, ORDER, column, dot, integers, residues, rows
from wire.errors import UsageError

OPERATIONS = [operator.add, operator.sub, operator.mul]
operations = pytest.mark.parametrize("operation", OPERATIONS)
Operation = Callable[[Any, Any], Any]


def test_constants(group: Group) -> None:
    assert (group.name, group.order) == ("ristretto255", ORDER)
    assert (group.scalar_size, group.point_size) == (32, 32)
    assert (group.generator * group.scalar(-1) + group.generator).is_identity()
    assert not group.generator.is_identity()
    assert group.identity.is_identity()


@MANY
@given(value=integers)
def test_integers_go_in_and_out(group: Group, value: int) -> None:
    scalar = group.scalar(value)
    assert int(scalar) == value % ORDER
    assert scalar.to_bytes() == (value % ORDER).to_bytes(32, "little")
    assert scalar.is_zero() == (value % ORDER == 0)
    assert group.decode_scalars(scalar.to_bytes(), 1)[0] == scalar
    assert int(group.secret_scalar(value).reveal()) == value % ORDER


@operations
@MANY
@given(left=residues, right=residues)
def test_scalar_operations(group: Group, operation: Operation, left: int, right: int) -> None:
    result = operation(group.scalar(left), group.scalar(right))
    assert int(result) == operation(left, right) % ORDER
    assert result == group.scalar(operation(left, right) % ORDER)
    assert hash(result) == hash(group.scalar(operation(left, right) % ORDER))


@MANY
@given(left=residues, right=residues)
def test_equality_is_that_of_integers(group: Group, left: int, right: int) -> None:
    assert (group.scalar(left) == group.scalar(right)) == (left == right)
    assert (group.scalar(left) != group.scalar(right)) == (left != right)


@MANY
@given(value=residues)
def test_negation_and_inverse(group: Group, value: int) -> None:
    assert int(-group.scalar(value)) == -value % ORDER
    if value:
        assert int(group.scalar(value).inverse()) == pow(value, -1, ORDER)


def test_zero_has_no_inverse(group: Group) -> None:
    with pytest.raises(UsageError):
        group.scalar(0).inverse()
    for values in ([0], [1, 0, 2], [1, 2, 0]):
        with pytest.raises(UsageError):
            group.scalars(values).inverse()


@operations
@FEW
@given(table=rows(2), single=residues)
def test_vector_operations(
    group: Group, operation: Operation, table: list[tuple[int, ...]], single: int
) -> None:
    left, right = column(table, 0), column(table, 1)
    result = operation(group.scalars(left), group.scalars(right))
    assert result.ints() == [operation(a, b) % ORDER for a, b in table]
    broadcast = operation(group.scalars(left), group.scalar(single))
    assert broadcast.ints() == [operation(a, single) % ORDER for a in left]


@FEW
@given(table=rows(2))
def test_reductions(group: Group, table: list[tuple[int, ...]]) -> None:
    left, right = column(table, 0), column(table, 1)
    vector = group.scalars(left)
    assert int(vector.sum()) == sum(left) % ORDER
    assert int(vector.inner(group.scalars(right))) == dot(left, right)
    assert (-vector).ints() == [-a % ORDER for a in left]


@FEW
@given(values=st.lists(residues.filter(bool), max_size=12))
def test_vector_inverse(group: Group, values: list[int]) -> None:
    expected = [pow(value, -1, ORDER) for value in values]
    assert group.scalars(values).inverse().ints() == expected


@FEW
@given(base=residues, n=st.integers(0, 40))
def test_powers(group: Group, base: int, n: int) -> None:
    powers = group.powers(group.scalar(base), n)
    assert powers.ints() == [pow(base, k, ORDER) for k in range(n)]


def test_many_powers(group: Group) -> None:
    """Enough for a backend to cut the work into pieces."""
    powers = group.powers(group.scalar(ORDER - 3), 20_000).ints()
    assert len(powers) == 20_000
    for k in (0, 1, 2, 9_999, 10_000, 19_999):
        assert powers[k] == pow(-3, k, ORDER)


@FEW
@given(table=rows(3, least=1), weights=st.tuples(residues, residues, residues))
def test_combine_scalars(
    group: Group, table: list[tuple[int, ...]], weights: tuple[int, ...]
) -> None:
    vectors = [group.scalars(column(table, k)) for k in range(3)]
    expected = [dot(weights, row) for row in table]
    public: Any = group.combine_scalars(group.scalars(weights), vectors)
    assert public.ints() == expected
    mixed: list[Any] = [vectors[0], vectors[1].secret(), vectors[2]]
    secret: Any = group.combine_scalars(group.scalars(weights), mixed)
    assert secret.reveal().ints() == expected


def test_combine_scalars_edges(group: Group) -> None:
    empty: Any = group.combine_scalars(group.scalars([5]), [group.scalars([])])
    assert empty.ints() == []
    with pytest.raises(UsageError):
        group.combine_scalars(group.scalars([]), [])
    with pytest.raises(UsageError):
        group.combine_scalars(group.scalars([1]), [group.scalars([1])] * 2)
    with pytest.raises(UsageError):
        group.combine_scalars(group.scalars([1, 1]), [group.scalars([1]), group.scalars([1, 2])])
    secret: Any = group.secret_scalars([1])
    with pytest.raises(UsageError):
        group.combine_scalars(secret, [group.scalars([1])])


@MANY
@given(data=st.binary(max_size=200), width=st.integers(1, 64))
def test_reduce_scalars(group: Group, data: bytes, width: int) -> None:
    data = data[: len(data) // width * width]
    expected = [
        int.from_bytes(data[i : i + width], "little") % ORDER for i in range(0, len(data), width)
    ]
    assert group.reduce_scalars(data, width).ints() == expected


@pytest.mark.parametrize("value", [ORDER, ORDER + 1, 2 * ORDER - 1, 2**256 - 1, 2**512 - 1])
def test_reduce_at_the_order(group: Group, value: int) -> None:
    assert group.reduce_scalars(value.to_bytes(64, "little"), 64).ints() == [value % ORDER]


@pytest.mark.parametrize("n", [0, 1, 3, 1000])
def test_random_scalars_use_the_bytes_they_ask_for(group: Group, n: int) -> None:
    asked: list[int] = []

    def rng(size: int) -> bytes:
        asked.append(size)
        return bytes(range(1, 65)) * (size // 64)

    drawn = group.random_scalars(n, rng)
    assert asked == [64 * n]
    expected = int.from_bytes(bytes(range(1, 65)), "little") % ORDER
    assert drawn.reveal().ints() == [expected] * n


@pytest.mark.parametrize("answer", [b"", bytes(63), bytes(65), "x" * 64, None])
def test_an_rng_that_does_not_answer_right_is_refused(group: Group, answer: Any) -> None:
    assert len(group.random_scalars(1, lambda _: bytes(64))) == 1
    with pytest.raises(UsageError):
        group.random_scalars(1, lambda _: answer)
