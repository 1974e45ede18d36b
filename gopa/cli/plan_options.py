"""The options of `gopa plan` for other commands that begin with a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from typing import Any, Final

import click

from gopa.cli.plan import plan as plan_command
from gopa.planning.planner import plan as make_plan
from gopa.planning.result import Plan

_NOT_HERE: Final = frozenset({"as_json", "plot"})


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


def plan_of(options: Mapping[str, Any], parties: int, mode: str, trust: str) -> Plan:
    """The plan these options ask for.

    Unless a law of masks was named, signed mode gets the one that can be had without proofs:
    uniform words against liars, Gaussian ones where nobody lies.
    """
    wanted = dict(options)
    wanted.pop("parties", None)
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("mask")
    if source in {None, click.core.ParameterSource.DEFAULT} and mode == "signed":
        wanted["mask"] = "uniform" if trust == "malicious" else "gaussian"
    low, high = wanted.pop("low"), wanted.pop("high")
    return make_plan(n=parties, range=(low, high), **wanted)
