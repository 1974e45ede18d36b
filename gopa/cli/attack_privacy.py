"""Runs `gopa attack privacy`: prints what coalitions learn, measured against what is claimed."""

from __future__ import annotations

import json
import math
import secrets
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click
import numpy as np

from gopa.adversary.privacy import (
    CONFIDENCE,
    MeasuredView,
    ViewComparison,
    ViewResult,
    broken_views,
    default_views,
    links,
    measure_all,
    read_plan,
    views_of,
)
from gopa.cli.exits import FAILED_EXIT

_COLUMNS: Final = (22, 46, 14, 14, 9, 7)


def measured_with(confidence: float, seed: int) -> str:
    """Says what the bounds of the first table are worth."""
    return f"All bounds hold together with confidence {confidence:g}. Seed {seed}.\n"


def head() -> str:
    """Gives the names of the columns of `line`."""
    return _columns("view", "the coalition has", "claim", "at least", "draws", "notices", "verdict")


def line(row: ViewResult) -> str:
    """Shows one view, on as many lines as its description needs."""
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


def verdict(row: ViewResult) -> str:
    """Says in words whether a view is inside its claim; a claim of delta 1 says nothing."""
    if row.view.claim.delta >= 1:
        return "nothing is claimed"
    return "inside the claim" if row.inside else "OUTSIDE THE CLAIM"


def broken_title() -> str:
    """Gives the words in front of the second table."""
    return "\nPlans with one thing wrong, held to the claim of the sound one:\n"


def link_line(found: ViewComparison) -> str:
    """Shows how one kind of real session compares with its simulation."""
    verdict = "as simulated" if found.holds else "NOT AS SIMULATED"
    values = f"{found.values - found.wrong} of {found.values} values to the bit"
    fits = f"laws p = {_chance(found.totals)}, {_chance(found.singles)}"
    return f"  {found.name:<36} {found.rounds:>4} rounds, {values}, {fits}: {verdict}"


def summary(
    rows: Sequence[ViewResult], broken: Sequence[ViewResult], compared: Sequence[ViewComparison]
) -> str:
    """Gives the last lines: how many of each kind came out as they should."""
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


def row_facts(row: ViewResult) -> dict[str, object]:
    """Shows one view for programs; `notices` is null where no excess would be noticed."""
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
        "counts": {"epsilon": asdict(measured.for_epsilon), "delta": asdict(measured.for_delta)},
        "notices": row.noticed if math.isfinite(row.noticed) else None,
        "inside": row.inside,
    }


def link_facts(found: ViewComparison) -> dict[str, object]:
    """Shows one kind of session for programs."""
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


_HELP: Final = """Measure what colluding parties learn, against what a plan claims.

The victim's input is 0 or the largest. A coalition with all its own secrets and the whole
log guesses which, by the best test there is, over many simulated views. What it achieves is
a lower bound on epsilon (at the claimed delta) and on delta (at the claimed epsilon); all
bounds of a table hold together with the stated confidence. Inside the claim proves nothing;
`notices` says how much too small the noise would have to be to be found out.

Real sessions tie the simulation to the protocol: from their logs everything is taken off
that a coalition can take off, and what is left is compared bit by bit.

\b
Examples:
  gopa attack privacy
  gopa attack privacy --broken
  gopa plan -n 50 --epsilon 1 --delta 0.01 --json > plan.json
  gopa attack privacy --plan plan.json --draws 500000

Exit codes: 0 inside the claims, 1 outside, 2 wrong usage.
"""

_BROKEN_SHARE: Final = 10
"""Plans that are broken are found out with a tenth of the views."""

_BROKEN_DRAWS: Final = 20_000
_FEWEST_DRAWS: Final = 10_000


@click.command(help=_HELP)
@click.option(
    "--draws",
    type=click.IntRange(100, 100_000_000),
    help="Views of each input; as many as take about a second each, without it.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=CONFIDENCE,
    show_default=True,
    help="That all bounds of a table hold.",
)
@click.option(
    "--plan",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A plan of your own, as `gopa plan --json` prints it.",
)
@click.option("--broken", is_flag=True, help="Also plans with one thing wrong, to be found out.")
@click.option(
    "--sessions",
    type=click.IntRange(0, 10_000),
    default=20,
    show_default=True,
    help="Rounds of real sessions of each kind to compare with.",
)
@click.option("--seed", type=click.IntRange(0), help="Makes the run reproducible.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def privacy(  # noqa: PLR0913 - one argument for each option
    *,
    draws: int | None,
    confidence: float,
    path: Path | None,
    broken: bool,
    sessions: int,
    seed: int | None,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    seed = secrets.randbits(64) if seed is None else seed
    rng = np.random.default_rng(seed)
    views = default_views(rng) if path is None else views_of(read_plan(path), rng)
    screen = _Screen(as_json)
    screen.say(measured_with(confidence, seed))
    rows = screen.rows(views, measure_all(views, rng, draws=draws, confidence=confidence))
    bad: list[ViewResult] = []
    if broken:
        few = _BROKEN_DRAWS if draws is None else max(_FEWEST_DRAWS, draws // _BROKEN_SHARE)
        screen.say(broken_title())
        wrong = broken_views(rng)
        bad = screen.rows(wrong, measure_all(wrong, rng, draws=few, confidence=confidence))
    compared = screen.links(links(sessions, rng) if sessions else ())
    good = (
        all(row.inside for row in rows)
        and not any(row.inside for row in bad)
        and all(each.holds for each in compared)
    )
    if as_json:
        found = {
            "seed": seed,
            "confidence": confidence,
            "views": [row_facts(row) for row in rows],
            "broken": [row_facts(row) for row in bad],
            "sessions": [link_facts(each) for each in compared],
            "inside": good,
        }
        click.echo(json.dumps(found))
    screen.say(summary(rows, bad, compared))
    if not good:
        sys.exit(FAILED_EXIT)


class _Screen:
    """Prints rows as they are found, unless there is to be JSON."""

    def __init__(self, as_json: bool) -> None:
        self._quiet = as_json

    def say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)

    def rows(self, views: Iterable[MeasuredView], found: Iterable[ViewResult]) -> list[ViewResult]:
        """All rows under a head, those of one plan under its label."""
        self.say(head())
        rows: list[ViewResult] = []
        label = ""
        for view, row in zip(views, found, strict=True):
            if view.plan != label:
                label = view.plan
                self.say(f"{label}:")
            self.say(line(row))
            rows.append(row)
        return rows

    def links(self, found: Iterable[ViewComparison]) -> list[ViewComparison]:
        compared: list[ViewComparison] = []
        for each in found:
            if not compared:
                self.say("\nreal sessions:")
            self.say(link_line(each))
            compared.append(each)
        return compared
