"""What `gopa attack privacy` prints."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from gopa.adversary.privacy import Link, Row

_COLUMNS: Final = (22, 46, 14, 14, 9, 7)


def measured_with(confidence: float, seed: int) -> str:
    """What the bounds of the first table are worth."""
    return f"All bounds hold together with confidence {confidence:g}. Seed {seed}.\n"


def head() -> str:
    """The names of the columns of `line`."""
    return _columns("view", "the coalition has", "claim", "at least", "draws", "notices", "verdict")


def line(row: Row) -> str:
    """One view, on as many lines as its description needs."""
    measured, claim = row.measured, row.view.claim
    first, *more = textwrap.wrap(row.view.coalition, _COLUMNS[1])
    return "\n".join(
        [
            _columns(
                f"  {row.view.name}",
                first,
                _pair(claim.epsilon, claim.delta),
                _pair(measured.epsilon, measured.delta),
                str(measured.draws),
                _factor(row.noticed),
                verdict(row),
            ),
            *(_columns("", each).rstrip() for each in more),
        ]
    )


def verdict(row: Row) -> str:
    """In words; a claim of delta 1 says nothing."""
    if row.view.claim.delta >= 1:
        return "nothing is claimed"
    return "inside the claim" if row.inside else "OUTSIDE THE CLAIM"


def broken_title() -> str:
    """In front of the second table."""
    return "\nPlans with one thing wrong, held to the claim of the sound one:\n"


def link_line(found: Link) -> str:
    """One kind of real session."""
    verdict = "as simulated" if found.holds else "NOT AS SIMULATED"
    values = f"{found.values - found.wrong} of {found.values} values to the bit"
    fits = f"laws p = {_chance(found.totals)}, {_chance(found.singles)}"
    return f"  {found.name:<36} {found.rounds:>4} rounds, {values}, {fits}: {verdict}"


def summary(rows: Sequence[Row], broken: Sequence[Row], compared: Sequence[Link]) -> str:
    """The last lines."""
    outside = [row.view.name for row in rows if not row.inside]
    parts = [
        f"{len(rows) - len(outside)} of {len(rows)} views are inside their claims"
        + (f"; OUTSIDE: {', '.join(outside)}" if outside else "")
    ]
    if broken:
        missed = [row.view.name for row in broken if row.inside]
        parts.append(
            f"{len(broken) - len(missed)} of {len(broken)} broken plans were found out"
            + (f"; MISSED: {', '.join(missed)}" if missed else "")
        )
    if compared:
        wrong = [each.name for each in compared if not each.holds]
        parts.append(
            f"{len(compared) - len(wrong)} of {len(compared)} kinds of sessions are as simulated"
            + (f"; OTHERS: {', '.join(wrong)}" if wrong else "")
        )
    return "\n" + "\n".join(f"{part}." for part in parts)


def row_facts(row: Row) -> dict[str, object]:
    """One view for programs; `notices` is null where no excess would be noticed."""
    measured = row.measured
    return {
        "view": row.view.name,
        "plan": row.view.plan,
        "coalition": row.view.coalition,
        "claim": asdict(row.view.claim),
        "at_least": {"epsilon": measured.epsilon, "delta": measured.delta},
        "draws": measured.draws,
        "risk": measured.risk,
        "test": measured.test,
        "counts": {
            "epsilon": asdict(measured.for_epsilon),
            "delta": asdict(measured.for_delta),
        },
        "notices": row.noticed if math.isfinite(row.noticed) else None,
        "inside": row.inside,
    }


def link_facts(found: Link) -> dict[str, object]:
    """One kind of session for programs."""
    return {**asdict(found), "holds": found.holds}


def _chance(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _pair(epsilon: float, delta: float) -> str:
    return f"{epsilon:.3g}, {delta:.2g}"


def _factor(noticed: float) -> str:
    return f"{noticed:.2f}x" if math.isfinite(noticed) else "nothing"


def _columns(*texts: str) -> str:
    widths = (*_COLUMNS, 0)[: len(texts)]
    return " ".join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=True))
