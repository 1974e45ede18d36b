"""The keywords of `gopa.average` and its like, and the plan that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypedDict

import numpy as np

from gopa.aggregation.engine import AnyScript, Coins, Mode, Seed, Trust
from gopa.aggregation.values import Absent, Value, values_of
from gopa.planning import Plan, plan
from gopa.planning.target import (
    CORRUPT,
    DROPOUT,
    NO_DELTA,
    Assumptions,
    Means,
    Number,
    no_such_keyword,
    python_number,
)
from wire.errors import UsageError


def exact(number: object, field: str) -> Decimal:
    """A number as the decimal that it is written as; `UsageError` if it is none."""
    try:
        return Decimal(str(number))
    except ArithmeticError:
        raise UsageError("must be a decimal number", field) from None


def ends_of(span: object) -> tuple[Decimal, Decimal]:
    """Both ends of a range; `UsageError` unless there are two, and finite."""
    given: Sequence[object] = ()
    if isinstance(span, (Sequence, np.ndarray)) and not isinstance(span, (str, bytes)):
        given = list(np.ravel(span)) if isinstance(span, np.ndarray) else span
    if len(given) != 2:
        raise UsageError("two numbers, the smallest and the largest input", "range")
    low, high = (exact(end, "range") for end in given)
    if not (low.is_finite() and high.is_finite()):
        raise UsageError("must be a finite decimal number", "range")
    return low, high


class RunOptions(TypedDict, total=False):
    """Keywords of `gopa.LocalAggregator`: how the round is carried out."""

    mode: Mode
    trust: Trust
    storage: str | Path | None
    seed: Seed
    script: AnyScript | None
    beacon: Coins
    progress: bool | None
    absent: Absent
    executor: Executor | None
    jobs: int


class PlanKeywords(RunOptions, Assumptions, Means, total=False):
    """Keywords of `gopa.average` and its like: where no plan is given the target of one."""

    epsilon: Number | None


_QUESTION: Final = ("range", "norm", "bins", "integers", "weights", "max_weight", "clip")
"""Keywords of which each function has some of its own."""

_RUN: Final = frozenset(RunOptions.__annotations__)
_TARGET: Final = frozenset(PlanKeywords.__annotations__) - _RUN


@dataclass(frozen=True, slots=True)
class AggregationRequest:
    """What the caller asked for: a target, or a plan, and settings."""

    given: Plan | None
    target: Mapping[str, Any]
    run: Mapping[str, Any]

    @classmethod
    def of(cls, given: Plan | None, options: Mapping[str, Any]) -> AggregationRequest:
        """The keywords sorted.

        Raises:
            UsageError: an unknown keyword; a plan and a target; or neither.
        """
        target = {name: value for name, value in options.items() if name not in _RUN}
        for name in target:
            if name not in _TARGET:
                raise no_such_keyword(name, [*_QUESTION, *PlanKeywords.__annotations__])
            if given is not None:
                raise UsageError("leave this out: the plan that is given says it already", name)
        # Nobody gets an exact sum by leaving something out: epsilon=None is written.
        exact = "epsilon" in target and target["epsilon"] is None
        if given is None and "epsilon" not in target:
            raise UsageError("give a plan, or epsilon and delta", "plan")
        if given is None and not exact and "delta" not in target:
            raise UsageError(NO_DELTA, "delta")
        run = {name: value for name, value in options.items() if name in _RUN}
        return cls(given, target, run)

    @property
    def rows_named(self) -> bool:
        """Whether lengths are to be proved row by row, whatever else there is."""
        return self.target.get("path") == "rows"

    def values(self, given: object) -> Sequence[Value | None]:
        """One value for each party; None for those that `absent` leaves out."""
        return values_of(given, self.run.get("absent", "none"))

    def plan(self, *, n: int, absent: int = 0, **fixed: Any) -> Plan:
        """The plan given, or one that meets the target for these inputs, mode and trust.

        Who is absent is known by now, and public: unless the caller names a dropout, it is at
        least the share of those, so that a column with gaps does not end without a result.

        Masks that may stay in the sum are as small as possible. Parties of
        this process fail only where a script says so: the chance of a result is not asked for
        unless the caller does, and the coins are nonces for any number of parties.

        Raises:
            UsageError: no plan meets the target.
        """
        if self.given is not None:
            return self.given
        mode, trust = self.run.get("mode", "full"), self.run.get("trust", "malicious")
        chosen: dict[str, Any] = {"mode": mode, "trust": trust, "least_chance": 0.0}
        if mode != "off":
            chosen["beacon"] = "commit-reveal"
        if trust == "honest-but-curious":
            chosen["objective"] = "masks"
        if absent in {0, n} or "dropout" in self.target:
            return plan(n=n, **{**chosen, **self.target, **fixed})
        chosen["dropout"] = max(DROPOUT, absent / n)
        if 2 * (n - absent) <= n + self._corrupt(n) + 1:
            chosen["recovery"] = None  # it needs more than half of the honest parties
        try:
            return plan(n=n, **{**chosen, **self.target, **fixed})
        except UsageError as error:
            if error.field != "corrupt" or 2 * absent < n:
                raise
            message = f"{n - absent} of {n} parties have a value, which is too few for a plan"
            hint = "leave those that never take part out of the list"
            raise UsageError(f"{message}: {hint}", "values") from None

    def _corrupt(self, parties: int) -> float:
        """About how many parties may collude; what is no number is for the planner to refuse."""
        share = python_number(self.target.get("corrupt", CORRUPT))
        if not isinstance(share, (int, float)):
            return 0
        return share * parties if isinstance(share, float) else share
