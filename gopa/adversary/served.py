"""Attacks by boards on sessions over HTTP. Importing this needs no extra; running them does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gopa.adversary.attack import Cast, Row, SessionAttack, Story, register, story_of
from gopa.adversary.ground import SMALL, Ground
from gopa.adversary.malicious import Malicious, phase_of
from gopa.messages.phases import Phase
from wire.errors import BackendError, UsageError

if TYPE_CHECKING:
    from gopa.adversary.boards import Play, ServedOutcome

_EXTRA: Final = "attacks on served sessions need the extra: pip install 'gopa[session]'"

_OF_ALL: Final = frozenset(
    {Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK}
)

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
        return _row(self.name, self.expects, outcome, boards.harm(outcome), self.aim)


def run_served(attack: SessionAttack) -> Row:
    """Try an attack by parties over HTTP: its liars among honest clients and an organiser.

    It has succeeded if harm was done: what the attack is after is judged in a simulation only.
    Nobody waits for anybody here, and the board turns late entries away: attacks that copy what
    somebody says in the same phase, or speak behind a close, may find no occasion. Their rules
    are missed then, and the row does not hold.

    Raises:
        BackendError: the extra `gopa[session]` is not installed.
        TwinFailed: the session has no right result without liars.
        UsageError: the attack is by an organiser, lies in a phase in which not everybody speaks,
            or needs several rounds, vectors or witnesses.
    """
    actors = [each for each in attack.plot(Cast()) if isinstance(each, Malicious)]
    terms = attack.ground.terms
    if len(actors) != len(attack.plot(Cast())) or any(each.board for each in actors):
        raise UsageError("only attacks by parties are served", "name")
    if any(phase_of(each.at) not in _OF_ALL for each in actors):
        raise UsageError("served attacks lie in phases in which everybody speaks", "name")
    if attack.ground.rounds != 1 or attack.ground.witnesses or terms.dimension != 1:
        raise UsageError("a served attack has one round of single values, no witnesses", "name")
    boards = needed_boards()
    boards.require_honest_session(attack.ground)
    outcome: ServedOutcome = boards.played(attack.ground, boards.lying(actors), retries=True)
    return _row(attack.name, attack.expects, outcome, boards.harm(outcome), lambda _: False)


def _row(
    name: str,
    expects: Sequence[str],
    outcome: ServedOutcome,
    harms: tuple[str, ...],
    aim: ServedAim,
) -> Row:
    found = {catch.rule for catch in outcome.caught}
    return Row(
        attack=name,
        caught=outcome.caught,
        blamed=outcome.blamed,
        result=outcome.result,
        succeeded=bool(harms) or aim(outcome),
        harm=harms,
        missed=tuple(rule for rule in expects if rule not in found),
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
