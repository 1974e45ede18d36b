"""Says what the library claims of a scenario, and builds the games that hold it to that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gopa.adversary.privacy.laws import Law, Masks
from gopa.adversary.privacy.measuring import ViewClaim
from gopa.adversary.privacy.scenarios import ReleaseScenario
from gopa.adversary.privacy.views import World
from gopa.contract.terms import Terms
from gopa.planning.outcome import privacy
from gopa.planning.target import float_below
from gopa.planning.worth import guarantee

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredView:
    """Names a game, what the coalition has in it, and what is claimed of it."""

    name: str
    plan: str
    coalition: str
    world: World
    claim: ViewClaim


def claim_of(
    terms: Terms, scenarios: Sequence[ReleaseScenario], rng: np.random.Generator
) -> ViewClaim:
    """What is claimed of this coalition, at the epsilon of the terms.

    A coalition so small that it was fixed before the coins has the word of the terms. Where
    these are worth what they say, the account of the parties that are named counts if it is
    stricter, and alone if the graph fell to pieces: for such graphs beta pays. Larger
    coalitions have that account alone. Of a victim that is in no result the terms speak.
    """
    outcomes = [scenario.outcome(terms) for scenario in scenarios]
    last = scenarios[-1].outcome(terms, outcomes[:-1])
    claims = privacy.of(last, rng=rng.bytes).claims
    planned, named, word = claims[0].delta, claims[-1].delta, float_below(terms.delta)
    if any(scenario.victim in scenario.gone for scenario in scenarios):
        return ViewClaim(float_below(terms.promised_epsilon), min(planned, word))
    if any(len(scenario.corrupt) > terms.corrupt for scenario in scenarios):
        delta = named
    elif guarantee(terms).total > word:
        delta = word
    else:
        delta = min(planned, named) if all(map(_is_whole, scenarios)) else named
    return ViewClaim(float_below(terms.promised_epsilon), delta)


def _is_whole(scenario: ReleaseScenario) -> bool:
    """Whether the victim is connected with all honest parties of the result."""
    release = scenario.release()
    return len(release.members) == release.graph.parties


def world_of(terms: Terms, scenarios: Sequence[ReleaseScenario]) -> World:
    """The game of these releases, for the largest change that the terms allow."""
    return World(
        releases=tuple(scenario.release() for scenario in scenarios),
        noise=Law.of(terms.noise),
        masks=Masks(terms.mask_deviation),
        change=largest_change(terms),
    )


def largest_change(terms: Terms) -> tuple[int, ...]:
    """Steps by coordinate, up to the sensitivity in length, in as few coordinates as possible.

    How a change is spread hardly matters to noise that is nearly normal; coordinates that
    do not move need not be drawn.
    """
    full, rest = divmod(terms.squared_sensitivity, terms.steps**2)
    last = math.isqrt(rest)
    return (terms.steps,) * full + ((last,) if last and full < terms.dimension else ())


def plan_label(terms: Terms) -> str:
    """The terms in short."""
    masks = terms.mask if terms.mask == "uniform" else f"Gaussian {terms.mask_deviation}"
    size = "" if terms.dimension == 1 else f", {terms.dimension} coordinates"
    return f"n={terms.parties}, c={terms.corrupt}, k={terms.k}, {masks}{size}"
