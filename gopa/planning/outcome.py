"""What a finished round gave away: the graph is known now, the corrupt set still is not.

Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np

from gopa.graph.flows import spectral_flow_energy
from gopa.graph.spectrum import certified_spectrum
from gopa.graph.structure import Graph
from gopa.planning.accountant import delta_of_rounds, delta_of_vectors
from gopa.planning.component import SPECTRUM_FAILURE, flow_energy
from gopa.planning.noise_sum import noise_sum
from gopa.planning.result import Terms
from wire.errors import UsageError
from wire.randomness import Rng

MOST_ENUMERATED: Final = 64
"""Up to here every single party is taken out in turn."""

Coins: TypeAlias = Literal["commit-reveal", "drand", "simulation"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The public facts of one round, by position in the list of joined parties.

    `graph` is the graph of the round; `included` are the parties in the result;
    `opened` the edges whose masks were opened; `unmasked` the parties whose self-mask
    was opened. `charged` counts the releases this logical round has had, this one
    included. `corrupt` names the corrupt parties where a simulation knows them.
    """

    terms: Terms
    graph: Graph
    included: tuple[int, ...]
    opened: tuple[tuple[int, int], ...] = ()
    unmasked: tuple[int, ...] = ()
    charged: int = 1
    coins: Coins = "commit-reveal"
    witnessed: bool = False
    corrupt: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """Delta against one kind of adversary; 1 where nothing is established."""

    against: str
    delta: float
    beta: float
    how: str


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Everything a result says about privacy."""

    epsilon: float
    claims: tuple[Claim, ...]
    survivors: int
    noise: str
    table_hash: bytes
    mask: str
    steps: int
    rolled_back: int
    releases: int
    assumptions: tuple[str, ...]


class Privacy:
    """Privacy after the fact: `privacy.of(outcome)`."""

    __slots__ = ()

    def of(self, outcome: Outcome, *, rng: Rng) -> PrivacyStatement:
        """What this round gave away, against each kind of adversary, with its assumptions.

        `rng` draws the random vector that certifies large spectra. An outcome that
        contradicts itself raises `UsageError`; one that broke the plan's limits gets
        claims of delta 1 that say which limit.
        """
        _check(outcome)
        terms = outcome.terms
        claims = [_planned_claim(outcome), _observer_claim(outcome, rng)]
        claims.append(_curious_claim(outcome, rng))
        if outcome.corrupt is not None:
            claims.append(_known_claim(outcome, outcome.corrupt, rng))
        return PrivacyStatement(
            epsilon=float(terms.epsilon),
            claims=tuple(claims),
            survivors=len(outcome.included),
            noise=type(terms.noise).__name__,
            table_hash=terms.noise.table_hash(),
            mask=terms.mask,
            steps=terms.steps,
            rolled_back=len(outcome.opened),
            releases=outcome.charged,
            assumptions=_assumptions(outcome),
        )


privacy = Privacy()


def _check(outcome: Outcome) -> None:
    included = set(outcome.included)
    if len(included) != len(outcome.included) or not included <= set(range(outcome.graph.parties)):
        raise UsageError("included parties are distinct positions in the list", "included")
    if not set(outcome.unmasked) <= included:
        raise UsageError("a self-mask was opened for a party outside the result", "unmasked")
    if any(u in included and v in included for u, v in outcome.opened):
        raise UsageError("a mask between two parties of the result was opened", "opened")
    if outcome.charged < 1:
        raise UsageError("a round that ended released something once", "charged")


def delta_on(graph: Graph, terms: Terms, releases: int, rng: Rng) -> tuple[float, str]:
    """Delta when all of `graph` are honest and its masks unknown: the worst component."""
    labels = graph.components()
    worst, how = 0.0, "nobody"
    for label, size in zip(*np.unique(labels, return_counts=True), strict=True):
        members = np.flatnonzero(labels == label)
        energy, failure = 0, 0.0
        if terms.mask == "gaussian" and size > 1:
            energy = flow_energy(graph.induced(members), _units(terms), rng)
            failure = SPECTRUM_FAILURE
        delta = min(1.0, _delta(terms, int(size), energy, releases) + failure)
        if delta > worst or how == "nobody":
            worst, how = delta, f"theorem D on a component of {size} parties"
    return worst, how


def _units(terms: Terms) -> int:
    return math.isqrt(terms.squared_sensitivity) if terms.dimension == 1 else 1


@lru_cache(maxsize=256)
def _delta(terms: Terms, parties: int, energy: int, releases: int) -> float:
    squared = energy if terms.dimension == 1 else energy * terms.squared_sensitivity
    mu = math.sqrt(squared) * (1 + 1e-12) / terms.mask_deviation if energy else 0.0
    noise = noise_sum(terms.noise, parties)
    epsilon = float(terms.epsilon)
    if terms.dimension == 1:
        shift = math.isqrt(terms.squared_sensitivity)
        return delta_of_rounds(noise, shift, epsilon, mask_mu=mu, releases=releases)
    return delta_of_vectors(
        noise,
        terms.squared_sensitivity,
        terms.steps,
        epsilon,
        dimension=terms.dimension,
        mask_mu=mu,
        releases=releases,
    )


def _honest_graph(outcome: Outcome, corrupt: tuple[int, ...]) -> Graph:
    """The masks nobody else knows: unopened edges between honest parties of the result."""
    gone = set(corrupt)
    keep = [party for party in outcome.included if party not in gone]
    return outcome.graph.induced(keep)


def _observer_claim(outcome: Outcome, rng: Rng) -> Claim:
    graph = _honest_graph(outcome, ())
    delta, how = delta_on(graph, outcome.terms, outcome.charged, rng)
    return Claim("board, organiser and everyone outside the result", delta, 0.0, how)


def _known_claim(outcome: Outcome, corrupt: tuple[int, ...], rng: Rng) -> Claim:
    graph = _honest_graph(outcome, corrupt)
    delta, how = delta_on(graph, outcome.terms, outcome.charged, rng)
    return Claim(f"the {len(corrupt)} named parties together", delta, 0.0, how)


def _curious_claim(outcome: Outcome, rng: Rng) -> Claim:
    """Each single party: the graph without it, whichever it is."""
    against = "each single curious party"
    if len(outcome.included) > MOST_ENUMERATED:
        delta, how = _delta_without_one(outcome, rng)
        return Claim(against, delta, 0.0, how)
    worst, how = 0.0, "nobody"
    for party in outcome.included:
        graph = _honest_graph(outcome, (party,))
        delta, reason = delta_on(graph, outcome.terms, outcome.charged, rng)
        if delta >= worst:
            worst, how = delta, reason
    return Claim(against, worst, 0.0, how)


def _delta_without_one(outcome: Outcome, rng: Rng) -> tuple[float, str]:
    """Whichever party is taken out, lambda_2 falls by at most one."""
    terms = outcome.terms
    graph = _honest_graph(outcome, ())
    spectrum = certified_spectrum(graph, rng)
    if spectrum.low <= 1:
        return 1.0, f"lambda_2 is only shown to be at least {spectrum.low:.3g}"
    energy = 0
    if terms.mask == "gaussian":
        found = spectral_flow_energy(graph, spectrum, _units(terms), removed=1)
        if found is None:
            return 1.0, "the spectrum of the graph does not bound the flow"
        energy = found
    how = f"theorem D with lambda_2 at least {spectrum.low - 1:.3g} without any one party"
    delta = _delta(terms, graph.parties - 1, energy, outcome.charged) + spectrum.failure
    return min(1.0, delta), how


def _planned_claim(outcome: Outcome) -> Claim:
    """Any set of at most c parties fixed before the coins: the plan's own probability."""
    terms = outcome.terms
    against = f"any {terms.corrupt} parties fixed before the coins, with board and organiser"
    broken = _broken_limit(outcome)
    if broken:
        return Claim(against, 1.0, 0.0, broken)
    beta = float(terms.beta) * terms.attempts
    delta = float(terms.delta)
    return Claim(against, delta, beta, "the plan's theorem; its beta is contained in delta")


def _broken_limit(outcome: Outcome) -> str:
    terms = outcome.terms
    if len(outcome.included) < terms.survivors:
        return f"{len(outcome.included)} survivors where the plan needs {terms.survivors}"
    if outcome.charged > terms.charged + 1:
        return f"{outcome.charged} releases where the plan allows {terms.charged + 1}"
    inside = np.zeros(outcome.graph.parties, dtype=np.int64)
    inside[list(outcome.included)] = 1
    lost = outcome.graph.adjacency() @ (1 - inside)
    worst = int(max((lost[party] for party in outcome.included), default=0))
    if worst > terms.loss:
        return f"a party lost {worst} neighbours where the plan allows {terms.loss}"
    return ""


def _assumptions(outcome: Outcome) -> tuple[str, ...]:
    terms = outcome.terms
    lines = [
        f"at most {terms.corrupt} of {terms.parties} parties are corrupt",
        "discrete logarithms in ristretto255 are hard and the key-derived streams look random",
        f"coins: {outcome.coins}",
    ]
    if not outcome.witnessed:
        lines.append("single view of the log assumed for coins and for exclusion of entries")
    if len(outcome.unmasked) < len(outcome.included):
        missing = len(outcome.included) - len(outcome.unmasked)
        lines.append(f"{missing} self-masks stayed closed; the claims do not count on them")
    return tuple(lines)
