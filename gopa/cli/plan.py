"""The command `gopa plan`: what a session needs for a privacy target, and why.

Other commands that begin with a plan take its options from here.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import asdict
from decimal import Decimal
from inspect import Parameter
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gopa.planning import planner
from gopa.planning.result import Plan
from gopa.planning.target import KEYWORDS, Keyword
from gopa.support.wording import EXACT, EXACT_DIFFERENCE, NO_EPSILON, epsilon_text, sentence
from wire.errors import UsageError

# What the planner logs `warn` says on the command line, once.
logging.getLogger("gopa.planning").addHandler(logging.NullHandler())

_NARROW: Final = 72
"""Columns that the table of a plan needs; with fewer each row is a few lines."""

_ENDLESS: Final = frozenset({"inf", "infinity"})
_AS_KEYWORD: Final = re.compile(r"\b([a-z_]+)='?([\w./-]+)'?")
_AS_NAME: Final = re.compile(r"`([a-z_]+)`")


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def as_options(message: str) -> str:
    """The message with the keywords of `gopa.plan` that it names spelled as options."""
    spelled = _AS_KEYWORD.sub(lambda each: f"{_option(each[1])} {each[2]}", message)
    return _AS_NAME.sub(lambda each: _option(each[1]), spelled)


def make_plan(**asked: Any) -> Plan:
    """The plan; what is wrong with the target is said in options.

    An epsilon that nobody gave is never taken for the word that asks for an exact sum.
    """
    if asked.get("epsilon") is None:
        raise UsageError("say how much may get out, or none for the exact sum", "--epsilon")
    if asked["epsilon"] == NO_EPSILON:
        asked["epsilon"] = None
    elif str(asked["epsilon"]).strip().lower().lstrip("+") in _ENDLESS:
        message = "no noise at all is --epsilon none: it releases the exact sum, and says so"
        raise UsageError(message, "--epsilon")
    try:
        return planner.plan(**asked)
    except UsageError as error:
        field = "--parties" if error.field == "n" else error.field
        raise UsageError(as_options(error.message), field) from None


def _amount(context: click.Context, option: click.Parameter, text: str) -> int | float:
    """A count such as 200, or a part such as 0.2 or 20%."""
    del context
    try:
        if text.endswith("%"):
            return float(text.removesuffix("%")) / 100
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise click.BadParameter(
            "a count such as 200, or a part such as 0.2 or 20%", param=option
        ) from None


_NAMES: Final = {"open_admission": "anyone"}
"""What keywords of a plan are called here."""

_CALLBACKS: Final = {"corrupt": _amount}


def _options_of(keyword: Keyword) -> list[click.Option]:
    """The options for one keyword: two for the ends of a range, one for anything else."""
    if keyword.name == "range":
        ends = zip(("low", "high"), ("Smallest", "Largest"), keyword.default, strict=True)
        return [
            click.Option([f"--{end}"], default=str(value), show_default=True, help=f"{size} input.")
            for end, size, value in ends
        ]
    name = _option(_NAMES.get(keyword.name, keyword.name))
    if keyword.kind is bool:
        return [click.Option([name], is_flag=True, help=keyword.help)]
    needed = keyword.default is Parameter.empty
    # Numbers that are exact come as they were written, not as floats.
    text = str in keyword.kinds or keyword.name in _CALLBACKS
    kind = click.Choice(keyword.choices) if keyword.choices else keyword.kinds[0]
    default = None if needed else keyword.default
    option = click.Option(
        [name],
        type=str if text else kind,
        callback=_CALLBACKS.get(keyword.name),
        required=needed,
        default=str(default) if text and default is not None else default,
        show_default=default is not None,
        help=keyword.help,
    )
    return [option]


def _with_target(command: click.Command) -> click.Command:
    """The command with one option for each keyword of `gopa.plan` before its own."""
    parties = click.Option(
        ["-n", "--parties"], type=int, required=True, help="How many parties take part."
    )
    wanted = [each for keyword in KEYWORDS.values() for each in _options_of(keyword)]
    command.params[:0] = [parties, *wanted]
    return command


@_with_target
@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture.")
def plan(*, as_json: bool, plot: Path | None, **wanted: Any) -> None:
    """Choose neighbours, masks, noise and grid for a privacy target."""
    if plot is not None:
        from gopa.planning.explanation import check_picture, draw_plan

        check_picture(plot)
    made = plan_of(wanted, wanted["parties"])
    if made.terms.exact and not as_json:
        click.echo(f"{sentence(EXACT)}; {EXACT_DIFFERENCE}.")
    if plot is not None:
        draw_plan(made, plot)
    if as_json:
        click.echo(json.dumps(as_record(made), indent=2))
    else:
        console = Console()
        console.print(_table(made) if console.width >= _NARROW else _lines(made))


def warn(made: Plan) -> None:
    """Print what whoever runs the plan should know first."""
    for warning in made.warnings:
        click.echo(f"gopa: warning: {warning}", err=True)


def as_record(made: Plan) -> dict[str, object]:
    """The plan for programs: exact numbers as integers and decimal strings."""
    terms = {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in asdict(made.terms).items()
        if name != "noise"
    }
    terms["epsilon"] = epsilon_text(made.terms.epsilon)
    return {
        "path": made.path,
        "terms": terms,
        "noise": {
            "law": type(made.terms.noise).__name__,
            "encoding": made.terms.noise.to_bytes().hex(),
            "hash": made.terms.noise.table_hash().hex(),
            "variance": float(made.terms.noise.variance),
        },
        "delta": {
            "total": made.total_delta,
            "noise_and_masks": made.noise_delta,
            "proofs": made.proofs_delta,
            "beta_per_attempt": made.beta,
            "beta_recovery": made.beta_recovery,
            "beta_method": made.beta_method,
        },
        "error_of_the_mean": asdict(made.errors),
        "cost_estimate": asdict(made.cost),
        "liveness": asdict(made.liveness),
        "warnings": list(made.warnings),
        "reasons": [asdict(reason) for reason in made.reasons],
    }


def _rows(made: Plan) -> list[tuple[str, str, str]]:
    """What people read: a name, a value, and why."""
    cost = made.cost
    return [
        *((reason.name, reason.value, reason.why) for reason in made.reasons),
        (
            "cost per party",
            f"{cost.bytes_posted / 1000:.1f} kB, {cost.cpu_seconds:.2g} s",
            f"estimated for one round with proofs and {cost.peers:.0f} peers on average",
        ),
    ]


def _table(made: Plan) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("what", no_wrap=True, style="bold")
    table.add_column("value")
    table.add_column("why", overflow="fold", style="dim")
    for row in _rows(made):
        table.add_row(*map(escape, row))
    return table


def _lines(made: Plan) -> Group:
    """The rows of a plan for a terminal that has no room for three columns."""
    found: list[RenderableType] = []
    for name, value, why in _rows(made):
        found.append(Text(f"{name}: {value}", style="bold"))
        found.append(Padding(Text(why, style="dim"), (0, 0, 0, 2)))
    return Group(*found)


def setting_option(
    name: str, words: str, *, without: Collection[str] = ()
) -> Callable[[_Command], _Command]:
    """A decorator that adds the option for a keyword, in words of the command's own."""
    keyword = KEYWORDS[name]
    return click.option(
        _option(name),
        type=click.Choice([each for each in keyword.choices if each not in without]),
        default=keyword.default,
        show_default=True,
        help=words,
    )


_NOT_HERE: Final = frozenset({"as_json", "plot", "mode", "trust", "anyone", "weighted"})


def plan_options(
    *, without: Collection[str] = (), optional: Collection[str] = ()
) -> Callable[[click.Command], click.Command]:
    """A decorator that adds the options of `gopa plan` behind a command's own."""

    def add(command: click.Command) -> click.Command:
        for option in plan.params:
            if option.name in _NOT_HERE or option.name in without:
                continue
            own = copy(option)
            own.required = own.required and own.name not in optional
            command.params.append(own)
        return command

    return add


def plan_of(options: Mapping[str, Any], parties: int, **fixed: Any) -> Plan:
    """The plan that these options ask for, with keywords that a command fixes; it warns, too."""
    wanted = dict(options)
    del wanted["parties"]
    wanted["range"] = wanted.pop("low"), wanted.pop("high")
    if wanted["recovery"] == "none":
        wanted["recovery"] = None
    spelled = {name: wanted.pop(option) for name, option in _NAMES.items() if option in wanted}
    made = make_plan(n=parties, **{**wanted, **spelled, **fixed})
    warn(made)
    return made
