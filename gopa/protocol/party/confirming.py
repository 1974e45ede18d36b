"""Opens edges to parties that are gone, confirms the final close, and then opens the seed.

`specs/04-protocol.md`, sections 8 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gopa.contract.framing import Message
from gopa.contract.manifest import Trust
from gopa.contract.party import CONFIRM, OPENING, UNMASK, Confirm, EdgeOpenings, OpenedEdge, Unmask
from gopa.contract.phases import Phase
from gopa.protocol.party.context import PartyContext, absent, landed_below, leave
from gopa.protocol.party.events import Output, Part
from gopa.protocol.party.reading import Closed
from gopa.protocol.party.states import Confirmed, Counting, PartyState, Published, Settled, Unmasked
from wire.errors import UsageError


def narrow(
    party: PartyContext,
    state: PartyState,
    published: Published,
    members: tuple[frozenset[int], bool],
    closed: Closed,
) -> tuple[PartyState, list[Output]]:
    """Take a close of publish or rollback: open what is owed, or confirm.

    A list that this party is not in, though its message was in time, stops it: a board may hide
    a value until the edges to its author are open, and then show it (attacks `dropped-post`,
    `value-behind-the-close`).

    Raises:
        FaultyParty: the list cannot be one that the rules make.
    """
    (inside, final), leaf = members, closed.leaf
    view, chain, most = published.view, state.chain, party.manifest.terms.loss
    chain.require(inside <= published.members, "a list grew", leaf)
    # This end has opened the edge rightly, so the other one cannot have (14-P9).
    stays = published.phase is Phase.ROLLBACK and bool(published.disputed & inside)
    if view.position not in inside:
        if view.lost(inside) > most:
            return leave(state, published.opened, Part.LOST)
        return absent(state, published.opened, published.phase, closed.cut)
    chain.require(view.lost(inside) <= most, "a list is not peeled", leaf)
    if party.manifest.trust is Trust.HONEST_BUT_CURIOUS:
        chain.require(final, "the close of publish is final", leaf)
        return replace(state, stage=Settled(published.opened, view, inside)), []
    chain.require(not stays, "somebody stays who lied about an edge", leaf)
    owed = _owed(published, inside)
    unchanged = inside == published.members
    if published.phase is Phase.ROLLBACK:
        chain.require(final == unchanged, "a rollback ends when its list stays", leaf)
    chain.require(not (final and owed), "a final close while edges are owed", leaf)
    if final:
        return _confirm(party, state, published, inside, closed)
    return _open(party, state, published, inside, closed)


def count(
    party: PartyContext, state: PartyState, counting: Counting, found: Mapping[bytes, Message]
) -> tuple[PartyState, list[Output]]:
    """Unmask if 04-F2 holds for everybody in the final list, by confirmations that were read.

    Stops an organiser that claims confirmations (attack `skipped-confirmations`), or shows two
    final lists to two sides (attack `split-organiser`).

    It is checked for all of them and not only for this party: seeds and shares that are
    given away here expose whoever lost too many neighbours, wherever it stands.

    Raises:
        FaultyParty: the close goes on with the round although they did not.
    """
    confirmed, terms = counting.confirmed, party.manifest.terms
    view = confirmed.view
    same = CONFIRM.encode(Confirm(confirmed.leaf))
    timely = landed_below(state, Phase.CONFIRM, counting.wanted.cut)
    agreed = {view.position} if timely else set()
    for position in counting.listed:
        message = found.get(view.enrolment.authors[position])
        if message is not None and message.body == same:
            agreed.add(position)
    chain = state.chain
    chain.require(len(agreed) >= terms.survivors, "too few confirmed", counting.leaf)
    most = view.most_lost(confirmed.final, agreed)
    chain.require(most <= terms.loss, "too few confirmed around a party", counting.leaf)
    stage = Unmasked(confirmed.opened, view, confirmed.final, frozenset(agreed), confirmed.shares)
    body = UNMASK.encode(Unmask(counting.leaf, confirmed.seed.reveal()))
    state, post = party.say(replace(state, stage=stage), Phase.UNMASK, body)
    return state, [post]


def _confirm(
    party: PartyContext,
    state: PartyState,
    published: Published,
    inside: frozenset[int],
    closed: Closed,
) -> tuple[PartyState, list[Output]]:
    """Post the confirmation, and drop the keys of all edges.

    From here on nothing, not even a fork, can have this party open an edge to somebody whose
    self-mask it helps to open: the two together would show that one's value.
    """
    if published.seed is None:
        raise UsageError("who confirms has a mask of its own")
    shares = {v: share for v, share in published.shares.items() if v in inside}
    stage = Confirmed(
        published.opened,
        published.view,
        closed.leaf,
        inside,
        MappingProxyType(shares),
        published.seed,
    )
    body = CONFIRM.encode(Confirm(closed.leaf))
    state, post = party.say(replace(state, stage=stage), Phase.CONFIRM, body)
    return state, [post]


def _open(
    party: PartyContext,
    state: PartyState,
    published: Published,
    inside: frozenset[int],
    closed: Closed,
) -> tuple[PartyState, list[Output]]:
    """Open the edges to those that are gone: each once, and none to anybody listed.

    An edge to a listed party stays closed: that party opens its self-mask later, and with all
    of its edges open its value would be in the clear.
    """
    step = published.rollbacks + 1
    allowed = step <= party.manifest.max_rollbacks
    state.chain.require(allowed, "more rollbacks than the manifest allows", closed.leaf)
    owed = _owed(published, inside)
    keys = {v: key for v, key in published.keys.items() if v not in owed}
    stage = replace(
        published,
        keys=MappingProxyType(keys),
        members=inside,
        phase=Phase.ROLLBACK,
        rollbacks=step,
    )
    if not owed:
        return replace(state, stage=stage), []
    edges = tuple(OpenedEdge(v, published.keys[v].reveal()) for v in owed)
    body = OPENING.encode(EdgeOpenings(closed.leaf, edges))
    state, post = party.say(state, Phase.ROLLBACK, body, published.next_seq)
    seq = published.next_seq + len(post.entries)
    return replace(state, stage=replace(stage, next_seq=seq)), [post]


def _owed(published: Published, inside: frozenset[int]) -> list[int]:
    """The neighbours whose edges are to be opened: they are gone, or disagree about them."""
    return sorted(v for v in published.keys if v not in inside or v in published.disputed)
