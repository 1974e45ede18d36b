"""Describes what a coalition does not know, and draws what it sees.

A coalition takes off every masked value what it can: self-masks that were opened, masks of
edges that touch it, masks of edges that were rolled back. What is left of an honest party u
in a result is

    y_u = x_u + noise_u + sum of its masks with other honest parties in the result

modulo the size of the words. All inputs but the victim's are known to the adversary of a
differential privacy claim, so they are 0 here; nothing else about y_u is known to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gopa.adversary.privacy.laws import Law, Masks, Words
from gopa.graph import Graph

Views: TypeAlias = Sequence[Words]
"""One array for each release: parties, coordinates, draws."""

_CHUNK: Final = 400_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Describes honest parties of one released round, joined by the masks that nobody else knows.

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
    """Describes a game: is the victim's input 0, or `change` steps larger in every release?

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
