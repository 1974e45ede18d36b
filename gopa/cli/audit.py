"""Runs `gopa audit`: checks a transcript offline, or a board that is running."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.exceptions import Exit

from bulletin_board.display import visible
from gopa.auditing.auditor import LogFollower, may_be_saved, options_of, run, workers
from gopa.auditing.composing import unsupported
from gopa.auditing.options import AuditOptions
from gopa.auditing.reading import LogState, trace
from gopa.auditing.report import Report, Verdict, to_json_bytes, to_json_dict
from gopa.auditing.sources import Unsupported
from gopa.cli.audit_evidence import (
    judge_file,
    replace,
    require_apart,
    require_places,
    write_evidence,
)
from gopa.cli.audit_screen import details_screen, screen, trace_screen
from gopa.cli.options import fitting, jobs_option, parse_session
from gopa.cli.roster import Names, names_in, roster_option
from gopa.support.wording import counted
from wire.errors import ProtocolError, UsageError

_POLL: Final = 1.0
_LONGEST_REASON: Final = 500
_KEY_DIGITS: Final = 64

_HELP: Final = """Check a transcript: SOURCE is a .gopa file, a board's directory, or its address.

\b
Exit codes:
   0  VALID
   1  INVALID: a check failed
   2  wrong usage
   3  INCOMPLETE: nothing failed, something could not be checked
   4  a version that this auditor does not know
   5  the auditor itself failed
   6  SIGNED-ONLY: the sum is right, inputs are not proved
   7  all rules were kept, and no round has a result
   8  VALID, if the keys that the transcript names itself are right (--trust-embedded)
  10  VALID, with --strict and somebody excluded
 130  stopped from the keyboard
With --evidence: 0 it convicts somebody, 1 it proves nothing.

\b
Examples:
  gopa audit session.gopa --anchors anchors.txt --html report.html
  gopa audit https://board.example --anchors anchors.txt --follow --save log.state
  gopa audit --evidence FILE --anchors anchors.txt
"""

_path = click.Path(path_type=Path)
_file = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class AuditOutput:
    """Names what is to be written besides the verdict."""

    as_json: bool
    html: Path | None
    save: Path | None
    evidence_dir: Path | None
    details: bool
    names: Names
    day: date


@click.command(help=_HELP)
@click.argument("source", required=False)
@click.option("--anchors", type=_file, help="What you trust: the manifest's hash, the log's key.")
@click.option("--trust-embedded", is_flag=True, help="Let the transcript vouch for its own keys.")
@click.option("--details", is_flag=True, help="Print everything that was found, not five lines.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--html", type=_file, help="Write the report as a page.")
@jobs_option("Processes that work at once; the report is the same.")
@click.option("--strict", is_flag=True, help="Exit with 10 if anybody was excluded.")
@click.option("--session", metavar="ID", help="Which session, where the log has several.")
@click.option(
    "--receipt", "receipts", type=_file, multiple=True, help="A board's receipt; again for each."
)
@click.option("--since", type=_file, help="State that an earlier audit saved.")
@click.option("--save", type=_file, help="Save the state of the log for a later audit.")
@click.option("--follow", is_flag=True, help="Go on until the session of a live board is over.")
@click.option("--trace", "name", metavar="KEY", help="Show all about the key that begins so.")
@roster_option
@click.option("--evidence-dir", type=_path, help="Write a file for each proved fault.")
@click.option("--evidence", type=_file, help="Judge a file of evidence alone.")
def audit(  # noqa: PLR0913 - one argument for each option
    *,
    source: str | None,
    anchors: Path | None,
    trust_embedded: bool,
    details: bool,
    as_json: bool,
    html: Path | None,
    jobs: int,
    strict: bool,
    session: str | None,
    receipts: tuple[Path, ...],
    since: Path | None,
    save: Path | None,
    follow: bool,
    name: str | None,
    roster: Path | None,
    evidence_dir: Path | None,
    evidence: Path | None,
) -> NoReturn:
    """Check a transcript and exit with its verdict: 11-V1."""
    if (source is None) == (evidence is None):
        raise UsageError("name one transcript, or a file with --evidence")
    written = [path for path in (html, save) if path is not None]
    if evidence is not None:
        others = (html, save, since, session, name, evidence_dir)
        if any(each is not None for each in others) or follow or receipts or strict or details:
            raise UsageError("evidence is judged alone: only --anchors and --json go with it")
        raise Exit(judge_file(evidence, anchors, as_json=as_json))
    if as_json and details:
        raise UsageError("JSON has all details: leave out one of --details and --json")
    if as_json and name is not None:
        raise UsageError("a trace is text: leave out --json", "--trace")
    read = [path for path in (anchors, None if since == save else since, *receipts) if path]
    places = [] if evidence_dir is None else [evidence_dir]
    require_apart(source, read, [*written, *places])
    require_places(written)
    options = options_of(
        anchors=anchors,
        trust_embedded=trust_embedded,
        strict=strict,
        session=None if session is None else parse_session(session),
        since=_seen_before(since, save) if follow else since,
        receipts=receipts,
        trace=_prefix_of_key(name),
    )
    wanted = AuditOutput(as_json, html, save, evidence_dir, details, names_in(roster), _today())
    report: Report
    state: LogState | None
    with ExitStack() as opened:
        pool = opened.enter_context(workers(jobs, None))
        if follow:
            report, state = _follow(str(source), options, pool, opened, wanted)
        else:
            report, state = run(str(source), options, pool)
            _save_state(report, state, save)
        traced = None
        if name is not None and state is not None:
            traced = trace(report, state.reading.traced)
        names = wanted.names if state is None else wanted.names.or_of(state.manifest)
        wanted = replaced(wanted, names=names)
        _write(report, state, wanted, str(source))
        if traced is not None:
            click.echo(fitting(names.put_in(trace_screen(traced))), nl=False)
    sys.stdout.flush()
    raise Exit(report.code)


def _write(report: Report, state: LogState | None, wanted: AuditOutput, source: str) -> None:
    """The page and the evidence first, then the answer: nothing is missing when it is there."""
    if wanted.html is not None:
        from gopa.auditing.html import to_html

        page = to_html(to_json_dict(report), wanted.names.known, wanted.day)
        replace(wanted.html, page.encode())
    if wanted.evidence_dir is not None and state is not None and state.ended:
        write_evidence(report, state, wanted.evidence_dir, source)
    if wanted.as_json:
        click.echo(to_json_bytes(report), nl=False)
    else:
        text = details_screen(report) if wanted.details else screen(report)
        click.echo(fitting(wanted.names.put_in(text)), nl=False)


def _today() -> date:
    """The day of the audit; SOURCE_DATE_EPOCH stands for the clock, as for other programs."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(given), UTC).date() if given else datetime.now(UTC).date()
    except (ValueError, OverflowError, OSError):
        raise UsageError("must be a number of seconds since 1970", "SOURCE_DATE_EPOCH") from None


def _save_state(report: Report, state: LogState | None, path: Path | None) -> None:
    """Only a checkpoint below which everything was read and held, and never an older one."""
    if path is not None and state is not None and may_be_saved(report):
        replace(path, state.note)


def _seen_before(since: Path | None, save: Path | None) -> Path | None:
    """Who follows a log again goes on from the state that was saved before the stop."""
    return save if since is None and save is not None and save.exists() else since


def _follow(
    source: str, options: AuditOptions, pool: Any, opened: ExitStack, wanted: AuditOutput
) -> tuple[Report, LogState | None]:
    """Poll until the session is over or something is wrong."""
    path = wanted.save

    def save(note: bytes) -> None:
        if path is not None:
            replace(path, note)

    try:
        follower = LogFollower(source, options, pool, opened, save)
    except ProtocolError:  # there is no log, or it is out of reach: an audit says what is wrong
        return run(source, options, pool)
    told = ""
    while True:
        try:
            report = follower.poll()
        except Unsupported as error:
            return unsupported(source, str(error)), None
        news = _progress(follower, report)
        if news != told:
            click.echo(news, err=True)
            told = news
        if report is not None and (report.complete or report.verdict is Verdict.INVALID):
            return report, follower.state
        time.sleep(_POLL)


def _progress(follower: LogFollower, report: Report | None) -> str:
    """How far it is, or what is waited for."""
    size = counted(follower.state.reading.size, "entry", "entries")
    if report is not None:
        absent = follower.state.ended and follower.state.manifest_hash is None
        why = "; waiting: no session that --anchors or --session names has begun" if absent else ""
        return f"{size}: {report.verdict.value}{why}"
    return f"{size}; waiting: {visible(follower.waiting, _LONGEST_REASON)}"


def _prefix_of_key(name: str | None) -> str:
    if name is None:
        return ""
    text = name.lower()
    if not text or len(text) > _KEY_DIGITS or set(text) - set("0123456789abcdef"):
        raise UsageError("must be the beginning of a key, in hexadecimal digits", "--trace")
    return text
