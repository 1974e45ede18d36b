"""Mode off: the sum of inputs and noise, for experiments. It claims nothing.

Grid and noise are those of a session, so results have the same law. There are no keys, masks or
proofs, which would cancel out, and so nobody can leave between two phases: who takes part in a
round gets into its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from commitments.group import Group
from gopa.aggregation.dropouts import Leaving
from gopa.aggregation.engine import Carried, Excluded
from gopa.aggregation.errors import RoundAborted
from gopa.aggregation.grid import Integers
from gopa.aggregation.transcript import NO_TRANSCRIPT
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.planning import Terms
from gopa.rounds.unproved_noise import add_noise
from gopa.support.progress import watch
from wire.errors import UsageError
from wire.randomness import Rng

_ABSENT: Final = (Phase.JOIN.name, RemovalCause.ABSENT.name)


class OffMode:
    """The engine of mode off: logical rounds over the parties of a plan."""

    def __init__(
        self,
        terms: Terms,
        group: Group,
        rng: Rng,
        leaving: Leaving,
        progress: bool | None = False,
    ) -> None:
        self._terms = terms
        self._group = group
        self._rng = rng
        self._leaving = leaving
        self._progress = progress
        self._round = 0

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One result, after as many attempts as it takes until enough parties join.

        Raises:
            RoundAborted: the plan allows no further attempt.
            UsageError: the script has a party leave in a later phase than join.
        """
        for attempt in range(1, self._terms.attempts + 1):
            self._round += 1
            joined = self._joined(rows)
            if len(joined) >= max(2, self._terms.survivors):
                return self._carried(joined, attempt)
        reason = AbortReason.TOO_FEW_JOINED
        raise RoundAborted.after(self._terms.attempts, reason, masked=False, culprits=())

    @property
    def simulation(self) -> None:
        """There is no session."""

    def close(self) -> None:
        """There is nothing to give back."""

    def _joined(self, rows: Sequence[Integers | None]) -> dict[int, Integers]:
        """The rows of those who take part."""
        leaving = self._leaving(self._round)
        if any(phase is not Phase.JOIN for phase in leaving.values()):
            message = "mode off has no phase after join: let parties leave there, or in mode signed"
            raise UsageError(message, "script")
        return {
            party: row for party, row in enumerate(rows) if row is not None and party not in leaving
        }

    def _carried(self, joined: dict[int, Integers], attempts: int) -> Carried:
        terms = self._terms
        words = np.zeros(terms.dimension, dtype=np.uint64)
        work = len(joined) * terms.dimension
        for row in watch(self._progress, list(joined.values()), "adding", work):
            words += row.astype(np.uint64)
            add_noise(words, terms.noise, self._group, self._rng)
        return Carried(
            sums=words.view(np.int64),
            included=tuple(joined),
            excluded=tuple(
                Excluded(party, *_ABSENT) for party in range(terms.parties) if party not in joined
            ),
            rolled_back=(),
            residual=0.0,
            attempts=attempts,
            vetoes=0,
            organiser_vetoes=0,
            privacy=None,
            transcript=NO_TRANSCRIPT,
        )
