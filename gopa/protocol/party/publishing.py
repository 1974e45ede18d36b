"""From the list of commit to the masked value: live edges, accusations, the value itself.

`specs/04-protocol.md`, 04-K4, 04-K5, section 7 and 04-P1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from commitments import Commitment, Opening, Pedersen
from gopa.contract.cutting import CommitHead
from gopa.contract.framing import Message
from gopa.contract.party import (
    ACCUSATION,
    PUBLISH,
    About,
    Accusation,
    Publish,
)
from gopa.contract.phases import Phase
from gopa.contract.rows import ROW_PUBLISH
from gopa.contract.words import pack_words
from gopa.protocol.party.events import Fetch, Output
from gopa.protocol.party.states import (
    Accusing,
    Committed,
    Comparing,
    PartyState,
    Published,
    RowVectors,
    Suspicion,
)
from gopa.rounds.masks import (
    Share,
    check_share,
    decode_commitments,
    decode_seed_commitments,
    open_share,
    share_point,
)
from gopa.rounds.proofs import PossessionClaim, SharedKeyClaim
from wire.errors import InvalidProof, MalformedMessage, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
from collections.abc import Sequence

from commitments.group import Group
from gopa.protocol.party.context import PartyContext, absent, leave, members_of
from gopa.protocol.party.events import Part
from gopa.protocol.party.reading import (
    Closed,
    RoundView,
    decode_commit_head,
    decoded,
    decoded_join,
)
from gopa.protocol.party.rows import mask_rows, words_message
from gopa.protocol.party.states import (
    EdgeSecret,
)
from gopa.rounds.context import RoundContext, opening_of
from gopa.rounds.masks import (
    EdgeMasks,
    MaskLaw,
    add_edge_words,
)


def take_commits(
    party: PartyContext, state: PartyState, committed: Committed, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Check the list of commit for this party (04-K4), and read its neighbours' commits.

    A party that stayed with too few neighbours might publish behind masks that a coalition knows.
    """
    view, most = committed.view, party.manifest.terms.loss
    inside, _ = members_of(party, state, closed, Phase.COMMIT)
    state.chain.require(inside <= view.members, "a list grew", closed.leaf)
    if view.position not in inside:
        if view.lost(inside) > most:
            return leave(state, committed.opened, Part.LOST)
        return absent(state, committed.opened, Phase.COMMIT, closed.cut)
    state.chain.require(view.lost(inside) <= most, "a list is not peeled", closed.leaf)
    listed = view.authors([v for v in view.neighbours if v in inside])
    fetch = Fetch(Phase.COMMIT, state.chain.round, closed.cut, listed)
    stage = Comparing(committed, closed.leaf, inside, fetch)
    return replace(state, stage=stage, listed=True), [fetch]


def compare(
    party: PartyContext, state: PartyState, comparing: Comparing, found: Mapping[bytes, Message]
) -> tuple[PartyState, list[Output]]:
    """Find out which edges are live, and who lied about one or about a share.

    Raises:
        FaultyParty: the close lists a neighbour whose commit is not one.
    """
    committed, view = comparing.committed, comparing.committed.view
    live, shares, suspicions = [], {}, []
    for v in view.neighbours:
        if v not in comparing.listed:
            continue
        theirs = _commit_of(party, state, comparing, v, found)
        if theirs.edges[view.neighbours_of(v).index(view.position)] == committed.edges[v].posted:
            live.append(v)
        else:
            suspicions.append(Suspicion(v, About.EDGE))
        if theirs.shares:
            share = _share_from(committed, v, theirs)
            if share is None:
                suspicions.append(Suspicion(v, About.SHARE))
            else:
                shares[v] = share
    suspects = view.authors(sorted({each.position for each in suspicions}))
    fetch = Fetch(Phase.JOIN, state.chain.round, committed.roll_cut, suspects)
    held = MappingProxyType(shares)
    accusing = Accusing(comparing, tuple(live), held, tuple(suspicions), fetch)
    if not suspicions:
        return publish(party, state, accusing)
    return replace(state, stage=accusing), [fetch]


def accuse(
    party: PartyContext, state: PartyState, accusing: Accusing, found: Mapping[bytes, Message]
) -> tuple[PartyState, list[Output]]:
    """Show the keys shared with those that lied; then publish.

    A key is shown only if its other owner proved possession: one made from a third
    party's key would give away the key shared with that one.

    Raises:
        FaultyParty: the roll lists a party without such a proof.
    """
    committed = accusing.comparing.committed
    _require_possession(party, state, committed, accusing, found)
    outputs: list[Output] = []
    for seq, suspicion in enumerate(accusing.suspicions):
        body = ACCUSATION.encode(_accusation(party, committed, accusing, suspicion))
        state, post = party.say(state, Phase.ACCUSE, body, seq)
        outputs.append(post)
    state, rest = publish(party, state, accusing)
    return state, [*outputs, *rest]


def publish(
    party: PartyContext, state: PartyState, accusing: Accusing
) -> tuple[PartyState, list[Output]]:
    """Post the masked value. Only keys of live edges are kept, to be opened if need be."""
    comparing = accusing.comparing
    committed, live = comparing.committed, accusing.live
    stage = Published(
        opened=committed.opened,
        view=committed.view,
        keys=MappingProxyType({v: committed.edges[v].key for v in live}),
        shares=accusing.shares,
        seed=committed.seed,
        members=comparing.listed,
    )
    if isinstance(committed.masked, RowVectors):
        view, hidden = committed.view, committed.masked.input.rows.blindings
        hedged = party.hedged(b"publish", view.context, comparing.leaf, hidden)
        unproved = mask_rows(view, committed.masked, stage.keys, committed.seed, rng=hedged.rng)
        stage = replace(stage, unproved=unproved)
        body = ROW_PUBLISH.encode(words_message(comparing.leaf, unproved))
    else:
        value, blinding = _masked(party, committed, committed.masked, live)
        body = PUBLISH.encode(Publish(comparing.leaf, value, blinding))
    state, post = party.say(replace(state, stage=stage), Phase.PUBLISH, body)
    return state, [post]


def _commit_of(
    party: PartyContext,
    state: PartyState,
    comparing: Comparing,
    v: int,
    found: Mapping[bytes, Message],
) -> CommitHead:
    """What a listed neighbour posted, with the numbers of edges and shares that it owes.

    With fewer this party would have no mask with it, or no share for its recovery (attacks
    `missing-edge`, `no-shares`): the organiser may not list such a commit.
    """
    view = comparing.committed.view
    message = found.get(view.enrolment.authors[v])
    leaf = comparing.committed.leaf
    theirs = decoded(message, decode_commit_head, leaf)
    degree = len(view.neighbours_of(v))
    shares = 0 if party.manifest.terms.threshold is None else degree
    coefficients = party.manifest.coefficients(degree)
    if theirs is None or len(theirs.edges) != degree:
        raise state.chain.fault("it lists a party without a commit", comparing.leaf)
    if (len(theirs.shares), len(theirs.coefficients)) != (shares, coefficients):
        raise state.chain.fault("it lists a party that dealt no shares", comparing.leaf)
    return theirs


def _share_from(committed: Committed, dealer: int, theirs: CommitHead) -> Share | None:
    """The dealer's share for this party; None if it does not fit."""
    view = committed.view
    group = view.context.group
    sealed = theirs.shares[view.neighbours_of(dealer).index(view.position)]
    shared = committed.edges[dealer].shared
    key = view.context.share_key(shared, view.id_of(dealer), view.own_id)
    try:
        share = open_share(group, sealed, key)
        check_share(_dealt(view, theirs), share_point(view.position), share)
    except (MalformedMessage, InvalidProof):
        return None
    return share


def _dealt(view: RoundView, theirs: CommitHead) -> Commitment:
    """C_0 .. C_(T-1) of a neighbour. Raises `MalformedMessage` if one is no point."""
    group, count = view.context.group, len(theirs.coefficients)
    coefficients = b"".join(theirs.coefficients)
    if view.context.manifest.deals_seeds:
        return decode_seed_commitments(group, coefficients, count)
    own = Commitment(Pedersen(group), group.decode_points(theirs.self_mask, 1))
    return decode_commitments(own, coefficients, count + 1)


def _require_possession(
    party: PartyContext,
    state: PartyState,
    committed: Committed,
    accusing: Accusing,
    found: Mapping[bytes, Message],
) -> None:
    """Require that whoever is about to be accused proved possession of its key (04-J3).

    Else the key of an edge that is shown in the accusation could be one shared with a third party
    (attack `related-dh-key`).
    """
    view, opened = committed.view, committed.opened
    claims = []
    for v in sorted({each.position for each in accusing.suspicions}):
        listed = view.enrolment.roll.parties[v]
        join = decoded_join(view.context, found.get(listed.author), opened.leaf)
        if join is None or join.key != listed.key:
            raise state.chain.fault("the roll lists a key that nobody posted", committed.leaf)
        claims.append(
            PossessionClaim(view.context, opened.leaf, view.id_of(v), join.key, join.possession)
        )
    if party.toolkit.proofs.bad_possessions(claims, party.rng):
        raise state.chain.fault("the roll lists a key without possession", committed.leaf)


def _accusation(
    party: PartyContext, committed: Committed, accusing: Accusing, suspicion: Suspicion
) -> Accusation:
    view, v = committed.view, suspicion.position
    parties, leaf = view.enrolment.roll.parties, accusing.comparing.leaf
    shared = committed.edges[v].shared.reveal().to_bytes()
    claim = SharedKeyClaim(
        context=view.context,
        acts_on=leaf,
        party=view.own_id,
        own=parties[view.position].key,
        other=parties[v].key,
        shared=shared,
        proof=b"",
    )
    proof = party.toolkit.proofs.prove_shared(claim, committed.secret, party.rng)
    return Accusation(leaf, suspicion.about, v, shared, proof)


def _masked(
    party: PartyContext,
    committed: Committed,
    masked: Opening | npt.NDArray[np.integer],
    live: tuple[int, ...],
) -> tuple[bytes, bytes]:
    """Add up value and blinding to publish (04-P1)."""
    view, edges = committed.view, committed.edges
    if isinstance(masked, Opening):
        if committed.masks is None:
            raise UsageError("full mode has masks of edges")
        signs = [edges[v].sign if v in live else 0 for v in view.neighbours]
        total = masked_opening(view.context, masked, committed.masks, signs)
        revealed = total.reveal()
        return revealed.values.to_bytes(), revealed.blindings.to_bytes()
    law = view.context.mask_law
    words = masked_words(masked, edges, live, law, view.context.group)
    return pack_words(words, party.manifest.word_width), b""


def masked_opening(
    context: RoundContext, masked: Opening, masks: EdgeMasks, signs: Sequence[int]
) -> Opening:
    """Add up the values xhat and rho to publish (04-P1); the sign of a void edge is 0."""
    values, blinding = masks.signed_sum(signs)
    return masked + opening_of(context.key, values, blinding)


def masked_words(
    words: npt.NDArray[np.integer],
    edges: Mapping[int, EdgeSecret],
    live: Sequence[int],
    law: MaskLaw,
    group: Group,
) -> npt.NDArray[np.integer]:
    """The words with the masks of live edges added, as new words."""
    total = words.copy()
    for neighbour in live:
        add_edge_words(total, edges[neighbour].key, edges[neighbour].sign, law, group=group)
    return total
