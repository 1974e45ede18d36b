"""Both backends give the same bytes for the same inputs, random ones and edges.

Inputs cross over as integers and encodings; results are compared as such.
"""

from __future__ import annotations

import array
import ctypes
import hashlib
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments import ristretto255
from commitments.generators import hash_to_points
from commitments.group import Group, PointVec
from commitments.tables import table_kernels
from tests.group.backends import installed_groups
from tests.group.values import EDGES, FEW, MANY, ORDER, integers, random_residues, residues, stream
from tests.randomness import seeded
from wire.errors import MalformedMessage, UsageError

REFERENCE, NATIVE = installed_groups()


def agree(compute: Callable[[Group], Any]) -> Any:
    """The result that both backends give."""
    results = [compute(group) for group in (REFERENCE, NATIVE)]
    assert results[0] == results[1]
    return results[0]


def edge_points(group: Group, n: int) -> PointVec:
    """Random points with identities, repeats and opposite pairs among them."""
    points = group.map_to_points(hashlib.shake_256(b"agreement").digest(64 * (n + 1)))
    awkward = [group.identity, points[0], -points[0], points[0], group.identity, group.generator]
    return group.points(awkward[:n]).concat(points[len(awkward) : n])


def edge_residues(n: int, seed: str) -> list[int]:
    values = random_residues(n, seed)
    values[::3] = [EDGES[i % len(EDGES)] for i in range(len(values[::3]))]
    return values


def test_constants() -> None:
    agree(lambda group: (group.name, group.order, group.scalar_size, group.point_size))
    agree(lambda group: group.generator.to_bytes() + group.identity.to_bytes())
    assert (REFERENCE.backend, NATIVE.backend) == ("reference", "native")


@MANY
@given(data=st.one_of(st.binary(min_size=64, max_size=64), st.just(b"\xff" * 64)))
def test_maps(data: bytes) -> None:
    agree(lambda group: group.map_to_points(data).to_bytes())


@MANY
@given(data=st.binary(min_size=32, max_size=32), clear=st.booleans())
def test_accept_sets(data: bytes, clear: bool) -> None:
    """Even and small: about every fourth of these strings is an encoding."""
    if clear:
        data = bytes([data[0] & 0xFE]) + data[1:31] + bytes([data[31] & 0x7F])

    def decoded(group: Group) -> Any:
        try:
            return group.decode_point(data, allow_identity=True).to_bytes()
        except MalformedMessage as error:
            return error.offset

    agree(decoded)


@MANY
@given(a=integers, b=integers)
def test_scalars(a: int, b: int) -> None:
    def results(group: Group) -> list[bytes]:
        x, y = group.scalar(a), group.scalar(b)
        values = [x + y, x - y, x * y, -x, x if x.is_zero() else x.inverse()]
        return [value.to_bytes() for value in values]

    agree(results)


@FEW
@given(a=residues, b=residues)
def test_points(a: int, b: int) -> None:
    def results(group: Group) -> list[bytes]:
        A, B = group.generator * group.scalar(a), group.generator * group.scalar(b)
        return [point.to_bytes() for point in (A, B, A + B, A - B, -A, A * group.scalar(b))]

    agree(results)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 50, 200])
def test_vectors(n: int) -> None:
    left, right = edge_residues(n, "left"), edge_residues(n, "right")

    def results(group: Group) -> list[bytes]:
        v, w = group.scalars(left), group.scalars(right)
        combined: Any = group.combine_scalars(group.scalars([3, -5]), [v, w])
        vectors = [v + w, v - w, v * w, -v, v * group.scalar(7), combined, v[::-2], v.concat(w)]
        singles = [v.sum(), v.inner(w), v.inner(w.secret()).reveal()]
        return [*(x.to_bytes() for x in vectors), *(x.to_bytes() for x in singles)]

    agree(results)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 50, 200])
def test_point_vectors(n: int) -> None:
    values = edge_residues(n, "values")

    def results(group: Group) -> list[bytes]:
        points, scalars = edge_points(group, n), group.scalars(values)
        lengths = [n // 3, 0, n - n // 3]
        vectors = [
            points + points[::-1],
            points - points[::-1],
            -points,
            points * scalars,
            points * scalars.secret(),
            points * group.scalar(ORDER - 2),
            points.vartime_segment_msm(scalars, lengths),
        ]
        sums = [points.sum(), points.msm(scalars), points.vartime_msm(scalars)]
        return [*(x.to_bytes() for x in vectors), *(x.to_bytes() for x in sums)]

    agree(results)


@pytest.mark.thirds
@pytest.mark.parametrize("bits", [1, 8, 16, 40, 100, 251])
def test_large_sums(bits: int) -> None:
    values = [value % (1 << bits) for value in random_residues(3000)]
    values[::2] = [-value for value in values[::2]]

    def results(group: Group) -> bytes:
        return edge_points(group, 3000).vartime_msm(group.scalars(values)).to_bytes()

    agree(results)


def test_fixed_bases() -> None:
    columns = [edge_residues(40, "first"), edge_residues(40, "second"), [0] * 40]

    def results(group: Group) -> bytes:
        fixed = group.fixed_bases(edge_points(group, 9)[5:8])
        return fixed.combine(*(group.scalars(column) for column in columns)).to_bytes()

    agree(results)


def test_sums_of_rows() -> None:
    values = [[value % 2000 - 1000 for value in random_residues(30, f"{i}")] for i in range(4)]

    def results(group: Group) -> list[bytes]:
        points, rows = edge_points(group, 30), [group.secret_scalars(row) for row in values]
        return [points.msms(rows).to_bytes(), points.msms(rows, bits=10).to_bytes()]

    agree(results)


def test_random_and_reduced_scalars() -> None:
    agree(lambda group: group.random_scalars(30, seeded("agreement")).reveal().ints())
    data = hashlib.shake_256(b"reduce").digest(2000)
    for width in (1, 7, 16, 31, 32, 33, 48, 63, 64):
        for strings in (data[: len(data) // width * width], b"\xff" * (3 * width)):
            agree(lambda group: group.reduce_scalars(strings, width).ints())  # noqa: B023  used at once


calls = st.one_of(
    st.tuples(st.just("bytes"), st.integers(0, 150)),
    st.tuples(st.just("scalars"), st.integers(0, 3)),
    st.tuples(st.just("bits"), st.integers(1, 64), st.integers(0, 20)),
    st.tuples(st.just("add"), st.sampled_from(["i4", "u4", "i8", "u8"]), st.integers(0, 40)),
    st.tuples(st.just("wide"), st.integers(1, 40), st.integers(0, 20)),
    st.tuples(st.just("wide scalars"), st.integers(1, 40), st.integers(0, 20)),
    st.tuples(st.just("wide add"), st.sampled_from(["i4", "u4", "i8", "u8"]), st.integers(0, 40)),
)


def wide_table(group: Group, radius: int) -> Any:
    """Bounds of every size, some of them equal."""
    return group.wide_table([1 << 127 * (i // 2) // radius for i in range(1, 2 * radius + 1)])


def played(group: Group, script: list[tuple[Any, ...]]) -> list[Any]:
    """What a stream answers to a sequence of calls."""
    made = stream(group)
    answers: list[Any] = []
    for name, *arguments in script:
        if name == "bytes":
            answers.append(made.bytes(*arguments))
        elif name == "scalars":
            answers.append(made.scalars(*arguments).reveal().ints())
        elif name == "bits":
            answers.append(made.bits(*arguments))
        elif name == "wide":
            radius, n = arguments
            answers.append(made.wide_table_draws(wide_table(group, radius), n))
        elif name == "wide scalars":
            radius, n = arguments
            drawn = made.wide_table_scalars(wide_table(group, radius), n)
            answers.append(drawn.reveal().ints())
        elif name == "wide add":
            dtype, n = arguments
            words: Any = np.arange(n).astype(dtype)
            made.add_wide_draws_to(words, 1 if n % 2 else -1, wide_table(group, 20))
            answers.append(words.tolist())
        else:
            dtype, n = arguments
            array: Any = np.arange(n).astype(dtype)
            made.add_to(array, 1 if n % 2 else -1)
            answers.append(array.tolist())
    return answers


@MANY
@given(script=st.lists(calls, max_size=10))
def test_streams(script: list[tuple[Any, ...]]) -> None:
    agree(lambda group: played(group, script))


def test_long_streams() -> None:
    script = [("bytes", 5), ("bits", 33, 50_000), ("add", "i8", 300_001), ("bytes", 100)]
    agree(lambda group: played(group, script))


def test_hash_to_group() -> None:
    messages = [f"message {i}".encode() * i for i in range(40)]
    agree(lambda group: hash_to_points(group, messages, b"agreement").to_bytes())
    agree(lambda group: hash_to_points(group, messages[:3], b"long" * 100).to_bytes())


def test_tables_of_backends_do_not_mix() -> None:
    one, other = (table_kernels(group).of_integers(np.arange(8)) for group in installed_groups())
    assert one.inner(one) is not None
    for table, stranger in ((one, other), (other, one)):
        with pytest.raises(UsageError):
            table.inner(stranger)


CODES = "iIlLqQ"


OTHER_CODES = "bBhHfd"


def from_array(code: str, n: int) -> Any:
    return array.array(code, [1] * n)


def from_numpy(code: str, n: int) -> Any:
    return np.ones(n, dtype=code)


def from_memory(code: str, n: int) -> Any:
    return memoryview(array.array(code, [1] * n))


def from_bytes(code: Any, n: int) -> Any:
    return memoryview(bytearray(np.ones(n, dtype=code).tobytes())).cast(code)


def from_sliced(code: str, n: int) -> Any:
    """The end of a longer buffer: an empty one begins where that ends."""
    return memoryview(array.array(code, [1] * (n + 3)))[3:]


def from_ctypes(code: Any, n: int) -> Any:
    kinds = {"i": ctypes.c_int, "I": ctypes.c_uint, "q": ctypes.c_longlong}
    kinds |= {"Q": ctypes.c_ulonglong, "l": ctypes.c_long, "L": ctypes.c_ulong}
    return memoryview((kinds[code] * n)(*[1] * n)).cast("B").cast(code)


MAKERS: list[Callable[[str, int], Any]] = [
    from_array,
    from_numpy,
    from_memory,
    from_bytes,
    from_sliced,
    from_ctypes,
]


@pytest.mark.parametrize("code", CODES)
def test_buffers_of_integers(group: Group, code: str) -> None:
    for make, n in product(MAKERS, (0, 1, 5)):
        assert group.scalars(make(code, n)).ints() == [1] * n
        assert group.secret_scalars(make(code, n)).reveal().ints() == [1] * n
        target, same = make(code, n), make(code, n)
        stream(group).add_to(target, 1)
        assert len(target) == n
        stream(group).add_to(target, -1)
        assert list(target) == list(same)
        table = group.wide_table([1, 1 << 127])
        stream(group).add_wide_draws_to(target, 1, table)
        assert len(target) == n


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("make", [from_array, from_numpy, from_memory])
@pytest.mark.parametrize("code", OTHER_CODES)
def test_buffers_of_other_things(
    group: Group, make: Callable[[str, int], Any], code: str, n: int
) -> None:
    assert group.scalars(make("q", n)).ints() == [1] * n
    with pytest.raises(UsageError):
        group.scalars(make(code, n))
    with pytest.raises(UsageError):
        stream(group).add_to(make(code, n), 1)


ODD: dict[str, Callable[[], Any]] = {
    "big-endian": lambda: np.ones(0, dtype=">i8"),
    "two dimensions": lambda: np.ones((0, 2), dtype="i8"),
    "no dimension": lambda: np.array(1, dtype="i8"),
    "bytes": lambda: b"",
    "bytearray": bytearray,
    "map": lambda: mmap.mmap(-1, 8),
    "structures": lambda: np.zeros(0, dtype=[("a", "i8")]),
    "truth values": lambda: np.zeros(0, dtype=bool),
    "complex": lambda: np.zeros(0, dtype=complex),
    "misaligned": lambda: memoryview(bytearray(17))[1:].cast("q"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_buffers(group: Group, name: str) -> None:
    stream(group).add_to(np.ones(0, dtype="i8"), 1)
    with pytest.raises(UsageError):
        stream(group).add_to(ODD[name](), 1)
    if name in {"bytes", "bytearray", "map"}:
        return  # as iterables these are integers of one byte each, or not: see test_usage
    assert group.scalars(np.ones(0, dtype="i8")).ints() == []
    with pytest.raises(UsageError):
        group.scalars(ODD[name]())


def test_buffers_that_may_not_be_written_to(group: Group) -> None:
    for n in (0, 3):
        words = np.ones(n, dtype="i8")
        stream(group).add_to(words, 1)
        words.flags.writeable = False
        with pytest.raises(UsageError):
            stream(group).add_to(words, 1)
        if n:
            stream(group).add_to(np.ones(2 * n, dtype="i8"), 1)
            with pytest.raises(UsageError):
                stream(group).add_to(np.ones(2 * n, dtype="i8")[::2], 1)


PROGRAM = """
import json
import numpy as np
from commitments import derive_generators, ristretto255
from commitments.tables import table_kernels

group = ristretto255("native")
kernels = table_kernels(group)
values = np.arange(-2000, 2100, dtype=np.int64)
point = group.scalars(range(11, 24))
table = kernels.of_integers(values).times(kernels.equality(point, len(values)))
sums = table.power_sums(8, 4096).concat(table.fold(point[0], 4096).scalars()).reveal()
bases = derive_generators(group, b"vector", 41)
rows = [group.secret_scalars(values[start : start + 41]) for start in range(0, 4100, 41)]
points = bases.msms(rows, bits=12)
print(json.dumps([group.details, sums.to_bytes().hex(), points.to_bytes().hex()]))
"""


def told(lanes: str | None) -> list[str]:
    """What a new process finds out."""
    given = {name: value for name, value in os.environ.items() if name != "GOPA_LANES"}
    given |= {} if lanes is None else {"GOPA_LANES": lanes}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(ran.stdout)
    return found


def test_lanes_change_nothing_but_the_time() -> None:
    details, *found = told(None)
    without, *expected = told("0")
    assert found == expected
    assert "tables portable" in without
    assert "tables avx512ifma" in details or details == without
    assert ristretto255("native").details.startswith("curve25519-dalek, ")
