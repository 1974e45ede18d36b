"""Describes who colludes, who is gone and which masks are open, as a round has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from gopa.adversary.privacy.laws import Law
from gopa.adversary.privacy.views import Release
from gopa.contract.terms import Terms
from gopa.graph import Graph, complete, k_out_graph
from gopa.planning.outcome import RoundFacts

_DENSE = 1000
"""Up to so many honest parties the worst victim is found exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseScenario:
    """Describes one release: the graph of the roll, victim, coalition, and who is not in it."""

    graph: Graph
    victim: int
    corrupt: frozenset[int]
    gone: frozenset[int] = frozenset()

    @property
    def included(self) -> tuple[int, ...]:
        """Everybody in the result, the coalition among them."""
        return tuple(each for each in range(self.graph.parties) if each not in self.gone)

    @property
    def honest(self) -> tuple[int, ...]:
        """Those in the result whose secrets nobody else has."""
        return tuple(each for each in self.included if each not in self.corrupt)

    @property
    def opened(self) -> tuple[tuple[int, int], ...]:
        """Edges that a rollback opens: from a party of the result to one that is gone."""
        first, second = (each.tolist() for each in self.graph.edges())
        return tuple(
            (u, v)
            for u, v in zip(first, second, strict=True)
            if (u in self.gone) != (v in self.gone)
        )

    def release(self) -> Release:
        """What the coalition does not know of it.

        All masks of a victim that is gone count as opened; its own one never is.
        """
        if self.victim in self.gone:
            return Release(complete(1), 0, closed=frozenset({0}))
        honest = self.honest
        return Release(self.graph.induced(honest), honest.index(self.victim))

    def outcome(self, terms: Terms, earlier: Iterable[RoundFacts] = ()) -> RoundFacts:
        """The public facts, and who the coalition is, for the library's own account."""
        return RoundFacts(
            terms=terms,
            graph=self.graph,
            included=self.included,
            opened=self.opened,
            unmasked=self.included,
            earlier=tuple(earlier),
            corrupt=tuple(sorted(self.corrupt)),
        )


def graph_of(terms: Terms, joined: int, rng: np.random.Generator) -> Graph:
    """A graph as a round with so many parties draws it."""
    return k_out_graph(rng.bytes(32), joined, terms.choices(joined))


def most_exposed(graph: Graph, corrupt: Iterable[int], terms: Terms) -> int:
    """The honest party that is easiest to tell apart.

    With uniform masks it is in the smallest component, with Gaussian ones it has the
    largest theta (03-V8).
    """
    outside = set(corrupt)
    honest = [each for each in range(graph.parties) if each not in outside]
    unknown = graph.induced(honest)
    if terms.mask == "gaussian" and len(honest) <= _DENSE:
        covariance = unknown.laplacian().toarray() * float(terms.mask_deviation**2)
        covariance[np.diag_indices(len(honest))] += Law.of(terms.noise).variance
        return honest[int(np.argmax(np.diagonal(linalg.inv(covariance))))]
    labels = unknown.components()
    sizes = np.bincount(labels)[labels]
    return honest[int(np.lexsort((unknown.degrees, sizes))[0])]


def removable(
    graph: Graph, order: Iterable[int], terms: Terms, kept: Iterable[int] = ()
) -> frozenset[int]:
    """Of these parties, in their order, as many as the rules let somebody remove.

    At least `terms.survivors` stay and none of them loses more than `terms.loss`
    neighbours; else it would be removed too, or the round aborted.
    """
    present = np.ones(graph.parties, dtype=np.bool_)
    lost = np.zeros(graph.parties, dtype=np.int64)
    budget = graph.parties - terms.survivors
    for party in _others(order, kept):
        if budget <= 0:
            break
        neighbours = graph.neighbours(party)
        if (lost[neighbours[present[neighbours]]] < terms.loss).all():
            present[party] = False
            lost[neighbours] += 1
            budget -= 1
    return frozenset(np.flatnonzero(~present).tolist())


def _others(order: Iterable[int], kept: Iterable[int]) -> Iterator[int]:
    stay = set(kept)
    return (each for each in order if each not in stay)
