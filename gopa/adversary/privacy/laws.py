"""Computes the laws of noise and masks as vectors of chances, and draws from them fast.

Simulated views only: draws come from a seeded generator in floating point, which no real
noise or mask ever does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.accounting.convolution import Masses
from gopa.adversary.privacy.bounds import Floats
from gopa.rounds.masks import RoundedGaussian
from zkp.noise import NoiseLaw

Words: TypeAlias = npt.NDArray[np.uint64]
"""Values as a session publishes them, modulo 2^64: every smaller power of two divides it."""

WIDTH = 64
_NOTHING = 1e-40
"""Tails below this are left out of a sum's law: no sample ever gets there."""


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Describes a law on consecutive integers, `first` the smallest of them."""

    first: int
    chances: Floats
    _padded: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_padded", np.pad(self.chances, 1))

    @classmethod
    def of(cls, law: NoiseLaw) -> Law:
        """A session's own table."""
        total = law.total
        return cls(-law.radius, np.array([mass / total for mass in law.masses]))

    @classmethod
    def none(cls) -> Law:
        """Always 0."""
        return cls(0, np.ones(1))

    @property
    def support(self) -> npt.NDArray[np.int64]:
        """The integers that it may take."""
        return np.arange(self.first, self.first + len(self.chances))

    @property
    def variance(self) -> float:
        """Around 0, the mean of every law here."""
        return float(self.support.astype(float) ** 2 @ self.chances)

    def shrunk(self, factor: int) -> Law:
        """The law of a draw divided by `factor` and rounded to the nearest integer."""
        places = np.rint(self.support / factor).astype(np.int64)
        chances = np.zeros(int(places[-1] - places[0]) + 1)
        np.add.at(chances, places - places[0], self.chances)
        return Law(int(places[0]), chances)

    def total(self, count: int) -> Law:
        """The law of the sum of so many draws."""
        if not count:
            return Law.none()
        found = Masses(self.first, self.chances).times(count, cut=_NOTHING)
        return Law(found.first, found.values)

    def at(self, places: npt.NDArray[np.int64]) -> Floats:
        """The chances of these integers, 0 for those that it never takes."""
        return self._padded.take(places - (self.first - 1), mode="clip")

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """By inversion of the cumulative table, as a party draws."""
        bounds = np.cumsum(self.chances)[:-1]
        return np.searchsorted(bounds, rng.random(shape), side="right") + self.first


@dataclass(frozen=True, slots=True)
class Masks:
    """Describes what edges add: rounded Gaussians of a deviation, or with 0 uniform words.

    Uniform ones take `bits` bits around 0: 64 in a session (or as many as its words or
    scalars have, which comes to the same once they are added), fewer only in broken ones.
    """

    deviation: int
    bits: int = WIDTH

    @property
    def hides_all(self) -> bool:
        """Whether a masked value alone is uniform."""
        return not self.deviation and self.bits == WIDTH

    @property
    def variance(self) -> float:
        """In steps squared, for linear tests."""
        return float(self.deviation**2) if self.deviation else 4.0**self.bits / 12

    def law(self) -> Law:
        """The library's own table of rounded Gaussians."""
        return _gaussian(self.deviation)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Words:
        """Modulo 2^64. A normal number rounded to the nearest integer has the law of 08-M6."""
        if self.deviation:
            found = rng.standard_normal(shape)
            found *= self.deviation
            return np.rint(found, out=found).astype(np.int64).view(np.uint64)
        drawn = rng.integers(0, 1 << self.bits, shape, dtype=np.uint64, endpoint=False)
        if self.bits < WIDTH:
            drawn -= np.uint64(1 << (self.bits - 1))
        return drawn


@lru_cache(maxsize=8)
def _gaussian(deviation: int) -> Law:
    law = RoundedGaussian(deviation)
    bounds = law.cumulative
    chances = np.array([(high - low) / law.total for low, high in pairwise(bounds)])
    return Law(-law.radius, chances)
