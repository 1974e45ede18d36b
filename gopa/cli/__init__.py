"""The `gopa` command. Each group of subcommands has a module of its own."""

from __future__ import annotations

import sys

import click

from gopa.cli.doctor import doctor
from gopa.version import VERSION
from wire.errors import GopaError

USAGE_EXIT = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", prog_name="gopa")
def commands() -> None:
    """Verifiable secure aggregation: private averages that anyone can audit."""


commands.add_command(doctor)


def main() -> None:
    """The entry point: library errors become one line and exit code 2."""
    try:
        commands.main()
    except GopaError as error:
        click.echo(f"gopa: {error}", err=True)
        sys.exit(USAGE_EXIT)
