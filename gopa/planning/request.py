"""What the caller of `plan` asked for, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import get_args

from gopa.graph.choices import MOST_PARTIES
from gopa.planning.gaussian import check_target
from gopa.planning.losses import plan_losses
from gopa.planning.result import MaskLaw, NoiseName, Objective
from wire.errors import UsageError

Number = float | str | Decimal


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
        if not 0 <= dropout < 1:
            raise UsageError("a probability from 0 to below 1", "dropout")
        request = cls(
            parties=parties,
            exact_epsilon=_decimal(epsilon, "epsilon"),
            exact_delta=_decimal(delta, "delta"),
            corrupt=_corrupt(corrupt, parties),
            dropout=float(dropout),
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
        if self.high <= self.low:
            raise UsageError("the upper end is above the lower end", "range")
        if self.norm is not None and (self.norm <= 0 or self.dimension == 1):
            raise UsageError("a positive bound on the length of vectors", "norm")
        if self.honest < 2:
            message = (
                "fewer than two honest parties are certain to remain: "
                "lower `corrupt` or `dropout`, or enlist more parties"
            )
            raise UsageError(message, "corrupt")

    @property
    def epsilon(self) -> float:
        return float(self.exact_epsilon)

    @property
    def delta(self) -> float:
        return float(self.exact_delta)

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
    except InvalidOperation:
        raise UsageError("a decimal number", field) from None
    if not exact.is_finite():
        raise UsageError("a finite decimal number", field)
    return exact


def _corrupt(corrupt: float, parties: int) -> int:
    """A count, or a part of all parties; at least one party is assumed to be curious."""
    if type(corrupt) is int:
        count = corrupt
    elif type(corrupt) is float and 0 <= corrupt < 1:
        count = math.floor(corrupt * parties + 1e-9)
    else:
        raise UsageError("a number of parties, or a part of them from 0.0 to below 1.0", "corrupt")
    if not 0 <= count < parties:
        raise UsageError("fewer than all parties are corrupt", "corrupt")
    return max(1, count)
