"""Turns what the rules found about a logical round into what an aggregator says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gopa.aggregation.engine import Carried, Excluded, Mode, Trust
from gopa.aggregation.errors import RoundAborted, exact_remark
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.contract.row_terms import sums_of_positions
from gopa.planning import PrivacyStatement, Terms, privacy
from gopa.protocol.rules import Findings, RoundFindings, outcome_of
from wire.randomness import Rng

_UNPROVED: Final = "parties keep to the range and draw their noise: neither is proved"
_VETOED: Final = "; its organiser vetoed it: the log has what the round needed"
_HONEST: Final = "parties keep the rules: liars are not found"


@dataclass(frozen=True, slots=True)
class Account:
    """Reads findings about the parties that have these `positions`, by Ed25519 key."""

    terms: Terms
    positions: Mapping[bytes, int]
    mode: Mode
    trust: Trust
    rng: Rng

    def carried(
        self, findings: Findings, attempts: Sequence[RoundFindings], transcript: Any
    ) -> Carried:
        """The logical round that these attempts made.

        Raises:
            RoundAborted: none of them has a result.
        """
        last = attempts[-1] if attempts else None
        if last is None or last.sums is None:
            raise self._aborted(attempts)
        included = self._parties(last, set(last.final or ()))
        sums = sums_of_positions(self.terms, last.sums, len(included))
        return Carried(
            sums=np.array(sums, dtype=np.int64),
            included=included,
            excluded=self._excluded(attempts, included),
            rolled_back=self._parties(last, {outside for _, outside in _undone(last)}),
            residual=self._residual(last),
            attempts=len(attempts),
            vetoes=sum(attempt.released for attempt in attempts[:-1]),
            organiser_vetoes=sum(bool(attempt.veto) for attempt in attempts),
            privacy=self._privacy(findings, last),
            transcript=transcript,
        )

    def _aborted(self, attempts: Sequence[RoundFindings]) -> RoundAborted:
        last = attempts[-1] if attempts else None
        if last is None or last.abort is None:
            message = "the session stopped: a party or the organiser broke a rule"
            return RoundAborted(message, "none", AbortReason.ORGANISER.name, (), len(attempts))
        remark = _VETOED if last.veto else ""
        remark += exact_remark(self.terms, masked=last.released)
        return RoundAborted.after(
            len(attempts),
            last.abort,
            masked=last.released,
            culprits=self._parties(last, set(last.culprits)),
            remark=remark,
        )

    def _parties(self, found: RoundFindings, positions: set[int]) -> tuple[int, ...]:
        return tuple(sorted(self.positions[found.roll[position]] for position in positions))

    def _excluded(
        self, attempts: Sequence[RoundFindings], included: tuple[int, ...]
    ) -> tuple[Excluded, ...]:
        """What the last attempt says, or an earlier one of whoever did not get into that."""
        fates: dict[int, Excluded] = {}
        for found in attempts:
            for party, fate in self._fates(found).items():
                if fate.phase != Phase.JOIN.name or party not in fates:
                    fates[party] = fate
        lost = sorted(set(self.positions.values()).difference(included))
        absent = (Phase.JOIN.name, RemovalCause.ABSENT.name)
        return tuple(fates.get(party, Excluded(party, *absent)) for party in lost)

    def _fates(self, found: RoundFindings) -> dict[int, Excluded]:
        """Who was removed in this attempt, or brought it to its end."""
        fates = {
            (party := self.positions[removed.author]): Excluded(
                party, removed.phase.name, removed.cause.name
            )
            for removed in found.removals
            if removed.author in self.positions
        }
        for party in self._parties(found, set(found.culprits)):
            phase = Phase.CONFIRM if found.abort is AbortReason.NOT_CONFIRMED else Phase.UNMASK
            fates.setdefault(party, Excluded(party, phase.name, RemovalCause.ABSENT.name))
        return fates

    def _residual(self, found: RoundFindings) -> float:
        """The variance of masks that stay in the sum: of live edges that nobody opens."""
        if self.trust != "honest-but-curious" or found.graph is None:
            return 0.0
        committed = next((each.members for each in found.lists if each.phase is Phase.COMMIT), ())
        final = found.final or ()
        outside, void = set(committed).difference(final), set(map(frozenset, found.void))
        ends = ((u, int(v)) for u in final for v in found.graph.neighbours(u))
        crossed = sum(v in outside and frozenset((u, v)) not in void for u, v in ends)
        return crossed * (self.terms.mask_deviation**2 + 1 / 12)

    def _privacy(self, findings: Findings, found: RoundFindings) -> PrivacyStatement | None:
        if self.terms.exact:
            return None
        outcome = outcome_of(findings, found.number)
        added = () if self.mode == "full" else (_UNPROVED,)
        if self.trust == "honest-but-curious":
            added = (*added, _HONEST)
        said = replace(outcome, assumptions=(*outcome.assumptions, *added))
        return privacy.of(said, rng=self.rng)


def _undone(found: RoundFindings) -> list[tuple[int, int]]:
    """Edges that were opened, the end in the result first."""
    inside = set(found.final or ())
    return [(u, v) if u in inside else (v, u) for u, v in found.opened]
