"""Who leaves, lies or is late in a simulation, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from gopa.messages.phases import Phase
from gopa.party import Post
from wire.errors import UsageError

if TYPE_CHECKING:
    from gopa.organiser import SendMessage
    from gopa.simulation.access import OrganiserAccess, PartyAccess


class Behaviour(Protocol):
    """How a party departs from the rules. It sees and changes what the party posts.

    A behaviour holds parameters only; what it has to remember lies in `access.memory`.
    """

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        """What is posted instead: nothing, something else, more."""

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """What is posted when everybody else has spoken, before the phase ends."""

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """What is posted right behind the close of a phase."""


class OrganiserBehaviour(Protocol):
    """How an organiser departs from the rules."""

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
        """The party is silent in a round: from before its message of a phase, or from after it."""
        from gopa.simulation.departures import Drop

        if (before is None) == (after is None):
            raise UsageError("a party drops out before or after one phase", "before")
        if before is not None:
            return self.misbehave(party, Drop(before, True, _frozen(rounds)))
        return self.misbehave(party, Drop(after or Phase.JOIN, False, _frozen(rounds)))

    def misbehave(self, party: int, *behaviours: Behaviour) -> Script:
        """The party behaves like this, after what it does already."""
        whole = (*self.parties.get(party, ()), *behaviours)
        return replace(self, parties={**self.parties, party: whole})

    def organise(self, *behaviours: OrganiserBehaviour) -> Script:
        """The organiser behaves like this."""
        return replace(self, organiser=(*self.organiser, *behaviours))


def _frozen(rounds: Collection[int] | None) -> frozenset[int] | None:
    return None if rounds is None else frozenset(rounds)
