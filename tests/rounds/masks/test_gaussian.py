"""The table of the rounded Gaussian: right to the last bit, near the true law, drawn exactly."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pytest

from commitments.group import Group
from commitments.reference.stream import ReferenceWideTable
from gopa.rounds.masks import MASK_LAW, MaskLaw, UniformMask
from gopa.rounds.masks import law as gaussian
from gopa.rounds.masks.law import LARGEST_DEVIATION, RoundedGaussian
from tests.group.values import stream
from wire.domains import MASK_TABLE
from wire.errors import MalformedMessage, UsageError

TOTAL = 1 << 128
DEVIATIONS = [1, 2, 3, 7, 50, 255, 256, 1000]


def phi(deviation: int, value: int) -> Any:
    """2^128 times the probability of at most `value`, by another library, to 400 bits."""
    with gmpy2.context(precision=400):
        argument = -(2 * value + 1) / (2 * deviation * gmpy2.sqrt(gmpy2.mpfr(2)))
        return gmpy2.erfc(argument) * gmpy2.mpfr(2) ** 127


def nearest(value: Any) -> int:
    with gmpy2.context(precision=400):
        return int(gmpy2.rint(value))


@pytest.mark.thirds
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_bounds_are_the_nearest_integers(deviation: int) -> None:
    law = RoundedGaussian(deviation)
    radius, step = law.radius, max(1, law.radius // 400)
    for i in {*range(0, 2 * radius, step), 0, 1, radius - 1, radius, 2 * radius - 1}:
        assert law.cumulative[i + 1] == nearest(phi(deviation, i - radius)), i


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_the_table_ends_where_bounds_round_to_zero(deviation: int) -> None:
    law = RoundedGaussian(deviation)
    assert law.lower[0] >= 1
    assert nearest(phi(deviation, -law.radius - 1)) == 0
    assert law.radius < 13.4 * deviation + 1


@pytest.mark.parametrize("deviation", [1, 2, 50, pytest.param(1000, marks=pytest.mark.soak)])
def test_distance_to_the_true_law(deviation: int) -> None:
    """The sum over all values, in 400-bit arithmetic; the tails by their exact weight."""
    law = RoundedGaussian(deviation)
    masses = [high - low for low, high in pairwise(law.cumulative)]
    with gmpy2.context(precision=400):
        weights = [phi(deviation, value) for value in range(-law.radius - 1, law.radius + 1)]
        true = [high - low for low, high in pairwise(weights)]
        inside = sum(abs(mass - weight) for mass, weight in zip(masses, true, strict=True))
        distance = (inside + 2 * weights[0]) / 2 / gmpy2.mpfr(2) ** 128
        assert 0 < distance <= (law.radius + 1) / gmpy2.mpfr(2) ** 128 < gmpy2.mpfr(2) ** -100


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_tables_are_symmetric_and_rise(deviation: int) -> None:
    bounds = RoundedGaussian(deviation).cumulative
    assert len(bounds) == 2 * RoundedGaussian(deviation).radius + 2
    assert list(bounds) == sorted(bounds)
    assert all(low + high == TOTAL for low, high in zip(bounds, reversed(bounds), strict=True))
    assert (bounds[0], bounds[-1]) == (0, TOTAL) == (0, RoundedGaussian(deviation).total)


def test_the_smallest_table_by_hand() -> None:
    """Deviation 1: 27 rows, and the weights of 0 and 1 to the precision of floats."""
    law = RoundedGaussian(1)
    masses = [Fraction(high - low, TOTAL) for low, high in pairwise(law.cumulative)]
    assert law.radius == 13
    assert float(masses[13]) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-15, abs=0)
    assert sum(masses) == 1
    variance = sum(mass * (row - 13) ** 2 for row, mass in enumerate(masses))
    assert float(variance) == pytest.approx(1 + 1 / 12, abs=1e-6)


@pytest.mark.parametrize("deviation", [1, 2, 5])
def test_every_value_is_hit_by_exactly_its_mass(deviation: int) -> None:
    """Draws are monotone in y, so the first and the last y of every row decide them all."""
    law = RoundedGaussian(deviation)
    table = ReferenceWideTable(law.lower)
    for row, (low, high) in enumerate(pairwise(law.cumulative)):
        ends = b"".join(y.to_bytes(16, "little") for y in (low, high - 1))
        assert list(table.draws(ends)) == [row - law.radius] * 2


@pytest.mark.parametrize("deviation", [1, 2, 50])
def test_streams_draw_by_the_table(group: Group, deviation: int) -> None:
    law = RoundedGaussian(deviation)
    drawn = stream(group).wide_table_draws(law.table(group), 2000)
    data = stream(group).bytes(16 * 2000)
    for i, value in enumerate(drawn):
        y, row = int.from_bytes(data[16 * i : 16 * i + 16], "little"), value + law.radius
        assert law.cumulative[row] <= y < law.cumulative[row + 1]


def drawn(group: Group, deviation: int, seed: int) -> Any:
    array: Any = np.zeros(40_000 if group.backend == "native" else 10_000, dtype="i8")
    stream(group, seed).add_wide_draws_to(array, 1, RoundedGaussian(deviation).table(group))
    return array


@pytest.mark.parametrize("deviation", [1, 3, 50, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_draws_follow_the_error_function(group: Group, deviation: int, seed: int) -> None:
    """Chi-square in at most 20 cells against math.erfc. 19 degrees of freedom: a right
    sampler exceeds 58 once in 100,000 seeds."""
    assert chi_square(drawn(group, deviation, seed), deviation) < 58


@pytest.mark.parametrize(("deviation", "meant"), [(2, 1), (3, 2), (54, 50), (1800, 2000)])
def test_the_bound_rejects_another_deviation(group: Group, deviation: int, meant: int) -> None:
    assert chi_square(drawn(group, deviation, 0), meant) > 58


def test_the_bound_rejects_a_law_that_is_not_centred(group: Group) -> None:
    assert chi_square(drawn(group, 50, 0) + 4, 50) > 58


def chi_square(array: Any, deviation: int) -> float:
    ends = sorted({round(deviation * (k - 10) / 4) for k in range(1, 20)})
    cells = np.searchsorted(ends, array, side="left")
    below = [0.5 * math.erfc(-(end + 0.5) / deviation / math.sqrt(2)) for end in ends]
    weights = [high - low for low, high in pairwise([0.0, *below, 1.0])]
    counts = Counter(cells.tolist())
    return sum((counts[i] - len(array) * w) ** 2 / (len(array) * w) for i, w in enumerate(weights))


def test_hashes_cover_deviation_and_every_bound() -> None:
    law = RoundedGaussian(7)
    parts = MASK_TABLE + (7).to_bytes(4) + b"".join(bound.to_bytes(16) for bound in law.lower)
    assert law.table_hash() == hashlib.sha256(parts).digest()
    hashes = {RoundedGaussian(deviation).table_hash() for deviation in range(1, 30)}
    assert len(hashes) == 29


@pytest.mark.parametrize("deviation", [1, 2, 9, 10, 50, 1000, 2000])
def test_bits_hold_every_mask(deviation: int) -> None:
    law = RoundedGaussian(deviation)
    assert law.radius < 1 << law.bits <= 2 * law.radius


@pytest.mark.parametrize("bad", [0, -1, LARGEST_DEVIATION + 1, 1.0, 50.5, "50", None, True, 10**9])
def test_other_deviations_are_refused(bad: Any) -> None:
    assert RoundedGaussian(LARGEST_DEVIATION).deviation == 2**16
    with pytest.raises(UsageError) as caught:
        RoundedGaussian(bad)
    assert caught.value.field == "deviation"


def test_undecided_bounds_ask_for_more_precision() -> None:
    """With hardly a bit to spare some enclosure always leaves a choice."""
    assert gaussian._decided(50, 128 + 64) is not None
    assert gaussian._decided(50, 128 + 2) is None


def test_a_bound_that_is_never_decided_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gaussian._lower.cache_clear()
    assert RoundedGaussian(4).radius == 52
    gaussian._lower.cache_clear()
    monkeypatch.setattr(gaussian, "_decided", lambda *_: None)
    with pytest.raises(UsageError):
        _ = RoundedGaussian(4).lower


def test_tables_are_made_once(group: Group) -> None:
    assert RoundedGaussian(50).table(group) is RoundedGaussian(50).table(group)
    assert RoundedGaussian(50).lower is RoundedGaussian(50).lower


@pytest.mark.soak
def test_the_largest_table() -> None:
    law = RoundedGaussian(LARGEST_DEVIATION)
    assert law.radius + 1 < 1 << 20
    for i in range(0, law.radius, 977):
        assert law.lower[i] == nearest(phi(LARGEST_DEVIATION, i - law.radius))


@pytest.mark.parametrize(
    ("law", "data"),
    [
        (UniformMask(), "01"),
        (RoundedGaussian(1), "0200000001"),
        (RoundedGaussian(2**16), "0200010000"),
    ],
    ids=["uniform", "smallest", "largest"],
)
def test_encodings(law: MaskLaw, data: str) -> None:
    assert MASK_LAW.encode(law).hex() == data
    assert MASK_LAW.decode(bytes.fromhex(data)) == law


@pytest.mark.parametrize(
    "data", ["", "00", "03", "0100", "02", "02000000", "0200000000", "0200010001", "020000000100"]
)
def test_malformed_encodings(data: str) -> None:
    with pytest.raises(MalformedMessage):
        MASK_LAW.decode(bytes.fromhex(data))
