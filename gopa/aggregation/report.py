"""A result in words: short lines for a person, one name and one text each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gopa.aggregation.structure import flat
from gopa.planning import PrivacyStatement
from gopa.planning.outcome import LENGTH_UNPROVED

if TYPE_CHECKING:
    from gopa.aggregation.result import Result

_SHOWN = 6


def report_lines(result: Result) -> list[tuple[str, str]]:
    """What a person wants to know first."""
    lines = [*result.headlines(), ("parties", _parties(result))]
    if result.weight is not None and result.weight_stderr is not None:
        lines.append(("weight", f"{result.weight:.6g} +- {result.weight_stderr:.2g} in all"))
    lines.extend(_changes(result))
    if result.attempts > 1:
        lines.append(("attempts", f"{result.attempts}, {result.vetoes} after masked values"))
    if result.organiser_vetoes:
        lines.append(("VETOED", f"{result.organiser_vetoes} attempts, by the organiser"))
    lines.extend(_privacy(result.privacy))
    lines.append(("mode", _mode(result)))
    return lines


def numbers(mean: Any, deviation: Any) -> str:
    """A value with its standard errors, the first few numbers of it."""
    means, errors = flat(mean), flat(deviation)
    if len(means) == 1:
        return f"{means[0]:.6g} +- {errors[0]:.2g}"
    shown = ", ".join(f"{number:.4g}" for number in means[:_SHOWN])
    more = f", .. {len(means)} numbers" if len(means) > _SHOWN else ""
    low, high = float(np.min(errors)), float(np.max(errors))
    blur = f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"
    return f"{shown}{more}, each +- {blur}"


def _parties(result: Result) -> str:
    everybody = result.count + len(result.excluded)
    if not result.excluded:
        return f"all {everybody}"
    causes = Counter((lost.phase, lost.cause) for lost in result.excluded)
    reasons = ", ".join(
        f"{count} {cause.lower()} at {phase.lower()}" for (phase, cause), count in causes.items()
    )
    undone = f"; masks of {len(result.rolled_back)} opened" if result.rolled_back else ""
    return f"{result.count} of {everybody} ({reasons}{undone})"


def _changes(result: Result) -> Iterator[tuple[str, str]]:
    if result.clipped:
        yield "clipped", f"{result.clipped} numbers were outside the range"
    if result.scaled:
        yield "scaled", f"{result.scaled} vectors were too long"


def _privacy(statement: PrivacyStatement | None) -> Iterator[tuple[str, str]]:
    """One line for each adversary, and what it rests on."""
    if statement is None:
        yield "privacy", "no claim"
        return
    head = "privacy"
    for claim in statement.claims:
        worth = f"epsilon {statement.epsilon:g}, delta {claim.delta:.2g}"
        yield head, f"{worth} against {claim.against}"
        head = ""
    yield "assumed", statement.assumptions[0]
    if LENGTH_UNPROVED in statement.assumptions:
        yield "", LENGTH_UNPROVED


def _mode(result: Result) -> str:
    said = {
        "full": "full: inputs in range and noise drawn are proved",
        "signed": "signed: inputs and noise are NOT proved",
        "off": "off: an experiment without a log; nothing can be checked",
    }[result.mode]
    trust = "" if result.trust == "malicious" else ", honest but curious: liars are not found"
    simulated = ", simulation" if result.simulation else ""
    return f"{said}{trust}{simulated}"
