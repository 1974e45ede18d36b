"""Attacks by boards on sessions over HTTP. Importing this needs no extra; running them does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gopa.adversary.attack import Row, Story, register, story_of
from gopa.adversary.ground import SMALL, Ground
from wire.errors import BackendError

if TYPE_CHECKING:
    from gopa.adversary.boards import Play, ServedOutcome

_EXTRA: Final = "attacks on served sessions need the extra: pip install 'gopa[session]'"

ServedAim: TypeAlias = "Callable[[ServedOutcome], bool]"
"""Whether the attack reached what it was after."""


@dataclass(frozen=True, slots=True)
class ServedAttack:
    """A board that lies to honest parties, alone or together with the organiser."""

    name: str
    family: str
    story: Story
    expects: tuple[str, ...]
    aim: ServedAim
    play: Play
    ground: Ground = SMALL
    with_organiser: bool = False

    def run(self) -> Row:
        """Try it on a session that came to a right result over the same front.

        Raises:
            BackendError: the extra `gopa[session]` is not installed.
            TwinFailed: it did not.
        """
        boards = needed_boards()
        boards.require_honest_session(self.ground)
        outcome: ServedOutcome = boards.played(
            self.ground, self.play, honest_organiser=not self.with_organiser
        )
        harms = boards.harm(outcome)
        found = {catch.rule for catch in outcome.caught}
        return Row(
            attack=self.name,
            caught=outcome.caught,
            blamed=outcome.blamed,
            result=outcome.result,
            succeeded=bool(harms) or self.aim(outcome),
            harm=harms,
            missed=tuple(rule for rule in self.expects if rule not in found),
        )


def needed_boards() -> Any:
    """The package `gopa.adversary.boards`; raises `BackendError` without the extra."""
    try:
        return import_module("gopa.adversary.boards")
    except ModuleNotFoundError as error:
        raise BackendError(_EXTRA) from error


def served(
    name: str,
    *expects: str,
    aim: ServedAim,
    family: str = "served",
    ground: Ground = SMALL,
    with_organiser: bool = False,
) -> Callable[[Play], ServedAttack]:
    """Make an attack of a play, and register it.

    The docstring of the play is that of `attack`; `with_organiser` says that the organiser
    lies, too, so that it may be blamed.
    """

    def made(play: Play) -> ServedAttack:
        story = story_of(play.__doc__ or "")
        found = ServedAttack(name, family, story, expects, aim, play, ground, with_organiser)
        register(found)
        return found

    return made
