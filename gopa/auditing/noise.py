"""Says whether an answer that a report repeats is mostly noise, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gopa.auditing.report import SessionReport
from gopa.planning.usefulness import BlurredAnswer, noise_warning
from gopa.support.rounding import blur


@dataclass(frozen=True, slots=True)
class ReadTerms:
    """Holds what a report says about the plan of a session, as it says it."""

    parties: int
    corrupt: int
    fewest: int
    dimension: int
    low: str
    high: str
    epsilon: str
    delta: str


def warning_of(session: SessionReport, errors: Sequence[str]) -> str:
    """What whoever reads a result with these standard errors should know; empty if it is clear."""
    if session.exact:
        return ""
    terms = ReadTerms(
        parties=session.parties,
        corrupt=session.corrupt,
        fewest=session.fewest,
        dimension=session.dimension,
        low=session.low,
        high=session.high,
        epsilon=session.epsilon,
        delta=session.delta,
    )
    return warning(terms, errors)


def warning(terms: ReadTerms, errors: Sequence[str]) -> str:
    """The same of a report in JSON; empty where what stands there are no numbers."""
    try:
        error = max(map(float, errors), default=0.0)
        width = float(terms.high) - float(terms.low)
        epsilon, delta = float(terms.epsilon), float(terms.delta)
    except (OverflowError, ValueError):
        return ""
    if not (width > 0 and error >= 0):
        return ""
    answer = BlurredAnswer(
        parties=terms.parties,
        corrupt=terms.corrupt,
        survivors=terms.fewest,
        dimension=terms.dimension,
        epsilon=epsilon,
        delta=delta,
        recovers=2 * terms.fewest > terms.parties + terms.corrupt,
        error=error / width,
    )
    return noise_warning(answer, blur(error), terms.low, terms.high)
