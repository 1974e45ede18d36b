"""Vectors behave like Python sequences, and public values travel between processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.values import FEW, ORDER, random_points, random_residues, random_scalars, stream
from wire.errors import MalformedMessage, UsageError

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


UNREDUCED = [ORDER, ORDER + 1, ORDER + 2**200, 2**253, 2**255 - 1, 2**255, 2**256 - 1]


HUGE = [2**20, 2**31, 2**32 - 1, 2**40, 2**58, 2**59, 2**62]


Decode = Callable[[bytes, Any], Any]


def little(value: int) -> bytes:
    return value.to_bytes(32, "little")


@pytest.mark.parametrize("value", UNREDUCED)
@pytest.mark.parametrize("position", [0, 2, 4])
def test_unreduced_scalars(group: Group, value: int, position: int) -> None:
    valid = [little(ORDER - 1 - k) for k in range(5)]
    assert group.decode_scalars(b"".join(valid), 5).ints() == [ORDER - 1 - k for k in range(5)]
    valid[position] = little(value)
    with pytest.raises(MalformedMessage) as caught:
        group.decode_scalars(b"".join(valid), 5)
    assert caught.value.offset == 32 * position


def test_unreduced_scalars_in_a_large_batch(group: Group) -> None:
    batch = [little(1)] * 20_000
    assert len(group.decode_scalars(b"".join(batch), 20_000)) == 20_000
    batch[15_000] = batch[19_999] = little(ORDER)
    with pytest.raises(MalformedMessage) as caught:
        group.decode_scalars(b"".join(batch), 20_000)
    assert caught.value.offset == 32 * 15_000


@pytest.mark.parametrize("position", [0, 2, 4])
def test_identity_only_where_it_is_allowed(group: Group, position: int) -> None:
    points = [*random_points(group, 5)]
    points[position] = group.identity
    data = group.points(points).to_bytes()
    assert group.decode_points(data, 5, allow_identity=True).find_identity() == position
    with pytest.raises(MalformedMessage) as caught:
        group.decode_points(data, 5)
    assert caught.value.offset == 32 * position


def test_identity_alone(group: Group) -> None:
    assert group.decode_point(bytes(32), allow_identity=True).is_identity()
    with pytest.raises(MalformedMessage) as caught:
        group.decode_point(bytes(32))
    assert caught.value.offset == 0


def decoders(group: Group) -> list[tuple[Decode, bytes]]:
    """Each batch decoder with three valid encodings."""
    return [
        (group.decode_scalars, random_scalars(group, 3).to_bytes()),
        (group.decode_points, random_points(group, 3).to_bytes()),
    ]


def test_wrong_lengths(group: Group) -> None:
    for decode, data in decoders(group):
        assert decode(data, 3).to_bytes() == data
        for bad in (data[:-1], data + b"\0", b"\0" + data, data[1:], data[:64], data * 2, b""):
            with pytest.raises(MalformedMessage) as caught:
                decode(bad, 3)
            assert caught.value.offset == min(len(bad), 96)


@pytest.mark.parametrize("count", [0, 1, 2, 4, *HUGE])
def test_counts_that_do_not_match(group: Group, count: int) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        tracemalloc.start()
        with pytest.raises(MalformedMessage) as caught:
            decode(data, count)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert caught.value.offset == min(96, 32 * count)
        assert peak < 1 << 20


@pytest.mark.parametrize("count", [-1, -3, -(2**70), 1.0, 3.0, "3", None])
def test_counts_that_are_none(group: Group, count: Any) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        with pytest.raises(UsageError):
            decode(data, count)


def test_count_zero(group: Group) -> None:
    for decode, data in decoders(group):
        assert len(decode(b"", 0)) == 0
        with pytest.raises(MalformedMessage):
            decode(data[:1], 0)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_a_single_point_has_its_size(group: Group, size: int) -> None:
    data = (group.generator.to_bytes() * 2)[:size]
    with pytest.raises(MalformedMessage) as caught:
        group.decode_point(data)
    assert caught.value.offset == min(size, 32)


@pytest.mark.parametrize("convert", [bytearray, memoryview, list, bytes.hex])
def test_only_bytes_are_decoded(group: Group, convert: Callable[[bytes], Any]) -> None:
    for decode, data in decoders(group):
        decode(data, 3)
        with pytest.raises(UsageError):
            decode(convert(data), 3)
    with pytest.raises(UsageError):
        group.decode_point(convert(group.generator.to_bytes()))


def test_other_representatives_of_a_valid_encoding(group: Group) -> None:
    """-s, s + p, 2p - s and s + 2p all lead to the point of s if they are not refused."""
    p = 2**255 - 19
    for point in (group.identity, group.generator, *random_points(group, 20)):
        s = int.from_bytes(point.to_bytes(), "little")
        assert group.decode_point(little(s), allow_identity=True) == point
        for other in (p - s, p + s, 2 * p - s, 2 * p + s, s + 2**255):
            if other < 2**256:
                with pytest.raises(MalformedMessage) as caught:
                    group.decode_point(little(other), allow_identity=True)
                assert caught.value.offset == 0


def test_every_flipped_bit_of_a_point_changes_or_breaks_it(group: Group) -> None:
    data = int.from_bytes(group.generator.to_bytes(), "little")
    for bit in range(256):
        flipped = little(data ^ 1 << bit)
        try:
            point = group.decode_point(flipped)
        except MalformedMessage:
            continue
        assert point.to_bytes() == flipped
        assert point != group.generator


@pytest.mark.parametrize("size", [1, 63, 65, 127])
def test_maps_take_whole_strings(group: Group, size: int) -> None:
    assert len(group.map_to_points(bytes(128))) == 2
    assert len(group.map_to_points(b"")) == 0
    with pytest.raises(UsageError):
        group.map_to_points(bytes(size))


@pytest.mark.parametrize(("size", "width"), [(1, 2), (63, 64), (65, 64), (5, 3)])
def test_reductions_take_whole_integers(group: Group, size: int, width: int) -> None:
    assert len(group.reduce_scalars(bytes(2 * width), width)) == 2
    assert len(group.reduce_scalars(b"", width)) == 0
    with pytest.raises(UsageError):
        group.reduce_scalars(bytes(size), width)


@pytest.mark.parametrize("width", [0, -1, 65, 2**70, 1.0, "8", None])
def test_reductions_take_widths_in_range(group: Group, width: Any) -> None:
    assert group.reduce_scalars(b"\x01" * 8, 8).ints() == [0x0101010101010101]
    with pytest.raises(UsageError):
        group.reduce_scalars(b"\x01" * 8, width)


THREADS = 4


LONG = 300.0  # seconds: a slow machine is no deadlock


def test_threads_share_objects(group: Group) -> None:
    points, scalars = random_points(group, 600), random_scalars(group, 600)
    fixed = group.fixed_bases(points[:1])
    encoded = points.to_bytes()
    work: list[Callable[[], bytes]] = [
        lambda: points.vartime_msm(scalars).to_bytes(),
        lambda: points[:40].msm(scalars[:40].secret()).to_bytes(),
        lambda: points[:40].__mul__(scalars[:40]).to_bytes(),
        lambda: group.decode_points(encoded, 600).to_bytes(),
        lambda: fixed.combine(scalars[:40]).to_bytes(),
        lambda: scalars.inverse().to_bytes() + scalars.sum().to_bytes(),
        lambda: stream(group).scalars(1000).reveal().to_bytes(),
    ]
    expected = [job() for job in work]
    with ThreadPoolExecutor(THREADS) as pool:
        rounds = pool.map(lambda _: [job() for job in work], range(THREADS))
        assert list(rounds) == [expected] * THREADS


def test_threads_share_fresh_objects(group: Group) -> None:
    """Whatever an object computes on first use, it may be computed twice at once."""
    expected = random_points(group, 200).to_bytes()
    for attempt in range(3):
        points = random_points(group, 200)
        with ThreadPoolExecutor(THREADS) as pool:
            singles = pool.map(lambda i, p=points: p[i % 200].to_bytes(), range(400))
            assert b"".join(singles) == expected * 2, attempt
            whole = pool.map(lambda _, p=points: p.to_bytes(), range(THREADS))
            assert list(whole) == [expected] * THREADS


def _large_sum(group: Group) -> bytes:
    points, scalars = random_points(group, 1000), random_scalars(group, 1000)
    return points.vartime_msm(scalars).to_bytes()


def _answer(group: Group, points: Any, scalars: Any, connection: Any) -> None:
    mask: Any = np.zeros(100_000, dtype="i8")
    stream(group).add_to(mask, 1)
    connection.send((points.vartime_msm(scalars).to_bytes(), _large_sum(group), mask.tobytes()))
    connection.close()


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("children", [1, 3])
def test_a_forked_child_computes(group: Group, children: int) -> None:
    """The parent's worker threads do not exist in the child; it must not wait for them."""
    expected = _large_sum(group)
    points, scalars = random_points(group, 1000), random_scalars(group, 1000)
    mask: Any = np.zeros(100_000, dtype="i8")
    stream(group).add_to(mask, 1)
    context = multiprocessing.get_context("fork")
    running = []
    for _ in range(children):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_answer, args=(group, points, scalars, sender))
        with warnings.catch_warnings():
            # From Python 3.12 on: forking beside threads is what is tested here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        sender.close()
        running.append((child, receiver))
    for child, receiver in running:
        try:
            assert receiver.poll(LONG), "the child hangs"
            assert receiver.recv() == (expected, expected, mask.tobytes())
            child.join(LONG)
            assert child.exitcode == 0
        finally:
            child.kill()
            child.join()
            receiver.close()
    assert _large_sum(group) == expected


def test_a_child_forked_while_a_thread_encodes(group: Group) -> None:
    """What the thread was about to remember never comes in the child; it must not wait for it."""
    points = random_points(group, 20_000 if group.backend == "native" else 100)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=points.to_bytes)
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        encoding = pool.submit(points.to_bytes)
        time.sleep(0.01)
        child.start()
        assert len(encoding.result()) == len(points) * group.point_size
    try:
        child.join(LONG)
        assert child.exitcode == 0, "the child hangs"
    finally:
        child.kill()
        child.join()
