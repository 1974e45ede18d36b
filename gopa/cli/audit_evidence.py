"""Writes the files of `gopa audit`, and judges files of evidence (`--evidence-dir`, `--evidence`).

Files are written whole or not at all, and never over what the audit reads.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import click

from bulletin_board import Checkpoint
from bulletin_board.display import visible
from gopa.auditing.evidence import (
    LARGEST_EVIDENCE,
    LARGEST_FORK,
    MAGIC,
    Evidence,
    evidence_from_board,
)
from gopa.auditing.judging import Judgement, judge
from gopa.auditing.options import read_anchors
from gopa.auditing.proving import evidence_of
from gopa.auditing.reading import LogState
from gopa.auditing.report import Report
from gopa.auditing.sources import open_transcript
from gopa.cli.audit_screen import judged_screen
from gopa.support.wording import counted
from wire.errors import MalformedMessage, ProtocolError, UsageError

_READABLE: Final = 0o666


def replace(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all: whoever reads it never finds half of it.

    A device or a pipe is written to and stays what it is. The name of the file that is
    written beside cannot be guessed: nobody can have put a link in its place.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _swap(target, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def directory_at(path: Path) -> Path:
    """Makes the directory if need be, and returns it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from None
    return path


def require_apart(source: str | None, read: Iterable[Path], written: Iterable[Path]) -> None:
    """Refuses to write over what is read, or among the public files of a log.

    Raises:
        UsageError: it would be.
    """
    transcript = None if source is None or "://" in source else Path(source).resolve()
    inputs = {each.resolve() for each in read} | ({transcript} if transcript else set())
    outputs = set[Path]()
    for path in written:
        target = path.resolve()
        if target in inputs:
            raise UsageError(f"{path} would be written over what is read: choose another name")
        if target in outputs:
            raise UsageError(f"{path} would be written twice: choose another name")
        if transcript is not None and transcript.is_dir() and target.is_relative_to(transcript):
            message = "a log must hold nothing but its own files: write to another directory"
            raise UsageError(f"{path} lies in the transcript; {message}")
        outputs.add(target)


def require_places(written: Iterable[Path]) -> None:
    """Refuses places that cannot be written to, before an audit that may take long.

    Raises:
        UsageError: there is no such directory, or nothing may be written there.
    """
    for path in written:
        target = path.resolve()
        place = target if target.exists() and not target.is_file() else target.parent
        if not place.exists():
            raise UsageError(f"{path} cannot be written: there is no directory {place}")
        if not os.access(place, os.W_OK):
            raise UsageError(f"{path} cannot be written: Permission denied")


def _swap(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(_READABLE & ~_mask())
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _mask() -> int:
    """What the user takes away from the permissions of new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


CONVICTS: Final = 0
PROVES_NOTHING: Final = 1

_MOST_NAMED: Final = 20


def write_evidence(report: Report, state: LogState, directory: Path, source: str) -> None:
    """Writes a file for each fault of which one convicts, and names the others.

    Entries are read again. Each file was judged, so whatever is read, it convicts.
    """
    directory_at(directory)
    if state.checkpoint is None:
        return
    count, shown = 0, set[tuple[bytes, str, int]]()
    reading = partial(_entries, source, state.checkpoint)
    try:
        for name, data in evidence_of(state, report.faults, reading):
            replace(directory / f"{name}.evidence", data)
            click.echo(f"evidence: {directory / name}.evidence", err=True)
            count += 1
            statement = Evidence.parse(data).statement
            shown.add((statement.author, statement.rule.decode(), statement.round))
    except ProtocolError as error:
        message = f"the transcript cannot be read a second time ({error}): copy it to a file"
        raise UsageError(message, "--evidence-dir") from None
    _say_what_is_missing(report, count, shown)


def _entries(source: str, checkpoint: Checkpoint) -> Iterator[bytes]:
    with ExitStack() as opened:
        for bundle in open_transcript(source, opened).bundles(checkpoint):
            yield from bundle


def _say_what_is_missing(report: Report, count: int, shown: set[tuple[bytes, str, int]]) -> None:
    """11-E6: a fault without a file is shown by the whole transcript."""
    lacking = [
        fault
        for fault in report.faults
        if fault.proved and fault.entries and (fault.author, fault.rule, fault.round) not in shown
    ]
    for fault in lacking[:_MOST_NAMED]:
        click.echo(f"no evidence apart from the transcript: {visible(str(fault), 1_000)}", err=True)
    if len(lacking) > _MOST_NAMED:
        click.echo(f"and for {counted(len(lacking) - _MOST_NAMED, 'more fault')}", err=True)
    if lacking:
        click.echo("keep the transcript: its audit shows these faults to anybody", err=True)
    elif not count:
        click.echo("evidence: nothing here convicts anybody", err=True)


def judge_file(path: Path, anchors_path: Path | None, *, as_json: bool) -> int:
    """Says what a file of evidence proves; the exit code says whether it convicts."""
    try:
        data = _content(path)
        anchors = read_anchors(anchors_path)
        judgement = judge(data, policy=anchors.policy)
    except MalformedMessage as error:
        raise UsageError(f"{path} is damaged: {error}", "evidence") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "evidence") from None
    if as_json:
        click.echo(json.dumps(_plain(judgement), indent=1))
    else:
        click.echo(judged_screen(judgement, anchors.manifest), nl=False)
    return CONVICTS if judgement.convicts else PROVES_NOTHING


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
        most = LARGEST_EVIDENCE if head == MAGIC else LARGEST_FORK
        data = head + file.read(most + 1 - len(head))
    if head == MAGIC and len(data) > most:
        message = f"{path} has more than {most >> 20} MiB, which no evidence has"
        raise UsageError(message, "evidence")
    return data if head == MAGIC else _kept_by_a_party(path, data)


def _kept_by_a_party(path: Path, data: bytes) -> bytes:
    """The evidence of a fork that stands in a vault, below `board`."""
    try:
        return evidence_from_board(data)
    except MalformedMessage:
        message = (
            f"{path} is no evidence of an audit, and none of a fork that a party has kept; "
            "a transcript is audited without --evidence"
        )
        raise UsageError(message, "evidence") from None


def _plain(judgement: Judgement) -> dict[str, object]:
    facts: dict[str, object] = asdict(judgement)
    culprit = judgement.culprit
    return facts | {
        "culprit": None if culprit is None else culprit.value,
        "author": judgement.author.hex(),
        "session": judgement.session.hex(),
        "manifest": judgement.manifest.hex(),
    }
