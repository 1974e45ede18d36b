"""`gopa attack privacy`: what coalitions learn, measured against what is claimed."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
import numpy as np

from gopa.adversary.privacy import (
    CONFIDENCE,
    Link,
    Row,
    View,
    broken_views,
    house_views,
    links,
    measure_all,
    read_plan,
    views_of,
)
from gopa.cli.privacy_output import (
    broken_title,
    head,
    line,
    link_facts,
    link_line,
    measured_with,
    row_facts,
    summary,
)

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

_OUTSIDE_EXIT: Final = 1
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
    views = house_views(rng) if path is None else views_of(read_plan(path), rng)
    screen = _Screen(as_json)
    screen.say(measured_with(confidence, seed))
    rows = screen.rows(views, measure_all(views, rng, draws=draws, confidence=confidence))
    bad: list[Row] = []
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
        sys.exit(_OUTSIDE_EXIT)


class _Screen:
    """Prints rows as they are found, unless there is to be JSON."""

    def __init__(self, as_json: bool) -> None:
        self._quiet = as_json

    def say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)

    def rows(self, views: Iterable[View], found: Iterable[Row]) -> list[Row]:
        """All rows under a head, those of one plan under its label."""
        self.say(head())
        rows: list[Row] = []
        label = ""
        for view, row in zip(views, found, strict=True):
            if view.plan != label:
                label = view.plan
                self.say(f"{label}:")
            self.say(line(row))
            rows.append(row)
        return rows

    def links(self, found: Iterable[Link]) -> list[Link]:
        compared: list[Link] = []
        for each in found:
            if not compared:
                self.say("\nreal sessions:")
            self.say(link_line(each))
            compared.append(each)
        return compared
