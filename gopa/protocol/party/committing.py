"""From the coins to the commit: what others signed, keys, masks, noise, proof and shares.

`specs/04-protocol.md`, 04-V1 to 04-V7 and section 6. All modes of a session are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from commitments import Opening, VectorPedersen
from commitments.group import SecretScalar, SecretScalarVec
from gopa.contract.beacon import latest_cosignature_time
from gopa.contract.framing import Message
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Trust
from gopa.contract.organiser import Coins
from gopa.contract.party import COMMIT, REVEAL, Commit, Reveal
from gopa.contract.phases import Phase
from gopa.contract.rows import ROW_COMMIT, RowCommit
from gopa.contract.words import word_type
from gopa.protocol.party.context import PartyContext, absent, leave
from gopa.protocol.party.events import Fetch, Output, Part
from gopa.protocol.party.reading import (
    Closed,
    Drawing,
    RoundView,
    decoded_join,
    joint_of,
    read_coins,
    view_of,
)
from gopa.protocol.party.rows import answer_inputs
from gopa.protocol.party.states import (
    Checking,
    Committed,
    EdgeSecret,
    Enrolled,
    Joined,
    PartyState,
    RowVectors,
)
from gopa.rounds.context import RoundContext, commit, opening_of
from gopa.rounds.masks import (
    Dealing,
    EdgeMasks,
    SelfMask,
    SharedPoint,
    add_self_words,
    deal,
    deal_seed,
    edge_key,
    edge_key_hash,
    encode_commitments,
    seal_share,
    seed_hash,
    self_mask,
    share_point,
    shareable_seed,
    sign,
)
from gopa.rounds.proofs import NoiseClaim, PossessionClaim
from gopa.rounds.statements import noise_coins
from gopa.rounds.unproved_noise import add_noise
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import Guarded, SecretBytes


def take_coins(
    party: PartyContext, state: PartyState, enrolled: Enrolled, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Check the coins for this party (04-V1 to 04-V5), then ask what others signed (04-V7)."""
    manifest, joined, enrolment = party.manifest, enrolled.joined, enrolled.enrolment
    if not _noted_in_time(manifest, enrolled):
        return leave(state, joined.opened, Part.UNDATED)
    coins, members = read_coins(closed.close, manifest, len(enrolment))
    own = enrolment.positions[party.author]
    if own not in members:
        return absent(state, joined.opened, Phase.COINS, closed.cut)
    # Who may exchange a nonce or leave out many chooses the graph (attacks `exchanged-nonce`,
    # `withheld-nonce`).
    if isinstance(manifest.beacon, CommitReveal) and joined.nonce is not None:
        listed = coins.nonces[members.index(own)]
        state.chain.require(listed == joined.nonce.reveal(), "another nonce", closed.leaf)
    withheld = len(enrolment) - len(members)
    state.chain.require(withheld <= manifest.terms.loss, "too many withheld", closed.leaf)
    context = joined.opened.context
    drawing = Drawing(
        context=context,
        enrolment=enrolment,
        roll_leaf=enrolled.leaf,
        coins=coins,
        members=members,
        joint=joint_of(context, enrolment.roll, enrolled.leaf, coins),
    )
    view = view_of(party.toolkit.graph, drawing, own)
    return _ask(state, enrolled, view, coins, closed)


def _noted_in_time(manifest: Manifest, enrolled: Enrolled) -> bool:
    """Whether this party knew the roll before anybody knew the beacon's value (04-V4).

    Witnesses say that the leaf was in the log by then. Others may have been there too, in the
    same slot: an organiser that has seen the value would show each reader the best of them.
    """
    if not isinstance(manifest.beacon, DrandBeacon):
        return True
    number = enrolled.enrolment.roll.beacon_round
    latest = latest_cosignature_time(manifest.beacon.chain, number)
    return enrolled.noted is not None and 0 < enrolled.noted <= latest


def _ask(
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


SIZE = 32


def edge_secrets(
    view: RoundView, secret: SecretScalar
) -> tuple[dict[int, EdgeSecret], EdgeMasks | None]:
    """What this party and each neighbour derive, and in full mode the masks, in their order.

    Raises `MalformedMessage` if the roll lists a key that is no point.
    """
    group, neighbours = view.context.group, view.neighbours
    keys = b"".join(view.enrolment.roll.parties[v].key for v in neighbours)
    points = group.decode_points(keys, len(neighbours)) * secret
    shared = [SharedPoint(point) for point in points]
    contexts = [view.context.edge_context(view.own_id, view.id_of(v)) for v in neighbours]
    derived = [edge_key(point, each) for point, each in zip(shared, contexts, strict=True)]
    masks = view.context.edge_masks(derived) if view.context.committed_masks else None
    if masks is None:
        posted = [edge_key_hash(key, each) for key, each in zip(derived, contexts, strict=True)]
    else:
        posted = _committed(view.context, masks)
    secrets = {
        v: EdgeSecret(point, key, sign(view.own_id, view.id_of(v)), data)
        for v, point, key, data in zip(neighbours, shared, derived, posted, strict=True)
    }
    return secrets, masks


def _committed(context: RoundContext, masks: EdgeMasks) -> list[bytes]:
    """One commitment for each edge, under the key of the session."""
    if not len(masks):
        return []
    if isinstance(context.key, VectorPedersen):
        rows = context.key.commit_rows(masks.rows, masks.blindings, bits=masks.law.bits)
        data = rows.to_bytes()
    else:
        data = masks.commitments().to_bytes()
    return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


def sealed_shares(
    view: RoundView, edges: Mapping[int, EdgeSecret], dealt: Dealing
) -> tuple[bytes, ...]:
    """What this party dealt, for each neighbour under the key that they share."""
    return tuple(
        seal_share(
            view.context.group,
            share,
            view.context.share_key(edges[v].shared, view.own_id, view.id_of(v)),
        )
        for v, share in zip(view.neighbours, dealt.shares, strict=True)
    )


SEED_SIZE = 32


NOTHING = bytes(32)
"""What stands for a self-mask where the mode has none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Own(Guarded):
    """The noisy input under the party's own mask, and what is posted about both."""

    masked: Opening | npt.NDArray[np.integer] | RowVectors
    self_mask: bytes
    output: bytes = b""
    proof: bytes = b""
    weighing: bytes = b""
    tests: bytes = b""
    mask: SelfMask | None = None


def commit_round(
    party: PartyContext,
    state: PartyState,
    enrolled: Enrolled,
    view: RoundView,
    leaf: bytes,
) -> tuple[PartyState, list[Output]]:
    """Post commitments to all masks and to the noisy input, with the proof about it."""
    joined = enrolled.joined
    party = party.hedged(b"commit", view.context, leaf, joined.given.hidden(view.context.group))
    edges, masks = edge_secrets(view, joined.secret)
    seed = None
    if party.manifest.trust is Trust.MALICIOUS:
        seed = _fresh_seed(party, view)
    if view.context.in_rows:
        own = _in_rows(party, joined, view, leaf, seed)
    elif view.context.proved:
        own = _proved(party, joined, view, leaf, seed)
    else:
        own = _unproved(party, joined, view, seed)
    coefficients, shares = _shared(party, view, own.mask, seed, edges)
    posted = tuple(edges[v].posted for v in view.neighbours)
    if view.context.in_rows:
        body = ROW_COMMIT.encode(
            RowCommit(leaf, posted, own.self_mask, coefficients, shares, own.tests, own.proof)
        )
    else:
        content = Commit(
            acts_on=leaf,
            edges=posted,
            self_mask=own.self_mask,
            coefficients=coefficients,
            shares=shares,
            output=own.output,
            proof=own.proof,
            weighing=own.weighing,
        )
        body = COMMIT.encode(content)
    stage = Committed(
        opened=joined.opened,
        view=view,
        leaf=leaf,
        roll_cut=enrolled.cut,
        edges=MappingProxyType(edges),
        masks=masks,
        masked=own.masked,
        seed=seed,
        secret=joined.secret,
    )
    state, post = party.say(replace(state, stage=stage), Phase.COMMIT, body)
    return state, [post]


def _proved(
    party: PartyContext, joined: Joined, view: RoundView, leaf: bytes, seed: SecretBytes | None
) -> _Own:
    context, group = view.context, view.context.group
    if joined.given.opening is None or seed is None:
        raise UsageError("full mode has openings and masks")
    if party.manifest.terms.exact:
        # Nothing is added, so what is masked is the input itself, under the C_x of the join.
        output, posted = joined.given.opening, b""
    else:
        values = joined.given.opening.values + _noise(joined, view)
        blinding = group.random_scalars(1, party.rng)[0]
        output = opening_of(context.key, values, blinding)
        posted = commit(context.key, values, blinding).to_bytes()
    mask = self_mask(group, seed, view.context.self_context(view.own_id), context.dimension)
    claim = NoiseClaim(
        context=context,
        acts_on=leaf,
        party=view.own_id,
        joint=view.joint,
        given=joined.given.commitment,
        seed=b"" if joined.seeds is None else joined.seeds.posted,
        output=posted,
        proof=b"",
        weighing=b"",
    )
    proof, weighing = party.toolkit.proofs.prove_noise(
        claim, joined.seeds, joined.given.opening, output, party.rng
    )
    return _Own(
        masked=output + opening_of(context.key, mask.values, mask.blinding),
        self_mask=commit(context.key, mask.values, mask.blinding).to_bytes(),
        output=posted,
        proof=proof,
        weighing=weighing,
        mask=mask,
    )


def _in_rows(
    party: PartyContext, joined: Joined, view: RoundView, leaf: bytes, seed: SecretBytes | None
) -> _Own:
    """Answer the tests of the coins with pads that are used up by it (14-P3, 14-P7)."""
    if joined.rows is None or seed is None:
        raise UsageError("vectors that are proved row by row have rows and a mask")
    unanswered = RowVectors(joined.given, joined.rows)
    claim, vectors = answer_inputs(view, leaf, unanswered, party.toolkit.proofs, rng=party.rng)
    own = seed_hash(seed, view.context.self_context(view.own_id))
    return _Own(vectors, own, tests=claim.tests, proof=claim.proof)


def _unproved(
    party: PartyContext, joined: Joined, view: RoundView, seed: SecretBytes | None
) -> _Own:
    terms = party.manifest.terms
    words = np.array(joined.given.values, dtype=np.int64)
    masked = words.astype(word_type(party.manifest.word_width))
    add_noise(masked, terms.noise, view.context.group, party.rng)
    if seed is None:
        return _Own(masked, NOTHING)
    own = view.context.self_context(view.own_id)
    add_self_words(masked, seed, own, group=view.context.group)
    return _Own(masked, seed_hash(seed, own))


def _noise(joined: Joined, view: RoundView) -> SecretScalarVec:
    """What the seed of the join and the coins of the round decide (04-V6)."""
    if joined.seeds is None:
        raise UsageError("full mode has seeds")
    return joined.seeds.noise(noise_coins(view.context, view.joint, view.own_id))


def _fresh_seed(party: PartyContext, view: RoundView) -> SecretBytes:
    """A seed that can be shared, where it may have to be."""
    if party.manifest.deals_seeds:
        return shareable_seed(view.context.group, party.rng)
    return SecretBytes(draw(party.rng, SEED_SIZE))


def _shared(
    party: PartyContext,
    view: RoundView,
    mask: SelfMask | None,
    seed: SecretBytes | None,
    edges: dict[int, EdgeSecret],
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Coefficients, and a sealed share for each neighbour, where there is recovery (04-K1)."""
    group, needed = view.context.group, party.manifest.terms.shares_needed(len(view.neighbours))
    if needed is None or not view.neighbours:
        return (), ()
    points = [share_point(v) for v in view.neighbours]
    if party.manifest.deals_seeds and seed is not None:
        dealt = deal_seed(group, seed, points, needed, party.rng)
        data = dealt.commitments.to_bytes()
    elif mask is not None:
        dealt = deal(group, mask, points, needed, party.rng)
        data = encode_commitments(dealt.commitments)
    else:
        raise UsageError("who shares its self-mask has one")
    coefficients = tuple(data[at : at + 32] for at in range(0, len(data), 32))
    return coefficients, sealed_shares(view, edges, dealt)
