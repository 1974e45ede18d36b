"""Proves what a party's words are, once they stand in the log, and finds neighbours who disagree.

14-P6 to 14-P9. What is proved belongs to one close of publish: the pads
are used up with the proof, and the party keeps no vector of the round behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gopa.contract.framing import Message
from gopa.contract.phases import Phase
from gopa.protocol.party.confirming import narrow
from gopa.protocol.party.context import PartyContext, absent, leave
from gopa.protocol.party.events import Fetch, Output, Part
from gopa.protocol.party.reading import Closed, decode_prove_head, decoded
from gopa.protocol.party.rows import prove_words, said_of, shown_masks
from gopa.protocol.party.states import PartyState, Published, Reconciling
from wire.errors import UsageError


def prove(
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
    body = prove_words(party, published, shown, closed.leaf, len(inside))
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


def ask(
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
