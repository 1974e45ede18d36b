"""What goes wrong in a session, and when: each incident waits for something that was said."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gopa.messages.phases import Phase
from tests.sessions.processes.judging import Observer
from tests.sessions.processes.running import FOREVER, Running
from tests.sessions.processes.worlds import World

EVERYWHERE: Final = (Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.UNMASK)
"""Phases that every round has and that a party says it is in."""

ABSENCES: Final = (Phase.COMMIT, Phase.UNMASK)
"""Phases that the others finish without a party: off the list, or recovered. Neither is opened
twice in one attempt, so that an organiser may be told to give one of them no time."""

_PAUSE: Final = 0.1
_LATER: Final = 2.0


@dataclass
class Incident:
    """Something that happens once, as soon as it may."""

    what: str
    due: Callable[[], object]
    act: Callable[[], None]
    happened: bool = False


@dataclass
class Trouble:
    """A session and what is done to it. Who runs now is in `parties` and `organiser`."""

    world: World
    organiser: Running
    parties: dict[int, Running] = field(default_factory=dict)
    starts: dict[int, Callable[[], Running]] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    patience: dict[Phase, int] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    watching: Observer = field(init=False)

    def __post_init__(self) -> None:
        self.watching = Observer(self.world)

    def begin(self, number: int, start: Callable[[], Running]) -> None:
        """A party that can be started again in the same way."""
        self.starts[number] = start
        self.parties[number] = start()

    def when(self, what: str, due: Callable[[], object], act: Callable[[], None]) -> None:
        self.incidents.append(Incident(what, due, act))

    def in_phase(self, number: int, phase: Phase) -> Callable[[], object]:
        """Whether the party has said that it is in this phase."""
        return lambda: self.parties[number].said("phase", phase=phase.name.lower())

    def kill_and_restart(self, number: int, phase: Phase, rng: random.Random) -> None:
        """At a random moment of the phase."""

        def act() -> None:
            time.sleep(rng.uniform(0, _LATER))
            self.parties[number].kill()
            self.parties[number] = self.starts[number]()

        self.when(
            f"p{number} dies in {phase.name} and comes back", self.in_phase(number, phase), act
        )

    def kill_for_good(self, number: int, phase: Phase) -> None:
        """As soon as it says that it is there: what it would post is on the disk at most."""
        due, act = self.in_phase(number, phase), self.parties[number].kill
        self.when(f"p{number} dies in {phase.name}", due, act)

    def kill_organiser(self, phase: Phase) -> None:
        def act() -> None:
            self.organiser.kill()
            self._open()

        name = phase.name.lower()
        self.when(
            f"the organiser dies in {phase.name}",
            lambda: self.organiser.said("phase", phase=name),
            act,
        )

    def kill_board(self, phase: Phase) -> None:
        def act() -> None:
            self.world.board.kill()
            self.world.serve()

        name = phase.name.lower()
        self.when(
            f"the board dies in {phase.name}",
            lambda: self.organiser.said("phase", phase=name),
            act,
        )

    def run(self, absent: Sequence[int]) -> None:
        """Until the organiser has done its work. Nobody waits for those who are absent."""
        deadline = time.monotonic() + FOREVER
        while self.organiser.alive:
            assert time.monotonic() < deadline, (self.history, self.organiser.events[-3:])
            for incident in self.incidents:
                if not incident.happened and incident.due():
                    incident.happened = True
                    self.history.append(incident.what)
                    incident.act()
            self._go_on_without(absent)
            time.sleep(_PAUSE)
        assert self.organiser.wait() == 0, (self.history, self.organiser.complaint)
        left = [each.what for each in self.incidents if not each.happened]
        assert left == [], (left, self.history)

    def _go_on_without(self, absent: Sequence[int]) -> None:
        """An organiser that gives a phase no more time, once everybody else has spoken.

        A phase whose time is over ends like this, and no test has to guess how long others need.
        """
        gone = {self.world.keys[each] for each in absent if not self.parties[each].alive}
        now = self.watching.round if gone else None
        if now is None or now.opens is None or not now.expected or now.expected - gone:
            return
        if now.opens not in self.patience:
            self.patience[now.opens] = 0
            self.history.append(f"{now.opens.name} ends without some")
            self.organiser.kill()
            self._open()

    def _open(self) -> None:
        more = [
            word
            for phase, seconds in self.patience.items()
            for word in ("--seconds", phase.name.lower(), seconds)
        ]
        self.organiser = self.world.open(*more)
