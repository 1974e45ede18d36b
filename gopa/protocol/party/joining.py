"""Takes a party from the opening of a round to the roll: fixes its input, posts its join.

`specs/04-protocol.md`, sections 4 and 5.
"""

from __future__ import annotations

from dataclasses import replace

from gopa.contract.beacon import reveal_hash
from gopa.contract.framing import NO_LEAF
from gopa.contract.manifest import CommitReveal
from gopa.contract.organiser import Open
from gopa.contract.party import JOIN, REVEAL, Join, Reveal
from gopa.contract.phases import Phase
from gopa.contract.rows import ROW_JOIN
from gopa.protocol.party.context import (
    PartyContext,
    absent,
    leave,
)
from gopa.protocol.party.events import NeedInput, Output, Part, Supplied
from gopa.protocol.party.policy import Refusal
from gopa.protocol.party.reading import (
    Closed,
    read_roll,
)
from gopa.protocol.party.rows import (
    row_input,
    with_rows,
)
from gopa.protocol.party.states import (
    Enrolled,
    Invited,
    Joined,
    PartyState,
    RoundInput,
    RoundOpened,
)
from gopa.rounds.context import commit, opening_of
from gopa.rounds.proofs import PossessionClaim
from gopa.rounds.rows.inputs import hide_noise
from gopa.support.wording import counted
from wire.domains import INPUT_AND_NOISE
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import SecretBytes
from zkp.noise import NoiseSeed

NONCE_SIZE = 32


def take_input(
    party: PartyContext, state: PartyState, supplied: Supplied
) -> tuple[PartyState, list[Output]]:
    """Fix the input of a logical round. In full mode its one opening is drawn now (04-J5)."""
    _require_fitting(party, state, supplied)
    given = RoundInput(supplied.logical, supplied.values)
    # It has no round of its own, so its logical round stands in the name of the step.
    step = b"input" + supplied.logical.to_bytes(2)
    hedged = party.hedged(step, party.context(1), NO_LEAF, given.hidden(party.toolkit.group))
    inputs = (*state.inputs, _given(hedged, supplied))
    state = replace(state, inputs=inputs)
    if isinstance(state.stage, Invited) and state.stage.opened.logical == supplied.logical:
        return join(party, state, state.stage.opened)
    return state, []


def open_round(
    party: PartyContext, state: PartyState, content: Open, leaf: bytes
) -> tuple[PartyState, list[Output]]:
    """Begin a round: join it, or ask for the input."""
    context = party.context(state.chain.round)
    opened = RoundOpened(context, leaf, content.logical, content.attempt)
    inputs = tuple(given for given in state.inputs if given.logical >= content.logical)
    state = replace(state, inputs=inputs, listed=False)
    if not any(given.logical == content.logical for given in inputs):
        return replace(state, stage=Invited(opened)), [NeedInput(content.logical)]
    return join(party, state, opened)


def join(
    party: PartyContext, state: PartyState, opened: RoundOpened
) -> tuple[PartyState, list[Output]]:
    """Post a fresh key and what is fixed before the coins."""
    given = next(each for each in state.inputs if each.logical == opened.logical)
    context, group = opened.context, party.toolkit.group
    party = party.hedged(b"join", context, opened.leaf, given.hidden(group))
    secret = group.random_scalars(1, party.rng)[0]
    key = (group.generator * secret).to_bytes()
    nonce = nonce_hash = None
    if isinstance(party.manifest.beacon, CommitReveal):
        nonce = SecretBytes(draw(party.rng, NONCE_SIZE))
        place = context.session, context.round, party.own_id
        nonce_hash = reveal_hash(*place, nonce.reveal())
    seed = _noise_seed(party, opened, given)
    drawn = hide_noise(party.context(1), rng=party.rng) if context.in_rows else None
    claim = PossessionClaim(context, opened.leaf, party.own_id, key, b"")
    possession = party.toolkit.proofs.prove_possession(claim, secret, party.rng)
    content = Join(opened.leaf, key, possession, nonce_hash or b"", b"", b"")
    if drawn is not None and given.rows is not None:
        body = ROW_JOIN.encode(with_rows(content, given.rows, drawn))
    else:
        body = JOIN.encode(
            replace(content, input=given.commitment, seed=b"" if seed is None else seed.posted)
        )
    stage = Joined(opened, given, secret, key, nonce, content.nonce_hash, seed, drawn)
    state, post = party.say(replace(state, stage=stage), Phase.JOIN, body)
    return state, [post]


def enrol(
    party: PartyContext, state: PartyState, joined: Joined, closed: Closed
) -> tuple[PartyState, list[Output]]:
    """Go on from the roll if this party is on it and enough others are (04-J6).

    A key that is not its own would put the organiser between it and its neighbours (attack
    `exchanged-key`).
    """
    enrolment = read_roll(closed.body, party.manifest)
    position = enrolment.positions.get(party.author)
    if position is None:
        return absent(state, joined.opened, Phase.JOIN, closed.cut)
    mine = enrolment.roll.parties[position]
    if (mine.key, mine.nonce_hash) != (joined.key, joined.nonce_hash):
        raise state.chain.fault("the roll lists another key for this party", closed.leaf)
    try:
        party.policy.require_joined(party.manifest, len(enrolment))
    except Refusal:
        return leave(state, joined.opened, Part.UNWILLING)
    state = replace(state, stage=Enrolled(joined, enrolment, closed.leaf, closed.cut))
    if joined.nonce is None:
        return state, []
    body = REVEAL.encode(Reveal(closed.leaf, joined.nonce.reveal()))
    state, post = party.say(state, Phase.COINS, body)
    return state, [post]


def _require_fitting(party: PartyContext, state: PartyState, supplied: Supplied) -> None:
    """Require integers on the grid, once for each logical round (04-J5).

    Two inputs for one logical round would look like `changed-input-in-retry`, and convict.
    """
    terms = party.manifest.terms
    if supplied.logical < state.tally.logical or supplied.logical >= terms.rounds:
        raise UsageError("an input of a logical round to come", "logical")
    if any(given.logical == supplied.logical for given in state.inputs):
        raise UsageError("a logical round has one input, the same in every attempt", "logical")
    if len(supplied.values) != terms.dimension:
        raise UsageError(f"must hold {counted(terms.dimension, 'value')}", "values")
    whole = set(map(type, supplied.values)) == {int}
    if not (whole and min(supplied.values) >= 0 and max(supplied.values) <= terms.steps):
        raise UsageError(f"integers from 0 to {terms.steps}", "values")


def _given(party: PartyContext, supplied: Supplied) -> RoundInput:
    context = party.context(1)
    if context.in_rows:
        return row_input(context, supplied, rng=party.rng)
    if not context.proved:
        return RoundInput(supplied.logical, supplied.values)
    values = party.toolkit.group.secret_scalars(supplied.values)
    blinding = party.toolkit.group.random_scalars(1, party.rng)[0]
    opening = opening_of(context.key, values, blinding)
    data = commit(context.key, values, blinding).to_bytes()
    return RoundInput(supplied.logical, supplied.values, opening, data)


def _noise_seed(party: PartyContext, opened: RoundOpened, given: RoundInput) -> NoiseSeed | None:
    """Draw the seed of the noise of this attempt, if any: fresh, and fixed before the coins.

    A seed that was used before is a fault, because its owner may know what comes of it (attack
    `reused-noise-seed`).
    """
    context = opened.context
    if given.opening is None:
        return None
    law, setting = party.manifest.terms.noise, context.noise_setting
    hedge = context.transcript(INPUT_AND_NOISE, opened.leaf, party.own_id)
    return law.seed(setting, given.opening.values, hedge, rng=party.rng)
