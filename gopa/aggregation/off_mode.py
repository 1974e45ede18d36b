"""Aggregates without board or signatures, for experiments. It claims nothing.

Grid, noise law, graph and masks are those of a session; keys, commitments and proofs are
left out, and all parties live in this process.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import Group
from gopa.aggregation.dropouts import Leaving
from gopa.aggregation.engine import Carried, Excluded
from gopa.aggregation.errors import RoundAborted, exact_remark
from gopa.aggregation.grid import Integers
from gopa.aggregation.off_lists import Conditions, Edge, Lists, crossing, follow
from gopa.aggregation.transcript import NO_TRANSCRIPT
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.graph import Graph, k_out_graph
from gopa.planning import Terms
from gopa.rounds.masks.law import RoundedGaussian, UniformMask
from gopa.rounds.masks.words import add_edge_words
from gopa.rounds.unproved_noise import add_noise
from gopa.support.progress import watch
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

_Words: TypeAlias = npt.NDArray[Any]
_LARGEST: Final = 2**62


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One round: who took part, where they stand in it, and what became of them."""

    roll: tuple[int, ...]
    graph: Graph
    lists: Lists

    def parties(self, positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.roll[position] for position in positions)

    def barred(self) -> dict[int, Excluded]:
        """Who may not take part in the next attempt, and why ([X5])."""
        lists = self.lists
        gone = {
            position: fate
            for position, fate in lists.removed.items()
            if fate[1] is not RemovalCause.LOST and position in lists.committed
        }
        if lists.masked:
            phase = Phase.CONFIRM if lists.abort is AbortReason.NOT_CONFIRMED else Phase.UNMASK
            gone.update(dict.fromkeys(lists.culprits, (phase, RemovalCause.ABSENT)))
        return {
            (party := self.roll[position]): Excluded(party, phase.name, cause.name)
            for position, (phase, cause) in gone.items()
        }


class OffMode:
    """Runs logical rounds over the parties of a plan; each draws fresh masks and noise."""

    def __init__(
        self,
        conditions: Conditions,
        group: Group,
        rng: Rng,
        leaving: Leaving,
        progress: bool | None = False,
    ) -> None:
        terms = conditions.terms
        if conditions.one_close and terms.mask != "gaussian":
            raise UsageError("masks that stay in the sum are Gaussian: plan with them", "trust")
        if terms.parties * (terms.steps + terms.noise.radius) >= _LARGEST:
            raise UsageError("sums stay below 2^62: plan with fewer steps", "steps")
        self._conditions = conditions
        self._group = group
        self._rng = rng
        self._leaving = leaving
        self._progress = progress
        self._law = _law(terms)
        self._round = 0

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """Attempts until one has a result, as many as the plan allows ([X3] to [X5])."""
        terms = self._conditions.terms
        barred: dict[int, Excluded] = {}
        vetoes = number = 0
        while True:
            number += 1
            self._round += 1
            attempt = self._attempt(rows, barred, self._leaving(self._round))
            if attempt.lists.abort is None:
                carried = self._carried(attempt, rows, barred)
                return replace(carried, attempts=number, vetoes=vetoes)
            vetoes += attempt.lists.masked
            if number == terms.attempts or vetoes > terms.charged:
                raise _aborted(terms, attempt, number)
            barred.update(attempt.barred())

    @property
    def simulation(self) -> None:
        """There is no session."""

    def close(self) -> None:
        """There is nothing to give back."""

    def _attempt(
        self, rows: Sequence[Integers | None], barred: Collection[int], leaving: Mapping[int, Phase]
    ) -> _Attempt:
        roll = tuple(
            party
            for party, row in enumerate(rows)
            if row is not None and party not in barred and leaving.get(party) is not Phase.JOIN
        )
        if len(roll) < max(2, self._conditions.terms.survivors):
            lists = Lists((), (), (), {}, masked=False, abort=AbortReason.TOO_FEW_JOINED)
            return _Attempt(roll, _nobody(), lists)
        k = min(self._conditions.terms.k, len(roll) - 1)
        graph = k_out_graph(draw(self._rng, 32), len(roll), k)
        silent = {at: leaving[party] for at, party in enumerate(roll) if party in leaving}
        return _Attempt(roll, graph, follow(graph, silent, self._conditions))

    def _carried(
        self,
        attempt: _Attempt,
        rows: Sequence[Integers | None],
        barred: Mapping[int, Excluded],
    ) -> Carried:
        lists, terms = attempt.lists, self._conditions.terms
        left = set(lists.committed).difference(lists.final)
        crossed = crossing(attempt.graph, lists.final, left)
        sums = self._sum(attempt, rows, crossed)
        kept = len(crossed) if self._conditions.one_close else 0
        variance = terms.mask_deviation**2 + 1 / 12 if terms.mask == "gaussian" else 0.0
        opened = {} if self._conditions.one_close else {outside for _, outside in crossed}
        return Carried(
            sums=sums,
            included=attempt.parties(lists.final),
            excluded=self._excluded(attempt, barred),
            rolled_back=attempt.parties(sorted(opened)),
            residual=kept * variance,
            attempts=1,
            vetoes=0,
            organiser_vetoes=0,
            privacy=None,
            transcript=NO_TRANSCRIPT,
        )

    def _excluded(self, attempt: _Attempt, barred: Mapping[int, Excluded]) -> tuple[Excluded, ...]:
        fates = {
            attempt.roll[position]: Excluded(attempt.roll[position], phase.name, cause.name)
            for position, (phase, cause) in attempt.lists.removed.items()
        }
        for party in set(range(self._conditions.terms.parties)).difference(attempt.roll):
            absent = Excluded(party, Phase.JOIN.name, RemovalCause.ABSENT.name)
            fates[party] = barred.get(party, absent)
        return tuple(fates[party] for party in sorted(fates))

    def _sum(
        self, attempt: _Attempt, rows: Sequence[Integers | None], crossed: Sequence[Edge]
    ) -> Integers:
        """The sum of what the final list published, without the masks that were opened."""
        lists = attempt.lists
        first, second = attempt.graph.edges()
        live = np.isin(first, lists.committed) & np.isin(second, lists.committed)
        edges = list(zip(first[live].tolist(), second[live].tolist(), strict=True))
        keys = {edge: SecretBytes(draw(self._rng, 32)) for edge in edges}
        published = self._published(attempt, rows, keys)
        total = published[list(lists.final)].sum(axis=0, dtype=published.dtype)
        if not self._conditions.one_close:
            for inside, outside in crossed:
                key = keys[min(inside, outside), max(inside, outside)]
                self._mask(key, total, -1 if inside < outside else 1)
        return _signed(total)

    def _published(
        self,
        attempt: _Attempt,
        rows: Sequence[Integers | None],
        keys: Mapping[Edge, SecretBytes],
    ) -> _Words:
        """Input, noise and masks of everybody who published; the smaller end of an edge adds."""
        terms = self._conditions.terms
        published = np.zeros((len(attempt.roll), terms.dimension), dtype=self._word())
        there = set(attempt.lists.published)
        for position in attempt.lists.published:
            own = rows[attempt.roll[position]]
            if own is not None:
                published[position] = own
            add_noise(published[position], terms.noise, self._group, self._rng)
        work = 2 * len(keys) * terms.dimension
        for (low, high), key in watch(self._progress, list(keys.items()), "masking", work):
            if low in there:
                self._mask(key, published[low], 1)
            if high in there:
                self._mask(key, published[high], -1)
        return published

    def _mask(self, key: SecretBytes, words: _Words, sign: int) -> None:
        add_edge_words(words, key, sign, self._law, group=self._group)

    def _word(self) -> type[np.uint32 | np.uint64]:
        """The narrowest words that hold the sum. Gaussian masks may stay in it: wide ones."""
        terms = self._conditions.terms
        largest = terms.parties * (terms.steps + terms.noise.radius)
        narrow = terms.mask == "uniform" and largest < 2**31
        return np.uint32 if narrow else np.uint64


def _law(terms: Terms) -> UniformMask | RoundedGaussian:
    if terms.mask == "uniform":
        return UniformMask()
    return RoundedGaussian(terms.mask_deviation)


def _signed(total: _Words) -> Integers:
    return total.view(np.dtype(f"i{total.dtype.itemsize}")).astype(np.int64)


def _nobody() -> Graph:
    return Graph(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))


def _aborted(terms: Terms, attempt: _Attempt, attempts: int) -> RoundAborted:
    lists = attempt.lists
    return RoundAborted.after(
        attempts,
        lists.abort or AbortReason.ORGANISER,
        masked=lists.masked,
        culprits=attempt.parties(lists.culprits),
        remark=exact_remark(terms, masked=lists.masked),
    )
