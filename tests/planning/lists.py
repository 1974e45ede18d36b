"""The lists of rounds without a board, in which parties fall silent and never lie.

Written from `specs/04-protocol.md`, sections 3, 6 and 8 to 11; it plays out the thousands of rounds
that a printed chance is compared with. `tests/aggregation/test_sessions.py` holds it to sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.graph import Graph
from gopa.planning import Terms
from gopa.rounds.toolkit import losses, peel

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What decides whether a round goes on.

    With `one_close` parties are honest but curious: the close of publish is final.
    """

    terms: Terms
    one_close: bool
    max_rollbacks: int


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a round, by position on the roll; `abort` is None if there is a result."""

    committed: tuple[int, ...]
    published: tuple[int, ...]
    final: tuple[int, ...]
    removed: Mapping[int, tuple[Phase, RemovalCause]]
    masked: bool
    abort: AbortReason | None = None
    culprits: tuple[int, ...] = ()


class _Round:
    """The lists as far as they have come."""

    def __init__(self, graph: Graph, leaving: Mapping[int, Phase], conditions: Conditions) -> None:
        self._graph = graph
        self._leaving = leaving
        self._conditions = conditions
        self._removed: dict[int, tuple[Phase, RemovalCause]] = {}
        self._committed: tuple[int, ...] = ()
        self._published: tuple[int, ...] = ()
        self._now = tuple(range(graph.parties))
        self._masked = False

    def lists(self, abort: AbortReason | None = None, culprits: Iterable[int] = ()) -> Lists:
        return Lists(
            self._committed,
            self._published,
            self._now,
            self._removed,
            self._masked,
            abort,
            tuple(sorted(culprits)),
        )

    def run(self) -> Lists:
        terms = self._conditions.terms
        if len(self._now) < max(terms.survivors, 2):
            return self.lists(AbortReason.TOO_FEW_JOINED)
        if not self._close(Phase.COMMIT, self._silent(Phase.COMMIT)):
            return self.lists(AbortReason.TOO_FEW_LEFT, self._absent())
        self._committed = self._now
        if not self._close(Phase.PUBLISH, self._silent(Phase.PUBLISH)):
            return self.lists(AbortReason.TOO_FEW_LEFT, self._absent())
        self._published = self._now
        if self._conditions.one_close:
            return self.lists()
        return self._roll_back() or self._unmask()

    def _silent(self, phase: Phase) -> set[int]:
        gone = self._leaving
        return {u for u in self._now if u in gone and gone[u].place <= phase.place}

    def _absent(self) -> list[int]:
        return [u for u, (_, cause) in self._removed.items() if cause is RemovalCause.ABSENT]

    def _close(self, phase: Phase, silent: set[int]) -> bool:
        """The next list: without the silent, peeled. Whether it is long enough."""
        heard = [u for u in self._now if u not in silent]
        kept = peel(self._graph, heard, 0, self._conditions.terms.loss)
        for party in set(self._now).difference(kept):
            cause = RemovalCause.ABSENT if party in silent else RemovalCause.LOST
            self._removed[party] = (phase, cause)
        self._now = kept
        return len(kept) >= self._conditions.terms.survivors

    def _roll_back(self) -> Lists | None:
        """Close after close until nobody who owes an opening is silent (04-O1 to 04-O4)."""
        owed = self._owing(set(self._committed) - set(self._now))
        rollbacks = 0
        while owed:
            rollbacks += 1
            if rollbacks > self._conditions.max_rollbacks:
                return self.lists(AbortReason.TOO_MANY_ROLLBACKS, self._absent())
            before = self._now
            if not self._close(Phase.ROLLBACK, owed & self._silent(Phase.ROLLBACK)):
                return self.lists(AbortReason.TOO_FEW_LEFT, self._absent())
            owed = self._owing(set(before) - set(self._now))
        return None

    def _owing(self, gone: set[int]) -> set[int]:
        """Who has a live edge to one of these parties, which nobody opened before."""
        live = set(self._committed)
        ends = {int(v) for u in gone & live for v in self._graph.neighbours(u)}
        return ends & set(self._now)

    def _unmask(self) -> Lists:
        """Confirmations and seeds (04-F1, 04-F2, 04-U1 to 04-U4)."""
        self._masked = True
        final, terms = self._now, self._conditions.terms
        silent = self._silent(Phase.CONFIRM)
        confirmed = [u for u in final if u not in silent]
        missing = losses(self._graph, confirmed, 0)[list(final)]
        if len(confirmed) < terms.survivors or int(missing.max()) > terms.loss:
            return self.lists(AbortReason.NOT_CONFIRMED, silent)
        sealed = self._silent(Phase.UNMASK)
        holders = set(final) - self._silent(Phase.RECOVER)
        if any(not self._recoverable(u, holders) for u in sealed):
            return self.lists(AbortReason.NOT_UNMASKED, sealed)
        return self.lists()

    def _recoverable(self, party: int, holders: set[int]) -> bool:
        neighbours = self._graph.neighbours(party).tolist()
        needed = self._conditions.terms.shares_needed(len(neighbours))
        return needed is not None and len(holders.intersection(neighbours)) >= needed


def follow(graph: Graph, leaving: Mapping[int, Phase], conditions: Conditions) -> Lists:
    """The lists of a round over this graph when parties fall silent from these phases on."""
    return _Round(graph, leaving, conditions).run()


def crossing(graph: Graph, inside: Iterable[int], outside: Iterable[int]) -> list[Edge]:
    """The edges between two sets of parties, the end inside first."""
    first, second = graph.edges()
    within = np.zeros(graph.parties, dtype=np.int8)
    within[list(inside)] = 1
    within[list(outside)] = -1
    across = within[first] * within[second] < 0
    pairs = zip(first[across].tolist(), second[across].tolist(), strict=True)
    return [(u, v) if within[u] > 0 else (v, u) for u, v in pairs]
