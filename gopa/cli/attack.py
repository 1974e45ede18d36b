"""Runs `gopa attack`: each attack of the catalogue against a session of its own."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from gopa.adversary.attack import Attack, AttackResult
from gopa.adversary.library import ALL, chosen, of_family
from gopa.adversary.outcome import Catch, How
from gopa.adversary.running import load_attacks, run_all
from gopa.adversary.served import Unserved, needed_boards, servable
from gopa.cli.exits import FAILED_EXIT
from wire.errors import UsageError

_WIDTH: Final = 96
_COLUMNS: Final = (26, 26, 24, 8)


def head() -> str:
    """Gives the names of the columns of `line`."""
    return _columns("attack", "caught by", "who", "result")


def line(row: AttackResult) -> str:
    """Shows one attack as a line of a table, and on more lines what is wrong."""
    caught, *more = _by_rule(row.caught) or [("nothing", "")]
    lines = [_columns(row.attack, *caught, row.result)]
    lines += [_columns("", *each, "") for each in more]
    lines += [f"  ! {text}" for text in _wrong(row)]
    return "\n".join(each.rstrip() for each in lines)


def summary(rows: Sequence[AttackResult]) -> str:
    """Says how many attacks were caught as expected, and names the others."""
    held = sum(row.held for row in rows)
    if held == len(rows):
        what = "The attack" if held == 1 else f"All {held} attacks"
        return f"{what} failed and {'was' if held == 1 else 'were'} caught as expected."
    failed = ", ".join(row.attack for row in rows if not row.held)
    return f"{len(rows) - held} of {len(rows)} attacks were NOT caught as expected: {failed}"


def unfit_lines(unfit: Mapping[str, Unserved]) -> Iterator[str]:
    """Says how many attacks cannot be tried over HTTP, and why."""
    for why in Unserved:
        count = sum(each is why for each in unfit.values())
        if count:
            yield f"{count} not tried over HTTP, each because {why.value}."


def unfit_facts(unfit: Mapping[str, Unserved]) -> Iterator[str]:
    """Says the same for programs: one object for each attack."""
    for name, why in unfit.items():
        yield json.dumps({"attack": name, "unserved": why.name.lower(), "why": why.value})


def listing(chosen: Sequence[Attack]) -> str:
    """Lists names with what they try, family by family."""
    lines: list[str] = []
    for family in dict.fromkeys(each.family for each in chosen):
        lines.append(f"{family}:")
        for each in chosen:
            if each.family != family:
                continue
            lines += _wrapped(each.name, each.story.tries, indent=2)
    return "\n".join(lines) + "\n"


def story(attack: Attack) -> str:
    """Tells everything there is to know of one attack."""
    parts = (
        ("tries", attack.story.tries),
        ("caught", attack.story.caught),
        ("costs", attack.story.costs),
    )
    lines = [attack.name]
    for name, text in parts:
        lines += _wrapped(name, text, indent=2, column=10)
    return "\n".join([*lines, ""])


def facts(attack: Attack) -> dict[str, object]:
    """Tells the same for programs."""
    return {
        "name": attack.name,
        "family": attack.family,
        **asdict(attack.story),
        "expects": list(attack.expects),
    }


def row_facts(row: AttackResult) -> dict[str, object]:
    """Says what came of an attack, for programs."""
    caught = [
        {"rule": each.rule, "check": each.check, "who": each.who, "how": each.how.name.lower()}
        for each in row.caught
    ]
    return {**asdict(row), "caught": caught, "held": row.held}


def _by_rule(caught: Sequence[Catch]) -> list[tuple[str, str]]:
    """Rules in the order in which they were found, with all whom each of them caught."""
    found: dict[tuple[str, str, How], list[str]] = {}
    for each in caught:
        found.setdefault((each.rule, each.check, each.how), []).append(each.who)
    return [
        (
            f"check {check} [{rule}]" if check else f"[{rule}]",
            f"{', '.join(dict.fromkeys(who))} {how.value}",
        )
        for (rule, check, how), who in found.items()
    ]


def _wrong(row: AttackResult) -> Iterator[str]:
    if row.succeeded:
        yield "the attack succeeded"
    yield from row.harm
    for rule in row.missed:
        yield f"{rule} should have caught it"


def _columns(*texts: str) -> str:
    return " ".join(f"{text:<{width}}" for text, width in zip(texts, _COLUMNS, strict=True))


def _wrapped(name: str, text: str, *, indent: int, column: int = 28) -> list[str]:
    first = f"{'':<{indent}}{name:<{column - indent - 1}} "
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * column)


_HELP: Final = """Try attacks against sessions that are started for them, and see what catches them.

NAME is the name of an attack, of a family of them, or `all`. Every session is real (log,
masks, proofs, an audit at the end) and small; it takes place in this process, without a
network but for attacks by boards. With --served parties that lie do so over HTTP, too: on a real
board on 127.0.0.1, among real clients and with a real organiser. `gopa attack privacy` measures
what colluding parties learn, against what the plan claims.

\b
Examples:
  gopa attack --list --family noise
  gopa attack zero-noise
  gopa attack organiser replays
  gopa attack all --json
  gopa attack all --load my_attacks.py
  gopa attack zero-noise --served
  gopa attack --list --served

Exit codes: 0 everything was caught, 1 something was not, 2 wrong usage.
"""


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
@click.option("--family", metavar="FAMILY", help="Only attacks of this family.")
@click.option("--served", is_flag=True, help="Try attacks in sessions over HTTP on this machine.")
def attack(  # noqa: PLR0913 - the options
    names: tuple[str, ...],
    *,
    listed: bool,
    as_json: bool,
    jobs: int,
    load: tuple[Path, ...],
    family: str | None,
    served: bool,
) -> None:
    """See `_HELP`."""
    for path in load:
        load_attacks(path)
    if not names and not listed and family is None:
        raise UsageError("name an attack, a family, or `all`; `gopa attack --list` has them")
    asked = chosen(names or [ALL])
    if family is not None:
        asked = of_family(family, asked)
    asked, unfit = servable(asked, names) if served else (asked, {})
    if listed:
        _list(asked, as_json=as_json)
        return
    if served:
        needed_boards()
    if not as_json:
        _introduce(asked)
    rows: list[AttackResult] = []
    for row in run_all([each.name for each in asked], jobs=jobs, load=load, served=served):
        rows.append(row)
        click.echo(json.dumps(row_facts(row)) if as_json else line(row))
    for text in unfit_facts(unfit) if as_json else (summary(rows), *unfit_lines(unfit)):
        click.echo(text)
    if not all(row.held for row in rows):
        sys.exit(FAILED_EXIT)


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
