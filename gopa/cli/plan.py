"""Runs `gopa plan`: what a session needs for a privacy target, and why.

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
from pathlib import Path
from typing import Any, Final, get_args

import click
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gopa.contract.terms import BeaconKind, MaskLaw
from gopa.planning import planner
from gopa.planning.defaults import (
    ATTEMPTS,
    CORRUPT,
    DROPOUT,
    LEAST_CHANCE,
    PlannedMode,
    PlannedTrust,
)
from gopa.planning.result import NoiseName, Objective, PathName, Plan
from gopa.support.wording import EXACT, EXACT_DIFFERENCE, NO_EPSILON, epsilon_text, sentence
from wire.errors import UsageError

# What the planner logs `warn` says on the command line, once.
logging.getLogger("gopa.planning").addHandler(logging.NullHandler())

_NARROW: Final = 72
"""Columns that the table of a plan needs; with fewer each row is a few lines."""

_ENDLESS: Final = frozenset({"inf", "infinity"})
_AS_KEYWORD: Final = re.compile(r"\b([a-z_]+)='?([\w./-]+)'?")
_AS_NAME: Final = re.compile(r"`([a-z_]+)`")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def as_options(message: str) -> str:
    """Spells the keywords of `gopa.plan` that a message names as options."""
    spelled = _AS_KEYWORD.sub(lambda each: f"{_option(each[1])} {each[2]}", message)
    return _AS_NAME.sub(lambda each: _option(each[1]), spelled)


def make_plan(**asked: Any) -> Plan:
    """Makes the plan; what is wrong with the target is said in options.

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


@click.command()
@click.option("-n", "--parties", type=int, required=True, help="How many parties take part.")
@click.option(
    "--epsilon", required=True, help="Privacy target: the loss; none for an exact sum, unhidden."
)
@click.option("--delta", default=None, help="Privacy target: chance of more.")
@click.option(
    "--corrupt",
    callback=_amount,
    default=str(CORRUPT),
    show_default=True,
    help="Colluding parties, as is assumed: count or part, at least one.",
)
@click.option("--dropout", type=float, default=DROPOUT, show_default=True, help="Chance to fail.")
@click.option("--low", default="0", show_default=True, help="Smallest input.")
@click.option("--high", default="1", show_default=True, help="Largest input.")
@click.option("--dimension", type=int, default=1, show_default=True, help="Coordinates.")
@click.option("--norm", default=None, help="Bound on the L2 norm of vectors.")
@click.option("--rounds", type=int, default=1, show_default=True, help="Rounds to compose.")
@click.option(
    "--mask",
    type=click.Choice(get_args(MaskLaw)),
    default=None,
    help="Law of the masks that cancel; uniform unless masks are to stay as noise.",
)
@click.option(
    "--noise",
    type=click.Choice(get_args(NoiseName)),
    default=None,
    help="Instead of the best kind; a law that is named is proved, with bits.",
)
@click.option(
    "--path",
    type=click.Choice(get_args(PathName)),
    default=None,
    help="What full mode proves of vectors: rows their length, bits ranges and the law of noise.",
)
@click.option(
    "--objective",
    type=click.Choice(get_args(Objective)),
    default="error",
    show_default=True,
    help="What to keep small.",
)
@click.option("--weighted", is_flag=True, help="The last coordinate is a private weight.")
@click.option("--integers", is_flag=True, help="Inputs are integers: nothing is rounded.")
@click.option("--steps", type=int, default=None, help="Grid steps, instead of the best ones.")
@click.option(
    "--recovery",
    default="auto",
    show_default=True,
    help='Threshold of self-mask recovery, such as "2/3"; none, or auto: the best there is.',
)
@click.option(
    "--beacon",
    type=click.Choice(get_args(BeaconKind)),
    default=None,
    help="Where the coins come from; nonces, or drand for very many parties.",
)
@click.option("--charged", type=int, default=None, help="Charged retries; by the chance without.")
@click.option(
    "--attempts",
    type=int,
    default=None,
    help=f"Attempts in all; {ATTEMPTS} where that costs nothing.",
)
@click.option(
    "--least-chance",
    type=float,
    default=LEAST_CHANCE,
    show_default=True,
    help="Refuse plans that get a result more rarely; 0 takes any.",
)
@click.option(
    "--mode",
    type=click.Choice(get_args(PlannedMode)),
    default="full",
    show_default=True,
    help="What it is for.",
)
@click.option(
    "--trust",
    type=click.Choice(get_args(PlannedTrust)),
    default="malicious",
    show_default=True,
    help="Whom it withstands.",
)
@click.option(
    "--anyone", is_flag=True, help="Admission is open: other parties may come to a retry."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture.")
def plan(  # noqa: PLR0913 - one argument for each option
    *,
    parties: int,
    epsilon: str,
    delta: str | None,
    corrupt: float,
    dropout: float,
    low: str,
    high: str,
    dimension: int,
    norm: str | None,
    rounds: int,
    mask: MaskLaw | None,
    noise: NoiseName | None,
    path: PathName | None,
    objective: Objective,
    weighted: bool,
    integers: bool,
    steps: int | None,
    recovery: str,
    beacon: BeaconKind | None,
    charged: int | None,
    attempts: int | None,
    least_chance: float,
    mode: PlannedMode,
    trust: PlannedTrust,
    anyone: bool,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Choose neighbours, masks, noise and grid for a privacy target."""
    if plot is not None:
        from gopa.planning.explanation import check_picture, draw_plan

        check_picture(plot)
    made = make_plan(
        n=parties,
        epsilon=epsilon,
        delta=delta,
        corrupt=corrupt,
        dropout=dropout,
        range=(low, high),
        dimension=dimension,
        norm=norm,
        rounds=rounds,
        mask=mask,
        noise=noise,
        path=path,
        objective=objective,
        steps=steps,
        charged=charged,
        attempts=attempts,
        weighted=weighted,
        integers=integers,
        recovery=None if recovery == "none" else recovery,
        beacon=beacon,
        mode=mode,
        trust=trust,
        open_admission=anyone,
        least_chance=least_chance,
    )
    warn(made)
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
    """Says what whoever runs the plan should know first."""
    for warning in made.warnings:
        click.echo(f"gopa: warning: {warning}", err=True)


def as_record(made: Plan) -> dict[str, object]:
    """Shows the plan to programs: exact numbers as integers and decimal strings."""
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
    """The same for a terminal that has no room for three columns."""
    found: list[RenderableType] = []
    for name, value, why in _rows(made):
        found.append(Text(f"{name}: {value}", style="bold"))
        found.append(Padding(Text(why, style="dim"), (0, 0, 0, 2)))
    return Group(*found)


_NOT_HERE: Final = frozenset({"as_json", "plot", "mode", "trust", "anyone", "weighted"})


def plan_options(
    *, without: Collection[str] = (), optional: Collection[str] = ()
) -> Callable[[click.Command], click.Command]:
    """Adds the options of `gopa plan` behind a command's own: one place says what they mean."""

    def add(command: click.Command) -> click.Command:
        for option in plan.params:
            if option.name in _NOT_HERE or option.name in without:
                continue
            own = copy(option)
            own.required = own.required and own.name not in optional
            command.params.append(own)
        return command

    return add


def plan_of(
    options: Mapping[str, Any],
    parties: int,
    mode: PlannedMode,
    trust: PlannedTrust,
    *,
    anyone: bool = False,
) -> Plan:
    """Makes the plan that these options ask for, in this mode."""
    wanted = dict(options)
    wanted.pop("parties", None)
    low, high = wanted.pop("low"), wanted.pop("high")
    if wanted.get("recovery") == "none":
        wanted["recovery"] = None
    made = make_plan(
        n=parties, range=(low, high), mode=mode, trust=trust, open_admission=anyone, **wanted
    )
    warn(made)
    return made
