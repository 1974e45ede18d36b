"""The script of an attack, and notes of which of its actors departed from the rules.

In a session of somebody else an attack may find no occasion, and then it shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gopa.adversary.malicious import Actor, Malicious, Requirement, require_met
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.party import Post
from gopa.protocol.simulation import Behaviour, OrganiserBehaviour, Script
from gopa.protocol.simulation.access import OrganiserAccess, PartyAccess, body_of
from gopa.protocol.simulation.script import Honest

_ORGANISER: Final = -1


@dataclass(slots=True)
class Watch:
    """The script of some actors, with notes of who of them has departed from the rules so far.

    Who is caught at its first lie has no occasion for a second one, and has acted all the same.
    """

    actors: tuple[Actor, ...]
    needs: tuple[Requirement, ...] = ()
    acted: set[tuple[int, int]] = field(default_factory=set)
    """The number of each party that departed, with the round in which it did."""

    @property
    def script(self) -> Script:
        """The script for one simulation."""
        script = Script()
        for actor in self.actors:
            if isinstance(actor, Malicious):
                watched = _Watched(actor.behaviour(), self, actor.party)
                script = script.misbehave(actor.party, watched)
            else:
                script = script.organise(_WatchedOrganiser(actor.do, self))
        return script

    @property
    def idle(self) -> bool:
        """Whether somebody has had no occasion."""
        acted = {party for party, _ in self.acted}
        return any(
            (each.party if isinstance(each, Malicious) else _ORGANISER) not in acted
            for each in self.actors
        )


@dataclass(frozen=True, slots=True)
class _Watched:
    behaviour: Behaviour
    watch: Watch
    party: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        """The behaviour's words; one that only listens has acted once there is something.

        Raises:
            NotApplicable: the session lacks what the attack needs.
        """
        require_met(self.watch.needs, access.manifest)
        said = self.behaviour.says(access, post)
        if list(said) != [post] or type(self.behaviour) is Honest:
            self.watch.acted.add((self.party, post.round))
        return said

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """The behaviour's last words, noticed."""
        return self._noticed(self.behaviour.last_words(access, phase))

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        """The behaviour's words behind a phase, noticed."""
        return self._noticed(self.behaviour.after(access, phase))

    def _noticed(self, said: Sequence[Post]) -> Sequence[Post]:
        self.watch.acted.update((self.party, post.round) for post in said)
        return said


@dataclass(frozen=True, slots=True)
class _WatchedOrganiser:
    behaviour: OrganiserBehaviour
    watch: Watch

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        """The behaviour's messages. The same words, signed once more, are the same.

        Raises:
            NotApplicable: the session lacks what the attack needs.
        """
        require_met(self.watch.needs, access.manifest)
        said = self.behaviour.publishes(access, control)
        if [_content(each) for each in said] != [_content(control)]:
            self.watch.acted.add((_ORGANISER, 0))
        return said


def _content(control: SendMessage) -> tuple[int, bytes]:
    return control.kind, body_of(control.entries)
