"""The coins are out: masks, noise, proof and shares. `specs/04-protocol.md`, section 6."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from commitments import Opening
from commitments.group import SecretScalarVec
from gopa.masks import (
    SelfMask,
    add_self_words,
    deal,
    deal_seed,
    encode_commitments,
    seed_hash,
    self_mask,
    shareable_seed,
    word_type,
)
from gopa.messages.manifest import Trust
from gopa.messages.party import COMMIT, Commit
from gopa.messages.phases import Phase
from gopa.party.events import Output
from gopa.party.masking import edge_secrets, sealed_shares, self_context, share_point
from gopa.party.means import Means
from gopa.party.states import Committed, EdgeSecret, Enrolled, Joined, State
from gopa.party.view import RoundView
from gopa.rounds.context import commit, opening_of
from gopa.rounds.proofs import NoiseClaim
from gopa.rounds.statements import bit_coins, table_coins
from gopa.rounds.unproved_noise import add_noise
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import Guarded, SecretBytes
from zkp import NoiseSeeds

SEED_SIZE = 32
NOTHING = bytes(32)
"""What stands for a self-mask where the mode has none."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Own(Guarded):
    """The noisy input under the party's own mask, and what is posted about both."""

    masked: Opening | npt.NDArray[np.integer]
    self_mask: bytes
    output: bytes = b""
    proof: bytes = b""
    weighing: bytes = b""
    mask: SelfMask | None = None


def commit_round(
    means: Means,
    state: State,
    enrolled: Enrolled,
    view: RoundView,
    leaf: bytes,
) -> tuple[State, list[Output]]:
    """Post commitments to all masks and to the noisy input, with the proof about it."""
    joined = enrolled.joined
    edges, masks = edge_secrets(view, joined.secret)
    seed = None
    if means.manifest.trust is Trust.MALICIOUS:
        seed = _fresh_seed(means, view)
    if view.context.full:
        own = _proved(means, joined, view, leaf, seed)
    else:
        own = _unproved(means, joined, view, seed)
    coefficients, shares = _shared(means, view, own.mask, seed, edges)
    content = Commit(
        acts_on=leaf,
        edges=tuple(edges[v].posted for v in view.neighbours),
        self_mask=own.self_mask,
        output=own.output,
        proof=own.proof,
        weighing=own.weighing,
        coefficients=coefficients,
        shares=shares,
    )
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
    state, post = means.say(replace(state, stage=stage), Phase.COMMIT, COMMIT.encode(content))
    return state, [post]


def _proved(
    means: Means, joined: Joined, view: RoundView, leaf: bytes, seed: SecretBytes | None
) -> _Own:
    context, group = view.context, view.context.group
    if joined.given.opening is None or joined.seeds is None or seed is None:
        raise UsageError("full mode has openings, seeds and masks")
    values = joined.given.opening.values + _noise(joined, view)
    blinding = group.random_scalars(1, means.rng)[0]
    output = opening_of(context.key, values, blinding)
    posted = commit(context.key, values, blinding).to_bytes()
    mask = self_mask(group, seed, self_context(view), context.dimension)
    claim = NoiseClaim(
        context=context,
        acts_on=leaf,
        party=view.own_id,
        joint=view.joint,
        given=joined.given.commitment,
        seed=_seed_bytes(joined),
        output=posted,
        proof=b"",
        weighing=b"",
    )
    proof, weighing = means.toolkit.proofs.prove_noise(
        claim, joined.seeds, joined.given.opening, output, means.rng
    )
    return _Own(
        masked=output + opening_of(context.key, mask.values, mask.blinding),
        self_mask=commit(context.key, mask.values, mask.blinding).to_bytes(),
        output=posted,
        proof=proof,
        weighing=weighing,
        mask=mask,
    )


def _unproved(means: Means, joined: Joined, view: RoundView, seed: SecretBytes | None) -> _Own:
    terms = means.manifest.terms
    words = np.array(joined.given.values, dtype=np.int64)
    masked = words.astype(word_type(means.manifest.word_width))
    add_noise(masked, terms.noise, view.context.group, means.rng)
    if seed is None:
        return _Own(masked, NOTHING)
    add_self_words(masked, seed, self_context(view), group=view.context.group)
    return _Own(masked, seed_hash(seed, self_context(view)))


def _noise(joined: Joined, view: RoundView) -> SecretScalarVec:
    """What the seeds of the join and the coins of the round decide ([V6])."""
    if isinstance(joined.seeds, NoiseSeeds):
        return joined.seeds.noise(table_coins(view.context, view.joint, view.own_id))
    if joined.seeds is None:
        raise UsageError("full mode has seeds")
    return joined.seeds.noise(bit_coins(view.context, view.joint, view.own_id))


def _seed_bytes(joined: Joined) -> bytes:
    if isinstance(joined.seeds, NoiseSeeds):
        return joined.seeds.commitment.to_bytes()
    return b"" if joined.seeds is None else joined.seeds.point.to_bytes()


def _fresh_seed(means: Means, view: RoundView) -> SecretBytes:
    """A seed that can be shared, where it may have to be."""
    if means.manifest.deals_seeds:
        return shareable_seed(view.context.group, means.rng)
    return SecretBytes(draw(means.rng, SEED_SIZE))


def _shared(
    means: Means,
    view: RoundView,
    mask: SelfMask | None,
    seed: SecretBytes | None,
    edges: dict[int, EdgeSecret],
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Coefficients, and a sealed share for each neighbour, where there is recovery ([K1])."""
    group, needed = view.context.group, means.manifest.terms.shares_needed(len(view.neighbours))
    if needed is None or not view.neighbours:
        return (), ()
    points = [share_point(v) for v in view.neighbours]
    if means.manifest.deals_seeds and seed is not None:
        dealt = deal_seed(group, seed, points, needed, means.rng)
        data = dealt.commitments.to_bytes()
    elif mask is not None:
        dealt = deal(group, mask, points, needed, means.rng)
        data = encode_commitments(dealt.commitments)
    else:
        raise UsageError("who shares its self-mask has one")
    coefficients = tuple(data[at : at + 32] for at in range(0, len(data), 32))
    return coefficients, sealed_shares(view, edges, dealt)
