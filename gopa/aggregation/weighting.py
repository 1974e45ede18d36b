"""Weighted means with private weights: the vector is widened by its weight.

A party with the value x and the weight w of at most W contributes w times x and, as the
last coordinate, w. What is published is the sum of both, so the mean is their quotient,
and neither the weight nor the value of anybody. Specification: `specs/10-values.md`, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import numpy as np

from commitments.group import Stream
from gopa.aggregation.encoding import (
    Bounds,
    Encoded,
    EncodedRow,
    Encoding,
    NoisySum,
    ValueEstimate,
    encode_rows,
    length,
    structure_of,
)
from gopa.aggregation.grid import Grid, squared_length
from gopa.aggregation.values import InvalidWeight, OutOfRange, Value, count_of
from gopa.contract.lengths import ENDS
from gopa.contract.row_terms import middle, origin, weighted_length
from gopa.contract.terms import check_decimal
from gopa.planning import Terms
from gopa.support.arrays import Floats, Integers
from wire.errors import UsageError

_NORM_OF_FLOATS: Final = 1 + 1e-12
"""More than the length of a vector of floats, scaled to the norm, is off by."""

CLEAR: Final = 5.0
"""A sum of weights below so many of its standard errors is not divided by."""


@dataclass(frozen=True, slots=True)
class Weights:
    """One weight for each party, from 0 to the public `most`."""

    given: tuple[float, ...]
    most: Decimal

    @classmethod
    def checked(cls, weights: Sequence[Any], most: Decimal, parties: int) -> Weights:
        """The weights as floats, checked against the largest one.

        Raises:
            InvalidWeight: a weight is no finite number from 0 to `most`.
            UsageError: there is not one for each party.
        """
        if count_of(weights, "weights") != parties:
            raise UsageError(f"must be one weight for each of the {parties} parties", "weights")
        given = []
        for party, weight in enumerate(weights):
            if isinstance(weight, (str, bytes)):
                raise InvalidWeight("must be a number", party)
            try:
                number = float(weight)
            except (TypeError, ValueError, OverflowError):
                raise InvalidWeight("must be a number", party) from None
            if number > float(most):
                text = f"is larger than the largest weight, {most}: lower it, or raise max_weight"
                raise InvalidWeight(text, party)
            if not number >= 0:
                raise InvalidWeight("must be 0 or more, and finite", party)
            given.append(number)
        return cls(tuple(given), most)

    def share(self, party: int) -> float:
        """The weight as a part of the largest one."""
        return self.given[party] / float(self.most)

    def on_grid(self, party: int, steps: int, stream: Stream) -> int:
        """The weight in steps, rounded without bias."""
        grid = Grid(Decimal(0), self.most, steps)
        return int(grid.round(np.array([self.given[party]]), stream)[0])


def largest_weight(value: float | str | Decimal) -> Decimal:
    """The public bound on weights; `UsageError` unless it is a number above zero."""
    try:
        most = Decimal(str(value))
    except ArithmeticError:
        raise UsageError("must be a number above zero", "max_weight") from None
    check_decimal(most, "max_weight")
    if most <= 0:
        raise UsageError("must be a number above zero", "max_weight")
    return most


def encoding_with(weights: Weights, terms: Terms, *, proved: bool) -> Encoding:
    """The encoding for weighted values under this plan.

    Raises:
        UsageError: the plan has no coordinate for the weight; or it has a norm, and
            `proved` says that parties have to prove what they contribute; or it proves lengths,
            and not those of weighted vectors.
    """
    if terms.dimension < 2:
        raise UsageError("weights need a plan with one dimension more than the values", "weights")
    if terms.squared_norm:
        if not terms.weight_length:
            message = "lengths are proved here, and weights not: plan with weighted=True"
            raise UsageError(message, "weights")
        return WeightedRows(terms, weights)
    if Bounds.of(terms).reach is None:
        return WeightedRange(terms, weights)
    if proved:
        message = "what is proved about weights knows no norm: plan without, or take mode='signed'"
        raise UsageError(message, "norm")
    return WeightedBall(terms, weights)


@dataclass(frozen=True, slots=True)
class WeightedRange:
    """The encoding of values in a range: a weight of v steps has its value on a grid of v steps.

    So no coordinate exceeds the last one, as full mode has parties prove, and given v
    the coordinates are rounded without bias.
    """

    terms: Terms
    weights: Weights

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """Encoded values; the plan has one dimension more than they."""
        structure = structure_of(values, self.terms.parties, self.terms.dimension - 1)
        bounds = Bounds(Grid.of(self.terms), None)

        def row(value: Value, party: int) -> EncodedRow:
            given = bounds.admit(structure.flatten(value, party), structure, party, clip=clip)
            weight = self.weights.on_grid(party, self.terms.steps, stream)
            weighted = _weighted(bounds.grid, weight, given.values, stream)
            widened = np.append(weighted, weight)
            return EncodedRow(widened, given.clipped, scaled=False, exact=False)

        return encode_rows(values, structure, row)

    def deviation(self, total: NoisySum, low: Floats, width: float | Floats) -> Floats:
        """Standard errors of weighted sums of values in ranges from `low` on.

        Noise of the summed weight moves such a sum by the lower end, rounding of a weight by the
        value that it belongs to.
        """
        largest = np.maximum(np.abs(low), np.abs(low + width))
        blur = total.noise * (width**2 + low**2) + total.count / 4 * (width**2 + largest**2)
        return np.asarray(float(self.weights.most) / self.terms.steps * np.sqrt(blur))

    def decode(self, total: NoisySum) -> ValueEstimate:
        """The quotient, with the delta method's deviation.

        With f the position of a value in its range: given v, a coordinate has a rounding
        variance of at most 1/4; rounding v itself moves the quotient only by the
        distance of f from the mean, which is at most 1.
        """
        grid = Grid.of(self.terms)
        width, low = float(grid.width), float(grid.low)
        unit = float(self.weights.most) / self.terms.steps
        above, weight = total.sums[:-1].astype(np.float64), float(total.sums[-1])
        clear = weight > CLEAR * math.sqrt(total.noise + total.count / 4)
        ratio = above / weight if clear else np.full(len(above), math.nan)
        spread = total.noise * (1 + ratio**2) + total.count / 2
        return ValueEstimate(
            mean=low + width * ratio,
            mean_deviation=width * np.sqrt(spread) / weight if clear else ratio,
            total=unit * (low * weight + width * above),
            total_deviation=self.deviation(total, np.full(len(above), low), width),
            rounding=width**2 * total.count / 2 / weight**2 if clear else math.nan,
            weight=unit * weight,
            weight_deviation=unit * math.sqrt(total.noise + total.count / 4),
            defined=clear,
        )


@dataclass(frozen=True, slots=True)
class WeightedBall:
    """The encoding of vectors of bounded length, for plans with a norm.

    It is w x / W, and w on the same grid.

    The weight's coordinate runs through the whole range, so the norm of the plan bounds
    the length of (w x / W, (w / W - 1/2) width). Coordinates may exceed the weight, so
    this is not for full mode, where parties prove that none does.
    """

    terms: Terms
    weights: Weights

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """Encoded values; the plan has one dimension more than they."""
        structure = structure_of(values, self.terms.parties, self.terms.dimension - 1)
        bounds = Bounds.of(self.terms)
        low, high = bounds.grid.ends
        if not low <= 0 <= high:
            raise UsageError("weighted vectors of bounded length need a range with zero", "range")

        def row(value: Value, party: int) -> EncodedRow:
            share = self.weights.share(party)
            vector = share * structure.flatten(value, party)
            beside = (share - 0.5) * float(bounds.grid.width)
            given = bounds.admit(vector, structure, party, clip=clip, beside=beside)
            weight = self.weights.on_grid(party, self.terms.steps, stream)
            widened = np.append(bounds.grid.round(given.values, stream), weight)
            return EncodedRow(widened, given.clipped, given.scaled, exact=False)

        return encode_rows(values, structure, row)

    def decode(self, total: NoisySum) -> ValueEstimate:
        """The quotient, with the delta method's deviation."""
        return _quotient(Grid.of(self.terms), self.weights.most, total)


@dataclass(frozen=True, slots=True)
class WeightedRows:
    """The encoding of vectors whose lengths are proved: none counts for more than its weight.

    A party contributes w (x - c) / W, with c the middle of the plan's range and x no farther from
    it than the plan's length, and w (14, section 12).

    `span` holds coordinates, besides, to a range that the plan does not know: its own is that of
    lengths.
    """

    terms: Terms
    weights: Weights
    span: Bounds | None = None

    def encode(self, values: Sequence[Value | None], stream: Stream, *, clip: bool) -> Encoded:
        """Encoded values; the plan has one dimension more than they."""
        structure = structure_of(values, self.terms.parties, self.terms.dimension - 1)

        def row(value: Value, party: int) -> EncodedRow:
            vector, clipped = structure.flatten(value, party), 0
            if self.span is not None:
                held = self.span.admit(vector, structure, party, clip=clip)
                vector, clipped = held.values, held.clipped
            beside = vector - self._middle
            short, scaled = self._admitted(beside, party, clip=clip)
            integers = self._rounded(short, party, stream)
            return EncodedRow(integers, clipped, scaled, exact=False)

        return encode_rows(values, structure, row)

    def decode(self, total: NoisySum) -> ValueEstimate:
        """The middle, and beside it the quotient of any weighted vectors of bounded length."""
        found = _quotient(self._grid, self.weights.most, total)
        weight, blur = found.weight or 0.0, found.weight_deviation or 0.0
        return replace(
            found,
            mean=found.mean + self._middle,
            total=found.total + self._middle * weight,
            total_deviation=np.hypot(found.total_deviation, self._middle * blur),
        )

    @property
    def _middle(self) -> float:
        return float(middle(self.terms))

    @property
    def _grid(self) -> Grid:
        """The grid of what lies beside the middle."""
        half = ENDS.divide(ENDS.subtract(self.terms.high, self.terms.low), Decimal(2))
        return Grid(-half, half, self.terms.steps)

    def _admitted(self, vector: Floats, party: int, *, clip: bool) -> tuple[Floats, bool]:
        """What is beside the middle, made short enough, and whether `clip` had to.

        Coordinates far from zero are floats that are as far apart as the middle's. What is too
        long by that alone is admitted, and shortened all the same: else no rounding would make it
        as short as the proof needs it.
        """
        longest, found = _heaviest(self.terms), length(vector)
        if found <= longest * _NORM_OF_FLOATS:
            return vector, False
        blur = math.ulp(self._middle) * math.sqrt(len(vector)) if self._middle else 0.0
        within = found <= longest * _NORM_OF_FLOATS + blur
        if not (within or clip):
            where = f" from {self._middle:.6g}" if self._middle else ""
            message = (
                f"is a vector longer than the plan allows ({longest:.6g}{where}), whatever its "
                "weight: scale it, pass clip=True, or plan with a larger norm"
            )
            raise OutOfRange(message, party)
        return vector * (longest / found), not within

    def _rounded(self, vector: Floats, party: int, stream: Stream) -> Integers:
        """Vector and weight on the grid, rounded again while that made them too long (14-W1)."""
        grid, allowed = self._grid, weighted_length(self.terms)
        zero = origin(self.terms)
        shared = np.clip(self.weights.share(party) * vector, *grid.ends)
        while True:
            weight = self.weights.on_grid(party, self.terms.steps, stream)
            rounded = grid.round(shared, stream)
            square = squared_length(rounded, zero)
            reach = allowed.numerator * weight + allowed.rounding
            proved = square + weight**2 <= self.terms.squared_norm
            if proved and allowed.denominator**2 * square <= reach**2:
                return np.append(rounded, weight)


def longest_value(terms: Terms) -> float | None:
    """How long a vector may be that a plan holds to a length; None where it does not."""
    if terms.weight_length:
        return _heaviest(terms)
    bounds = Bounds.of(terms)
    return None if bounds.reach is None else bounds.longest(terms.dimension)


def _heaviest(terms: Terms) -> float:
    """How long the vector with the largest weight may be: for others that is divided by it."""
    allowed = weighted_length(terms)
    return Grid.of(terms).step * allowed.numerator * allowed.steps / allowed.denominator


def _quotient(grid: Grid, most: Decimal, total: NoisySum) -> ValueEstimate:
    """The weighted mean of vectors of bounded length, with the delta method's deviation."""
    blur = math.sqrt(total.noise + total.count / 4)
    sums = total.count * float(grid.low) + grid.step * total.sums[:-1].astype(np.float64)
    weight = float(total.sums[-1]) / grid.steps
    clear = float(total.sums[-1]) > CLEAR * blur
    ratio = sums / weight if clear else np.full(len(sums), math.nan)
    squares = grid.step**2 + (ratio / grid.steps) ** 2
    largest = float(most)
    return ValueEstimate(
        mean=ratio,
        mean_deviation=np.sqrt(squares) * blur / weight if clear else ratio,
        total=largest * sums,
        total_deviation=np.full(len(sums), largest * grid.step * blur),
        rounding=_largest(squares) * total.count / 4 / weight**2 if clear else math.nan,
        weight=largest * weight,
        weight_deviation=largest * blur / grid.steps,
        defined=clear,
    )


def _weighted(grid: Grid, weight: int, values: Floats, stream: Stream) -> Integers:
    if not weight:
        return np.zeros(len(values), dtype=np.int64)
    return replace(grid, steps=weight).round(values, stream)


def _largest(squares: Floats) -> float:
    return float(np.max(squares))
