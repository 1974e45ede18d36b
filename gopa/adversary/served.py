"""Tries attacks on sessions over HTTP. Their boards and clients are imported when one is tried."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from gopa.adversary.attack import (
    Attack,
    AttackResult,
    AttackRoles,
    SessionAttack,
    Story,
    register,
    result_of,
    story_of,
)
from gopa.adversary.malicious import Malicious
from gopa.adversary.setup import SMALL, SessionSetup
from gopa.adversary.watching import Watch
from wire.errors import UsageError

if TYPE_CHECKING:
    from gopa.adversary.boards import Scenario, ServedOutcome

_MOST_SESSIONS: Final = 12


class Unserved(Enum):
    """Why an attack is not tried in a session over HTTP."""

    ORGANISER = "its organiser lies, and served sessions of parties that lie have an honest one"
    BOARD = "its board lies; attacks of the family `served` are those by boards over HTTP"
    READER = "it is on whoever reads a log, and has no session of its own"
    BEACON = "its coins come from a beacon"
    WEIGHTS = "its values have weights"


ServedAim: TypeAlias = "Callable[[ServedOutcome], bool]"
"""Whether the attack reached what it was after."""


@dataclass(frozen=True, slots=True)
class ServedAttack:
    """An attack of a board on honest parties, alone or together with the organiser."""

    name: str
    family: str
    story: Story
    expects: tuple[str, ...]
    aim: ServedAim
    scenario: Scenario
    setup: SessionSetup = SMALL
    with_organiser: bool = False

    def run(self) -> AttackResult:
        """Tries it on a session that came to a right result over the same front.

        Raises:
            TwinFailed: it did not.
        """
        boards = needed_boards()
        boards.require_honest_session(self.setup)
        outcome: ServedOutcome = boards.played(
            self.setup, self.scenario, honest_organiser=not self.with_organiser
        )
        harms, reached = boards.harm(outcome), self.aim(outcome)
        return result_of(self.name, self.expects, outcome, harms, reached)


def unserved(attack: Attack) -> Unserved | None:
    """Why an attack cannot be tried over HTTP; None if it can."""
    if isinstance(attack, ServedAttack):
        return None
    if not isinstance(attack, SessionAttack):
        return Unserved.READER
    actors, setup = attack.actors(AttackRoles()), attack.setup
    parties = [each for each in actors if isinstance(each, Malicious)]
    if len(parties) != len(actors):
        return Unserved.ORGANISER
    if any(each.board for each in parties):
        return Unserved.BOARD
    if setup.beacon is not None:
        return Unserved.BEACON
    return Unserved.WEIGHTS if setup.setting.weighted else None


def servable(
    attacks: Sequence[Attack], named: Collection[str] = ()
) -> tuple[list[Attack], dict[str, Unserved]]:
    """The attacks that can be tried over HTTP, and for named others why not.

    Raises:
        UsageError: one of the `named` cannot, or none of all.
    """
    found = {each.name: unserved(each) for each in attacks}
    unfit = {name: why for name, why in found.items() if why is not None}
    fit = [each for each in attacks if each.name not in unfit]
    for name, why in unfit.items():
        if name in named or not fit:
            _refuse(name, why)
    return fit, unfit


def _refuse(name: str, why: Unserved) -> NoReturn:
    raise UsageError(f"{name} is not tried over HTTP: {why.value}", "name")


def run_served(attack: Attack) -> AttackResult:
    """Tries an attack over HTTP: its liars among honest clients and an organiser, or its board.

    An attack by parties has succeeded if harm was done: what it is after is judged in a
    simulation only. Randomness is fresh: a liar whose lie would change nothing, such as one
    that leaves out noise of zero, tries it in another session.

    Raises:
        TwinFailed: the session has no right result without liars.
        UsageError: the attack cannot be tried like this; see `unserved`.
    """
    why = unserved(attack)
    if why is not None:
        _refuse(attack.name, why)
    if not isinstance(attack, SessionAttack):
        return attack.run()
    boards = needed_boards()
    boards.require_honest_session(attack.setup)
    for _ in range(_MOST_SESSIONS):
        watch = Watch(attack.actors(AttackRoles()))
        outcome: ServedOutcome = boards.played(
            attack.setup, boards.lying(watch.script), retries=True
        )
        row = _judged(attack, outcome, boards.harm(outcome))
        if row.held or row.harm or not watch.idle:
            break
    return row


def _judged(attack: SessionAttack, outcome: ServedOutcome, harms: tuple[str, ...]) -> AttackResult:
    expects = attack.over_http or attack.expects
    row = result_of(attack.name, expects, outcome, harms, reached=False)
    one_is_enough = bool(attack.over_http) and len(row.missed) < len(expects)
    return replace(row, missed=()) if one_is_enough else row


def needed_boards() -> Any:
    """The package `gopa.adversary.boards`, whose servers and clients take long to import."""
    return import_module("gopa.adversary.boards")


def served(
    name: str,
    *expects: str,
    aim: ServedAim,
    family: str = "served",
    setup: SessionSetup = SMALL,
    with_organiser: bool = False,
) -> Callable[[Scenario], ServedAttack]:
    """Makes an attack of a scenario, and registers it.

    The docstring of the scenario is that of `attack`; `with_organiser` says that the organiser
    lies, too, so that it may be blamed.
    """

    def made(scenario: Scenario) -> ServedAttack:
        story = story_of(scenario.__doc__ or "")
        found = ServedAttack(name, family, story, expects, aim, scenario, setup, with_organiser)
        register(found)
        return found

    return made
