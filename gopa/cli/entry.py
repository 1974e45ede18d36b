"""Starts the `gopa` command: imports the subcommand that was called, turns errors into exit codes.

An audit is started with more care than the others: its exit codes are verdicts.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, NoReturn, TextIO

import click

from gopa.cli.exits import (
    INTERNAL_EXIT,
    INTERRUPTED_EXIT,
    LATER_EXIT,
    USAGE_EXIT,
    complain,
    exit_code,
    last_words,
)
from gopa.support.extras import not_installed
from gopa.support.version import VERSION
from wire.errors import GopaError, UsageError

_LONGEST_MESSAGE: Final = 4_000
_NO_MEMORY: Final = (
    "there is too little memory for this: give the process more; a session goes on where it was"
    " with the same command"
)

_OPTIONS: Final = {
    "anchors": "--anchors",
    "evidence": "--evidence",
    "receipts": "--receipt",
    "session": "--session",
    "since": "--since",
    "source": "SOURCE",
    "trace": "--trace",
}
"""The options of `gopa audit`, by the names under which Python code hands the same over."""

_HELP_ASKED: Final = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What newer versions of click raise to show the help of a command that was given nothing."""

LEAST_ROOM: Final = 352 << 20
"""Bytes of address space that the libraries take with one thread, and some for the audit."""


_MEANT: Final = {"check": "audit", "validate": "audit", "verify": "audit", "run": "simulate"}
"""Commands that other programs have, and what does the same here."""


class _LazyGroup(click.Group):
    """Knows the names of its commands; imports a command only to run or describe it."""

    def __init__(self, *args: Any, table: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(self._table)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The same as click; of a command that there is not, it says which one may be meant."""
        name = args[0]
        if name in self._table or name.startswith("-"):
            return super().resolve_command(ctx, args)
        close = [_MEANT[name]] if name in _MEANT else get_close_matches(name, self._table)
        hint = f": did you mean {' or '.join(close)}?" if close else ""
        raise click.UsageError(f"there is no command {name!r}{hint}", ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self._table:
            return None
        module = self._table[cmd_name]
        found = getattr(import_module(module), cmd_name)
        if not isinstance(found, click.Command):
            raise TypeError(f"{module}.{cmd_name} is not a command")
        return found


def command_group(table: Mapping[str, str]) -> click.Group:
    """Makes the command of which the table names all subcommands, each with its module."""

    @click.group(
        cls=_LazyGroup, table=table, context_settings={"help_option_names": ["-h", "--help"]}
    )
    @click.version_option(VERSION, "--version", prog_name="gopa")
    def commands() -> None:
        """Verifiable secure aggregation: private averages that anyone can audit."""

    return commands


def run(commands: click.Group) -> NoReturn:
    """Runs what the command line names: errors become one line and a code, Ctrl-C is quiet."""
    try:
        _run(commands)
    except SystemExit as ended:
        said, warned = _written(sys.stdout), _written(sys.stderr)
        # 4 is a verdict of an audit.
        lost = INTERNAL_EXIT if _is_audit(sys.argv[1:]) else LATER_EXIT
        sys.exit(ended.code or (0 if said and warned else lost))


def _written(stream: TextIO | None) -> bool:
    """Whether all of a stream could be written; if not, the rest of it goes nowhere.

    Python tries again when it ends, and a full disk would replace the exit code by 120 then.
    """
    if stream is None:
        return True
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return False
    return True


def _run(commands: click.Group) -> NoReturn:
    # Small sums of linear algebra are all that a command has: threads for them wait for each other,
    # which takes more time of processors than the sums. Whoever wants more sets the variable.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if _is_audit(sys.argv[1:]):
        _audit(commands)
    try:
        code = commands.main(standalone_mode=False)
    except click.ClickException as error:
        show_misuse(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED_EXIT)
    except GopaError as error:
        complain(last_words(error))
        sys.exit(exit_code(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(f"{where}{error.strerror or error}")
        sys.exit(exit_code(error))
    except MemoryError as error:
        complain(_NO_MEMORY)
        sys.exit(exit_code(error))
    except ModuleNotFoundError as error:
        said = not_installed(error)
        if said is None:
            raise
        complain(said)
        sys.exit(USAGE_EXIT)
    sys.exit(code if type(code) is int else 0)


def show_misuse(error: click.ClickException) -> None:
    """Says in one line what is wrong with a command line, and where its options are explained.

    A command without arguments asks for its help, which is shown whole.
    """
    if isinstance(error, _HELP_ASKED):
        error.show()
        return
    context = getattr(error, "ctx", None)
    said = " ".join(error.format_message().split()).rstrip(".")
    more = "" if context is None else f" (see `{context.command_path} --help`)"
    complain(f"{said}{more}")


def _is_audit(arguments: list[str]) -> bool:
    """Also behind `--`, which ends the options: click would run it, and make its verdict 0."""
    return [each for each in arguments if each != "--"][:1] == ["audit"]


def _audit(commands: click.Group) -> NoReturn:
    """Exit codes of an audit are verdicts: no failure of any kind may look like one.

    Python and click end with 1 on most exceptions, and that would say INVALID.
    """
    try:
        make_room()
        code = _code_of(commands.main(standalone_mode=False))
    except click.ClickException as error:
        code = _misused(error)
    except UsageError as error:
        code = _misused(error)
    except NoRoom as error:
        code = _before_libraries(str(error))
    except ModuleNotFoundError as error:
        said = not_installed(error)
        code = _failed(error) if said is None else _before_libraries(said)
    except KeyboardInterrupt:
        code = INTERRUPTED_EXIT
    except click.Abort as error:
        ended = error.__cause__  # click makes this of an interrupt, and of an end of input
        stopped = ended is None or isinstance(ended, KeyboardInterrupt)
        code = INTERRUPTED_EXIT if stopped else _failed(ended or error)
    except BaseException as error:  # noqa: BLE001 - also when memory ends or a reader goes away
        code = _failed(error)
    sys.exit(code)


def _code_of(answer: object) -> int:
    """The command returns its code, and help and the like return 0. Nothing else is a verdict."""
    return answer if type(answer) is int else INTERNAL_EXIT


def _misused(error: click.ClickException | UsageError) -> int:
    """Say so, if anybody listens: nothing that fails meanwhile may become the exit code."""
    try:
        if isinstance(error, click.ClickException):
            show_misuse(error)
        else:
            field = _OPTIONS.get(error.field, error.field)
            said = f"{field}: {error.message}" if field else error.message
            complain(_shown(said))
    except BaseException:  # noqa: BLE001, S110 - the exit code is what counts
        pass
    return USAGE_EXIT


def _before_libraries(why: str) -> int:
    """Say so without the libraries that there is no room for, or that are missing."""
    try:
        said = f"INTERNAL ERROR: {why}; this says nothing about the transcript."
        click.echo(said, err=True)
    except BaseException:  # noqa: BLE001, S110 - the exit code is what counts
        pass
    return INTERNAL_EXIT


def _failed(error: BaseException) -> int:
    """Say so, if that is still possible."""
    try:
        from gopa.auditing.composing import failed_inside

        report = failed_inside(error)
        if "--json" in sys.argv:
            sys.stdout.buffer.write(report.to_json())
            sys.stdout.flush()
        click.echo(f"{report.verdict.value}: {_shown(report.summary)}", err=True)
    except BaseException:  # noqa: BLE001, S110 - the exit code is what counts
        pass
    return INTERNAL_EXIT


def _shown(words: str) -> str:
    """Names in a message may be a stranger's."""
    from bulletin_board.display import visible

    return visible(words, _LONGEST_MESSAGE)


class NoRoom(MemoryError):
    """Says that there is too little memory to load what an audit needs."""


def make_room() -> None:
    """Loads the linear algebra of an audit with all of its buffers, or raises `NoRoom`.

    Where OpenBLAS gets no memory for a buffer it ends the process with 1, which would say INVALID,
    or tries for ever. So the buffers are taken now, while there is room: it keeps them, and what is
    lacking later is lacking in Python, which raises. One thread needs one buffer, however many
    cores there are, and adds numbers up in one order.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        mmap.mmap(-1, LEAST_ROOM).close()
    except (OSError, MemoryError, ValueError):
        raise NoRoom(f"an audit needs {LEAST_ROOM >> 20} MiB of address space") from None

    import numpy as np
    from scipy import linalg

    square = np.eye(128)
    np.linalg.eigvalsh(square @ square)
    linalg.eigvalsh(square)
