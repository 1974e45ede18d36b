"""Ends a round for a party: gives shares of those that did not unmask, takes the result or abort.

`specs/04-protocol.md`, sections 11 and 12.
"""

from __future__ import annotations

from dataclasses import replace

from gopa.contract.manifest import Manifest, Path, Trust
from gopa.contract.organiser import Abort, Released, ResultMessage
from gopa.contract.party import RECOVER, Recover, RecoveredShare
from gopa.contract.phases import OWED_ONCE_COMMITTED, Phase
from gopa.contract.row_terms import largest_share
from gopa.contract.terms import Terms
from gopa.protocol.party.context import PartyContext, landed_below
from gopa.protocol.party.events import Finished, Output, Part
from gopa.protocol.party.states import (
    AttemptCount,
    BetweenRounds,
    Done,
    Outside,
    PartyState,
    Settled,
    Stage,
    Unmasked,
    opened_of,
)


def recover(
    party: PartyContext, state: PartyState, unmasked: Unmasked, opened: frozenset[int], leaf: bytes
) -> tuple[PartyState, list[Output]]:
    """Give the shares of neighbours whose seed is missing, if theirs is the case of 04-U3.

    A neighbour that stopped because too few confirmed around it is not overridden: its
    own count decides here too. Nobody counts the shares of a party whose own confirmation
    came too late, and to post them is a fault, so it keeps them.
    """
    view, most = unmasked.view, party.manifest.terms.loss
    timely = view.position in unmasked.confirmed
    missing = [v for v in sorted(unmasked.shares) if timely and v not in opened]
    given = tuple(
        RecoveredShare(v, unmasked.shares[v].to_bytes().reveal())
        for v in missing
        if view.lost_of(v, unmasked.confirmed) <= most
    )
    state = replace(state, stage=Settled(unmasked.opened, view, unmasked.final))
    if not given:
        return state, []
    state, post = party.say(state, Phase.RECOVER, RECOVER.encode(Recover(leaf, given)))
    return state, [post]


def finish(
    party: PartyContext, state: PartyState, outcome: ResultMessage | Abort
) -> tuple[PartyState, list[Output]]:
    """End the round: check what concerns this party, count, forget every secret.

    Raises:
        FaultyParty: the outcome contradicts what this party has seen.
    """
    stage, tally = state.stage, state.tally
    opened = opened_of(stage)
    if opened is None:
        raise state.chain.fault("a round ends that is not open")
    if isinstance(outcome, ResultMessage):
        _check_result(party, state, stage, outcome)
        tally = replace(tally, decided=True)
    else:
        # Denied releases would cost no privacy in the account (attack `abort-denies-release`).
        shown = Released.MASKED if state.final_seen else Released.NONE
        state.chain.require(outcome.released is shown, "an abort misstates what was released")
        late = state.listed and not all(
            landed_below(state, phase, outcome.cut) for phase in OWED_ONCE_COMMITTED
        )
        tally = replace(tally, excused=tally.excused or late)
    part = stage.part if isinstance(stage, Outside) else Part.ACTIVE
    over = next_round(tally, party.manifest.terms) is None
    state = replace(
        state, stage=Done() if over else BetweenRounds(), tally=tally, sent=(), landed=()
    )
    number = opened.context.round
    return state, [Finished(number, opened.logical, opened.attempt, part, outcome)]


def next_round(tally: AttemptCount, terms: Terms) -> tuple[int, int] | None:
    """Logical number and attempt of the round that may open next (04-X3, 04-X4)."""
    used_up = tally.attempts >= terms.attempts or tally.releases > terms.charged
    if not (tally.decided or used_up):
        return tally.logical, tally.attempts
    return (tally.logical + 1, 0) if tally.logical + 1 < terms.rounds else None


def _check_result(
    party: PartyContext, state: PartyState, stage: Stage, result: ResultMessage
) -> None:
    """Check counts and bounds of a result; the sum itself is for an audit (04-Z1 to 04-Z3).

    Else a result could claim that values were released less often than they were (attack
    `hidden-release`), or that others were left out than those who were (`hidden-exclusion`,
    `invented-exclusion`).
    """
    chain, terms = state.chain, party.manifest.terms
    chain.require(state.final_seen, "a result without a final list")
    chain.require(len(result.sums) == terms.dimension, "a result of another dimension")
    largest = _largest(party.manifest)
    possible = -largest <= min(result.sums) and max(result.sums) <= largest
    chain.require(possible, "a sum out of range")
    chain.require(result.attempt == state.tally.attempts - 1, "a result of another attempt")
    chain.require(result.releases == state.tally.releases, "releases were miscounted")
    if isinstance(stage, Settled | Unmasked):
        size = len(stage.view.enrolment)
        removed = [each.position for each in result.removed]
        expected = [position for position in range(size) if position not in stage.final]
        chain.require(removed == expected, "a result names others than those removed")
    else:
        chain.require(isinstance(stage, Outside), "a result comes too early")


def _largest(manifest: Manifest) -> int:
    """The furthest that a sum is from zero (04-Z2); where masks stay in it, its words bound it."""
    if manifest.trust is Trust.HONEST_BUT_CURIOUS:
        return 1 << (manifest.word_width - 1)
    if manifest.path is Path.ROWS:
        return manifest.terms.parties * largest_share(manifest.terms)
    return manifest.terms.parties * (manifest.terms.steps + manifest.terms.noise.radius)
