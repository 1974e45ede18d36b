"""The `gopa` command. Each subcommand has a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

import click

from gopa.version import VERSION
from wire.errors import GopaError

USAGE_EXIT: Final = 2

COMMANDS: Final = {
    "board": "gopa.cli.board",
    "doctor": "gopa.cli.doctor",
    "plan": "gopa.cli.plan",
}


class _LazyGroup(click.Group):
    """Knows the names of its commands; imports a command only to run or describe it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        if not isinstance(found, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name]}.{cmd_name} is not a command")
        return found


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", prog_name="gopa")
def commands() -> None:
    """Verifiable secure aggregation: private averages that anyone can audit."""


def main() -> None:
    """The entry point: library errors become one line and exit code 2."""
    try:
        commands.main()
    except GopaError as error:
        click.echo(f"gopa: {error}", err=True)
        sys.exit(USAGE_EXIT)
