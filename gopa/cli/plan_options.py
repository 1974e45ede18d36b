"""The options of `gopa plan` for other commands that begin with a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from gopa.cli.plan import plan as plan_command
from gopa.cli.plan import warn
from gopa.planning.defaults import PlannedMode, PlannedTrust
from gopa.planning.planner import plan as make_plan
from gopa.planning.result import Plan

if TYPE_CHECKING:
    import click

_NOT_HERE: Final = frozenset({"as_json", "plot", "mode", "trust", "anyone"})


def plan_options(
    *, without: Collection[str] = (), optional: Collection[str] = ()
) -> Callable[[click.Command], click.Command]:
    """Adds them behind the command's own: one place says what they mean."""

    def add(command: click.Command) -> click.Command:
        for option in plan_command.params:
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
    """The plan these options ask for, in this mode."""
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
