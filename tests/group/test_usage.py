"""Mistakes of the calling code: `UsageError`, always, and nothing half-done."""

from __future__ import annotations

import array
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from commitments.group import Group
from commitments.reference import reference_ristretto255
from tests.group.backends import installed_groups
from tests.group.values import ORDER, random_points, random_scalars, stream
from tests.zkp.p256 import p256_group
from wire.errors import UsageError
from wire.secret import SecretBytes

OPERATIONS = [operator.add, operator.sub, operator.mul]
OUT_OF_RANGE = [ORDER, -ORDER, ORDER + 1, -ORDER - 1, 2**256, -(2**256), 2**3000]
NOT_INTEGERS = [1.0, float("nan"), "1", b"1", None, 1j, [1], np.float64(1), np.True_]


def everything(group: Group) -> dict[str, Any]:
    """One object of each kind."""
    scalars = random_scalars(group, 3, "all")
    points = group.points([group.generator] * 3) * scalars
    return {
        "scalar": scalars[0],
        "secret scalar": scalars[0].secret(),
        "scalars": scalars,
        "secret scalars": scalars.secret(),
        "point": points[0],
        "points": points,
    }


def strangers(group: Group) -> list[Group]:
    """Groups whose objects must not mix with those of this one."""
    others = [other for other in installed_groups() if other.backend != group.backend]
    return [p256_group(), *others]


ALLOWED = {
    ("scalar", "scalar"): OPERATIONS,
    ("scalar", "secret scalar"): OPERATIONS,
    ("secret scalar", "scalar"): OPERATIONS,
    ("secret scalar", "secret scalar"): OPERATIONS,
    ("scalars", "scalar"): OPERATIONS,
    ("scalars", "secret scalar"): OPERATIONS,
    ("scalars", "scalars"): OPERATIONS,
    ("scalars", "secret scalars"): OPERATIONS,
    ("secret scalars", "scalar"): OPERATIONS,
    ("secret scalars", "secret scalar"): OPERATIONS,
    ("secret scalars", "scalars"): OPERATIONS,
    ("secret scalars", "secret scalars"): OPERATIONS,
    ("point", "point"): [operator.add, operator.sub],
    ("point", "scalar"): [operator.mul],
    ("point", "secret scalar"): [operator.mul],
    ("points", "point"): [operator.add, operator.sub],
    ("points", "points"): [operator.add, operator.sub],
    ("points", "scalar"): [operator.mul],
    ("points", "secret scalar"): [operator.mul],
    ("points", "scalars"): [operator.mul],
    ("points", "secret scalars"): [operator.mul],
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_pair_of_operands(group: Group, operation: Callable[[Any, Any], Any]) -> None:
    objects = everything(group)
    for left in objects:
        for right in objects:
            if operation in ALLOWED.get((left, right), []):
                assert operation(objects[left], objects[right]) is not None
            else:
                with pytest.raises(UsageError):
                    operation(objects[left], objects[right])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operands_of_another_group(group: Group, operation: Callable[[Any, Any], Any]) -> None:
    objects = everything(group)
    for stranger in strangers(group):
        foreign = everything(stranger)
        for left, right in ALLOWED:
            with pytest.raises(UsageError):
                operation(objects[left], foreign[right])
            with pytest.raises(UsageError):
                operation(foreign[left], objects[right])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operands_of_no_group(group: Group, operation: Callable[[Any, Any], Any]) -> None:
    for value in everything(group).values():
        for other in (1, 1.0, None, "1", b"1", [1, 2, 3], object()):
            with pytest.raises(UsageError):
                operation(value, other)


def calls(group: Group, of: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Every method of the group's objects that takes objects, with these arguments."""
    own = everything(group)
    scalar, scalars, secrets = of["scalar"], of["scalars"], of["secret scalars"]
    point, points = of["point"], of["points"]
    fixed = group.fixed_bases(own["points"][:1])
    return {
        "inner": lambda: own["scalars"].inner(scalars),
        "inner secret": lambda: own["scalars"].inner(secrets),
        "secret inner": lambda: own["secret scalars"].inner(scalars),
        "concat": lambda: own["scalars"].concat(scalars),
        "concat secret": lambda: own["scalars"].concat(secrets),
        "secret concat": lambda: own["secret scalars"].concat(scalars),
        "msm": lambda: own["points"].msm(scalars),
        "msm secret": lambda: own["points"].msm(secrets),
        "vartime_msm": lambda: own["points"].vartime_msm(scalars),
        "segments": lambda: own["points"].vartime_segment_msm(scalars, [1, 2]),
        "concat points": lambda: own["points"].concat(points),
        "powers": lambda: group.powers(scalar, 3),
        "combine_scalars": lambda: group.combine_scalars(scalars, [own["scalars"]] * 3),
        "combine_scalars of": lambda: group.combine_scalars(own["scalars"], [scalars] * 3),
        "combine_scalars secret": lambda: group.combine_scalars(own["scalars"], [secrets] * 3),
        "points": lambda: group.points([point]),
        "fixed_bases": lambda: group.fixed_bases(points),
        "combine": lambda: fixed.combine(scalars),
        "combine secret": lambda: fixed.combine(secrets),
    }


def test_arguments_of_another_group(group: Group) -> None:
    for name, call in calls(group, everything(group)).items():
        assert call() is not None, name
    for stranger in strangers(group):
        for call in calls(group, everything(stranger)).values():
            with pytest.raises(UsageError):
                call()


def test_arguments_of_no_group(group: Group) -> None:
    for wrong in (None, 1, "1", [1, 2, 3]):
        of = dict.fromkeys(everything(group), wrong)
        for call in calls(group, of).values():
            with pytest.raises(UsageError):
                call()


def test_secrets_where_public_scalars_are_needed(group: Group) -> None:
    own = everything(group)
    hidden = {**own, "scalar": own["secret scalar"], "scalars": own["secret scalars"]}
    public_only = {"vartime_msm", "segments", "powers", "combine_scalars"}
    given, concealed = calls(group, own), calls(group, hidden)
    for name in public_only:
        assert given[name]() is not None
        with pytest.raises(UsageError):
            concealed[name]()


@pytest.mark.parametrize("size", [0, 1, 2, 4])
def test_wrong_lengths(group: Group, size: int) -> None:
    scalars, points = random_scalars(group, 3), random_points(group, 3)
    others, more = random_scalars(group, size), random_points(group, size)
    wrong: list[Callable[[], Any]] = [
        lambda: scalars + others,
        lambda: scalars - others.secret(),
        lambda: scalars.secret() * others,
        lambda: scalars.inner(others),
        lambda: scalars.secret().inner(others),
        lambda: points + more,
        lambda: points - more,
        lambda: points * others,
        lambda: points * others.secret(),
        lambda: points.msm(others),
        lambda: points.msm(others.secret()),
        lambda: points.vartime_msm(others),
        lambda: points.vartime_segment_msm(others, [1, 2]),
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()


@pytest.mark.parametrize("value", OUT_OF_RANGE)
def test_integers_out_of_range(group: Group, value: int) -> None:
    assert group.scalars([ORDER - 1, 1 - ORDER]).ints() == [ORDER - 1, 1]
    for make in (group.scalar, group.secret_scalar):
        with pytest.raises(UsageError):
            make(value)
    for make_many in (group.scalars, group.secret_scalars):
        for values in ([value], [1, value], iter([value])):
            with pytest.raises(UsageError):
                make_many(values)


@pytest.mark.parametrize("value", NOT_INTEGERS)
def test_no_integers(group: Group, value: Any) -> None:
    for make in (group.scalar, group.secret_scalar):
        with pytest.raises(UsageError):
            make(value)
    for make_many in (group.scalars, group.secret_scalars):
        with pytest.raises(UsageError):
            make_many([1, value])


def test_booleans_are_no_integers(group: Group) -> None:
    """A comparison that slips into an integer's place is a mistake everywhere."""
    scalars, points, made = random_scalars(group, 2), random_points(group, 2), stream(group)
    encoded = scalars[:1].to_bytes()
    mask: Any = np.zeros(1, dtype="i8")
    places: list[Callable[[Any], Any]] = [
        group.scalar,
        group.secret_scalar,
        lambda value: group.scalars([value]),
        lambda value: group.secret_scalars([value]),
        lambda value: scalars[value],
        lambda value: points[value],
        lambda value: scalars.gather([value]),
        lambda value: points[:1].vartime_segment_msm(scalars[:1], [value]),
        lambda value: group.decode_scalars(encoded, value),
        lambda value: group.reduce_scalars(encoded, value),
        lambda value: group.powers(scalars[0], value),
        lambda value: group.random_scalars(value, bytes),
        made.bytes,
        made.scalars,
        lambda value: made.bits(value, 1),
        lambda value: made.bits(8, value),
        lambda value: made.add_to(mask, value),
    ]
    for place in places:
        place(1)
        for value in (True, False):
            with pytest.raises(UsageError):
                place(value)


def test_integers_of_numpy(group: Group) -> None:
    assert int(group.scalar(np.int64(-3))) == ORDER - 3  # type: ignore[arg-type]
    values: Any = [np.uint8(7), np.int32(-1)]
    assert group.scalars(values).ints() == [7, ORDER - 1]


@pytest.mark.parametrize("values", [None, 3, 1.5, object()])
def test_no_series(group: Group, values: Any) -> None:
    for make in (group.scalars, group.secret_scalars):
        assert len(make(value for value in (1, 2))) == 2
        with pytest.raises(UsageError):
            make(values)


@pytest.mark.parametrize("values", [None, 3, 1.5, object()])
def test_no_series_of_points(group: Group, values: Any) -> None:
    assert len(group.points([group.generator])) == 1
    with pytest.raises(UsageError):
        group.points(values)


def test_a_buffer_that_was_given_back_is_none(group: Group) -> None:
    numbers = memoryview(array.array("q", range(3)))
    assert group.scalars(numbers).ints() == [0, 1, 2]
    numbers.release()
    with pytest.raises(UsageError):
        group.scalars(numbers)


@pytest.mark.parametrize("part", [slice(None, None, 0), slice("a"), slice(0.5, None)], ids=str)
def test_slices_that_are_none(group: Group, part: Any) -> None:
    scalars, points = random_scalars(group, 3), random_points(group, 3)
    for vector in (scalars, scalars.secret(), points):
        assert len(vector[slice(None, None, 2)]) == 2
        with pytest.raises(UsageError):
            vector[part]


INTEGER_TYPES = ["i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("dtype", INTEGER_TYPES)
def test_scalars_from_buffers(group: Group, dtype: str) -> None:
    limits = np.iinfo(dtype)
    values: Any = np.array([limits.min, limits.max, 0, 1], dtype=dtype)
    expected = [int(value) % ORDER for value in values]
    read_only = values.copy()
    read_only.flags.writeable = False
    for buffer in (values, read_only, memoryview(values), values[::-1][::-1]):
        assert group.scalars(buffer).ints() == expected
        assert group.secret_scalars(buffer).reveal().ints() == expected
    assert group.scalars(np.array([], dtype=dtype)).ints() == []
    assert group.scalars(np.repeat(values, 2)[::2]).ints() == expected


def test_scalars_from_an_array(group: Group) -> None:
    assert group.scalars(array.array("q", [-1, 5])).ints() == [ORDER - 1, 5]
    many = np.arange(-5_000, 5_000)
    assert group.scalars(many).ints() == [int(value) % ORDER for value in many]


@pytest.mark.parametrize(
    "buffer",
    [
        b"12345678",
        bytearray(8),
        np.zeros(3, dtype="f8"),
        np.zeros(3, dtype="f4"),
        np.zeros(3, dtype="i2"),
        np.zeros(3, dtype="u1"),
        np.zeros(3, dtype="?"),
        np.zeros(3, dtype="c16"),
        np.zeros(3, dtype="c8"),
        np.zeros(3, dtype=">i8"),
        np.zeros(3, dtype=">u4"),
        np.zeros((2, 2), dtype="i8"),
        np.zeros((0, 2), dtype="i8"),
        np.array(3, dtype="i8"),
        np.array([1, 2], dtype=object),
        np.zeros(3, dtype=[("a", "i4"), ("b", "i4")]),
    ],
    ids=lambda buffer: f"{type(buffer).__name__}-{getattr(buffer, 'dtype', '')}",
)
def test_other_buffers(group: Group, buffer: Any) -> None:
    for make in (group.scalars, group.secret_scalars):
        with pytest.raises(UsageError):
            make(buffer)


@pytest.mark.parametrize("n", [-1, -(2**70), 1.0, "1", None])
def test_sizes_that_are_none(group: Group, n: Any) -> None:
    asked: list[int] = []

    def rng(size: int) -> bytes:
        asked.append(size)
        return bytes(size)

    one = group.scalar(1)
    assert len(group.random_scalars(2, rng)) == len(group.powers(one, 2)) == 2
    with pytest.raises(UsageError):
        group.random_scalars(n, rng)
    with pytest.raises(UsageError):
        group.powers(one, n)
    assert asked == [128]


@pytest.mark.parametrize(
    ("seed", "domain"),
    [
        (bytes(32), bytes(12)),
        (SecretBytes(bytes(31)), bytes(12)),
        (SecretBytes(bytes(33)), bytes(12)),
        (None, bytes(12)),
        (SecretBytes(bytes(32)), bytes(11)),
        (SecretBytes(bytes(32)), bytes(13)),
        (SecretBytes(bytes(32)), "d" * 12),
        (SecretBytes(bytes(32)), None),
        (SecretBytes(bytes(32)), bytearray(12)),
    ],
)
def test_streams_need_a_seed_and_a_domain(group: Group, seed: Any, domain: Any) -> None:
    assert group.stream(SecretBytes(bytes(32)), bytes(12)).bytes(1)
    with pytest.raises(UsageError):
        group.stream(seed, domain)


def test_errors_do_not_repeat_values() -> None:
    """An integer that is refused may be a secret all the same."""
    group = reference_ristretto255()
    for secret in (ORDER + 31337, -ORDER - 31337):
        with pytest.raises(UsageError) as caught:
            group.secret_scalar(secret)
        assert str(secret) not in str(caught.value)
