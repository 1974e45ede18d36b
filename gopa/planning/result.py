"""The plan that `gopa.plan` returns: numbers for a manifest, and the reason for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from textwrap import fill
from typing import Final

from gopa.contract.terms import Terms
from gopa.planning.exposure import Exposure, epsilon_by_release
from gopa.planning.liveness import Liveness
from gopa.planning.target import CORRUPT, GOOD_CHANCE, PathName
from gopa.planning.usefulness import terms_warning
from gopa.support.rounding import blur
from gopa.support.wording import hidden_among, promise_of
from wire.brief import Brief

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
