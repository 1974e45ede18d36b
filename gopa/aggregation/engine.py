"""Defines what carries out a logical round on integers: one interface for all modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gopa.aggregation.grid import Integers
from gopa.planning import PrivacyStatement
from gopa.planning.target import PlannedMode, PlannedTrust

if TYPE_CHECKING:
    from gopa.protocol.simulation import Simulation

Mode: TypeAlias = PlannedMode
Trust: TypeAlias = PlannedTrust


@dataclass(frozen=True, slots=True)
class Excluded:
    """Names a party that is not in the result: in which phase it was lost, and why.

    For a party that was kept out of later attempts it is what it was kept out for.
    """

    party: int
    phase: str
    cause: str


@dataclass(frozen=True, slots=True)
class Carried:
    """Says what a logical round with a result came to.

    `sums` are the sums over `included`, with noise; `residual` is the variance, in
    squared steps, of masks that stayed in each of them. `rolled_back` are parties whose
    masks others opened. `attempts` counts rounds, `vetoes` those of them that ended
    without a result after masked values were out, `organiser_vetoes` those that the organiser
    ended though the log would have carried them on. `transcript` leads to the log.
    """

    sums: Integers
    included: tuple[int, ...]
    excluded: tuple[Excluded, ...]
    rolled_back: tuple[int, ...]
    residual: float
    attempts: int
    vetoes: int
    organiser_vetoes: int
    privacy: PrivacyStatement | None
    transcript: Any


class Engine(Protocol):
    """Runs logical rounds, one after the other, over the same parties."""

    def run(self, rows: Sequence[Integers | None]) -> Carried:
        """One logical round; None stands for a party that does not take part.

        Raises:
            RoundAborted: no attempt had a result.
        """

    @property
    def simulation(self) -> Simulation | None:
        """The parties, organiser and board; None where there is no session."""

    def close(self) -> None:
        """Give back what the engine holds; calling it again does nothing."""
