"""Deeds of one's own: change a message, copy one, replace it, or keep silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from gopa.adversary.malicious import PROOFS, Deed, require_met
from gopa.contract.bodies import bodies_of
from gopa.contract.parameters import Roster
from gopa.contract.party import Commit, Join
from gopa.contract.phases import KIND_IN, Phase
from gopa.contract.rows import RowCommit, RowJoin
from gopa.protocol.party import Post
from gopa.protocol.party.context import PartyContext
from gopa.protocol.party.states import Committed, Joined
from gopa.protocol.simulation import Behaviour, permissive
from gopa.protocol.simulation.access import PartyAccess, body_of
from gopa.protocol.simulation.script import Honest, Rounds, acts
from wire.codec import Codec
from wire.errors import UsageError

T = TypeVar("T")

Change: TypeAlias = Callable[[Any], Any]
"""From the content of a message, such as a `Publish`, to what is said instead."""

Knowing: TypeAlias = Callable[[PartyAccess, Any], Any]
"""The same with access to the party: what it knows, its keys, the log."""

Instead: TypeAlias = Callable[[PartyAccess, Post], Sequence[Post]]
"""From what the machine would post to what is posted."""

Mix: TypeAlias = Callable[[Any, Any], Any]
"""From the party's own content and a victim's to what is said instead."""


def change(alter: Change) -> Deed:
    """The lie of other content: `change(lambda publish: replace(publish, value=..))`."""
    return knowing(lambda _, content: alter(content))


def knowing(alter: Knowing) -> Deed:
    """The lie of other content, made with everything that the party knows."""
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
            lie = sayable(access, self.phase, codec, content, self.alter(access, content))
            said = _believed(access, lie)
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
        posts = self.post(access, post)
        if isinstance(posts, Sequence) and all(isinstance(each, Post) for each in posts):
            return posts
        where = f"party {access.index} at {self.phase.name.lower()}"
        raise UsageError(f"{where}: must be a list of Post, as `access.sign` makes them", "do")


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
            lie = sayable(access, phase, codec, content, self.mix(content, theirs))
            content = _believed(access, lie)
        return [access.sign(phase, codec.encode(content))]


def sayable(access: PartyAccess, phase: Phase, codec: Codec[T], own: T, said: Any) -> T:
    """What a deed says in place of a party's own message, if a message can be made of it.

    Raises:
        UsageError: it cannot; names party, phase, field and what is expected there.
    """
    where = f"party {access.index} at {phase.name.lower()}"
    wrong = next(_misfits(said, type(own), ""), None)
    if wrong is not None:
        field, expected, value = wrong
        raise UsageError(f"{where}: must be {expected}, not {type(value).__name__}", field)
    try:
        codec.encode(said)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", error.field) from None
    return cast("T", said)


def _misfits(value: object, hint: Any, field: str) -> Iterator[tuple[str, str, object]]:
    """Every field that has another type than its class says: where, what is expected, what is."""
    if get_origin(hint) is tuple:
        if not isinstance(value, tuple):
            yield field, f"a tuple of {type_words(get_args(hint)[0])}", value
            return
        for at, each in enumerate(value):
            yield from _misfits(each, get_args(hint)[0], f"{field}[{at}]")
    elif type(value) is not hint:
        yield field or "do", type_words(hint), value
    elif is_dataclass(hint):
        for name, part in get_type_hints(hint).items():
            place = f"{field}.{name}" if field else name
            yield from _misfits(getattr(value, name), part, place)


def type_words(hint: Any) -> str:
    """A type as people say it, such as `bytes` or `a tuple of OpenedEdge`."""
    if get_origin(hint) is tuple:
        return f"a tuple of {type_words(get_args(hint)[0])}"
    return str(hint.__name__)


def _believed(access: PartyAccess, content: Any) -> Any:
    """The same content. The liar's own machine goes on as if it had said that itself."""
    stage = access.state.stage
    if isinstance(stage, Joined) and isinstance(content, Join | RowJoin):
        told = replace(stage, key=content.key, nonce_hash=content.nonce_hash)
        access.state = replace(access.state, stage=told)
    if isinstance(stage, Committed) and isinstance(content, Commit | RowCommit):
        access.state = replace(access.state, stage=_with_edges(stage, content))
    return content


def _with_edges(stage: Committed, content: Commit | RowCommit) -> Committed:
    if len(content.edges) != len(stage.view.neighbours):
        return stage
    edges = {
        v: replace(stage.edges[v], posted=data)
        for v, data in zip(stage.view.neighbours, content.edges, strict=True)
    }
    return replace(stage, edges=MappingProxyType(edges))
