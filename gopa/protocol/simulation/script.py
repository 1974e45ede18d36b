"""Who leaves, lies or is late in a simulation, and when.

The departures here change no content; `gopa.adversary.deeds` has lies. Every departure takes
`rounds`, the numbers of the rounds in which it acts, or None for all.
What the rules make of it is in its first line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from wire.errors import UsageError

if TYPE_CHECKING:
    from gopa.protocol.organiser import SendMessage
    from gopa.protocol.simulation.access import OrganiserAccess


class Behaviour(Protocol):
    """A party's departure from the rules: it sees what the party posts and may change it.

    A behaviour holds parameters only; what it has to remember lies in `access.memory`.
    """

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        """What is posted instead: nothing, something else, more."""

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """What is posted when everybody else has spoken, before the phase ends."""

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """What is posted right behind the close of a phase."""


class OrganiserBehaviour(Protocol):
    """An organiser's departure from the rules: it sees each message and may change it."""

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        """What is posted instead of a message that the rules demand."""


@dataclass(frozen=True, slots=True)
class Script:
    """Behaviours by party, in the order in which they apply. `Script()` is all honest."""

    parties: Mapping[int, tuple[Behaviour, ...]] = field(default_factory=dict)
    organiser: tuple[OrganiserBehaviour, ...] = ()

    def drop(
        self,
        party: int,
        *,
        before: Phase | None = None,
        after: Phase | None = None,
        rounds: Collection[int] | None = None,
    ) -> Script:
        """Adds a party that falls silent in a round: before its message of a phase, or after it."""
        if (before is None) == (after is None):
            raise UsageError("a party drops out before or after one phase", "before")
        if before is not None:
            return self.misbehave(party, Drop(before, True, _frozen(rounds)))
        return self.misbehave(party, Drop(after or Phase.JOIN, False, _frozen(rounds)))

    def misbehave(self, party: int, *behaviours: Behaviour) -> Script:
        """Adds behaviours of a party, behind those that it has."""
        whole = (*self.parties.get(party, ()), *behaviours)
        return replace(self, parties={**self.parties, party: whole})

    def organise(self, *behaviours: OrganiserBehaviour) -> Script:
        """Adds behaviours of the organiser."""
        return replace(self, organiser=(*self.organiser, *behaviours))


def _frozen(rounds: Collection[int] | None) -> frozenset[int] | None:
    return None if rounds is None else frozenset(rounds)


Rounds: TypeAlias = frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Honest:
    """What the machine says; departures change a part of it."""

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
    """Absence from before or after a message of a phase to the end of the round."""

    phase: Phase
    before: bool
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase.place < self.phase.place:
            return [post]
        if not self.before and post.phase is self.phase:
            return [post]
        access.silenced = True
        return []


@dataclass(frozen=True, slots=True)
class Skip(Honest):
    """Silence in one phase, and going on as if it had spoken: absent, and no longer listed."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        return [] if acts(self.rounds, post) and post.phase is self.phase else [post]


@dataclass(frozen=True, slots=True)
class PostsLate(Honest):
    """A message of a phase behind the close of that phase: absent."""

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
    """Two signed entries for one slot of a phase: struck, on evidence below the cut (04-E3)."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        return [post, _second(access, post)]


@dataclass(frozen=True, slots=True)
class TwiceLater(Honest):
    """A second signed entry for the slot behind the close of another phase: reported (04-E3)."""

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
    """Bytes that are no message: invalid."""

    phase: Phase
    rounds: Rounds = None

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if not acts(self.rounds, post) or post.phase is not self.phase:
            return [post]
        body = body_of(post.entries) + b"\0"
        return [access.sign(post.phase, body, first_entry(post.entries).seq)]


@dataclass(frozen=True, slots=True)
class Replay(Honest):
    """The body of an earlier round again: invalid (04-E4)."""

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
