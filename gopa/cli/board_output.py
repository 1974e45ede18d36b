"""How the commands of `gopa board` answer: facts on stdout, what is wrong in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from bulletin_board.visible import visible
from wire.errors import ProtocolError, UsageError

FAILED_EXIT = 1


@contextmanager
def reporting() -> Iterator[None]:
    """What was received is wrong: one line and exit code 1. Usage errors go on to `main`."""
    try:
        yield
    except ProtocolError as error:
        click.echo(f"gopa: {type(error).__name__}: {visible(str(error), 1_000)}", err=True)
        sys.exit(FAILED_EXIT)
    except BrokenPipeError:
        raise  # whoever read the output has gone: click ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise UsageError(f"{where}{error.strerror or error}") from None


def show(facts: dict[str, object], as_json: bool) -> None:
    """One JSON object, or a line for each fact."""
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {visible(str(value), 1_000)}")
