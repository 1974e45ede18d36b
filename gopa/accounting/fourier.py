"""Convolves many times with Fourier transforms whose error is bounded value by value.

The error of a transform is relative to the largest value, and the tails decide about privacy. So
the masses are tilted first, by exp(c * place), which moves the tail that is asked for to where the
largest values are; every tilt gives an upper bound for every value, and the least of them counts.
Specification: `specs/16-accounting.md`, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.accounting.convolution import UNIT_ROUNDOFF, Masses
from gopa.support.arrays import Floats
from wire.errors import UsageError

Complexes: TypeAlias = npt.NDArray[np.complex128]

LONGEST: Final = 2**22
"""A longer sum of laws is refused: coarser grids say the same."""

_STRIDE: Final = 7.0
"""Deviations from one tilt to the next, of a law like a normal one."""

_FALL: Final = 40.0
"""So much ln of a tail may fall from one tilt to the next; a normal one falls by 24.5."""

_ONE_VALUE: Final = 0.1
"""A narrower law is all on the largest value, which can be tilted no further."""

_TILTS: Final = 12
_PER_LEVEL: Final = 16
"""Units of rounding that one level of a transform adds at most, relative to the sum of masses."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """How often independent draws of one law are in a sum."""

    masses: Masses
    count: int

    @property
    def first(self) -> int:
        return self.count * self.masses.first

    @property
    def last(self) -> int:
        return self.count * self.masses.last


class Tilted:
    """The logarithm of one law, and the law tilted by it."""

    def __init__(self, part: Repeated) -> None:
        self.part = part
        self.index = np.arange(part.masses.first, part.masses.last + 1, dtype=np.float64)
        with np.errstate(divide="ignore"):
            self._logs: Floats = np.log(part.masses.values)

    def log_moment(self, tilt: float) -> float:
        """ln of the sum of mass * exp(tilt * place)."""
        exponents = self._logs + tilt * self.index
        top = float(exponents.max())
        return top + math.log(float(np.exp(exponents - top).sum()))

    def law(self, tilt: float) -> tuple[Floats, float, float]:
        """The tilted law, its log-moment, and a bound on the relative error of its masses."""
        moment = self.log_moment(tilt)
        exponents = self._logs + tilt * self.index - moment
        finite = exponents[exponents > -745.0]
        largest = float(np.abs(finite).max()) + abs(tilt) * float(np.abs(self.index).max())
        return np.exp(exponents), moment, 2 * UNIT_ROUNDOFF * (largest + abs(moment) + 40)


def window(parts: Sequence[Repeated], cut: float) -> tuple[int, int]:
    """Finds places with at most `cut` of the sum outside on each side, by Chernoff's bound."""
    return _window([Tilted(part) for part in parts], cut)


def sum_of(parts: Sequence[Repeated], cut: float) -> Masses:
    """Bounds the law of a sum of independent draws from above, value by value.

    What the window leaves out above is counted as lost; what it leaves out below is added to
    larger values. So a delta from it is never below the truth.

    Raises:
        UsageError: the sum has too many values.
    """
    from scipy.fft import next_fast_len

    lost = sum(part.count * part.masses.lost for part in parts)
    if not all(part.masses.values.any() for part in parts):
        return Masses(0, np.zeros(1), 0.0, lost)
    tilted = [Tilted(part) for part in parts]
    first, last = _window(tilted, cut)
    if last - first >= LONGEST:
        raise UsageError("this composition needs too many grid points: use a coarser grid")
    size = next_fast_len(last - first + 1, real=True)
    best = np.full(last - first + 1, np.inf)
    places = np.arange(first, last + 1, dtype=np.float64)
    for tilt in _tilts(tilted, math.log(cut)):
        logs, moment = _bound(tilted, tilt, first, size)
        np.minimum(best, logs[: len(best)] + moment - tilt * places, out=best)
    known = sum(part.count * part.masses.error for part in parts)
    outside = cut if last < sum(part.last for part in parts) else 0.0
    error = known * (1 + 1e-6) + 1e-12
    return Masses(first, np.exp(best), error, (lost + outside) * (1 + 1e-6))


def _window(tilted: Sequence[Tilted], cut: float) -> tuple[int, int]:
    first = sum(each.part.first for each in tilted)
    last = sum(each.part.last for each in tilted)
    spread = math.sqrt(sum(each.part.count * _moments(*_plain(each))[1] for each in tilted))
    if spread == 0 or first == last:
        return first, last
    low, high = float(first), float(last)
    for scale in np.geomspace(0.02, 40.0, 24):
        tilt = float(scale) / spread
        up = sum(each.part.count * each.log_moment(tilt) for each in tilted)
        down = sum(each.part.count * each.log_moment(-tilt) for each in tilted)
        high = min(high, (up - math.log(cut)) / tilt)
        low = max(low, (math.log(cut) - down) / tilt)
    return max(first, math.floor(low)), min(last, math.ceil(high))


def _plain(each: Tilted) -> tuple[Floats, Floats]:
    return each.part.masses.values, each.index


def _moments(values: Floats, index: Floats) -> tuple[float, float]:
    """Mean and variance; ordinary floats, not bounds."""
    total = float(values.sum())
    mean = float((values * index).sum()) / total
    return mean, float((values * (index - mean) ** 2).sum()) / total


def _tilts(tilted: Sequence[Tilted], least: float) -> Iterator[float]:
    """Tilts from none on, until what lies above the centre of the last has ln below `least`."""
    tilt, tail, deviation = 0.0, 0.0, _centre(tilted, 0.0)[1]
    for _ in range(_TILTS):
        yield tilt
        if tail < least:
            return
        stride = _STRIDE / max(deviation, _ONE_VALUE)
        for _ in range(60):
            found, width = _centre(tilted, tilt + stride)
            if found > tail - _FALL:
                break
            stride /= 2
        if width < _ONE_VALUE:
            return
        tilt, tail, deviation = tilt + stride, found, width


def _centre(tilted: Sequence[Tilted], tilt: float) -> tuple[float, float]:
    """Chernoff's bound on ln of what lies above the centre of a tilt, and the width there."""
    tail = variance = 0.0
    for each in tilted:
        law, moment, _ = each.law(tilt)
        mean, spread = _moments(law, each.index)
        tail += each.part.count * (moment - tilt * mean)
        variance += each.part.count * spread
    return tail, math.sqrt(variance)


def _bound(tilted: Sequence[Tilted], tilt: float, first: int, size: int) -> tuple[Floats, float]:
    """Logarithms of upper bounds on the tilted sum, around the circle from `first` on.

    Then the log-moment of the sum.
    """
    from scipy.fft import irfft, rfft

    levels = _PER_LEVEL * UNIT_ROUNDOFF * (math.log2(size) + 2)
    product: Complexes = np.ones(size // 2 + 1, dtype=np.complex128)
    log_size, relative = np.zeros(len(product)), np.zeros(len(product))
    moment = rounding = 0.0
    for each in tilted:
        count = each.part.count
        law, log_moment, error = each.law(tilt)
        transform = rfft(_folded(law, size))
        reach = np.abs(transform) + 2 * levels
        product *= _power(transform, count)
        log_size += count * np.log(reach)
        relative += count * (2 * levels / reach + 6 * UNIT_ROUNDOFF)
        moment, rounding = moment + count * log_moment, rounding + 2 * count * error
    sizes = np.exp(log_size)
    added = 2 * float((sizes * (relative + levels)).sum()) / size
    found = np.roll(irfft(product, size), sum(each.part.first for each in tilted) - first)
    logs = np.log(np.maximum(found, 0.0) + added * (1 + 1e-9) + 1e-300)
    return logs + rounding + abs(tilt) * 4 * UNIT_ROUNDOFF * (abs(first) + size), moment


def _folded(values: Floats, size: int) -> Floats:
    """The values laid around a circle."""
    folded: Floats = np.bincount(np.arange(len(values)) % size, values, size).astype(np.float64)
    return folded


def _power(base: Complexes, exponent: int) -> Complexes:
    """Squares and multiplies: each of 2 * exponent factors adds 3 units of rounding at most."""
    result = base
    for bit in bin(exponent)[3:]:
        result = result * result
        if bit == "1":
            result = result * base
    return result
