"""What whoever misbehaves gets of a party or an organiser: keys, states, the log, signing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bulletin_board import Entry, Submission
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.manifest import Manifest
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.party import PartyState, Post
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.rounds.toolkit import Toolkit
from wire.codec import Codec
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage
from wire.randomness import Rng
from wire.secret import Guarded


def first_entry(entries: Sequence[bytes]) -> Entry:
    """The first entry of a message."""
    return Submission.decode(entries[0]).entry


def body_of(entries: Sequence[bytes]) -> bytes:
    """The body of a message, from all of its entries."""
    return b"".join(Submission.decode(raw).entry.body for raw in entries)


_T = TypeVar("_T")


@dataclass(slots=True, repr=False, eq=False)
class PartyAccess(Guarded):
    """A behaviour's access to one party: its key, its states, the log, memory of its own.

    `before` is its state when it was told what made it speak.
    """

    index: int
    session: bytes
    manifest: Manifest
    toolkit: Toolkit
    key: SigningKey
    rng: Rng
    board: SimulatedBoard
    before: PartyState
    state: PartyState
    memory: dict[object, Any] = field(default_factory=dict)
    silenced: bool = False

    @property
    def round(self) -> int:
        """The number of the current round."""
        return self.state.chain.round

    def sign(self, phase: Phase, body: bytes, seq: int = 0, salt: bytes = NO_LEAF) -> Post:
        """A message of this party; with another `salt` another entry for the same body."""
        place = MessageSlot(self.session, phase, KIND_IN[phase], self.round, seq, salt)
        return Post(phase, self.round, sign_message(body, place, self.key).entries)

    def altered(self, post: Post, codec: Codec[_T], change: Callable[[_T], _T]) -> Post:
        """The same message with another content, in the same slots.

        What another behaviour has made unreadable stays as it is.
        """
        try:
            content = codec.decode(body_of(post.entries))
        except MalformedMessage:
            return post
        body = codec.encode(change(content))
        return self.sign(post.phase, body, first_entry(post.entries).seq)


@dataclass(slots=True, repr=False, eq=False)
class OrganiserAccess(Guarded):
    """A behaviour's access to the organiser: its key, the log, memory of its own."""

    session: bytes
    manifest: Manifest
    key: SigningKey
    rng: Rng
    board: SimulatedBoard
    memory: dict[object, Any] = field(default_factory=dict)

    def altered(
        self, control: SendMessage, codec: Codec[_T], change: Callable[[_T], _T]
    ) -> SendMessage:
        """The same message with another content, in the same slots."""
        body = codec.encode(change(codec.decode(body_of(control.entries))))
        return self.instead(control, control.kind, body)

    def instead(self, control: SendMessage, kind: Kind, body: bytes) -> SendMessage:
        """Another message in the slots of this one."""
        first = first_entry(control.entries)
        place = MessageSlot(
            self.session, Phase.ORGANISER, kind, first.round, first.seq, first.prev_own_leaf
        )
        return SendMessage(kind, first.round, sign_message(body, place, self.key).entries)
