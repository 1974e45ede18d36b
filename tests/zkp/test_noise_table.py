from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product as cartesian
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zkp.noise_table_vectors import REFUSED, laws, records
from wire.errors import MalformedMessage, UsageError
from zkp.noise import (
    MOST_WEIGHTED_BITS,
    GaussianTable,
    WeightedBits,
    WeightRun,
    binomial,
    check_law,
    decode_noise_law,
    exp_of_minus,
    irwin_hall,
)
from zkp.noise.gaussian_table import _decided_half

VECTORS = Path(__file__).resolve().parents[2] / "specs" / "vectors" / "noise_table.json"
GAUSSIANS = [law for law in laws().values() if isinstance(law, GaussianTable)]


def decimal_masses(table: GaussianTable) -> list[int]:
    """The definition, evaluated with 120 decimal digits instead of enclosures."""
    radius = table.rows // 2
    with localcontext() as context:
        context.prec = 120
        square = Decimal(table.square_numerator) / Decimal(table.square_denominator)
        weights = [(-Decimal(i * i) / (2 * square)).exp() for i in range(radius + 1)]
        total = weights[0] + 2 * sum(weights[1:])
        half = [int(2**table.bits * weight / total + Decimal("0.5")) for weight in weights[1:]]
    return [*reversed(half), 2**table.bits - 2 * sum(half), *half]


@pytest.mark.parametrize("table", GAUSSIANS, ids=str)
def test_rows_are_the_nearest_integers(table: GaussianTable) -> None:
    assert list(table.masses) == decimal_masses(table)


@given(
    st.fractions(min_value=2, max_value=40, max_denominator=1000),
    st.integers(min_value=20, max_value=60),
    st.integers(min_value=1, max_value=40),
)
def test_any_accepted_table_is_the_decimal_one(scale: Fraction, bits: int, radius: int) -> None:
    try:
        table = GaussianTable.with_scale(scale, bits=bits, rows=2 * radius + 1)
    except UsageError:
        return
    assert list(table.masses) == decimal_masses(table)
    assert table.total == 2**bits


@pytest.mark.parametrize(("rows", "bits"), [(113, 48), (117, 48), (129, 56)])
def test_tables_of_scale_8_that_are_valid(rows: int, bits: int) -> None:
    table = GaussianTable.with_scale(8, rows=rows, bits=bits)
    assert len(table.masses) == rows
    assert table.radius == rows // 2


@pytest.mark.parametrize(("rows", "bits"), [(129, 48), (129, 55), (119, 48), (113, 40)])
def test_tables_of_scale_8_that_are_refused(rows: int, bits: int) -> None:
    GaussianTable.with_scale(8, rows=rows, bits=60)
    with pytest.raises(UsageError):
        GaussianTable.with_scale(8, rows=rows, bits=bits)


def test_the_default_is_the_documented_one() -> None:
    table = GaussianTable(64, 1)
    assert (table.bits, table.rows, table.radius) == (48, 113, 56)
    assert table == GaussianTable.with_scale("8.000")
    assert abs(table.variance - 64) < Fraction(1, 10**7)


def test_hashes_name_laws() -> None:
    hashes = {law.table_hash() for law in laws().values()}
    assert len(hashes) == len(laws())
    assert all(len(value) == 32 for value in hashes)


@pytest.mark.parametrize("encoding", REFUSED.values(), ids=REFUSED.keys())
def test_malformed_encodings(encoding: str) -> None:
    decode_noise_law(GaussianTable(64, 1).to_bytes())
    with pytest.raises(MalformedMessage):
        decode_noise_law(bytes.fromhex(encoding))


def test_vectors_are_current() -> None:
    assert json.loads(VECTORS.read_text()) == records()


def test_binomial_counts_are_binomial_coefficients() -> None:
    law = binomial(20)
    assert law.masses == tuple(comb(20, k) for k in range(21))
    assert law.variance == 5
    assert law.total == 2**20


@pytest.mark.parametrize(("terms", "width"), [(2, 2), (4, 2), (2, 4)])
def test_weighted_bits_count_every_setting(terms: int, width: int) -> None:
    law = irwin_hall(terms, width)
    counts = [0] * (2 * law.radius + 1)
    for bits in cartesian((0, 1), repeat=terms * width):
        counts[sum(w * b for w, b in zip(law.weights, bits, strict=True))] += 1
    assert law.masses == tuple(counts)
    assert law.variance == Fraction(terms * (4**width - 1), 12)


@pytest.mark.parametrize(
    "masses",
    [
        (1, 1, 1, 1),
        (1,),
        (1, 0, 2, 0, 1),
        (1, 2, 2, 2, 1)[:4],
        (1, 5, 2),
        (3, 2, 3),
        (1, 1, 1),
        (1, 1, 12, 1, 1),
    ],
)
def test_what_is_not_a_law(masses: tuple[int, ...]) -> None:
    check_law((1, 2, 1))
    with pytest.raises(UsageError):
        check_law(masses)


@pytest.mark.parametrize(
    "build",
    [
        lambda: GaussianTable.with_scale(8.0),  # type: ignore[arg-type]
        lambda: GaussianTable.with_scale("eight"),
        lambda: GaussianTable.with_scale("1/0"),
        lambda: GaussianTable.with_scale("0.2"),
        lambda: GaussianTable.with_scale(1025, rows=1023),
        lambda: GaussianTable.with_scale(8, rows=1025),
        lambda: GaussianTable(128, 2),
        lambda: GaussianTable(64, 1, 48.0),  # type: ignore[arg-type]
        lambda: GaussianTable(True, 1, 48, 3),
        lambda: binomial(7),
        lambda: binomial(1026),
        lambda: irwin_hall(3, 2),
        lambda: irwin_hall(2, 0),
        lambda: WeightedBits([WeightRun(1, 2)]),  # type: ignore[arg-type]
        lambda: WeightedBits((WeightRun(3, 2),)),
        lambda: WeightedBits((WeightRun(1, 514), WeightRun(2, MOST_WEIGHTED_BITS - 512))),
        lambda: WeightRun(0, 1),
        lambda: WeightRun(1, 0),
    ],
)
def test_bad_parameters_are_usage_errors(build: object) -> None:
    GaussianTable.with_scale(8)
    binomial(8)
    with pytest.raises(UsageError):
        build()  # type: ignore[operator]


def test_no_integer_is_guessed_where_the_precision_leaves_a_choice() -> None:
    law = GaussianTable.with_scale("2.5", bits=48, rows=31)
    half = list(law.masses[law.rows // 2 + 1 :])
    found = [
        _decided_half(law.square_numerator, law.square_denominator, 48, 31, precision)
        for precision in range(40, 120, 4)
    ]
    assert found[0] is None
    assert found[-1] == half
    assert all(each in (None, half) for each in found)


@given(
    st.integers(min_value=1, max_value=10**6),
    st.integers(min_value=1, max_value=10**6),
    st.integers(min_value=8, max_value=300),
)
def test_enclosures_hold_exp(numerator: int, denominator: int, precision: int) -> None:
    low, high = exp_of_minus(numerator, denominator, precision)
    with localcontext() as context:
        context.prec = 300
        context.Emin = -(10**8)
        value = (-Decimal(numerator) / Decimal(denominator)).exp() * 2**precision
        assert Decimal(low) <= value <= Decimal(high)
    assert high - low <= 2 ** (2 + numerator.bit_length()) * 64
