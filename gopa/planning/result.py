"""What a plan is: numbers for a manifest, and the reason for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from zkp.noise_table import NoiseLaw

MaskLaw: TypeAlias = Literal["gaussian", "uniform"]
NoiseName: TypeAlias = Literal["gaussian", "binomial", "irwin-hall"]
Objective: TypeAlias = Literal["error", "peers", "masks"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One number of a plan and why it is what it is."""

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Terms:
    """The part of a plan that a manifest repeats: integers, exact decimals, bytes, names."""

    parties: int
    corrupt: int
    survivors: int
    loss: int
    k: int
    dimension: int
    low: Decimal
    high: Decimal
    steps: int
    squared_sensitivity: int
    noise: NoiseLaw
    mask: MaskLaw
    mask_deviation: int
    epsilon: Decimal
    delta: Decimal
    beta: Decimal
    rounds: int
    charged: int
    attempts: int

    @property
    def honest(self) -> int:
        """Survivors may include every corrupt party: so many honest ones are certain."""
        return self.survivors - self.corrupt

    @property
    def releases(self) -> int:
        """Results computed from the same input, composed."""
        return self.rounds * (self.charged + 1)


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of the mean, in units of the input's range."""

    planned: float
    curator: float
    local: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What one party pays in one round. Estimates, from measured costs of single steps."""

    peers: float
    bytes_posted: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that meets its target. `gopa.plan` makes it; `terms` goes into the manifest.

    For every set of at most `terms.corrupt` parties fixed before the coins, together with
    board and organiser, everything they see is (epsilon, delta)-private towards each other
    party: `noise_delta` from the noise and masks, the rest from graphs worse than assumed.
    """

    terms: Terms
    noise_delta: float
    beta: float
    beta_method: str
    flow_energy: int
    errors: Errors
    cost: Cost
    reasons: tuple[Reason, ...]

    @property
    def total_delta(self) -> float:
        """Delta of all rounds and attempts, graphs included; at most `terms.delta`."""
        return self.noise_delta + self.beta * self.terms.attempts * self.terms.rounds

    @property
    def mask_mu(self) -> float:
        """What the masks add to the shift, in deviations; 0 for uniform masks."""
        if self.terms.mask == "uniform":
            return 0.0
        return math.sqrt(self.flow_energy) * (1 + 1e-12) / self.terms.mask_deviation


def float_below(value: Decimal) -> float:
    """The largest float that is not above `value`: targets are met as written, not as rounded."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > Fraction(value) else nearest


def decimal_above(value: float, digits: int = 3) -> Decimal:
    """A short decimal that is at least `value`, for bounds that go into a manifest."""
    return Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
