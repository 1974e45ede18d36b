"""Makes deeds of one's own: change a message, copy one, replace it, or keep silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from gopa.adversary.malicious import Deed
from gopa.adversary.needs import PROOFS, require_met
from gopa.messages.bodies import bodies_of
from gopa.messages.long_vectors import LongCommit, LongJoin
from gopa.messages.parameters import Roster
from gopa.messages.party import Commit, Join
from gopa.messages.phases import KIND_IN, Phase
from gopa.party import Post
from gopa.party.context import PartyContext
from gopa.party.states import Committed, Joined
from gopa.simulation import Behaviour, permissive
from gopa.simulation.access import PartyAccess, body_of
from gopa.simulation.script import Honest, Rounds, acts
from wire.errors import UsageError

Change: TypeAlias = Callable[[Any], Any]
"""From the content of a message, such as a `Publish`, to what is said instead."""

Knowing: TypeAlias = Callable[[PartyAccess, Any], Any]
"""The same with access to the party: what it knows, its keys, the log."""

Instead: TypeAlias = Callable[[PartyAccess, Post], Sequence[Post]]
"""From what the machine would post to what is posted."""

Mix: TypeAlias = Callable[[Any, Any], Any]
"""From the party's own content and a victim's to what is said instead."""


def change(alter: Change) -> Deed:
    """Says something else: `change(lambda publish: replace(publish, value=..))`."""
    return knowing(lambda _, content: alter(content))


def knowing(alter: Knowing) -> Deed:
    """Says something else, with everything that the party knows at hand."""
    return lambda phase, rounds: _Changed(phase, rounds, alter)


def instead(post: Instead) -> Deed:
    """Posts something else: nothing, other messages, more of them."""
    return lambda phase, rounds: _Replaced(phase, rounds, post)


def copied(victim: int, mix: Mix) -> Deed:
    """Waits for the victim's message of the phase, and mixes it with its own."""
    return lambda phase, rounds: _Copied(phase, rounds, victim, mix)


def only_at(phase: Phase, deed: Deed) -> Deed:
    """Refuses a deed in every phase but the one in which it means something."""

    def checked(asked: Phase, rounds: Rounds) -> Behaviour:
        if asked is not phase:
            raise UsageError(f"this deed is for {phase.name.lower()}", "at")
        return deed(asked, rounds)

    return checked


def flipped(data: bytes, at: int = 0) -> bytes:
    """The same bytes with one wrong bit, the lowest of the byte `at`."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def key_of(access: PartyAccess, number: int) -> bytes:
    """The key of a party by its number; `UsageError` if there are not so many."""
    admission = access.manifest.admission
    keys = sorted(admission.keys) if isinstance(admission, Roster) else []
    if number not in range(len(keys)):
        raise UsageError(f"a party is a position from 0 to {len(keys) - 1}", "party")
    return keys[number]


def require_full(access: PartyAccess) -> None:
    """Raises `NotApplicable` in a session without proofs and commitments."""
    require_met((PROOFS,), access.manifest)


def context_of(access: PartyAccess) -> PartyContext:
    """What the party's machine works with, but with the liar's randomness."""
    policy = permissive(access.manifest.terms)
    return PartyContext(
        access.manifest, access.session, access.key, policy, access.toolkit, access.rng
    )


@dataclass(frozen=True, slots=True)
class _Changed(Honest):
    phase: Phase
    rounds: Rounds
    alter: Knowing

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        codec = bodies_of(access.manifest.path)[KIND_IN[self.phase]]
        same: list[bool] = []

        def altered(content: Any) -> Any:
            said = _believed(access, self.alter(access, content))
            same.append(said == content)
            return said

        said = access.altered(post, codec, altered)
        return [post] if any(same) else [said]


@dataclass(frozen=True, slots=True)
class _Replaced(Honest):
    phase: Phase
    rounds: Rounds
    post: Instead

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        return self.post(access, post)


@dataclass(frozen=True, slots=True)
class _Copied(Honest):
    phase: Phase
    rounds: Rounds
    victim: int
    mix: Mix

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        access.memory["own", self] = body_of(post.entries)
        return []

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        own = access.memory.pop(("own", self), None) if phase is self.phase else None
        if own is None:
            return []
        seen = access.board.stream(key_of(access, self.victim), phase, access.round)
        codec = bodies_of(access.manifest.path)[KIND_IN[phase]]
        content = codec.decode(own)
        if seen:
            theirs = codec.decode(b"".join(posted.entry.body for posted in seen))
            content = _believed(access, self.mix(content, theirs))
        return [access.sign(phase, codec.encode(content))]


def _believed(access: PartyAccess, content: Any) -> Any:
    """The same content. The liar's own machine goes on as if it had said that itself."""
    stage = access.state.stage
    if isinstance(stage, Joined) and isinstance(content, Join | LongJoin):
        told = replace(stage, key=content.key, nonce_hash=content.nonce_hash)
        access.state = replace(access.state, stage=told)
    if isinstance(stage, Committed) and isinstance(content, Commit | LongCommit):
        access.state = replace(access.state, stage=_with_edges(stage, content))
    return content


def _with_edges(stage: Committed, content: Commit | LongCommit) -> Committed:
    if len(content.edges) != len(stage.view.neighbours):
        return stage
    edges = {
        v: replace(stage.edges[v], posted=data)
        for v, data in zip(stage.view.neighbours, content.edges, strict=True)
    }
    return replace(stage, edges=MappingProxyType(edges))
