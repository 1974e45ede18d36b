"""Many games at once, with bounds that hold for all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gopa.adversary.privacy.claims import View
from gopa.adversary.privacy.measuring import Measurement, measure
from gopa.adversary.privacy.power import noticed
from gopa.adversary.privacy.views import World
from wire.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

CONFIDENCE: Final = 0.999

_MOST_DRAWS: Final = 200_000
_FEWEST_DRAWS: Final = 2_000
_WORK: Final = 20_000_000
_MOST_NUMBERS: Final = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One view: what was claimed and measured, and the excess that would have been noticed.

    `noticed` is a factor: noise so many times too small, or more, would have been found.
    """

    view: View
    measured: Measurement
    noticed: float

    @property
    def inside(self) -> bool:
        """Nothing contradicts the claim."""
        return self.measured.inside


def measure_all(
    views: Sequence[View],
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
) -> Iterator[Row]:
    """A row for each view, in order. With this confidence *all* their bounds hold.

    `draws` views of each input, or as many as take about a second.

    Raises:
        UsageError: too few draws, no confidence between 0 and 1, or a plan so large that
            no sample of it is drawn in minutes.
    """
    if not 0 < confidence < 1:
        raise UsageError("above 0 and below 1", "confidence")
    risk = (1 - confidence) / max(1, len(views))
    for view in views:
        count = draws_for(view.world) if draws is None else draws
        found = measure(view.world, view.claim, count, risk, rng)
        yield Row(view, found, noticed(view.claim, found.draws, risk))


def draws_for(world: World) -> int:
    """As many as take about a second, but enough to see something."""
    if world.numbers > _MOST_NUMBERS:
        message = (
            f"one view takes {world.numbers} random numbers, and {_MOST_NUMBERS} at most: "
            "audit a plan for fewer parties, or one with fewer coordinates"
        )
        raise UsageError(message, "plan")
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _WORK // world.numbers))
