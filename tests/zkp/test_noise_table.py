"""Tables of noise: what they are, the draw from them, and specification 07."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product as cartesian
from math import comb
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from commitments import ristretto255
from tests.zkp.noise_samples import DEFAULT
from tests.zkp.noise_table_vectors import REFUSED, laws, records
from wire.errors import MalformedMessage, UsageError
from zkp.bits import BitForm
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
from zkp.noise.gaussian_table import DrawRows, _decided_half, draw, slack_bits

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


ORDER = ristretto255().order


TINY = [
    GaussianTable.with_scale(scale, bits=bits, rows=rows)
    for scale, bits, rows in (("0.7", 2, 3), (1, 4, 5), ("1.5", 4, 7), (2, 5, 7), ("0.7", 6, 5))
]


FAR_OFF = [-1, -2, ORDER // 2, 2**200, ORDER - 2**61]


def forms(table: GaussianTable) -> np.ndarray:
    """The four rows as a matrix: one_row, inside, seed, noise."""
    rows = DrawRows.at(table, 0)
    count = table.rows + 2 * slack_bits(table) + 1
    matrix = np.zeros((4, count), dtype=np.int64)
    for place, row in enumerate((rows.one_row, rows.inside, rows.seed, rows.noise)):
        assert isinstance(row, BitForm)
        assert not row.varying
        for position, coefficient in row.fixed:
            matrix[place, position] += coefficient
    return matrix


def accepted(table: GaussianTable, kept: tuple[int, ...] = (0, 1)) -> dict[int, set[int]]:
    """The noises, by y + p, for which some setting of all bits satisfies the rows kept.

    Nothing is left out: every one of the 2^N settings is tried.
    """
    matrix = forms(table)
    count = matrix.shape[1]
    settings = np.arange(1 << count)
    values = np.zeros((4, 1 << count), dtype=np.int64)
    for position in range(count):
        values += np.outer(matrix[:, position], settings >> position & 1)
    fits = (values[list(kept)] == 1).all(axis=0)
    found: dict[int, set[int]] = {}
    for total, noise in zip(values[2][fits].tolist(), values[3][fits].tolist(), strict=True):
        found.setdefault(total, set()).add(noise)
    return found


def noises(table: GaussianTable, sums: dict[int, set[int]], y: int) -> Counter[int]:
    """For one y: of how many coins is each noise accepted."""
    found: Counter[int] = Counter()
    for p in range(table.total):
        # Sums are small integers; y + p stands for one of two, or for none.
        uniform = (y + p + ORDER // 2) % ORDER - ORDER // 2
        of_this_coin = sums.get(uniform, set())
        assert len(of_this_coin) <= 1, "one coin, two noises"
        found.update(of_this_coin)
    return found


@pytest.mark.parametrize("table", TINY, ids=str)
def test_no_y_makes_a_noise_more_likely_than_its_row(table: GaussianTable) -> None:
    total, sums = table.total, accepted(table)
    for y in [*range(-total - 1, 3 * total + 2), *FAR_OFF]:
        counts = noises(table, sums, y % ORDER)
        for row, mass in enumerate(table.masses):
            assert counts[row - table.radius] <= mass
        # y = total acts as y = 0 with the carry always set: it gains nothing.
        complete = 0 <= y <= total
        assert (counts.total() == total) == complete
        if complete:
            assert [counts[row - table.radius] for row in range(table.rows)] == list(table.masses)
    for y in FAR_OFF[2:]:
        assert not noises(table, sums, y)


@pytest.mark.parametrize("table", TINY, ids=str)
@pytest.mark.parametrize("kept", [(0,), (1,)], ids=["without inside", "without one row"])
def test_neither_public_row_can_be_left_out(table: GaussianTable, kept: tuple[int]) -> None:
    """Without it some coin leaves a choice between noises."""
    assert max(len(found) for found in accepted(table).values()) == 1
    assert max(len(found) for found in accepted(table, kept).values()) > 1


@pytest.mark.parametrize("table", TINY, ids=str)
def test_the_witness_is_what_the_rows_demand(table: GaussianTable) -> None:
    matrix = forms(table)
    for y, p in itertools.product(range(table.total), repeat=2):
        made = draw(table, y, p)
        values = (matrix @ np.array(made.bits(table))).tolist()
        assert values == [1, 1, y + p, made.noise]
        assert made.noise == table.noise_at((y + p) % table.total)


@pytest.mark.parametrize("table", [*TINY, DEFAULT], ids=str)
def test_boundaries_belong_to_the_row_above_them(table: GaussianTable) -> None:
    for row, start in enumerate(table.cumulative[:-1]):
        for p in (0, 1, table.total - 1):
            first = draw(table, (start - p) % table.total, p)
            assert (first.row, first.below) == (row, 0)
            last = draw(table, (table.cumulative[row + 1] - 1 - p) % table.total, p)
            assert (last.row, last.above) == (row, 0)


@pytest.mark.parametrize("bad", [-1, 2**48, 2**48 + 5, ORDER - 1, 1.0, True, "7", None])
def test_halves_are_integers_below_the_total(bad: object) -> None:
    draw(DEFAULT, 2**48 - 1, 2**48 - 1)
    with pytest.raises(UsageError):
        draw(DEFAULT, bad, 0)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        draw(DEFAULT, 0, bad)  # type: ignore[arg-type]


def test_a_draw_tells_nothing_by_accident() -> None:
    made = draw(DEFAULT, 5, 7)
    assert str(made.row) not in repr(made)
    with pytest.raises(UsageError):
        assert made == made  # noqa: PLR0124  comparing is what is refused
    with pytest.raises(UsageError):
        hash(made)


def chi_square(draws: Counter[int], table: GaussianTable, total: int) -> float:
    """The p-value of the draws, rows of small expectation taken together."""
    observed, expected = [0.0], [0.0]
    for row, mass in enumerate(table.masses):
        if expected[-1] >= 10:
            observed.append(0)
            expected.append(0)
        observed[-1] += draws[row - table.radius]
        expected[-1] += total * mass / table.total
    observed[-2:], expected[-2:] = [sum(observed[-2:])], [sum(expected[-2:])]
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.parametrize("halves", ["uniform y, constant p", "constant y, uniform p", "both"])
def test_twenty_thousand_draws_follow_the_table(halves: str) -> None:
    """The function that makes witnesses; either uniform half is enough."""
    source, total = random.Random(f"draws of {halves}"), DEFAULT.total
    uniform = [source.randrange(total) for _ in range(20_000)]
    other = [source.randrange(total) if halves == "both" else 123456789] * 20_000
    pairs = zip(uniform, other, strict=True)
    swap = halves == "constant y, uniform p"
    made = Counter(draw(DEFAULT, *(pair[::-1] if swap else pair)).noise for pair in pairs)
    assert chi_square(made, DEFAULT, 20_000) > 1e-4
    shifted = Counter({noise + 1: count for noise, count in made.items()})
    assert chi_square(shifted, DEFAULT, 20_000) < 1e-6


@pytest.mark.parametrize("scale", [6, 8, 12])
def test_the_table_is_the_discrete_gaussian_of_scipy(scale: int) -> None:
    table = GaussianTable.with_scale(scale, bits=60, rows=2 * (7 * scale) + 1)
    grid = np.arange(-table.radius, table.radius + 1)
    density = stats.norm.pdf(grid, scale=scale)
    probabilities = np.array([mass / table.total for mass in table.masses])
    assert float(np.abs(probabilities - density / density.sum()).sum()) < 1e-13
    other = stats.norm.pdf(grid, scale=scale * 1.001)
    assert float(np.abs(probabilities - other / other.sum()).sum()) > 1e-4


ROOT: Final = Path(__file__).resolve().parents[2]


SPEC: Final = (ROOT / "specs" / "07-range-and-noise.md").read_text()


FILES: Final = (
    "zkp/noise/gaussian_table.py",
    "zkp/noise/weighted_bits.py",
    "zkp/range.py",
)


def rules() -> list[int]:
    return [int(number) for number in re.findall(r"\*\*\[R(\d+)\]\*\*", SPEC)]


def test_rules_are_numbered_without_gaps() -> None:
    assert rules() == list(range(1, 18))


@pytest.mark.parametrize("name", FILES)
def test_code_cites_rules_that_exist(name: str) -> None:
    cited = re.findall(r"\bR(\d+)\b", (ROOT / name).read_text())
    assert cited
    assert {int(number) for number in cited} <= set(rules())


@pytest.mark.parametrize("name", FILES)
def test_every_label_that_is_absorbed_is_in_the_text(name: str) -> None:
    code = (ROOT / name).read_text()
    for label in re.findall(r'absorb\w*\(\s*b"([^"]+)"', code):
        assert f"`{label}`" in SPEC, label
