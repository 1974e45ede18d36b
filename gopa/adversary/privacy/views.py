"""What a coalition does not know, the laws of it, and draws of what it sees.

A coalition takes off every masked value what it can: self-masks that were opened, masks of
edges that touch it, masks of edges that were rolled back. What is left of an honest party u
in a result is

    y_u = x_u + noise_u + sum of its masks with other honest parties in the result

modulo the size of the words. All inputs but the victim's are known to the adversary of a
differential privacy claim, so they are 0 here; nothing else about y_u is known to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gopa.accounting.convolution import Masses
from gopa.graph import Graph
from gopa.rounds.masks import RoundedGaussian
from gopa.support.arrays import Floats
from zkp.noise import NoiseLaw

Words: TypeAlias = npt.NDArray[np.uint64]
"""Values as a session publishes them, modulo 2^64: every smaller power of two divides it."""

Views: TypeAlias = Sequence[Words]
"""One array for each release: parties, coordinates, draws."""

_CHUNK: Final = 400_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Honest parties of one released round, joined by the masks that nobody else knows.

    `silent` add no noise, which happens in broken plans alone. The self-masks of `closed`
    were never opened: such a value is hidden by it and in no result.
    """

    graph: Graph
    victim: int
    silent: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()

    @property
    def members(self) -> npt.NDArray[np.int64]:
        """The parties that masks connect with the victim, the victim among them."""
        labels = self.graph.components()
        return np.flatnonzero(labels == labels[self.victim])


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A game: is the victim's input 0, or `change` steps larger in every release?

    `change` has the coordinates that move; in the others both worlds are alike, and
    coordinates are independent.
    """

    releases: tuple[Release, ...]
    noise: Law
    masks: Masks
    change: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many numbers one view takes to draw."""
        sizes = (each.graph.edge_count + 4 * each.graph.parties for each in self.releases)
        return len(self.change) * sum(sizes)


def views(world: World, draws: int, rng: np.random.Generator, *, moved: bool) -> Iterator[Views]:
    """`draws` independent views, in chunks."""
    chunk = max(1, _CHUNK // world.numbers)
    incidences = [_incidence(each.graph) for each in world.releases]
    for start in range(0, draws, chunk):
        count = min(chunk, draws - start)
        yield [
            _view(world, each, incidence, count, rng, moved=moved)
            for each, incidence in zip(world.releases, incidences, strict=True)
        ]


def _view(  # noqa: PLR0913 - a game, a round of it, how many
    world: World,
    release: Release,
    incidence: sparse.csr_array,
    count: int,
    rng: np.random.Generator,
    *,
    moved: bool,
) -> Words:
    shape = (release.graph.parties, len(world.change), count)
    noise = world.noise.draw(shape, rng)
    noise[list(release.silent)] = 0
    if moved:
        noise[release.victim] += np.array(world.change)[:, None]
    found = noise.view(np.uint64)
    if release.graph.edge_count:
        masks = world.masks.draw((release.graph.edge_count, shape[1] * count), rng)
        found = found + (incidence @ masks).reshape(shape)
    for party in release.closed:
        found[party] += Masks(0).draw(shape[1:], rng)
    return np.asarray(found, dtype=np.uint64)


def _incidence(graph: Graph) -> sparse.csr_array:
    """1 where the smaller end adds a mask, -1 modulo 2^64 where the other takes it away."""
    first, second = graph.edges()
    edges = np.arange(len(first))
    ones = np.ones(len(first), dtype=np.uint64)
    entries = (
        np.concatenate([ones, ~np.zeros_like(ones)]),
        (np.concatenate([first, second]), np.concatenate([edges, edges])),
    )
    return sparse.csr_array(entries, shape=(graph.parties, len(first)))


WIDTH = 64
_NOTHING = 1e-40
"""Tails below this are left out of a sum's law: no sample ever gets there."""


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A law on consecutive integers, `first` the smallest of them."""

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
        """The law of 0 alone."""
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
        """Draws by inversion of the cumulative table, as a party draws."""
        bounds = np.cumsum(self.chances)[:-1]
        return np.searchsorted(bounds, rng.random(shape), side="right") + self.first


@dataclass(frozen=True, slots=True)
class Masks:
    """What edges add: rounded Gaussians of a deviation, or with 0 uniform words.

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
        """The variance in steps squared, for linear tests."""
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
