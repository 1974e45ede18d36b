"""Lists the coalitions whose views are measured; each builds its scenarios from a plan's terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.adversary.privacy.claims import MeasuredView, claim_of, plan_label, world_of
from gopa.adversary.privacy.scenarios import ReleaseScenario, graph_of, most_exposed, removable
from gopa.contract.terms import Terms

Build = Callable[[Terms, np.random.Generator], Sequence[ReleaseScenario]]


@dataclass(frozen=True, slots=True)
class Coalition:
    """Is a kind of view. `build` makes its scenarios, none where the terms leave no room for it."""

    name: str
    what: Callable[[Sequence[ReleaseScenario]], str]
    build: Build

    def view(self, terms: Terms, rng: np.random.Generator) -> MeasuredView | None:
        """The game with its claim; None where the terms leave no room for it."""
        scenarios = self.build(terms, rng)
        if not scenarios:
            return None
        claim = claim_of(terms, scenarios, rng)
        world = world_of(terms, scenarios)
        return MeasuredView(self.name, plan_label(terms), self.what(scenarios), world, claim)


def neighbours_but_one(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The party with the fewest neighbours, and all of these but one.

    They are picked when the graph is known, so only the account of the named parties
    applies, unless they are as few as planned.
    """
    graph = graph_of(terms, terms.parties, rng)
    victim = int(np.argmin(graph.degrees))
    colluding = frozenset(graph.neighbours(victim)[1:].tolist())
    return [ReleaseScenario(graph, victim, colluding)] if colluding else []


def fewest_honest(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """As few as possible joined, and as many of them as planned collude."""
    graph = graph_of(terms, terms.survivors, rng)
    corrupt = _first(terms)
    return [ReleaseScenario(graph, most_exposed(graph, corrupt, terms), corrupt)]


def organiser_and_neighbours(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The organiser sees the graph and keeps honest neighbours of the victim out."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    first = [each for each in graph.neighbours(victim).tolist() if each not in corrupt]
    rest = [each for each in range(graph.parties) if each not in set(first)]
    gone = removable(graph, first + rest, terms, kept={victim, *corrupt})
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def after_rollback(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """Honest parties drop out behind their commits; their edges are opened."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    gone = removable(graph, _shuffled(graph.parties, rng), terms, kept={victim, *corrupt})
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def late_value(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """The victim publishes behind the close: its edges are opened, and its value is on the log."""
    graph = graph_of(terms, terms.parties, rng)
    corrupt = _first(terms)
    victim = most_exposed(graph, corrupt, terms)
    gone = removable(graph, [victim], terms)
    return [ReleaseScenario(graph, victim, corrupt, gone)] if gone else []


def retried(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """A colluding party sees every seed but its own opened, and keeps that: a veto.

    It is barred from the next attempt, which another one of them vetoes, as often as
    attempts are charged.
    """
    scenarios: list[ReleaseScenario] = []
    victim = terms.corrupt
    for veto in range(min(terms.charged, terms.corrupt) + 1):
        joined = terms.parties - veto
        if joined < terms.survivors:
            break
        corrupt = frozenset(range(terms.corrupt - veto))
        graph = graph_of(terms, joined, rng)
        gone = removable(graph, _shuffled(joined, rng), terms, kept={victim - veto, *corrupt})
        scenarios.append(ReleaseScenario(graph, victim - veto, corrupt, gone))
    return scenarios if len(scenarios) > 1 else []


def recovered(terms: Terms, rng: np.random.Generator) -> list[ReleaseScenario]:
    """Releases where the victim stops after its confirmation, so that shares open its self-mask."""
    return after_rollback(terms, rng) if terms.threshold is not None else []


def _first(terms: Terms) -> frozenset[int]:
    """Corrupt parties fixed before the coins: the first ones, as a graph treats all alike."""
    return frozenset(range(terms.corrupt))


def _shuffled(count: int, rng: np.random.Generator) -> list[int]:
    found: list[int] = rng.permutation(count).tolist()
    return found


def _without_neighbours(scenarios: Sequence[ReleaseScenario]) -> str:
    degree = len(scenarios[0].graph.neighbours(scenarios[0].victim))
    return f"{degree - 1} of the victim's {degree} neighbours"


def _all_but(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"all parties but {len(scenarios[0].honest)} honest ones"


def _organised(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    around = set(only.graph.neighbours(only.victim).tolist())
    return (
        f"organiser, {len(only.corrupt)} parties ({len(around & only.corrupt)} of "
        f"{len(around)} neighbours); {len(around & only.gone)} more kept out"
    )


def _dropped(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    return (
        f"{len(only.corrupt)} parties, {len(only.opened)} edges opened after {len(only.gone)} left"
    )


def _exposed(scenarios: Sequence[ReleaseScenario]) -> str:
    only = scenarios[0]
    degree = len(only.graph.neighbours(only.victim))
    return f"{len(only.corrupt)} parties, a value behind the close and its {degree} edges opened"


def _twice(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"{len(scenarios[0].corrupt)} parties and {len(scenarios)} results from the same inputs"


def _with_shares(scenarios: Sequence[ReleaseScenario]) -> str:
    return f"{_dropped(scenarios)}; the victim's self-mask from shares"


NEIGHBOURS: Final = Coalition("neighbours", _without_neighbours, neighbours_but_one)
FEWEST: Final = Coalition("fewest honest", _all_but, fewest_honest)
ORGANISER: Final = Coalition("organiser", _organised, organiser_and_neighbours)
ROLLBACK: Final = Coalition("rollback", _dropped, after_rollback)
LATE: Final = Coalition("late value", _exposed, late_value)
VETO: Final = Coalition("veto", _twice, retried)
RECOVERY: Final = Coalition("recovery", _with_shares, recovered)

COALITIONS: Final = (NEIGHBOURS, FEWEST, ORGANISER, ROLLBACK, LATE, VETO, RECOVERY)
"""Every kind of view, in the order in which they are reported."""


def views_of(terms: Terms, rng: np.random.Generator) -> list[MeasuredView]:
    """All views that these terms leave room for."""
    found = [each.view(terms, rng) for each in COALITIONS]
    return [view for view in found if view is not None]
