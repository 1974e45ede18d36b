"""Vectors behave like Python sequences, and public values travel between processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.values import FEW, random_points, random_residues, random_scalars
from wire.errors import UsageError

SIZE = 7
KINDS = ["ScalarVec", "SecretScalarVec", "PointVec"]
kinds = pytest.mark.parametrize("kind", KINDS)
optional_integers = st.none() | st.integers(-SIZE - 3, SIZE + 3)


def make(group: Group, kind: str, positions: Sequence[int] = range(SIZE)) -> Any:
    """A vector of a kind whose elements are told apart by their position."""
    if kind == "PointVec":
        points = random_points(group, SIZE)
        return group.points([points[i] for i in positions])
    values = random_residues(SIZE)
    vector = group.scalars([values[i] for i in positions])
    return vector.secret() if kind == "SecretScalarVec" else vector


def same(left: Any, right: Any) -> bool:
    """Equality of vectors of one type, secret ones revealed."""
    if type(left) is not type(right):
        return False
    return bool(left.reveal() == right.reveal() if hasattr(left, "reveal") else left == right)


@kinds
@FEW
@given(
    start=optional_integers, stop=optional_integers, step=optional_integers.filter(lambda s: s != 0)
)
def test_slices(
    group: Group, kind: str, start: int | None, stop: int | None, step: int | None
) -> None:
    part = slice(start, stop, step)
    positions = list(range(SIZE))[part]
    assert same(make(group, kind)[part], make(group, kind, positions))


@kinds
def test_single_positions(group: Group, kind: str) -> None:
    vector = make(group, kind)
    for position in range(-SIZE, SIZE):
        element, expected = vector[position], vector[position % SIZE : position % SIZE + 1]
        if kind == "PointVec":
            assert group.points([element]) == expected
        elif kind == "ScalarVec":
            assert [int(element)] == expected.ints()
        else:
            assert [int(element.reveal())] == expected.reveal().ints()


@kinds
@pytest.mark.parametrize("index", [SIZE, -SIZE - 1, 2**70, -(2**70), 1.0, "0", None])
def test_wrong_positions(group: Group, kind: str, index: Any) -> None:
    vector = make(group, kind)
    with pytest.raises(UsageError):
        vector[index]


@kinds
@FEW
@given(positions=st.lists(st.integers(0, SIZE - 1), max_size=12))
def test_gather(group: Group, kind: str, positions: list[int]) -> None:
    assert same(make(group, kind).gather(positions), make(group, kind, positions))


@kinds
@pytest.mark.parametrize("positions", [[SIZE], [0, -1], [2**70], [1.0], ["0"], [None], 3])
def test_gather_refuses(group: Group, kind: str, positions: Any) -> None:
    vector = make(group, kind)
    assert len(vector.gather([0, 1])) == 2
    with pytest.raises(UsageError):
        vector.gather(positions)


@kinds
@pytest.mark.parametrize("cut", [0, 1, 6, SIZE])
def test_concat(group: Group, kind: str, cut: int) -> None:
    vector = make(group, kind)
    assert same(vector[:cut].concat(vector[cut:]), vector)


@kinds
def test_empty_results_have_their_type(group: Group, kind: str) -> None:
    vector = make(group, kind)
    for empty in (vector[:0], vector.gather([]), vector[:0].concat(vector[:0])):
        assert type(empty) is type(vector)
        assert len(empty) == 0


def test_iteration(group: Group) -> None:
    scalars, points = random_scalars(group, 5), random_points(group, 5)
    assert [int(scalar) for scalar in scalars] == scalars.ints()
    assert group.points(points) == points
    assert b"".join(point.to_bytes() for point in points) == points.to_bytes()


def test_batch_encodings_are_the_single_ones(group: Group) -> None:
    scalars, points = random_scalars(group, 5), random_points(group, 5)
    assert scalars.to_bytes() == b"".join(scalar.to_bytes() for scalar in scalars)
    assert group.decode_scalars(scalars.to_bytes(), 5) == scalars
    assert group.decode_points(points.to_bytes(), 5) == points
    for i, point in enumerate(points):
        assert group.decode_point(points.to_bytes()[32 * i : 32 * i + 32]) == point


def test_equality_of_vectors(group: Group) -> None:
    for vector in (random_scalars(group, 3), random_points(group, 3)):
        other: Any = vector.gather([0, 1, 2])
        assert vector == other
        assert vector != other[:2]
        assert vector != other[::-1]
        assert vector != vector.to_bytes()
        with pytest.raises(TypeError):
            hash(vector)


def test_public_values_are_never_equal_to_something_else(group: Group) -> None:
    scalar, point = group.scalar(5), group.generator
    for other in (5, None, "5", scalar.to_bytes(), object()):
        assert scalar != other
        assert point != other
    assert scalar != point


def test_single_values_work_as_keys(group: Group) -> None:
    table: dict[object, str] = {group.scalar(5): "scalar", group.generator: "point"}
    assert table[group.scalar(4) + group.scalar(1)] == "scalar"
    assert table[group.decode_point(group.generator.to_bytes())] == "point"


def public_values(group: Group) -> list[Any]:
    scalars, points = random_scalars(group, 3), random_points(group, 3)
    zero, identity = scalars[0] - scalars[0], points[0] - points[0]
    empty = [scalars[:0], points[:0]]
    with_identity = points.concat(group.points([identity]))
    return [scalars[0], zero, scalars, points[0], identity, points, with_identity, *empty]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_public_values_pickle(group: Group, protocol: int) -> None:
    for value in public_values(group):
        again = pickle.loads(pickle.dumps(value, protocol))  # noqa: S301  made on the line itself
        assert type(again) is type(value)
        assert again == value
        assert again.to_bytes() == value.to_bytes()


def test_public_values_copy(group: Group) -> None:
    for value in public_values(group):
        assert copy.copy(value) == copy.deepcopy(value) == value


def test_the_group_pickles(group: Group) -> None:
    again = pickle.loads(pickle.dumps(group))  # noqa: S301  made on the line itself
    assert again == group
    assert again.generator + group.generator == group.generator * group.scalar(2)


def test_pickled_bytes_are_decoded_strictly(group: Group) -> None:
    """A pickle that was tampered with never gives an object that is not valid."""
    values = public_values(group)
    for value in (values[0], values[2], values[3], values[5]):
        restore, arguments = value.__reduce__()[:2]
        assert restore(*arguments) == value
        for bad in (b"\xff" * 32, arguments[-1][:-1], arguments[-1] + b"\0"):
            with pytest.raises(Exception) as caught:  # noqa: PT011  types checked below
                restore(*arguments[:-1], bad)
            assert type(caught.value).__module__ == "wire.errors"


def test_operands_never_change(group: Group) -> None:
    scalars, points = random_scalars(group, 4), random_points(group, 4)
    scalar, point = scalars[0], points[0]
    before = [value.to_bytes() for value in (scalars, points, scalar, point)]
    results: list[object] = [
        scalars + scalars, scalars * scalar, -scalars, scalars.inverse(), scalars.concat(scalars),
        points + points, points - point, -points, points * scalars, points.vartime_msm(scalars),
        points.concat(points), points.sum(),
        scalar + scalar, scalar * scalar, -scalar, point + point, -point, point * scalar,
        group.fixed_bases(points[:1]).combine(scalars), group.powers(scalar, 5),
    ]  # fmt: skip
    assert len(results) == 20
    assert before == [value.to_bytes() for value in (scalars, points, scalar, point)]
    alias, grown = points, points
    grown += points
    assert alias == points
    assert grown != points


def test_vectors_do_not_follow_their_sources(group: Group) -> None:
    values = [1, 2, 3]
    scalars = group.scalars(values)
    values[0] = 9
    assert scalars.ints() == [1, 2, 3]
    scalars.ints()[0] = 9
    assert scalars.ints() == [1, 2, 3]
    points = [group.generator, group.identity]
    vector = group.points(points)
    points[0] = group.identity
    assert vector[0] == group.generator
