"""Lists the plans that are audited without a plan of one's own: small, loose enough to measure.

A claimed delta of 0.05 makes an excess of a few percent visible in some seconds; a delta
of one in a million could not be measured with a million views. One plan of that kind is
there all the same: it shows how much less an audit notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gopa.adversary.privacy.claims import MeasuredView
from gopa.adversary.privacy.coalitions import (
    FEWEST,
    LATE,
    NEIGHBOURS,
    ORGANISER,
    RECOVERY,
    ROLLBACK,
    VETO,
    Coalition,
)
from gopa.planning.planner import plan
from gopa.planning.terms import Terms

if TYPE_CHECKING:
    import numpy as np


EPSILON: Final = "1"
DELTA: Final = "0.05"


@dataclass(frozen=True, slots=True)
class AuditedPlan:
    """Names a plan to audit, and which views of it are measured."""

    options: tuple[tuple[str, Any], ...]
    coalitions: tuple[Coalition, ...]

    @classmethod
    def of(cls, *coalitions: Coalition, **options: Any) -> AuditedPlan:
        return cls(tuple(options.items()), coalitions)

    @property
    def terms(self) -> Terms:
        """Planned once in a process."""
        return _planned(self.options)


@lru_cache(maxsize=64)
def _planned(options: tuple[tuple[str, Any], ...]) -> Terms:
    standard: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "charged": 0, "attempts": 1}
    return plan(**(standard | dict(options))).terms


_AROUND: Final = (NEIGHBOURS, ORGANISER, ROLLBACK, LATE)
_MANY: Final = {"n": 24, "corrupt": 10}
_TWO: Final = {"n": 6, "corrupt": 4, "dropout": 0}
_RETRY: Final = {"n": 16, "corrupt": 4, "charged": 1, "attempts": 2}
_VECTOR: Final = {"n": 8, "corrupt": 2, "dropout": 0, "dimension": 4}

UNIFORM: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="uniform")
GAUSSIAN: Final = AuditedPlan.of(*_AROUND, **_MANY, mask="gaussian", objective="peers")
TWO_UNIFORM: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform")
TWO_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_TWO, mask="gaussian")
RETRY_UNIFORM: Final = AuditedPlan.of(VETO, **_RETRY, mask="uniform")
RETRY_GAUSSIAN: Final = AuditedPlan.of(VETO, **_RETRY, mask="gaussian")
RECOVERING: Final = AuditedPlan.of(RECOVERY, n=12, corrupt=2, recovery="2/3", mask="gaussian")
VECTOR_UNIFORM: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="uniform")
VECTOR_GAUSSIAN: Final = AuditedPlan.of(FEWEST, **_VECTOR, mask="gaussian")
NARROW: Final = AuditedPlan.of(FEWEST, **_MANY, mask="gaussian", objective="masks")
SMALL_DELTA: Final = AuditedPlan.of(FEWEST, **_TWO, mask="uniform", delta="1e-6")

HOUSES: Final = (
    UNIFORM,
    GAUSSIAN,
    TWO_UNIFORM,
    TWO_GAUSSIAN,
    RETRY_UNIFORM,
    RETRY_GAUSSIAN,
    NARROW,
    RECOVERING,
    VECTOR_UNIFORM,
    VECTOR_GAUSSIAN,
    SMALL_DELTA,
)


def default_views(rng: np.random.Generator) -> list[MeasuredView]:
    """The views of a default audit."""
    found = [each.view(house.terms, rng) for house in HOUSES for each in house.coalitions]
    return [view for view in found if view is not None]
