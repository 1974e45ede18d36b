"""Breaks one thing in a plan and holds it to the claim of the same plan with nothing wrong.

An audit that measures nothing outside the claims of sound plans shows something only if it
does so for these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gopa.adversary.privacy.coalitions import (
    FEWEST,
    LATE,
    NARROW,
    ORGANISER,
    RETRY_UNIFORM,
    ROLLBACK,
    TWO_GAUSSIAN,
    TWO_UNIFORM,
    UNIFORM,
    VETO,
)
from gopa.adversary.privacy.measuring import MeasuredView, claim_of, plan_label, world_of
from gopa.adversary.privacy.scenarios import ReleaseScenario, graph_of, most_exposed
from gopa.adversary.privacy.views import Masks, Release, World
from gopa.contract.terms import Terms
from wire.errors import UsageError

NOISE_FACTOR: Final = 4
NARROW_BITS: Final = 4
"""A uniform mask of so many bits is as wide as the noise, not as the words."""

_TRIES: Final = 1000

Break = Callable[[Terms, np.random.Generator], MeasuredView]


@dataclass(frozen=True, slots=True)
class Breakage:
    """One thing broken: `make` builds the game, with the claim of the sound plan."""

    name: str
    what: str
    terms: Callable[[], Terms]
    make: Break

    def view(self, rng: np.random.Generator) -> MeasuredView:
        """The game, under the name of what is wrong."""
        return replace(self.make(self.terms(), rng), name=self.name, coalition=self.what)


def _sound(view: MeasuredView | None) -> MeasuredView:
    if view is None:
        raise UsageError("these terms leave no room for the view that is to be broken", "terms")
    return view


def _in(view: MeasuredView, world: World) -> MeasuredView:
    """The same claim about another world."""
    return replace(view, world=world)


def small_noise(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """Every draw divided by four."""
    view = _sound(ORGANISER.view(terms, rng))
    return _in(view, replace(view.world, noise=view.world.noise.shrunk(NOISE_FACTOR)))


def narrow_gaussian(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """Masks of one step."""
    view = _sound(FEWEST.view(terms, rng))
    return _in(view, replace(view.world, masks=Masks(1)))


def narrow_uniform(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """Masks of a few bits, which do not wrap."""
    view = _sound(ORGANISER.view(terms, rng))
    return _in(view, replace(view.world, masks=Masks(0, NARROW_BITS)))


def small_k(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """One choice for each party: somebody has no honest neighbour."""
    few = replace(terms, k=1)
    corrupt = frozenset(range(terms.corrupt))
    for _ in range(_TRIES):
        graph = graph_of(few, terms.parties, rng)
        scenario = ReleaseScenario(graph, most_exposed(graph, corrupt, few), corrupt)
        if len(scenario.release().members) == 1:
            break
    sound = _sound(FEWEST.view(terms, rng))
    return MeasuredView("", plan_label(few), "", world_of(few, [scenario]), sound.claim)


def mask_fewer(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """One of the masks of the victim is missing, and no other honest party shares one with it."""
    view = _sound(FEWEST.view(terms, rng))
    only = view.world.releases[0]
    edge = (only.victim, int(only.graph.neighbours(only.victim)[0]))
    return _in(
        view, replace(view.world, releases=(replace(only, graph=only.graph.without([edge])),))
    )


def no_noise_after_dropout(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """Whoever has to open an edge publishes its value again, without noise."""
    scenario = ROLLBACK.build(terms, rng)[0]
    opening = {each for edge in scenario.opened for each in edge} - scenario.gone
    silent = frozenset(at for at, party in enumerate(scenario.honest) if party in opening)
    world = replace(
        world_of(terms, [scenario]), releases=(replace(scenario.release(), silent=silent),)
    )
    return MeasuredView("", plan_label(terms), "", world, claim_of(terms, [scenario], rng))


def both_secrets(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """A value that was rolled back has its self-mask opened too."""
    view = _sound(LATE.view(terms, rng))
    only = view.world.releases[0]
    return _in(view, replace(view.world, releases=(replace(only, closed=frozenset()),)))


def reused_masks(terms: Terms, rng: np.random.Generator) -> MeasuredView:
    """The victim drops out of the first attempt, its edges are opened, and serve again."""
    scenarios = VETO.build(terms, rng)
    claim = claim_of(terms, scenarios, rng)
    retry = scenarios[-1].release()
    known = [(retry.victim, int(each)) for each in retry.graph.neighbours(retry.victim)]
    world: World = world_of(terms, scenarios[-1:])
    again: Release = replace(retry, graph=retry.graph.without(known))
    return MeasuredView("", plan_label(terms), "", replace(world, releases=(again,)), claim)


BREAKAGES: Final[Sequence[Breakage]] = (
    Breakage("noise/4", "a quarter of the noise", lambda: UNIFORM.terms, small_noise),
    Breakage("narrow Gaussian", "masks of deviation 1", lambda: NARROW.terms, narrow_gaussian),
    Breakage("narrow uniform", "masks of 4 bits", lambda: UNIFORM.terms, narrow_uniform),
    Breakage("small k", "k = 1: a victim among colluders only", lambda: UNIFORM.terms, small_k),
    Breakage(
        "mask fewer", "the victim's last mask is missing", lambda: TWO_UNIFORM.terms, mask_fewer
    ),
    Breakage(
        "mask fewer, Gaussian",
        "the victim's last mask is missing",
        lambda: TWO_GAUSSIAN.terms,
        mask_fewer,
    ),
    Breakage(
        "no noise",
        "no noise of parties that lost a neighbour",
        lambda: UNIFORM.terms,
        no_noise_after_dropout,
    ),
    Breakage(
        "both secrets", "edges and self-mask of a late value", lambda: UNIFORM.terms, both_secrets
    ),
    Breakage(
        "masks reused",
        "edges opened in the attempt before",
        lambda: RETRY_UNIFORM.terms,
        reused_masks,
    ),
)
"""What `--broken` measures; every one of them is outside the claim."""


def broken_views(rng: np.random.Generator) -> list[MeasuredView]:
    """The games of all of them."""
    return [each.view(rng) for each in BREAKAGES]
