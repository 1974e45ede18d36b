"""Files of evidence: written by `gopa audit --evidence-dir`, judged by `gopa audit --evidence`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import click

from bulletin_board import Checkpoint
from bulletin_board.visible import visible
from gopa.auditing.anchors import read_anchors
from gopa.auditing.evidence import LARGEST_EVIDENCE, LARGEST_FORK, MAGIC, Evidence
from gopa.auditing.figures import counted
from gopa.auditing.forks import evidence_from_board
from gopa.auditing.judging import Judgement, judge
from gopa.auditing.proving import evidence_of
from gopa.auditing.report import Report
from gopa.auditing.sources import open_transcript
from gopa.auditing.state import LogState
from gopa.cli.audit_files import directory_at, replace
from gopa.cli.audit_screen import judged_screen
from wire.errors import MalformedMessage, ProtocolError, UsageError

CONVICTS: Final = 0
PROVES_NOTHING: Final = 1

_MOST_NAMED: Final = 20


def write_evidence(report: Report, state: LogState, directory: Path, source: str) -> None:
    """A file for each fault of which one convicts; of the others it is said that there is none.

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
    """[E6]: a fault without a file is shown by the whole transcript."""
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


def judge_file(path: Path, keys: Path | None, *, as_json: bool) -> int:
    """Say what a file of evidence proves; the exit code says whether it convicts."""
    try:
        data = _content(path)
        anchors = read_anchors(keys)
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
