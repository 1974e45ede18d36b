"""Writes what long commands do to stderr: one line for each event, as text or as JSON.

Everything goes through Python's `logging` (`gopa` and the libraries of the server), so that
warnings of the library stand among the events, in the same form.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import IO, Any, Final, TypeVar

import click

from bulletin_board.display import visible

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")
_LOGGERS: Final = ("gopa", "uvicorn")
_LONGEST: Final = 1_000
_Command = TypeVar("_Command", bound=Callable[..., Any])

EVENTS: Final = logging.getLogger("gopa.events")
"""The logger of what happens in a session or on a board."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How much is logged, and in which form; None is what the command does by itself."""

    level: str | None = None
    form: str | None = None

    @property
    def asked(self) -> bool:
        """Whether somebody asked for log lines, also on a terminal."""
        return self.level is not None or self.form is not None


UNASKED: Final = LogOptions()


def log_options(command: _Command) -> _Command:
    """Adds `--log-level` and `--log-format`; the command gets one `LogOptions` as `log_lines`."""

    @click.option(
        "--log-level",
        type=click.Choice(LEVELS),
        help="Log what is at least so important, one line for each event, on stderr. Without a"
        " terminal: info.",
    )
    @click.option(
        "--log-format", type=click.Choice(FORMATS), help="Log lines as text, or as JSON objects."
    )
    @wraps(command)
    def logging_command(*, log_level: str | None, log_format: str | None, **others: Any) -> object:
        return command(log_lines=LogOptions(log_level, log_format), **others)

    return logging_command  # type: ignore[return-value]


@contextmanager
def logging_to(stream: IO[str], options: LogOptions) -> Iterator[None]:
    """Logs to the stream as long as the context lasts."""
    level = (options.level or "info").upper()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLine() if options.form == "json" else _TextLine())
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(level)
        each.propagate = False
    try:
        yield
    finally:
        for each, (known, spreads) in zip(loggers, before, strict=True):
            each.removeHandler(handler)
            each.setLevel(known)
            each.propagate = spreads


def log_event(event: str, text: str, facts: dict[str, object], level: int = logging.INFO) -> None:
    """Logs one event: its name and values are for machines, the text for people."""
    EVENTS.log(level, "%s", text, extra={"event": event, "facts": facts})


def _stamp(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))


def _said(record: logging.LogRecord) -> str:
    """The message in one line; an exception is named, and its trace is in the JSON form only."""
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        text = f"{text} ({type(error).__name__}: {error})"
    return visible(text, _LONGEST)


class _TextLine(logging.Formatter):
    """A line of time, importance and the sentence."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_stamp(record)} {record.levelname:<7} {_said(record)}"


class _JsonLine(logging.Formatter):
    """An object a line: time, level, event, text, and the values of the event under `facts`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            "text": _said(record),
        }
        facts = getattr(record, "facts", None)
        if facts:
            line["facts"] = facts
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def standard_error() -> IO[str]:
    """Gets where log lines go."""
    return sys.stderr
