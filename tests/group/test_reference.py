"""What only the reference backend has: coordinates, recodings, its one warning."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.reference import (
    ReferenceGroup,
    reference_ristretto255,
    warn_not_constant_time,
)
from commitments.reference import multiexp as sums
from commitments.reference import ristretto255 as field
from commitments.reference import stream as reference_stream
from commitments.reference.bigint import invert_all, mpz
from commitments.reference.multiexp import centred, sparse_digits, windows_for
from commitments.reference.ristretto255 import RISTRETTO255
from tests.group.values import FEW, MANY, ORDER, dot, integers, residues, stream
from tests.zkp.p256 import P256_CURVE, p256_group
from wire.errors import UsageError

P = 2**255 - 19
elements = st.integers(0, P - 1)


def test_one_instance() -> None:
    assert reference_ristretto255() is reference_ristretto255()
    assert reference_ristretto255() == ReferenceGroup(RISTRETTO255)
    assert hash(reference_ristretto255()) == hash(ReferenceGroup(RISTRETTO255))
    assert reference_ristretto255() != p256_group()
    assert pickle.loads(pickle.dumps(RISTRETTO255)) is RISTRETTO255  # noqa: S301  made here


def test_the_warning_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    warn_not_constant_time.cache_clear()
    with caplog.at_level(logging.WARNING, logger="gopa.backend"):
        warn_not_constant_time()
        warn_not_constant_time()
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("gopa.backend", "WARNING")
    ]


def test_importing_warns_of_nothing() -> None:
    code = "import commitments.reference as r; r.reference_ristretto255()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_constants_of_the_field() -> None:
    """RFC 9496, section 4.1: each constant by its defining equation, and which root."""
    d = -121665 * pow(121666, -1, P) % P
    assert d == field.D
    assert pow(field.SQRT_M1, 2, P) == P - 1
    assert pow(field.SQRT_AD_MINUS_ONE, 2, P) == (-d - 1) % P
    assert pow(field.INVSQRT_A_MINUS_D, 2, P) * (-1 - d) % P == 1
    assert (1 - d * d) % P == field.ONE_MINUS_D_SQ
    assert pow(d - 1, 2, P) == field.D_MINUS_ONE_SQ
    odd = [field.SQRT_M1 & 1, field.SQRT_AD_MINUS_ONE & 1, field.INVSQRT_A_MINUS_D & 1]
    assert odd == [0, 1, 0]


@MANY
@given(numerator=elements, denominator=elements)
def test_square_roots_of_ratios(numerator: int, denominator: int) -> None:
    """RFC 9496, section 4.2, by the definition of its four cases."""
    was_square, root = field.sqrt_ratio(mpz(numerator), mpz(denominator))
    assert root % 2 == 0
    if numerator == 0:
        assert (was_square, root) == (True, 0)
    elif denominator == 0:
        assert (was_square, root) == (False, 0)
    else:
        ratio = numerator * pow(denominator, -1, P) % P
        assert was_square == (pow(ratio, (P - 1) // 2, P) == 1)
        assert root * root % P == ratio * (1 if was_square else field.SQRT_M1) % P


@FEW
@given(a=residues, b=residues)
def test_coordinates_stay_on_the_curve(a: int, b: int) -> None:
    curve = RISTRETTO255
    group = ReferenceGroup(curve)
    A: Any = group.generator * group.scalar(a)
    B: Any = group.generator * group.scalar(b)
    made = [
        curve.add(A.element, B.element),
        curve.negate(A.element),
        curve.double(A.element, 1),
        curve.double(A.element, 5),
        curve.double(A.element, 0),
        curve.add_all(A.element, curve.addends([B.element, A.element])),
        curve.one_way_map(a.to_bytes(32, "little") + b.to_bytes(32, "little")),
    ]
    for x, y, z, t in made:
        assert z % P
        assert (x * y - z * t) % P == 0
        assert (y * y - x * x - z * z - field.D * t * t) % P == 0
    twice = curve.add(A.element, A.element)
    assert curve.equal(curve.double(A.element, 1), twice)
    assert curve.equal(curve.double(A.element, 3), (A * group.scalar(8)).element)


@MANY
@given(value=integers)
def test_sparse_digits_add_up(value: int) -> None:
    scalar = centred(RISTRETTO255, [value % ORDER])[0]
    assert abs(scalar) <= ORDER // 2
    recoded = sparse_digits(mpz(scalar))
    assert sum(digit << position for position, digit in recoded.digits) == scalar
    assert all(digit % 2 and abs(digit) < 2 * recoded.table_size for _, digit in recoded.digits)
    positions = [position for position, _ in recoded.digits]
    assert positions == sorted(set(positions))


@MANY
@given(width=st.integers(2, 14), bits=st.integers(0, 252), data=st.data())
def test_windows_hold_what_they_promise(width: int, bits: int, data: st.DataObject) -> None:
    largest = data.draw(st.integers(0, (1 << bits) - 1))
    windows = windows_for(largest, width)
    assert windows.reach >= largest
    for scalar in (largest, -largest, 0):
        shifted = scalar + windows.offset
        digits = [
            (shifted >> width * i & (1 << width) - 1) - windows.half for i in range(windows.count)
        ]
        assert shifted >> width * windows.count == 0
        assert sum(digit << width * i for i, digit in enumerate(digits)) == scalar


@pytest.mark.parametrize("limit", [0, 10**6], ids=["buckets", "tables"])
@pytest.mark.parametrize("n", [1, 2, 17, 100])
def test_both_algorithms_at_every_size(monkeypatch: pytest.MonkeyPatch, limit: int, n: int) -> None:
    monkeypatch.setattr(sums, "_STRAUS_LIMIT", limit)
    group = reference_ristretto255()
    logarithms = [pow(3, k, ORDER) for k in range(n)]
    for bits in (1, 2, 9, 64, 252):
        values = [pow(5, k + 1, ORDER) % (1 << bits) * (-1) ** k for k in range(n)]
        points = group.points([group.generator] * n) * group.scalars(logarithms)
        made = points.vartime_msm(group.scalars(values))
        assert made == group.generator * group.scalar(dot(logarithms, values))


@MANY
@given(values=st.lists(st.integers(1, P - 1), max_size=8))
def test_inverses_in_a_batch(values: list[int]) -> None:
    made = invert_all([mpz(value) for value in values], P)
    assert made == [pow(value, -1, P) for value in values]


def test_a_stream_that_runs_out_leaves_the_array_alone() -> None:
    """Long arrays are masked piece by piece; the end is checked before the first."""
    made: Any = stream(reference_ristretto255())
    array = np.zeros(1 << 20, dtype="i8")
    made._left = array.nbytes - 1
    with pytest.raises(UsageError):
        made.add_to(array, 1)
    assert not array.any()
    made._left = array.nbytes
    made.add_to(array, 1)
    assert array.any()
    with pytest.raises(UsageError):
        made.bytes(1)


def test_names_in_errors_and_texts() -> None:
    group = reference_ristretto255()
    assert "ristretto255" in repr(group)
    assert "P-256" in repr(p256_group().generator)
    assert repr(p256_group().identity)
    assert P256_CURVE.name in repr(p256_group().scalars([1]))
    assert "77" in repr(group.scalar(77))


def test_an_array_is_untouched_when_the_stream_ends_inside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = 2 * reference_stream._CHUNK_BYTES
    monkeypatch.setattr(reference_stream, "_CAPACITY", room)
    fitting, longer = np.zeros(room // 8, "i8"), np.zeros(room // 8 + 1, "i8")
    stream(reference_ristretto255()).add_to(fitting, 1)
    assert fitting.any()
    with pytest.raises(UsageError):
        stream(reference_ristretto255()).add_to(longer, 1)
    assert not longer.any()
