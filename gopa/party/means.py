"""What a party is built from and keeps for a whole session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gopa.messages.framing import NO_LEAF, Place, party_id, sign_message
from gopa.messages.manifest import Manifest
from gopa.messages.phases import KIND_IN, Phase
from gopa.party.events import Post
from gopa.party.policy import LocalPolicy
from gopa.party.states import State
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import Toolkit
from wire.ed25519 import SigningKey
from wire.randomness import Rng
from wire.secret import Guarded


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Means(Guarded):
    """Constants of the machine. `rng` is used where a step makes secrets or proofs."""

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

    def say(self, state: State, phase: Phase, body: bytes, seq: int = 0) -> tuple[State, Post]:
        """Sign a message of the current round: once, for a slot that was free until now."""
        place = Place(
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
