"""Computes the privacy cost of a finished round: the graph is known, the corrupt set still is not.

Known graphs protect a party by the honest parties and unknown masks around it; Gaussian masks
have a price on a known graph. Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from gopa.contract.terms import Terms, coin_choices
from gopa.graph.articulation import smallest_piece_without_one
from gopa.graph.flows import spectral_flow_energy, worst_flow_energy
from gopa.graph.spectrum import certified_spectrum
from gopa.graph.structure import Graph
from gopa.planning.noise.rows import shown_by_proofs
from gopa.planning.result import delta_of_component, guarantee, units_of
from gopa.support.wording import counted
from wire.brief import Brief
from wire.errors import UsageError
from wire.randomness import Rng

EXACT: Final = 1000
"""Exact flows are computed while units times squared parties stay below this."""

SPECTRUM_FAILURE: Final = 1e-12
"""The chance that a random vector missed a small eigenvalue; it is added to delta."""


def flow_energy(graph: Graph, units: int, rng: Rng) -> int:
    """The worst squared flow of `units` between two parties of a connected graph.

    Exact for small graphs, a bound from the certified spectrum otherwise, and always at
    most what one path gives: units^2 times the number of edges of a tree.
    """
    if units * graph.parties**2 <= EXACT:
        return worst_flow_energy(graph, units)
    spectrum = certified_spectrum(graph, rng, failure=SPECTRUM_FAILURE)
    bound = spectral_flow_energy(graph, spectrum, units)
    path = units * units * (graph.parties - 1)
    return path if bound is None else min(bound, path)


MOST_SEARCHED: Final = 2_000_000
"""Edges that are searched one by one, in seconds."""


@dataclass(frozen=True, slots=True)
class Protection:
    """The flow energy of `parties` connected honest parties, but for `failure`.

    Without an energy nothing is shown.
    """

    parties: int
    energy: int | None
    failure: float
    how: str


def protections(graph: Graph, terms: Terms, rng: Rng) -> list[Protection]:
    """One for each component, when all of `graph` are honest and its masks unknown."""
    found = []
    labels = graph.components()
    for label, size in zip(*np.unique(labels, return_counts=True), strict=True):
        energy, failure = 0, 0.0
        if terms.mask == "gaussian" and size > 1:
            members = np.flatnonzero(labels == label)
            # The same object, whose spectrum is known when it is asked for again.
            component = graph if size == graph.parties else graph.induced(members)
            energy = flow_energy(component, units_of(terms), rng)
            failure = SPECTRUM_FAILURE
        how = f"theorem D on a component of {size} parties"
        found.append(Protection(int(size), energy, failure, how))
    return found


def without_any_one(graph: Graph, terms: Terms, rng: Rng) -> Protection:
    """What remains whichever party is taken out.

    With uniform masks only connections count, and a search finds the smallest piece
    exactly. Gaussian masks, and graphs too large to search, take what the spectrum
    shows: lambda_2 falls by at most one. That is pessimistic.
    """
    if terms.mask == "uniform" and graph.edge_count <= MOST_SEARCHED:
        size = smallest_piece_without_one(graph)
        return Protection(size, 0, 0.0, f"theorem D on the smallest piece, {size} parties")
    spectrum = certified_spectrum(graph, rng)
    if spectrum.low <= 1:
        how = f"lambda_2 is only shown to be at least {spectrum.low:.3g}"
        return Protection(0, None, 0.0, how)
    energy: int | None = 0
    how = f"theorem D with lambda_2 at least {spectrum.low - 1:.3g} without any one party"
    if terms.mask == "gaussian":
        energy = spectral_flow_energy(graph, spectrum, units_of(terms), removed=1)
    if energy is None:
        how = "the spectrum of the graph does not bound the flow"
    return Protection(graph.parties - 1, energy, spectrum.failure, how)


def worst(terms: Terms, releases: Sequence[list[Protection]]) -> tuple[float, str]:
    """Delta for the worst party over all releases, and how it was found.

    One release: the worst component. Several: who was where is not followed, so every
    release counts as if it had the fewest parties and the largest energy of them all.
    """
    every = [protection for release in releases for protection in release]
    if not every:
        return 0.0, "nobody"
    unknown = next((one for one in every if one.energy is None), None)
    if unknown is not None:
        return 1.0, unknown.how
    failure = sum(max((one.failure for one in release), default=0.0) for release in releases)
    if len(releases) == 1:
        delta, how = max((_delta(terms, one, 1), one.how) for one in every)
        return min(1.0, delta + failure), how
    smallest = min(every, key=lambda one: one.parties)
    energy = max(one.energy or 0 for one in every)
    together = Protection(smallest.parties, energy, 0.0, "")
    how = f"{len(releases)} releases composed, each as {smallest.how}"
    return min(1.0, _delta(terms, together, len(releases)) + failure), how


def _delta(terms: Terms, protection: Protection, releases: int) -> float:
    energy = protection.energy or 0
    shown = delta_of_component(terms, protection.parties, energy, releases)
    return min(1.0, shown + shown_by_proofs(terms))


MOST_ENUMERATED: Final = 64
"""Up to here every single party is taken out in turn, when masks are Gaussian."""

LENGTH_UNPROVED: Final = (
    "vectors keep to the planned length, which is not proved: full mode proves the range of every "
    "coordinate"
)

Coins: TypeAlias = Literal["commit-reveal", "drand", "simulation"]


@dataclass(frozen=True, slots=True, repr=False)
class RoundFacts(Brief):
    """The public facts of one round, by position in the list of joined parties.

    `graph` is the graph of the round over everybody who joined; `included` are the
    parties in the result; `opened` the edges whose masks were opened; `unmasked` the
    parties whose self-mask was opened; `void` the edges that masked nothing, because their
    ends never agreed: one of the two is corrupt. `earlier` are the earlier releases of the same
    logical round, which count too: same inputs, other graphs. `corrupt` names the
    corrupt parties where a simulation knows them. `assumptions` are further ones that
    the statement repeats.
    """

    terms: Terms
    graph: Graph
    included: tuple[int, ...]
    opened: tuple[tuple[int, int], ...] = ()
    void: tuple[tuple[int, int], ...] = ()
    unmasked: tuple[int, ...] = ()
    earlier: tuple[RoundFacts, ...] = ()
    coins: Coins = "commit-reveal"
    witnessed: bool = False
    corrupt: tuple[int, ...] | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def releases(self) -> tuple[RoundFacts, ...]:
        """All releases of the logical round, this one last."""
        return (*self.earlier, self)


@dataclass(frozen=True, slots=True, repr=False)
class DeltaClaim(Brief):
    """A delta against one kind of adversary; 1 where nothing is established.

    `beta` is the part of it that pays for graphs worse than assumed: 0 where the graph
    itself was accounted for.
    """

    against: str
    delta: float
    how: str
    beta: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class PrivacyStatement(Brief):
    """Everything a result says about privacy."""

    epsilon: float
    claims: tuple[DeltaClaim, ...]
    survivors: int
    noise: str
    table_hash: bytes
    mask: str
    steps: int
    rolled_back: int
    releases: int
    assumptions: tuple[str, ...]


class PrivacyOfRounds:
    """Privacy after the fact: `privacy.of(outcome)`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<gopa.privacy: privacy.of(outcome) says what a round has cost>"

    def of(self, outcome: RoundFacts, *, rng: Rng) -> PrivacyStatement:
        """The privacy cost of this round, against each kind of adversary, with its assumptions.

        `rng` draws the random vector that certifies large spectra. An outcome that
        contradicts itself raises `UsageError`, and so does one without noise; one that broke
        the plan's limits gets claims of delta 1 that say which limit.
        """
        _check(outcome)
        terms = outcome.terms
        unknown = [_unknown_masks(release, ()) for release in outcome.releases]
        claims = [_planned_claim(outcome), _observer_claim(outcome, unknown, rng)]
        claims.append(_curious_claim(outcome, unknown, rng))
        if outcome.corrupt is not None:
            claims.append(_known_claim(outcome, rng))
        return PrivacyStatement(
            epsilon=float(terms.promised_epsilon),
            claims=tuple(claims),
            survivors=len(outcome.included),
            noise=type(terms.noise).__name__,
            table_hash=terms.noise.table_hash(),
            mask=terms.mask,
            steps=terms.steps,
            rolled_back=len(outcome.opened),
            releases=len(outcome.releases),
            assumptions=_assumptions(outcome),
        )


privacy = PrivacyOfRounds()


def _check(outcome: RoundFacts) -> None:
    included, everybody = set(outcome.included), range(outcome.graph.parties)
    if len(included) != len(outcome.included) or not included <= set(everybody):
        raise UsageError("included parties are distinct positions in the list", "included")
    if not set(outcome.unmasked) <= included:
        raise UsageError("a self-mask was opened for a party outside the result", "unmasked")
    if not set(outcome.corrupt or ()) <= set(everybody):
        raise UsageError("corrupt parties are positions in the list", "corrupt")
    for name, pairs in (("opened", outcome.opened), ("void", outcome.void)):
        for first, second in pairs:
            if first not in everybody or second not in outcome.graph.neighbours(first):
                raise UsageError("only edges of the graph are opened or void", name)
    for other in outcome.earlier:
        if other.terms != outcome.terms or other.earlier:
            raise UsageError("earlier releases have the same terms and are listed flat", "earlier")
        if (other.corrupt is None) != (outcome.corrupt is None):
            raise UsageError("corrupt parties are named for all releases or none", "earlier")
        _check(other)


def _unknown_masks(outcome: RoundFacts, corrupt: Iterable[int]) -> Graph:
    """The masks nobody else knows: unopened edges between honest parties of the result.

    An edge inside the result that somebody opened against the rules is no mask any more,
    and a void one never was.
    """
    keep = set(outcome.included) - set(corrupt)
    useless = {*outcome.opened, *outcome.void}
    inside = [edge for edge in useless if keep.issuperset(edge)]
    graph = outcome.graph.without(inside) if inside else outcome.graph
    return graph.induced(sorted(keep))


def _observer_claim(outcome: RoundFacts, unknown: Sequence[Graph], rng: Rng) -> DeltaClaim:
    groups = [protections(graph, outcome.terms, rng) for graph in unknown]
    against = "even if the board, the organiser and everyone outside the result collude"
    return DeltaClaim(against, *worst(outcome.terms, groups))


def _known_claim(outcome: RoundFacts, rng: Rng) -> DeltaClaim:
    groups = [
        protections(_unknown_masks(release, release.corrupt or ()), release.terms, rng)
        for release in outcome.releases
    ]
    against = f"even if the {len(outcome.corrupt or ())} named parties collude"
    return DeltaClaim(against, *worst(outcome.terms, groups))


def _curious_claim(outcome: RoundFacts, unknown: Sequence[Graph], rng: Rng) -> DeltaClaim:
    """Each single party: the graph without it, whichever it is."""
    groups = [
        _without_any_one(release, graph, rng)
        for release, graph in zip(outcome.releases, unknown, strict=True)
    ]
    return DeltaClaim("against any single curious party", *worst(outcome.terms, groups))


def _without_any_one(outcome: RoundFacts, unknown: Graph, rng: Rng) -> list[Protection]:
    if outcome.terms.mask == "uniform" or len(outcome.included) > MOST_ENUMERATED:
        return [without_any_one(unknown, outcome.terms, rng)]
    return [
        protection
        for party in outcome.included
        for protection in protections(_unknown_masks(outcome, (party,)), outcome.terms, rng)
    ]


def _planned_claim(outcome: RoundFacts) -> DeltaClaim:
    """Any set of at most c parties fixed before the coins.

    Delta is computed from the terms, not copied from them: they may promise too much.
    """
    terms = outcome.terms
    against = "even if the planned number of parties, the board and the organiser collude"
    broken = next(filter(None, map(_broken_limit, outcome.releases)), "")
    if len(outcome.releases) > terms.charged + 1:
        broken = (
            f"{counted(len(outcome.releases), 'release')} where the plan allows {terms.charged + 1}"
        )
    if broken:
        return DeltaClaim(against, 1.0, broken)
    found = guarantee(terms)
    how = (
        f"the plan's theorem for any {terms.survivors} to {terms.parties} parties that join; "
        "beta is contained in delta"
    )
    return DeltaClaim(against, found.total, how, min(1.0, found.beta * found.tries))


def _broken_limit(outcome: RoundFacts) -> str:
    terms = outcome.terms
    joined = outcome.graph.parties
    if not terms.survivors <= joined <= terms.parties:
        return f"{joined} joined where the plan is for {terms.survivors} to {terms.parties}"
    if terms.threshold is not None and terms.beacon == "drand" and outcome.coins != "drand":
        return "coins that somebody may have picked where the plan counts on a beacon"
    if len(outcome.included) < terms.survivors:
        return f"{len(outcome.included)} survivors where the plan needs {terms.survivors}"
    return _broken_masks(outcome)


def _broken_masks(outcome: RoundFacts) -> str:
    terms = outcome.terms
    shown = _corrupt_for_certain(outcome.void)
    if shown > terms.corrupt:
        return f"void edges show {shown} corrupt parties where the plan allows {terms.corrupt}"
    inside = np.zeros(outcome.graph.parties, dtype=np.int64)
    inside[list(outcome.included)] = 1
    if any(inside[first] and inside[second] for first, second in outcome.opened):
        return "a mask between two parties of the result was opened"
    lost = outcome.graph.adjacency() @ (1 - inside)
    worst_loss = int(max((lost[party] for party in outcome.included), default=0))
    if worst_loss > terms.loss:
        return f"a party lost {worst_loss} neighbours where the plan allows {terms.loss}"
    return ""


def _corrupt_for_certain(void: Iterable[tuple[int, int]]) -> int:
    """Void edges without a common end have a corrupt end each: as many as a greedy search finds."""
    seen: set[int] = set()
    for edge in void:
        if seen.isdisjoint(edge):
            seen.update(edge)
    return len(seen) // 2


def _chosen(outcome: RoundFacts) -> str:
    """Among how many coins liars choose; whoever runs a simulation has as many as it likes."""
    if outcome.coins == "simulation":
        return ""
    found = coin_choices(outcome.terms)
    return (
        f"; corrupt parties choose among 2^{found.helped_bits:.2f} of them in all attempts if "
        f"organiser and board help them, among 2^{found.alone_bits:.2f} alone: it moves their own "
        f"noise by about {found.shift:.1f} of its standard deviations at most, and nobody else's"
    )


def _assumptions(outcome: RoundFacts) -> tuple[str, ...]:
    terms = outcome.terms
    lines = [
        f"at most {terms.corrupt} of {terms.parties} parties are corrupt",
        "discrete logarithms in ristretto255 are hard and the key-derived streams look random",
        f"coins: {outcome.coins}{_chosen(outcome)}",
    ]
    if terms.bounds_length and not terms.squared_norm:
        lines.append(LENGTH_UNPROVED)
    if not outcome.witnessed:
        lines.append("single view of the log assumed for coins and for exclusion of entries")
    if len(outcome.unmasked) < len(outcome.included):
        missing = len(outcome.included) - len(outcome.unmasked)
        lines.append(
            f"{counted(missing, 'self-mask')} stayed closed; the claims do not count on them"
        )
    if terms.rounds > 1:
        lines.append(
            f"a party whose input is the same in all {terms.rounds} rounds has the claim of the "
            "plan; the other claims are about this round"
        )
    return (*lines, *outcome.assumptions)
