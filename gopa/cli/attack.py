"""`gopa attack`: the catalogue of attacks, each run against a session of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from gopa.adversary.attack import Attack, Row
from gopa.adversary.library import ALL, chosen
from gopa.adversary.running import load_attacks, run_all
from gopa.adversary.served import needed_boards, servable
from gopa.cli.attack_output import (
    facts,
    head,
    line,
    listing,
    row_facts,
    story,
    summary,
    unfit_facts,
    unfit_lines,
)
from wire.errors import UsageError

_HELP: Final = """Try attacks against sessions that are started for them, and see what catches them.

NAME is the name of an attack, of a family of them, or `all`. Every session is real (log,
masks, proofs, an audit at the end) and small; it takes place in this process, without a
network but for attacks by boards. With --served parties that lie do so over HTTP, too: on a real
board on 127.0.0.1, among real clients and with a real organiser. `gopa attack privacy` measures
what colluding parties learn, against what the plan claims.

\b
Examples:
  gopa attack --list
  gopa attack zero-noise
  gopa attack organiser replays
  gopa attack all --json
  gopa attack all --load my_attacks.py
  gopa attack zero-noise --served
  gopa attack --list --served

Exit codes: 0 everything was caught, 1 something was not, 2 wrong usage.
"""

_MISSED_EXIT: Final = 1


class _Attack(click.Command):
    """`privacy` is a command of its own, with other options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        if args[:1] != ["privacy"]:
            return super().make_context(info_name, args, parent, **extra)
        from gopa.cli.attack_privacy import privacy

        return privacy.make_context(f"{info_name} privacy", args[1:], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


@click.command(cls=_Attack, help=_HELP)
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--list", "listed", is_flag=True, help="Say which attacks there are, and run none.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each attack.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that run attacks at once.",
)
@click.option(
    "--load",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A Python file with attacks of your own; may be given more than once.",
)
@click.option(
    "--served",
    is_flag=True,
    help="Try attacks in sessions over HTTP on this machine; needs gopa[session].",
)
def attack(  # noqa: PLR0913 - the options
    names: tuple[str, ...],
    *,
    listed: bool,
    as_json: bool,
    jobs: int,
    load: tuple[Path, ...],
    served: bool,
) -> None:
    """See `_HELP`."""
    for path in load:
        load_attacks(path)
    if not names and not listed:
        raise UsageError("name an attack, a family, or `all`; `gopa attack --list` has them")
    asked = chosen(names or [ALL])
    asked, unfit = servable(asked, names) if served else (asked, {})
    if listed:
        _list(asked, as_json=as_json)
        return
    if served:
        needed_boards()
    if not as_json:
        _introduce(asked)
    rows: list[Row] = []
    for row in run_all([each.name for each in asked], jobs=jobs, load=load, served=served):
        rows.append(row)
        click.echo(json.dumps(row_facts(row)) if as_json else line(row))
    for text in unfit_facts(unfit) if as_json else (summary(rows), *unfit_lines(unfit)):
        click.echo(text)
    if not all(row.held for row in rows):
        sys.exit(_MISSED_EXIT)


def _list(asked: Sequence[Attack], *, as_json: bool) -> None:
    if as_json:
        for each in asked:
            click.echo(json.dumps(facts(each)))
        return
    click.echo(listing(asked), nl=False)


def _introduce(asked: Sequence[Attack]) -> None:
    """What is tried, where it is one attack; else the head of the table."""
    if len(asked) == 1:
        click.echo(story(asked[0]))
    click.echo(head())
