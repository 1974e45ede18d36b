"""The plan that `gopa.plan` returns, and the judge of what its terms are worth.

A plan has the numbers of a manifest, and the reason for each. Whoever receives terms judges them
anew, as a party does not trust a manifest's arithmetic: however many parties join, within the
terms, the same corrupt ones are among them and the same few may remain; the worst number decides.
Specification: `specs/03-privacy.md`, sections 8 and 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from textwrap import fill
from typing import Final

from gopa.contract.terms import Terms
from gopa.planning.neighbours.attendance import Attendance, never_above, worst_energy, worst_tries
from gopa.planning.neighbours.liveness import Liveness
from gopa.planning.noise.exposure import Exposure, delta_of, epsilon_by_release, most_summed
from gopa.planning.noise.rows import bounds_margin, shown_by_proofs
from gopa.planning.target import CORRUPT, GOOD_CHANCE, TOLERANCE, PathName, float_below
from gopa.planning.usefulness import terms_warning
from gopa.support.rounding import blur
from gopa.support.wording import hidden_among, promise_of
from wire.brief import Brief
from wire.errors import UsageError

_WIDTH: Final = 100
"""Columns of an explanation."""

_FEW: Final = 3
"""With fewer honest parties in an exact sum each of them knows the other's value."""


@dataclass(frozen=True, slots=True, repr=False)
class PlanReason(Brief):
    """One number of a plan with its name and its reason."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of the mean, in units of the input's range."""

    planned: float
    curator: float
    local: float


@dataclass(frozen=True, slots=True)
class PlanCost:
    """What one party pays in one round, estimated from measured costs of single steps."""

    peers: float
    bytes_posted: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """A plan that meets its target. `gopa.plan` makes it; `terms` goes into the manifest.

    Where `terms.epsilon` is None the exact sum is released, and what follows about delta is
    the chance that more than that sum gets out (`specs/03-privacy.md`, section 13). Else:
    for every set of at most `terms.corrupt` parties fixed before the coins, together with
    board and organiser, and for every number of parties that may join, everything they see
    is (epsilon, delta)-private towards each other party: `noise_delta` from the noise and
    masks, the rest from graphs worse than assumed. `beta` bounds the chance of each of
    `terms.tries` graphs to be one; `beta_recovery` is the part of it that stands for
    self-masks which corrupt neighbours could open, and `proofs_delta` is what proofs about long
    vectors give away. `liveness` says how likely a result is,
    `colluding` how many corrupt parties were asked for, as a count or a part of all. `wished` is
    the epsilon that was asked for where the plan keeps a smaller one.
    """

    terms: Terms
    noise_delta: float
    beta: float
    beta_recovery: float
    beta_method: str
    flow_energy: int
    errors: Errors
    cost: PlanCost
    liveness: Liveness
    reasons: tuple[PlanReason, ...]
    proofs_delta: float = 0.0
    colluding: float = CORRUPT
    wished: Decimal | None = None

    @property
    def path(self) -> PathName:
        """How full mode commits to vectors: number by number, or in rows with proved lengths."""
        return "rows" if self.terms.squared_norm else "bits"

    @property
    def total_delta(self) -> float:
        """Delta of all rounds and attempts, graphs included; at most `terms.delta`."""
        return self.noise_delta + self.proofs_delta + self.beta * self.terms.tries

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs this plan should know first; nothing for a good one."""
        chance, planned = self.liveness.session, self.errors.planned
        rare = f"the session gets a result with a chance of {chance:.2g} only"
        noisy = terms_warning(
            self.terms, planned, colluding=self.colluding, dropout=self.liveness.dropout
        )
        few = hidden_among(self.terms.honest) if self.terms.exact else ""
        return (
            *((rare,) if chance < GOOD_CHANCE else ()),
            *((noisy,) if noisy else ()),
            *((few,) if few and self.terms.honest < _FEW else ()),
        )

    def __repr__(self) -> str:
        terms = self.terms
        epsilon = None if terms.epsilon is None else f"{terms.epsilon:g}"
        promise = promise_of(epsilon, f"{float(terms.delta):g}")
        return (
            f"<Plan: {terms.parties} parties of whom {terms.corrupt} may collude, "
            f"{promise}, error of the mean "
            f"{blur(self.errors.planned)}; explain() says why>"
        )

    def _repr_html_(self) -> str:
        """What each number of the plan is and why, for notebooks."""
        from markupsafe import Markup

        cell = "style='text-align:left;vertical-align:top'"
        row = Markup(f"<tr><th {cell}>{{}}</th><td {cell}>{{}}</td><td {cell}>{{}}</td></tr>")  # noqa: S704
        rows = [row.format("warning", "", each) for each in self.warnings]
        rows += [row.format(each.name, each.value, each.why) for each in self.reasons]
        return str(Markup("<table>{}</table>").format(Markup().join(rows)))

    def explain(self) -> str:
        """What each number of the plan is and why, below its warnings."""
        width = max(len(reason.name) for reason in self.reasons)
        warned = [f"warning: {warning}" for warning in self.warnings]
        lines = [
            fill(
                f"{reason.name:<{width}}  {reason.value}: {reason.why}",
                width=_WIDTH,
                subsequent_indent=" " * (width + 2),
            )
            for reason in self.reasons
        ]
        return "\n".join([*warned, *lines])

    @property
    def mask_mu(self) -> float:
        """What the masks add to the shift, in deviations; 0 for uniform masks."""
        if self.terms.mask == "uniform":
            return 0.0
        return math.sqrt(self.flow_energy) * (1 + 1e-12) / self.terms.mask_deviation

    def epsilon_by_round(self) -> tuple[float, ...]:
        """What had been spent after each round, at the delta of all; infinite without noise.

        A session is charged as a whole: this says what of it a session that ends early has used.

        >>> import gopa
        >>> plan = gopa.plan(n=20, epsilon=2, delta=1e-6, rounds=3, dimension=4, norm=1)
        >>> [round(each, 1) for each in plan.epsilon_by_round()]
        [1.1, 1.6, 2.0]
        """
        terms = self.terms
        if terms.exact:
            return (math.inf,) * terms.rounds
        exposure = Exposure(
            honest=terms.honest,
            squared_sensitivity=terms.squared_sensitivity,
            largest_coordinate=terms.largest_coordinate,
            dimension=terms.dimension,
            epsilon=float(terms.promised_epsilon),
            delta=float(terms.delta),
            mask_mu=self.mask_mu,
            releases=terms.releases,
        )
        found = epsilon_by_release(exposure, terms.noise, self.noise_delta)
        return found[terms.composed - 1 :: terms.composed]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Delta of noise and masks over all releases, and what may fail in each of the graphs.

    `graph` bounds the probability of a graph worse than assumed, `recovery` that of a
    self-mask that corrupt neighbours can open. `energy` is the squared flow of masks (0
    for uniform ones). `proofs` is what proofs about long vectors give away in all.
    """

    noise: float
    graph: float
    recovery: float
    tries: int
    energy: int = 0
    proofs: float = 0.0

    @property
    def beta(self) -> float:
        """What may fail in one graph, for all parties at once."""
        return self.graph + self.recovery

    @property
    def total(self) -> float:
        """Delta of everything, at most 1."""
        return min(1.0, self.noise + self.proofs + self.beta * self.tries)


_LEAST_CHANCE: Final = 1e-300
"""Terms that grant bad graphs no chance are granted this one."""

NOTHING: Final = Guarantee(1.0, 1.0, 1.0, 1)


def guarantee(terms: Terms, joined: int | None = None) -> Guarantee:
    """What the terms give for every number of parties that may join, or for `joined` of them.

    The numbers are those of the worst case from `terms.survivors` to `terms.parties`, so
    they do not depend on `joined` while it is in that range; beyond it, and where nothing
    can be shown, delta is 1. Parties call this before they join, and go on only if
    `total` is within their own limit. That vectors stay within the terms' squared
    sensitivity has to be enforced elsewhere.
    """
    if joined is not None:
        if type(joined) is not int or joined < 0:
            raise UsageError("must be a number of parties that joined", "joined")
        # Outside of the range that was accounted for nothing is promised.
        if not terms.survivors <= joined <= terms.parties:
            return NOTHING
    return _guarantee(terms)


class Worth(Enum):
    """What a receiver finds out about the delta that terms claim."""

    KEPT = "kept"
    UNDECIDED = "too close to say"
    BROKEN = "broken"


def judge(terms: Terms) -> Worth:
    """Whether the terms keep their delta: decided in the same way by everybody (03-V35 to 03-V40).

    Between the two answers lies a band that no rounding crosses. A party joins no session
    whose terms lie in it, and an audit does not decide.
    """
    delta, margin = Fraction(terms.delta), bounds_margin(terms)
    # Bounds on noise that a party exceeds too often, or that would let liars add more.
    if margin < -TOLERANCE:
        return Worth.BROKEN
    if Fraction(_guarantee(terms, generous=True).total) > delta * (1 + TOLERANCE):
        return Worth.BROKEN
    kept = Fraction(_guarantee(terms).total) <= delta * (1 - TOLERANCE)
    return Worth.KEPT if kept and margin >= TOLERANCE else Worth.UNDECIDED


@lru_cache(maxsize=64)
def _guarantee(terms: Terms, *, generous: bool = False) -> Guarantee:
    """The guarantee; with `generous` bad graphs may be likelier by the tolerance."""
    attendance = attendance_of(terms)
    cut_off = attendance.is_random and terms.loss >= 2 * terms.k  # as many as it has on average
    too_wide = not terms.exact and terms.honest > most_summed(terms.noise)
    if cut_off or too_wide:
        return NOTHING  # it would take too long to show more
    granted = min(max(float(terms.beta), _LEAST_CHANCE), 0.5)
    less, more = (granted * float(1 + sign * TOLERANCE) for sign in (-1, 1))
    enough = more if generous else less
    chance = granted if attendance.is_random else 0.0
    energy, recovery = 0, 0.0
    if terms.mask == "uniform":
        if not never_above(attendance, "connection", enough):
            return NOTHING
    else:
        found = [worst_energy(attendance, units_of(terms), each) for each in (less, more)]
        energies = [each for each in found if each is not None]
        if not energies or (len(energies) < 2 and not generous):
            return NOTHING
        energy = min(energies) if generous else max(energies)
    if terms.threshold is not None:
        tries = worst_tries(terms.beacon)
        if not never_above(attendance, "recovery", enough, terms.threshold, tries):
            return NOTHING
        recovery = chance
    noise = 0.0
    try:
        # Masks of a connected graph show an exact sum and nothing else (03-V42): no noise counts.
        if not terms.exact:
            noise = delta_of_component(terms, terms.honest, energy, terms.releases)
    except UsageError:
        return NOTHING  # so many releases take too long to compose
    return Guarantee(noise, chance, recovery, terms.tries, energy, shown_by_proofs(terms))


def attendance_of(terms: Terms) -> Attendance:
    """Who may join under these terms."""
    recovery = terms.threshold is not None
    return Attendance(terms.survivors, terms.parties, terms.corrupt, terms.k, terms.loss, recovery)


def units_of(terms: Terms) -> int:
    """Unit shifts that a flow of masks carries at once, under these terms."""
    return unit_shifts(terms.dimension, terms.squared_sensitivity)


def unit_shifts(dimension: int, squared_sensitivity: int) -> int:
    """Unit shifts a flow carries at once: all steps for scalars, one for a coordinate."""
    return math.isqrt(squared_sensitivity) if dimension == 1 else 1


def delta_of_component(terms: Terms, parties: int, energy: int, releases: int) -> float:
    """Delta when `parties` honest parties are connected by masks with this flow energy.

    More parties than the terms count on are not followed further than their noise is
    summed up: more of them give more privacy. Without noise there is none to give.
    """
    if not parties or terms.exact:
        return 1.0
    if parties > terms.honest:
        parties = max(terms.honest, min(parties, most_summed(terms.noise)))
    squared = energy if terms.dimension == 1 else energy * terms.squared_sensitivity
    # Masks without width hide nothing that flows through them.
    if squared and not terms.mask_deviation:
        return 1.0
    exposure = Exposure(
        honest=parties,
        squared_sensitivity=terms.squared_sensitivity,
        largest_coordinate=terms.largest_coordinate,
        dimension=terms.dimension,
        epsilon=float_below(terms.promised_epsilon),
        delta=float_below(terms.delta),
        mask_mu=mask_price(squared, terms.mask_deviation),
        releases=releases,
    )
    return delta_of(exposure, terms.noise)


def mask_price(squared: int, deviation: int) -> float:
    """The shift, in deviations, that a squared flow of Gaussian masks adds; rounded up."""
    return math.sqrt(squared) * (1 + 1e-12) / deviation if squared else 0.0
