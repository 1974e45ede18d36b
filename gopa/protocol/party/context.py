"""Holds what a party is built from for a whole session, and says when it leaves a round.

A party leaves by 04-C5, 04-X5 and 04-X6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bulletin_board.tree import leaf_hash
from commitments.group import SecretScalarVec
from gopa.contract.framing import NO_LEAF, MessageSlot, party_id, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.phases import KIND_IN, Phase
from gopa.protocol.party.events import Output, Part, Post
from gopa.protocol.party.policy import LocalPolicy
from gopa.protocol.party.states import Outside, PartyState, RoundOpened
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import Toolkit
from wire.domains import STEP_CHANCE
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty
from wire.randomness import Rng
from wire.secret import Guarded


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartyContext(Guarded):
    """Holds the constants of a party.

    `rng` is used where a step makes secrets or proofs; a step that draws secrets hedges it first.
    """

    manifest: Manifest
    session: bytes
    key: SigningKey
    policy: LocalPolicy
    toolkit: Toolkit
    rng: Rng

    @property
    def author(self) -> bytes:
        """The party's Ed25519 key."""
        return self.key.public.data

    @property
    def own_id(self) -> bytes:
        return party_id(self.author)

    def context(self, number: int) -> RoundContext:
        """The round with this number."""
        return RoundContext(self.manifest, self.session, number, self.toolkit.group)

    def hedged(
        self, step: bytes, context: RoundContext, leaf: bytes, witness: SecretScalarVec
    ) -> PartyContext:
        """The same party, with randomness for the secrets of one step alone (12-R5).

        It depends on the step, on session, round, the message acted on, this party and what it
        hides. A generator that repeats therefore gives two rounds nothing in common: with one
        pad, seed or blinding in two of them, their messages would give the input away.
        """
        transcript = context.transcript(STEP_CHANCE, leaf, self.own_id)
        return replace(self, rng=transcript.hedged(step, context.group, witness, self.rng))

    def say(
        self, state: PartyState, phase: Phase, body: bytes, seq: int = 0
    ) -> tuple[PartyState, Post]:
        """Sign a message of the current round: once, for a slot that was free until now."""
        place = MessageSlot(
            session=self.session,
            phase=phase,
            kind=KIND_IN[phase],
            round=state.chain.round,
            seq=seq,
            previous=state.own_leaf,
            seen_size=state.seen_size,
            seen_root=state.seen_root if state.seen_size else NO_LEAF,
        )
        signed = sign_message(body, place, self.key)
        post = Post(phase, state.chain.round, signed.entries)
        return replace(state, sent=(*state.sent, post), own_leaf=signed.leaf), post


def leave(state: PartyState, opened: RoundOpened, part: Part) -> tuple[PartyState, list[Output]]:
    """Drop every secret of the round and be silent until the next one."""
    return replace(state, stage=Outside(opened, part), sent=()), []


def absent(
    state: PartyState, opened: RoundOpened, phase: Phase, cut: int
) -> tuple[PartyState, list[Output]]:
    """Leave after a list that lacks this party, if its own message is late or it may be barred.

    Else it stops: an organiser may not choose whose value is in the sum (attacks `wrong-roll`,
    `left-out-of-commit`, `left-out-of-publish`).

    Raises:
        FaultyParty: its message stands below the cut, so the organiser left it out.
    """
    if landed_below(state, phase, cut) and not (phase is Phase.JOIN and state.tally.excused):
        raise _left_out(state)
    if phase is not Phase.JOIN:
        state = replace(state, tally=replace(state.tally, excused=True))
    return leave(state, opened, Part.LATE)


def landed_below(state: PartyState, phase: Phase, cut: int) -> bool:
    """Whether all own messages of this phase are known to stand in the log below the cut.

    Only what this party wrote itself counts: an entry of its key that it did not write promises
    nothing of its own.
    """
    last = [leaf_hash(post.entries[-1]) for post in state.sent if post.phase is phase]
    landed = dict(state.landed)
    return all(landed.get(leaf, cut) < cut for leaf in last)


def _left_out(state: PartyState) -> FaultyParty:
    return state.chain.fault("it left out a message below its own cut", state.chain.leaf)
