"""Whether a deed was done: attacks on a session of somebody else may find no occasion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gopa.adversary.malicious import Actor, Malicious
from gopa.messages.phases import Phase
from gopa.organiser import Publish
from gopa.party import Post
from gopa.simulation import Behaviour, OrganiserBehaviour, Script
from gopa.simulation.scene import OrganiserScene, Scene

_ORGANISER: Final = -1


@dataclass(slots=True)
class Watch:
    """The script of some actors, and who of them has departed from the rules so far.

    Who is caught at its first lie has no occasion for a second one, and has acted all the same.
    """

    actors: tuple[Actor, ...]
    acted: set[int] = field(default_factory=set)

    @property
    def script(self) -> Script:
        """For one simulation."""
        script = Script()
        for actor in self.actors:
            if isinstance(actor, Malicious):
                watched = _Watched(actor.behaviour(), self.acted, actor.party)
                script = script.misbehave(actor.party, watched)
            else:
                script = script.organise(_WatchedOrganiser(actor.do, self.acted))
        return script

    @property
    def idle(self) -> bool:
        """Whether somebody has had no occasion."""
        return any(
            (each.party if isinstance(each, Malicious) else _ORGANISER) not in self.acted
            for each in self.actors
        )


@dataclass(frozen=True, slots=True)
class _Watched:
    behaviour: Behaviour
    acted: set[int]
    party: int

    def says(self, scene: Scene, post: Post) -> Sequence[Post]:
        """As the behaviour."""
        said = self.behaviour.says(scene, post)
        if list(said) != [post]:
            self.acted.add(self.party)
        return said

    def last_words(self, scene: Scene, phase: Phase) -> Sequence[Post]:
        """As the behaviour."""
        return self._noticed(self.behaviour.last_words(scene, phase))

    def after(self, scene: Scene, phase: Phase) -> Sequence[Post]:
        """As the behaviour."""
        return self._noticed(self.behaviour.after(scene, phase))

    def _noticed(self, said: Sequence[Post]) -> Sequence[Post]:
        if said:
            self.acted.add(self.party)
        return said


@dataclass(frozen=True, slots=True)
class _WatchedOrganiser:
    behaviour: OrganiserBehaviour
    acted: set[int]

    def publishes(self, scene: OrganiserScene, control: Publish) -> Sequence[Publish]:
        """As the behaviour."""
        said = self.behaviour.publishes(scene, control)
        if list(said) != [control]:
            self.acted.add(_ORGANISER)
        return said
