"""Reads options of a command from a TOML file, beside those on the command line.

A file has a table for each command, such as `[board.serve]` or `[join]`, with the names of its
options. It may be shared: a command takes its own table, and all tables are checked. What stands
on the command line counts more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from wire.errors import UsageError

TABLES: Final = {
    "board.serve": ("gopa.cli.board_serve", "serve"),
    "board.witness": ("gopa.cli.board_serve", "witness"),
    "session.create": ("gopa.cli.session_create", "create"),
    "session.open": ("gopa.cli.session_open", "open_command"),
    "join": ("gopa.cli.join", "join"),
}
"""The tables that a file may have, each with its command."""

_LARGEST: Final = 1 << 20
_Command = TypeVar("_Command", bound=Callable[..., Any])


def config_option(table: str) -> Callable[[_Command], _Command]:
    """Adds `--config`: a TOML file whose table holds options of this command."""

    def take(context: click.Context, option: click.Parameter, path: Path | None) -> None:
        del option
        if path is not None:
            context.default_map = read_config(path)[table]

    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=take,
        help=f"A TOML file; its table [{table}] holds options of this command, by their names"
        " without the dashes. What stands on the command line counts more.",
    )


def read_config(path: Path) -> dict[str, dict[str, Any]]:
    """Reads the options in a file, for each table; one that is not there is empty.

    Raises:
        UsageError: it is no TOML, or has a name that no table or command knows; the message
            says which, and the nearest known one.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST).decode()
        # Numbers stay text: each option reads its own kind, as from the command line.
        found = tomllib.loads(text, parse_float=str)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "--config") from None
    except ValueError as error:
        raise UsageError(f"{path} is no TOML: {error}", "--config") from None
    except RecursionError:
        raise UsageError(f"{path} is no TOML: it is nested too deeply", "--config") from None
    tables = dict(_tables(found, path))
    return {name: tables.get(name, {}) for name in TABLES}


def _tables(found: Mapping[str, Any], path: Path) -> list[tuple[str, dict[str, Any]]]:
    groups = {name.partition(".")[0] for name in TABLES}
    tables = []
    for group, inside in found.items():
        if group not in groups or not isinstance(inside, dict):
            raise _no_table(path, group)
        if group in TABLES:
            tables.append((group, _options(group, inside, path)))
            continue
        for each, options in inside.items():
            name = f"{group}.{each}"
            if name not in TABLES:
                raise _no_table(path, name)
            if not isinstance(options, dict):
                message = f"{path}: {name} is a table of options: write [{name}] above them, once"
                raise UsageError(message, "--config")
            tables.append((name, _options(name, options, path)))
    return tables


def _no_table(path: Path, name: str) -> UsageError:
    group = name.partition(".")[0]
    inside = [f"[{known}]" for known in TABLES if known.startswith(f"{group}.")]
    if inside:
        hint = " or ".join(inside)
        return UsageError(f"{path} has an unknown name, [{name}]: did you mean {hint}?", "--config")
    return _unknown(path, f"[{name}]", [f"[{known}]" for known in TABLES])


def _options(table: str, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    module, attribute = TABLES[table]
    command: click.Command = getattr(import_module(module), attribute)
    known = {_spelled(each): each for each in command.params if _settable(each)}
    options = {}
    for name, value in given.items():
        option = known.get(name.replace("_", "-"))
        if option is None or option.name is None:
            raise _unknown(path, f"{name} in [{table}]", list(known), name)
        if option.name in options:
            message = f"{path}: {_spelled(option)} stands in [{table}] twice: leave one out"
            raise UsageError(message, "--config")
        options[option.name] = _value(option, value, f"{path}: {name} in [{table}]")
    return options


def _settable(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and option.name not in {"config", "help"}


def _spelled(option: click.Parameter) -> str:
    """The option's long name without the dashes."""
    return max(option.opts, key=len).lstrip("-")


def _value(option: click.Parameter, value: Any, where: str) -> Any:
    """What click would have got from the command line."""
    if isinstance(option, click.Option) and option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{where} is a switch: write true or false", "--config")
        return value
    if option.nargs > 1 and isinstance(value, dict):  # a table of pairs, such as phase = seconds
        return [(name, _word(each, where)) for name, each in value.items()]
    if option.multiple and isinstance(value, list):
        return [_word(each, where) for each in value]
    if option.multiple:
        raise UsageError(f"{where} may have several values: write a list or a table", "--config")
    return _word(value, where)


def _word(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"{where} needs a number or a text", "--config")
    text = str(value)
    if not text.isprintable():  # a file's name with a zero byte is an error of Python, not ours
        raise UsageError(f"{where} has a character that cannot be shown", "--config")
    return text


def _unknown(path: Path, what: str, known: list[str], name: str | None = None) -> UsageError:
    near = get_close_matches(name or what, known, n=1, cutoff=0.0)
    hint = f": did you mean {near[0]}?" if near else ""
    return UsageError(f"{path} has an unknown name, {what}{hint}", "--config")
