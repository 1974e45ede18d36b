"""Silence, lateness and repetition: departures that change no content.

Every departure takes `rounds`, the numbers of the rounds in which it acts, or None for
all. What the rules make of it is in its first line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gopa.messages.phases import Phase
from gopa.party import Post
from gopa.simulation.access import PartyAccess
from gopa.simulation.contents import body_of, first_entry

Rounds: TypeAlias = frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Honest:
    """Says what the machine says; departures change a part of it."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        return [post]

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        del access, phase
        return []

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        del access, phase
        return []


@dataclass(frozen=True, slots=True)
class Drop(Honest):
    """Gone from before or after its message of a phase to the end of the round: absent."""

    phase: Phase
    before: bool
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase < self.phase:
            return [post]
        if not self.before and post.phase is self.phase:
            return [post]
        access.silenced = True
        return []


@dataclass(frozen=True, slots=True)
class Skip(Honest):
    """Says nothing in one phase and goes on as if it had: absent, and no longer listed."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        return [] if acts(self.rounds, post) and post.phase is self.phase else [post]


@dataclass(frozen=True, slots=True)
class PostsLate(Honest):
    """Posts its message of a phase behind the close of that phase: absent."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        access.memory.setdefault(("late", self), []).append(post)
        return []

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        # One rollback may follow another: what the coming close makes it say has to wait.
        if phase is self.phase:
            access.memory["over", self] = access.memory.pop(("late", self), [])
        return []

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        ready: list[Post] = access.memory.pop(("over", self), []) if phase is self.phase else []
        return ready


@dataclass(frozen=True, slots=True)
class Twice(Honest):
    """Signs two entries for its slot of a phase: struck, on evidence below the cut ([E3])."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        return [post, _second(access, post)]


@dataclass(frozen=True, slots=True)
class TwiceLater(Honest):
    """The same, but the second entry comes behind the close of another phase: reported."""

    phase: Phase
    behind: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if acts(self.rounds, post) and post.phase is self.phase:
            access.memory["second", self] = _second(access, post)
        return [post]

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        if phase is self.behind and ("second", self) in access.memory:
            access.memory["over", self] = access.memory.pop(("second", self))
        return []

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        second = access.memory.pop(("over", self), None) if phase is self.behind else None
        return [] if second is None else [second]


@dataclass(frozen=True, slots=True)
class Garbage(Honest):
    """Posts bytes that are no message: invalid."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        body = body_of(post.entries) + b"\0"
        return [access.sign(post.phase, body, first_entry(post.entries).seq)]


@dataclass(frozen=True, slots=True)
class Replay(Honest):
    """Posts the body it posted in an earlier round again: invalid ([E4])."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not self.phase:
            return [post]
        earlier = access.memory.get(("earlier", self))
        access.memory["earlier", self] = body_of(post.entries)
        if earlier is None or not acts(self.rounds, post):
            return [post]
        return [access.sign(post.phase, earlier, first_entry(post.entries).seq)]


def acts(rounds: Rounds, post: Post) -> bool:
    """Whether a departure acts in the round of this post."""
    return rounds is None or post.round in rounds


def _second(access: PartyAccess, post: Post) -> Post:
    """Another entry for the same slot."""
    first = first_entry(post.entries)
    return access.sign(post.phase, body_of(post.entries), first.seq, salt=b"\x01" * 32)
