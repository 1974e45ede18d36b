"""Honest parties of a session made in bulk: what each posts, from one seed, in any process.

Their keys, inputs, noise and proofs are their own, as in a real session. Only the masks of
edges are drawn by whoever makes the session instead of being derived from two keys: a log
shows that both ends posted the same commitment, not where its opening came from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from commitments import Opening, Pedersen
from commitments.group import Group
from gopa.contract.beacon import reveal_hash
from gopa.contract.framing import MessageSlot, party_id, sign_message
from gopa.contract.party import (
    COMMIT,
    CONFIRM,
    JOIN,
    PUBLISH,
    REVEAL,
    UNMASK,
    Commit,
    Confirm,
    Join,
    Publish,
    Reveal,
    Unmask,
)
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.simulation.setup import SeededStreams
from gopa.rounds.context import RoundContext, opening_of
from gopa.rounds.masks import SelfContext, SelfMask, self_mask
from gopa.rounds.proofs import NoiseClaim, PossessionClaim
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.statements import noise_coins
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import draw
from wire.secret import SecretBytes
from zkp import GaussianTable, NoiseSeeds

_POINT = 32
_SCALAR = 32


@dataclass(frozen=True, slots=True)
class Turn:
    """What all parties know when they post in one phase; whoever has `seed` has all secrets."""

    seed: bytes
    context: RoundContext
    phase: Phase
    acts_on: bytes
    seen_size: int
    seen_root: bytes
    joint: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """One party by its number, with the leaf of its last entry.

    `masks` has the commitments of its edges in the phase of commit, the sum of their
    openings in that of publish.
    """

    number: int
    previous: bytes
    masks: bytes = b""


@cache
def key_of(seed: bytes, number: int) -> SigningKey:
    """The key that the party signs with."""
    return SigningKey.generate(SeededStreams(seed).named(f"party {number}: key"))


def public_keys(seed: bytes, numbers: Sequence[int]) -> list[bytes]:
    """The Ed25519 keys of these parties."""
    return [key_of(seed, number).public.data for number in numbers]


def say(turn: Turn, parts: Sequence[Part]) -> list[bytes]:
    """The entries of these parties in this phase, one for each."""
    return [_signed(turn, part, _SAYS[turn.phase](turn, part)) for part in parts]


def _signed(turn: Turn, part: Part, body: bytes) -> bytes:
    place = MessageSlot(
        session=turn.context.session,
        phase=turn.phase,
        kind=KIND_IN[turn.phase],
        round=turn.context.round,
        seq=0,
        previous=part.previous,
        seen_size=turn.seen_size,
        seen_root=turn.seen_root,
    )
    (entry,) = sign_message(body, place, key_of(turn.seed, part.number)).entries
    return entry


class _Party:
    """The secrets of one party, the same whenever they are asked for."""

    def __init__(self, turn: Turn, number: int) -> None:
        context = turn.context
        rng = SeededStreams(turn.seed).named(f"party {number}: secrets")
        group, law = context.group, context.manifest.terms.noise
        if not isinstance(law, GaussianTable):
            raise UsageError("noise from a table")
        self.context = context
        self.rng = SeededStreams(turn.seed).named(f"party {number}: {turn.phase.name}")
        self.id = party_id(key_of(turn.seed, number).public.data)
        self.secret = group.random_scalars(1, rng)[0]
        self.nonce = draw(rng, 32)
        value = number % (context.manifest.terms.steps + 1)
        blinding = group.random_scalars(1, rng)[0]
        self.given = opening_of(Pedersen(group), group.secret_scalars([value]), blinding)
        self.seeds = NoiseSeeds.fresh(group, law, 1, rng=rng)
        self.blinding = group.random_scalars(1, rng)[0]
        self.seed = SecretBytes(draw(rng, 32))

    @property
    def input(self) -> bytes:
        """C_x."""
        return _committed(self.given, self.context.group)

    def output(self, joint: bytes) -> Opening:
        """The input with its noise."""
        coins = noise_coins(self.context, joint, self.id)
        values = self.given.values + self.seeds.noise(coins)
        return opening_of(Pedersen(self.context.group), values, self.blinding)

    @property
    def mask(self) -> SelfMask:
        """What it adds for itself."""
        place = SelfContext(self.context.session, self.context.round, self.id)
        return self_mask(self.context.group, self.seed, place, 1)


def _join(turn: Turn, part: Part) -> bytes:
    party, context = _Party(turn, part.number), turn.context
    key = (context.group.generator * party.secret).to_bytes()
    claim = PossessionClaim(context, turn.acts_on, party.id, key, b"")
    content = Join(
        acts_on=turn.acts_on,
        key=key,
        possession=RealProofs().prove_possession(claim, party.secret, party.rng),
        nonce_hash=reveal_hash(context.session, context.round, party.id, party.nonce),
        input=party.input,
        seed=party.seeds.commitment.to_bytes(),
    )
    return JOIN.encode(content)


def _reveal(turn: Turn, part: Part) -> bytes:
    return REVEAL.encode(Reveal(turn.acts_on, _Party(turn, part.number).nonce))


def _commit(turn: Turn, part: Part) -> bytes:
    party = _Party(turn, part.number)
    output = party.output(turn.joint)
    claim = NoiseClaim(
        context=turn.context,
        acts_on=turn.acts_on,
        party=party.id,
        joint=turn.joint,
        given=party.input,
        seed=party.seeds.commitment.to_bytes(),
        output=_committed(output, turn.context.group),
        proof=b"",
        weighing=b"",
    )
    proof, _ = RealProofs().prove_noise(claim, party.seeds, party.given, output, party.rng)
    content = Commit(
        acts_on=turn.acts_on,
        edges=tuple(part.masks[at : at + _POINT] for at in range(0, len(part.masks), _POINT)),
        self_mask=party.mask.commitment().to_bytes(),
        output=claim.output,
        proof=proof,
        weighing=b"",
        coefficients=(),
        shares=(),
    )
    return COMMIT.encode(content)


def _publish(turn: Turn, part: Part) -> bytes:
    party, group = _Party(turn, part.number), turn.context.group
    output, mask = party.output(turn.joint), party.mask
    value, blinding = part.masks[:_SCALAR], part.masks[_SCALAR:]
    masked = output + opening_of(Pedersen(group), mask.values, mask.blinding)
    values = masked.values + group.decode_scalars(value, 1)
    blindings = masked.blindings + group.decode_scalars(blinding, 1)
    content = Publish(turn.acts_on, values.reveal().to_bytes(), blindings.reveal().to_bytes())
    return PUBLISH.encode(content)


def _confirm(turn: Turn, part: Part) -> bytes:
    del part
    return CONFIRM.encode(Confirm(turn.acts_on))


def _unmask(turn: Turn, part: Part) -> bytes:
    return UNMASK.encode(Unmask(turn.acts_on, _Party(turn, part.number).seed.reveal()))


def _committed(opening: Opening, group: Group) -> bytes:
    return Pedersen(group).commit(opening.values, opening.blindings).to_bytes()


_SAYS: dict[Phase, Callable[[Turn, Part], bytes]] = {
    Phase.JOIN: _join,
    Phase.COINS: _reveal,
    Phase.COMMIT: _commit,
    Phase.PUBLISH: _publish,
    Phase.CONFIRM: _confirm,
    Phase.UNMASK: _unmask,
}
