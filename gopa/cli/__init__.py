"""The command `gopa`: the table of its subcommands.

The module of a subcommand is imported when it is called, or described by `gopa --help`. Read
`entry` (how a command runs), `exits` (which error ends with which code), `options`, then the file
of a command.

    >>> from gopa.cli import COMMANDS
    >>> COMMANDS["audit"]
    'gopa.cli.audit'
    >>> from gopa.cli.exits import exit_code
    >>> from wire.errors import UsageError
    >>> exit_code(UsageError)
    2
"""

from __future__ import annotations

from typing import Final

from gopa.cli.entry import command_group, run

COMMANDS: Final = {
    "attack": "gopa.cli.attack",
    "audit": "gopa.cli.audit",
    "board": "gopa.cli.board",
    "demo": "gopa.cli.demo",
    "doctor": "gopa.cli.doctor",
    "enrol": "gopa.cli.roster",
    "join": "gopa.cli.join",
    "keygen": "gopa.cli.roster",
    "plan": "gopa.cli.plan",
    "session": "gopa.cli.session",
    "simulate": "gopa.cli.simulate",
}

commands = command_group(COMMANDS)


def main() -> None:
    """Runs the command, and ends the process with its exit code."""
    run(commands)
