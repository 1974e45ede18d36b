"""How long phases last and how many rounds there are: the organiser's policy (12-O2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from gopa.contract.phases import Phase
from wire.errors import UsageError

LONGEST: Final = 10 * 365 * 24 * 3600.0
"""Seconds that a phase may last."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """When a phase ends at the latest, in seconds after it opened.

    `join` is for parties that have to be told of the session first, `phase` for everything
    that programs do by themselves; `others` names phases that take another time.
    """

    join: float = 600.0
    phase: float = 120.0
    others: Mapping[Phase, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        _require("join", self.join)
        _require("phase", self.phase)
        for phase, seconds in self.others.items():
            _require(phase.name.lower(), seconds)

    def of(self, phase: Phase) -> float:
        """The seconds of this phase."""
        usual = self.join if phase is Phase.JOIN else self.phase
        return self.others.get(phase, usual)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What an organiser decides by itself; nothing in a log depends on it.

    `rounds` is how many logical rounds are run in all, None for those of the plan; `pause`
    lies between the end of one and the opening of the next. A round of a beacon is named
    that is due `beacon_margin` seconds later than witnesses need: so long the close of join
    may take to be checked, posted and cosigned.
    """

    deadlines: Deadlines = field(default_factory=Deadlines)
    rounds: int | None = None
    pause: float = 0.0
    beacon_margin: float = 60.0

    def __post_init__(self) -> None:
        if self.rounds is not None and (type(self.rounds) is not int or self.rounds < 1):
            raise UsageError("must be at least 1", "rounds")
        _require("pause", self.pause)
        _require("beacon_margin", self.beacon_margin)


def _require(name: str, seconds: float) -> None:
    if not math.isfinite(seconds) or not 0 <= seconds <= LONGEST:
        raise UsageError(f"0 to {LONGEST:.0f} seconds", name)
