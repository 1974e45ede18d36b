"""Reads what others signed before the coins came out, and commits only if the lists agree with it.

04-V7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gopa.contract.framing import Message
from gopa.contract.organiser import Coins
from gopa.contract.party import REVEAL, Reveal
from gopa.contract.phases import Phase
from gopa.protocol.party.committing import commit_round
from gopa.protocol.party.context import PartyContext
from gopa.protocol.party.events import Fetch, Output
from gopa.protocol.party.reading import Closed, decoded_join
from gopa.protocol.party.states import Checking, Enrolled, PartyState
from gopa.protocol.party.view import RoundView
from gopa.rounds.proofs import PossessionClaim


def ask(
    state: PartyState, enrolled: Enrolled, view: RoundView, coins: Coins, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Ask for the reveals of all members; where there are no nonces, for neighbours' joins."""
    if enrolled.joined.nonce is None:
        phase, cut, asked = Phase.JOIN, enrolled.cut, view.neighbours
    else:
        phase, cut = Phase.COINS, closed.cut
        asked = tuple(v for v in sorted(view.members) if v != view.position)
    fetch = Fetch(phase, state.chain.round, cut, view.authors(asked))
    stage = Checking(enrolled, view, closed.leaf, coins.nonces, fetch)
    return replace(state, stage=stage), [fetch]


def check(
    party: PartyContext, state: PartyState, checking: Checking, found: Mapping[bytes, Message]
) -> tuple[PartyState, list[Output]]:
    """Commit if the log holds what the organiser's lists say that others signed.

    Raises:
        SuspectedPartyOrBoard: it does not, as far as this party is shown.
    """
    enrolled, view = checking.enrolled, checking.view
    if enrolled.joined.nonce is None:
        _require_joined(party, state, checking, found)
    else:
        _require_revealed(state, checking, found)
    return commit_round(party, state, enrolled, view, checking.leaf)


def _require_revealed(
    state: PartyState, checking: Checking, found: Mapping[bytes, Message]
) -> None:
    """Every member has revealed the listed nonce, and has seen the roll that this party saw.

    Else an organiser could enrol puppets, or use a nonce that its owner gave away under
    another roll: parties of the graph with keys or choices of the adversary's, without
    number (attack `puppets`). Whoever acts on this roll has found its own key and hash there.
    """
    view, leaf = checking.view, checking.enrolled.leaf
    for v, nonce in zip(sorted(view.members), checking.nonces, strict=True):
        message = found.get(view.enrolment.authors[v])
        same = message is not None and message.body == REVEAL.encode(Reveal(leaf, nonce))
        if not same and v != view.position:
            raise state.chain.doubt("it lists a nonce that its owner did not reveal")


def _require_joined(
    party: PartyContext, state: PartyState, checking: Checking, found: Mapping[bytes, Message]
) -> None:
    """Every neighbour has joined with what the roll lists of it, in this round.

    Else an organiser could enrol puppets in the places of members that stay away. Those that
    are nobody's neighbours among the honest hold no share and no edge of theirs.
    """
    view, opened = checking.view, checking.enrolled.joined.opened
    claims = []
    for v in view.neighbours:
        listed = view.enrolment.roll.parties[v]
        join = decoded_join(view.context, found.get(listed.author), opened.leaf)
        if join is None or (join.key, join.nonce_hash) != (listed.key, listed.nonce_hash):
            raise state.chain.doubt("the roll lists a key that its owner did not join with")
        claims.append(
            PossessionClaim(view.context, opened.leaf, view.id_of(v), join.key, join.possession)
        )
    if party.toolkit.proofs.bad_possessions(claims, party.rng):
        raise state.chain.doubt("the roll lists a key without possession")
