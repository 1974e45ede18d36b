"""Kernels as circuits: on whole numbers of two users, with noise that neither knows.

Specification: `specs/23-pairwise.md`, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from gopa import UsageError
from gopa.learning.checks import number, whole
from gopa.learning.pairwise.kernels import (
    AUC,
    GINI,
    KENDALL,
    KERNELS,
    RENYI,
    VARIANCE,
    WILCOXON,
    Kernel,
    Places,
)
from gopa.support.arrays import Floats
from gopa.support.draws import Draws
from gopa.twoparty import (
    Circuit,
    LaplaceNoise,
    RandomisedAnswer,
    comparison,
    concordance,
    distance,
    equality,
    squared_distance,
)

_MOST_BITS: Final = 16
MOST_COINS: Final = 62


class _Form(NamedTuple):
    """A circuit's integer as `times` the kernel of whole numbers, plus `shift`.

    The kernel of numbers grows with the power `degree` of their unit; 0 if it only compares.
    """

    circuit: Callable[[int, RandomisedAnswer | LaplaceNoise | None], Circuit]
    times: int = 1
    shift: int = 0
    degree: int = 0


_FORMS: Final = {
    GINI.value: _Form(distance, degree=1),
    VARIANCE.value: _Form(squared_distance, times=2, degree=2),
    RENYI.value: _Form(equality),
    AUC.value: _Form(comparison),
    WILCOXON.value: _Form(concordance, times=2, shift=-1),
    KENDALL.value: _Form(concordance),
}

_ALLOWED: Final = (*KERNELS, *(replace(each, normalisation="n^2") for each in KERNELS))


@dataclass(frozen=True)
class WholeKernel:
    """A kernel of points that their owners have rounded to 2^bits numbers from low to high."""

    kernel: Kernel
    bits: int = 8
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        whole(self.bits, "bits", 1, _MOST_BITS)
        ends = number(self.low, "low"), number(self.high, "high")
        if not -math.inf < ends[0] < ends[1] < math.inf:
            raise UsageError("the lower end is below the higher one", "low")
        # With narrower ends its noise would be too little, with other labels they would be told.
        if not isinstance(self.kernel, Kernel) or self.kernel not in _ALLOWED:
            raise UsageError(
                "there are circuits for GINI, VARIANCE, RENYI, AUC, WILCOXON and KENDALL", "kernel"
            )

    @property
    def form(self) -> _Form:
        """How it is computed."""
        return _FORMS[self.kernel.value]

    @property
    def worth(self) -> float:
        """The move of the kernel of numbers if the integer moves by 1."""
        step = (self.high - self.low) / (2**self.bits - 1)
        return math.pow(step, self.form.degree) / self.form.times

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest integer of the circuit without noise."""
        if self.form.degree:
            return 0, (2**self.bits - 1) ** self.form.degree
        ends = (self.kernel.low, self.kernel.high)
        low, high = (int(self.form.times * each) + self.form.shift for each in ends)
        return low, high

    def rounded(self, points: Floats) -> Floats:
        """Points with whole numbers; public labels are what they were."""
        found, columns = points.copy(), 2 if self.kernel.labels == "secret" else 1
        given = found[:, :columns]
        if not ((given >= self.low) & (given <= self.high)).all():
            raise UsageError("some numbers are outside of low and high: scale them", "high")
        share = (given - self.low) / (self.high - self.low)
        found[:, :columns] = np.rint(share * (2**self.bits - 1))
        return found

    def inputs(self, rounded: Floats) -> Places:
        """What each user puts into a circuit."""
        numbers, labels = rounded[:, 0], rounded[:, 1]
        if self.kernel.labels == "secret":
            return np.column_stack([numbers, labels]).astype(np.int64)
        if self.form.circuit is concordance:  # the order of public labels
            return np.column_stack([numbers, labels > 0]).astype(np.int64)
        return numbers[:, None].astype(np.int64)

    def results(self, first: Floats, second: Floats) -> Places:
        """The integers of circuits without noise, of rounded points."""
        exact = self.form.times * self.kernel.value(first, second) + self.form.shift
        return np.rint(exact).astype(np.int64)

    def values(self, results: Floats | Places) -> Floats:
        """The kernel of numbers that integers of the circuit stand for."""
        return np.asarray((results - self.form.shift) * self.worth, dtype=np.float64)


@dataclass(frozen=True)
class PrivateAnswers:
    """The answers of circuits, without what their noise does on average."""

    asked: WholeKernel
    noise: RandomisedAnswer | LaplaceNoise

    @cached_property
    def circuit(self) -> Circuit:
        """What both users of a pair run."""
        return self.asked.form.circuit(self.asked.bits, self.noise)

    def coins(self, draws: Draws, count: int) -> Places:
        """Joint coins for so many circuits: a row for each integer that a circuit draws."""
        rows = 1 if isinstance(self.noise, RandomisedAnswer) else len(self.noise.numerators)
        return draws.below(2**self.noise.coins, rows * count).reshape(rows, count)

    def coin_bytes(self, coins: Places) -> bytes:
        """The same for one circuit, as its parties have them: bit by bit."""
        bits = coins[:, None] >> np.arange(self.noise.coins) & 1
        return np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()

    def drawn(self, results: Places, coins: Places) -> Places:
        """What circuits answer where they would have these results without noise."""
        if isinstance(self.noise, RandomisedAnswer):
            low, many = self.asked.ends[0], self.noise.values
            bounds = self.noise.numerator * np.arange(1, many)
            offsets = many - 1 - np.searchsorted(bounds, coins[0], side="right")
            return np.asarray((results - low + offsets) % many + low)
        ones = coins < np.array(self.noise.numerators)[:, None]
        size = (ones[1:] << np.arange(self.noise.magnitude)[:, None]).sum(axis=0)
        return np.asarray(results + np.where(ones[0], ~size, size))

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest answer that the circuit has."""
        low, high = self.asked.ends
        reach = 0 if isinstance(self.noise, RandomisedAnswer) else 2**self.noise.magnitude
        return low - reach, high + max(0, reach - 1)

    def values(self, answers: Places) -> Floats:
        """The kernel of each pair, right in expectation."""
        if isinstance(self.noise, LaplaceNoise):
            return self.asked.values(answers)
        keep, other = float(self.noise.keep), float(self.noise.other)
        return self.asked.values((answers - other * self._possible.sum()) / (keep - other))

    def variance(self, results: Places) -> Floats:
        """What noise adds to the variance of the value of each pair."""
        factor = self.asked.worth**2
        if isinstance(self.noise, LaplaceNoise):
            rate = 1 / float(self.noise.scale)
            return np.full(results.shape, factor * 0.5 / math.sinh(rate / 2) ** 2)
        keep, other = float(self.noise.keep), float(self.noise.other)
        all_answers, apart = self._possible, keep - other
        mean = other * all_answers.sum() + apart * results
        square = other * (all_answers**2).sum() + apart * results**2
        return np.asarray(factor * (square - mean**2) / apart**2)

    @property
    def _possible(self) -> Places:
        low, high = self.asked.ends
        return np.arange(low, high + 1)
