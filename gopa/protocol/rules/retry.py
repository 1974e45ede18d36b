"""Decides which round is next, and who sits it out ([X3] to [X5])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, RemovalCause
from gopa.contract.phases import OWED_ONCE_COMMITTED
from gopa.protocol.rules.round_state import RoundState

_PROOFS: Final = frozenset({"04-J3", "04-K3", "14-P3"})
"""Rules that an invalid proof breaks."""

_CUT_OFF: Final = "04-C6"
"""Whoever was only late by the cut has posted in time, as far as the log shows."""

_FAILED: Final = frozenset(
    {RemovalCause.ABSENT, RemovalCause.INVALID, RemovalCause.STRUCK, RemovalCause.CONVICTED}
)
"""Not those who only lost too many neighbours."""


@dataclass(frozen=True, slots=True)
class Due:
    """Names a round: its number, which logical round it serves, which attempt it is."""

    number: int
    logical: int
    attempt: int


FIRST: Final = Due(1, 0, 0)


def following(manifest: Manifest, last: RoundState | None) -> Due | None:
    """The round after the last one; None when all logical rounds are done.

    No attempt is left after `attempts` rounds, or `charged` + 1 releases ([X4]): each attempt draws
    coins, among which colluders could choose (attack `draws-until-it-likes`).
    """
    if last is None:
        return FIRST
    terms = manifest.terms
    again = isinstance(last.ended, Abort)
    used = last.attempt + 1 >= terms.attempts or releases_of(last) > terms.charged
    if again and not used:
        return Due(last.number + 1, last.logical, last.attempt + 1)
    if last.logical + 1 >= terms.rounds:
        return None
    return Due(last.number + 1, last.logical + 1, 0)


def releases_of(state: RoundState) -> int:
    """Valid final closes of the logical round, this round included."""
    return state.earlier_releases + (state.final is not None)


@dataclass(slots=True)
class Bars:
    """Keeps who is barred: from the attempts left of this logical round, and for good."""

    retry: set[bytes] = field(default_factory=set)
    forever: set[bytes] = field(default_factory=set)

    def learn(self, state: RoundState, convicted: Iterable[bytes]) -> None:
        """Bar whoever failed in a round that is over, and those `convicted` too late for its lists.

        Whoever made it fail sits out the retry, or a few could fail every attempt (attacks
        `endless-refusals`, `refuse-confirm`, `refuse-unmask`).
        """
        for row in state.removals:
            if row.cause in {RemovalCause.STRUCK, RemovalCause.CONVICTED} or row.rule in _PROOFS:
                self.forever.add(row.author)
            failed = row.cause in _FAILED and row.rule != _CUT_OFF
            if failed and row.phase in OWED_ONCE_COMMITTED:
                self.retry.add(row.author)
        self.retry |= state.laggards
        self.forever.update(state.convicted, convicted)

    def for_round(self, due: Due, equivocators: Mapping[bytes, int]) -> frozenset[bytes]:
        """Who sits out the round that opens now."""
        if not due.attempt:
            self.retry.clear()
        return frozenset(self.retry | self.forever | equivocators.keys())
