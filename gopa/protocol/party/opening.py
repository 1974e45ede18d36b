"""From the masked values to the open self-mask: edges of who is gone, confirmations, the seed.

`specs/04-protocol.md`, sections 8 to 10. Vectors that are proved row by row first show what the
words are (14-P6 to 14-P9): that proof belongs to one close of publish, the pads are used up with
it, and the party keeps no vector of the round behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gopa.contract.framing import Message
from gopa.contract.manifest import Trust
from gopa.contract.party import CONFIRM, OPENING, UNMASK, Confirm, EdgeOpenings, OpenedEdge, Unmask
from gopa.contract.phases import Phase
from gopa.contract.row_terms import losses_allowed
from gopa.protocol.party.context import (
    PartyContext,
    absent,
    landed_below,
    leave,
    members_of,
    require_listed,
)
from gopa.protocol.party.events import Fetch, Output, Part
from gopa.protocol.party.reading import Closed, decode_prove_head, decoded
from gopa.protocol.party.rows import prove_words, said_of, shown_masks
from gopa.protocol.party.states import (
    Confirmed,
    Counting,
    PartyState,
    Published,
    Reconciling,
    Settled,
    Unmasked,
)
from wire.errors import UsageError


def take_values(
    party: PartyContext, state: PartyState, published: Published, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Take a close of publish, prove or rollback: prove, open what is owed, or confirm."""
    members = members_of(party, state, closed, published.phase)
    if published.unproved is not None:
        return _prove(party, state, published, members[0], closed)
    if published.published:
        # Each who goes when the points are known is a choice among equations (14-P11).
        terms = party.manifest.terms
        gone = published.published - len(members[0])
        allowed = losses_allowed(published.published, terms.survivors, terms.late)
        state.chain.require(gone <= allowed, "too many are gone from a list", closed.leaf)
    if published.phase is Phase.PROVE:
        return _ask(party, state, published, members, closed)
    return narrow(party, state, published, members, closed)


def _prove(
    party: PartyContext,
    state: PartyState,
    published: Published,
    inside: frozenset[int],
    closed: Closed,
) -> tuple[PartyState, list[Output]]:
    """Take the close of publish: prove what the words are, at the points that its leaf decides.

    Raises:
        FaultyParty: the list cannot be one that the rules make.
    """
    view, chain, most = published.view, state.chain, party.manifest.terms.loss
    chain.require(inside <= published.members, "a list grew", closed.leaf)
    chain.require(not closed.final, "nothing is proved yet of what was published", closed.leaf)
    if view.position not in inside:
        if view.lost(inside) > most:
            return leave(state, published.opened, Part.LOST)
        return absent(state, published.opened, Phase.PUBLISH, closed.cut)
    chain.require(view.lost(inside) <= most, "a list is not peeled", closed.leaf)
    if published.unproved is None:
        raise UsageError("what was published is proved once")
    shown = shown_masks(published, closed.leaf, len(inside))
    body = prove_words(
        published, shown, closed.leaf, len(inside), party.toolkit.proofs, rng=party.rng
    )
    stage = replace(
        published,
        members=inside,
        phase=Phase.PROVE,
        unproved=None,
        published=len(inside),
        said=said_of(published.keys, shown),
        proved_on=closed.leaf,
    )
    state, post = party.say(replace(state, stage=stage), Phase.PROVE, body)
    return state, [post]


def _ask(
    party: PartyContext,
    state: PartyState,
    published: Published,
    members: tuple[frozenset[int], bool],
    closed: Closed,
) -> tuple[PartyState, list[Output]]:
    """Take the close of prove: unless it is final, read what neighbours in its list said.

    A final list has no edge about which its ends disagree, and whether that is so is for an audit:
    whoever is in it opens no edge.
    """
    inside, final = members
    view = published.view
    if final or view.position not in inside:
        return narrow(party, state, published, members, closed)
    wanted = view.authors(sorted(v for v in published.said if v in inside))
    fetch = Fetch(Phase.PROVE, state.chain.round, closed.cut, wanted)
    return replace(state, stage=Reconciling(published, closed, inside, fetch)), [fetch]


def reconcile(
    party: PartyContext, state: PartyState, stage: Reconciling, found: Mapping[bytes, Message]
) -> tuple[PartyState, list[Output]]:
    """Open the edges about which a listed neighbour said something else, and those that lead out.

    Two honest ends say the same, as what both say follows from the key and the close. So whoever
    disagrees knows the key already, and nothing is given away (14-U4).

    Raises:
        FaultyParty: the close lists a neighbour that has not proved anything.
    """
    published, view = stage.published, stage.published.view
    disputed = set()
    for v, said in published.said.items():
        if v not in stage.inside:
            continue
        message = found.get(view.enrolment.authors[v])
        theirs = decoded(message, decode_prove_head, published.proved_on)
        neighbours = view.neighbours_of(v)
        if theirs is None or len(theirs.edges) != len(neighbours):
            raise state.chain.fault("it lists a party without a proof", stage.closed.leaf)
        if theirs.edges[neighbours.index(view.position)] != said:
            disputed.add(v)
    published = replace(published, disputed=frozenset(disputed))
    return narrow(party, state, published, (stage.inside, False), stage.closed)


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


def take_confirmations(
    party: PartyContext, state: PartyState, confirmed: Confirmed, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Read everybody's confirmation before the seed is opened (04-F2).

    A list alone shows nobody's: an organiser could claim confirmations, and have some parties
    open edges to a victim while others open its self-mask.
    """
    view = confirmed.view
    listed, _ = members_of(party, state, closed, Phase.CONFIRM)
    state.chain.require(listed <= confirmed.final, "a list grew", closed.leaf)
    state = require_listed(state, Phase.CONFIRM, view.position in listed, closed)
    authors = view.authors(sorted(listed - {view.position}))
    fetch = Fetch(Phase.CONFIRM, state.chain.round, closed.cut, authors)
    return replace(state, stage=Counting(confirmed, closed.leaf, listed, fetch)), [fetch]


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
