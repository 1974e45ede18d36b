"""What the caller of `plan` asked for, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, get_args

from gopa.graph.choices import MOST_PARTIES
from gopa.planning.gaussian import check_target
from gopa.planning.losses import plan_losses
from gopa.planning.result import MaskLaw, NoiseName, Objective, float_below
from wire.errors import UsageError

Number = float | str | Decimal

LEAST_DELTA: Final = Decimal("1e-20")
_MOST_DIGITS = 40
_LARGEST_EXPONENT = 60


@dataclass(frozen=True, slots=True)
class Request:
    """A target in the planner's own types. `Request.checked` makes one."""

    parties: int
    exact_epsilon: Decimal
    exact_delta: Decimal
    corrupt: int
    dropout: float
    low: Decimal
    high: Decimal
    dimension: int
    norm: Decimal | None
    rounds: int
    mask: MaskLaw
    noise: NoiseName
    objective: Objective
    steps: int | None
    charged: int
    attempts: int

    @classmethod
    def checked(  # noqa: PLR0913 - mirrors `plan`
        cls,
        *,
        parties: int,
        epsilon: Number,
        delta: Number,
        corrupt: float,
        dropout: float,
        low: Number,
        high: Number,
        dimension: int,
        norm: Number | None,
        rounds: int,
        mask: MaskLaw,
        noise: NoiseName,
        objective: Objective,
        steps: int | None,
        charged: int,
        attempts: int,
    ) -> Request:
        """The same target with every field checked; the first wrong one is named."""
        _integer(parties, 3, MOST_PARTIES, "n")
        _integer(dimension, 1, 2**20, "dimension")
        _integer(rounds, 1, 10_000, "rounds")
        _integer(charged, 0, 100, "charged")
        _integer(attempts, charged + 1, 1000, "attempts")
        if steps is not None:
            _integer(steps, 1, 2**40, "steps")
        _choice(mask, get_args(MaskLaw), "mask")
        _choice(noise, get_args(NoiseName), "noise")
        _choice(objective, get_args(Objective), "objective")
        request = cls(
            parties=parties,
            exact_epsilon=_decimal(epsilon, "epsilon"),
            exact_delta=_decimal(delta, "delta"),
            corrupt=_corrupt(corrupt, parties),
            dropout=_probability(dropout),
            low=_decimal(low, "range"),
            high=_decimal(high, "range"),
            dimension=dimension,
            norm=None if norm is None else _decimal(norm, "norm"),
            rounds=rounds,
            mask=mask,
            noise=noise,
            objective=objective,
            steps=steps,
            charged=charged,
            attempts=attempts,
        )
        request._check()
        return request

    def _check(self) -> None:
        check_target(self.epsilon, self.delta)
        if self.exact_delta < LEAST_DELTA:
            message = f"delta is at least {LEAST_DELTA}: cryptography promises no more"
            raise UsageError(message, "delta")
        if self.high <= self.low:
            raise UsageError("the upper end is above the lower end", "range")
        if self.norm is not None and self.norm <= 0:
            raise UsageError("the bound on the length of vectors is above 0", "norm")
        if self.norm is not None and self.dimension == 1:
            raise UsageError("single numbers are bounded by `range`: leave out `norm`", "norm")
        if self.honest < 2:
            message = (
                "fewer than two honest parties are certain to remain: "
                "lower `corrupt` or `dropout`, or enlist more parties"
            )
            raise UsageError(message, "corrupt")

    @property
    def epsilon(self) -> float:
        """Never above the target as written."""
        return float_below(self.exact_epsilon)

    @property
    def delta(self) -> float:
        """Never above the target as written."""
        return float_below(self.exact_delta)

    @property
    def survivors(self) -> int:
        """The fewest parties with which a round may end."""
        return plan_losses(self.parties, 1, self.dropout).survivors

    @property
    def honest(self) -> int:
        """Honest survivors, when every corrupt party is among the survivors."""
        return self.survivors - self.corrupt

    @property
    def releases(self) -> int:
        return self.rounds * (self.charged + 1)

    @property
    def range_sensitivity(self) -> float:
        """How far one party can move the sum, in units of the range, before rounding."""
        box = float(self.high - self.low) * math.sqrt(self.dimension)
        return box if self.norm is None else min(box, 2 * float(self.norm))


def _integer(value: int, low: int, high: int, field: str) -> None:
    if type(value) is not int or not low <= value <= high:
        raise UsageError(f"an integer from {low} to {high}", field)


def _choice(value: str, allowed: tuple[str, ...], field: str) -> None:
    if value not in allowed:
        raise UsageError(f"one of {', '.join(allowed)}", field)


def _decimal(value: Number, field: str) -> Decimal:
    """The exact decimal that the caller wrote: 0.1 means one tenth."""
    try:
        exact = Decimal(str(value))
    except (InvalidOperation, ValueError):
        raise UsageError("a decimal number", field) from None
    if not exact.is_finite():
        raise UsageError("a finite decimal number", field)
    exponent = 0 if exact.is_zero() else abs(exact.adjusted())
    if len(exact.as_tuple().digits) > _MOST_DIGITS or exponent > _LARGEST_EXPONENT:
        message = (
            f"at most {_MOST_DIGITS} digits, and between 1e-{_LARGEST_EXPONENT} "
            f"and 1e{_LARGEST_EXPONENT}"
        )
        raise UsageError(message, field)
    return exact


def _probability(value: float) -> float:
    """The chance that a party fails: a real number, not a string or a truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise UsageError("a probability from 0 to below 1", "dropout")
    return float(value)


def _corrupt(corrupt: float, parties: int) -> int:
    """A count, or a part of all parties; at least one party is assumed to be curious."""
    if type(corrupt) is int:
        count = corrupt
    elif type(corrupt) is float and 0 <= corrupt < 1:
        count = math.floor(corrupt * parties + 1e-9)
    else:
        raise UsageError("a number of parties, or a part of them from 0.0 to below 1.0", "corrupt")
    if not 0 <= count < parties:
        raise UsageError("from 0 parties to one less than all of them", "corrupt")
    return max(1, count)
