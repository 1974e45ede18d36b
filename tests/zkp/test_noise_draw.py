"""The draw itself: exact law, exact rows, and what no choice of y can do about it."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from commitments import ristretto255
from tests.zkp.noise_samples import DEFAULT
from wire.errors import UsageError
from zkp.bits import BitForm
from zkp.noise import GaussianTable
from zkp.noise.gaussian_table import DrawRows, draw, slack_bits

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
