"""Runs `gopa demo`: a vote with a dropout and a cheater, its audit, and what one bit changes."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import click
from click.exceptions import Exit

from bulletin_board.display import visible
from bulletin_board.storage.files import replace_file
from commitments import backend_status
from commitments.backends import HOW_TO_GET_NATIVE, NATIVE
from gopa.adversary import Malicious, deeds, script_of
from gopa.aggregation import Result, average
from gopa.aggregation.result import numbers
from gopa.auditing import Report, audit
from gopa.auditing.html import to_html
from gopa.auditing.report import to_json_dict
from gopa.cli.exits import FAILED_EXIT
from gopa.cli.options import reporting
from gopa.cli.plan import make_plan
from gopa.cli.roster import Names
from gopa.planning import Plan
from gopa.support.rounding import blur, short
from gopa.support.wording import exclusion_reason, promise_of
from wire.errors import UsageError

_HELP: Final = """Show in less than a minute how a private vote is held, and checked.

Hundreds of people vote in this process. One of them drops out, one cheats and is named. Then
the public log is audited, and audited again after one bit of it was changed. The transcript,
the keys for an audit and a page stay in a directory.

Nothing is overwritten: a directory that was not named is a new one, and for another the command
asks first. It may be stopped at any time.
"""

_NATIVE_PEOPLE: Final = 300
_REFERENCE_PEOPLE: Final = 60
_SECONDS: Final = {True: 0.1, False: 0.6}
"""About what one party takes, on the native core and without it."""

_LEAVES, _CHEATS = 7, 11
_FEWEST: Final = 20
_MOST: Final = 2_000
_MOST_JOBS: Final = 8
_WIDTH: Final = 92
_NARROWEST: Final = 30
_NAME: Final = "gopa-demo"


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Names what the demo leaves behind."""

    directory: Path

    @property
    def log(self) -> Path:
        """The transcript: everything there is to check."""
        return self.directory / "session.gopa"

    @property
    def anchors(self) -> Path:
        """What an auditor has to know from elsewhere."""
        return self.directory / "anchors.txt"

    @property
    def page(self) -> Path:
        """What the audit found, for people who are no experts."""
        return self.directory / "report.html"

    @property
    def damaged(self) -> Path:
        """The transcript with one bit changed."""
        return self.directory / "damaged.gopa"

    @property
    def taken(self) -> list[Path]:
        """Those that are there already."""
        return [each for each in (self.log, self.anchors, self.page, self.damaged) if each.exists()]


@click.command(help=_HELP)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help=f"Where the files go, instead of a new directory {_NAME}.",
)
@click.option(
    "-n",
    "--parties",
    type=click.IntRange(_FEWEST, _MOST),
    help=f"How many people vote; {_NATIVE_PEOPLE}, or {_REFERENCE_PEOPLE} without the native core.",
)
def demo(*, out: Path | None, parties: int | None) -> None:
    """Vote, audit, change one bit, audit again."""
    native = backend_status().active == NATIVE
    people = parties or (_NATIVE_PEOPLE if native else _REFERENCE_PEOPLE)
    with reporting(), _place(out) as files:
        plan = make_plan(
            n=people, epsilon=1, delta=1e-6, integers=True, least_chance=0.0, beacon="commit-reveal"
        )
        votes = [int(person % 8 < 5) for person in range(people)]
        _question(plan, native=native, chosen=parties is not None)
        result = _vote(plan, votes, native=native)
        report = _audit(result, files)
        _one_bit(files)
        _what_is_left(files, report)


@contextmanager
def _place(out: Path | None) -> Iterator[DemoFiles]:
    """A directory for the files; one that was made for nothing is taken away again."""
    files = DemoFiles(_unused() if out is None else out)
    _ask_before_overwriting(files)
    made = not files.directory.exists()
    files.directory.mkdir(parents=True, exist_ok=True)
    try:
        yield files
    except KeyboardInterrupt:
        left = f"what is in {files.directory} stays" if files.taken else "nothing was written"
        click.echo(f"\ngopa: stopped; {left}", err=True)
        raise
    finally:
        if made and not files.taken:
            with suppress(OSError):
                files.directory.rmdir()


def _unused() -> Path:
    """The first name that nothing has."""
    names = (Path(_NAME if number == 1 else f"{_NAME}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask_before_overwriting(files: DemoFiles) -> None:
    if not files.taken:
        return
    names = ", ".join(each.name for each in files.taken)
    if not _on_a_terminal():
        message = f"{files.directory} has {names} already: name another directory"
        raise UsageError(message, "--out")
    if not click.confirm(f"{files.directory} has {names} already. Write over them?"):
        click.echo("Nothing was changed.")
        raise Exit(FAILED_EXIT)


def _head(number: int, text: str) -> None:
    click.echo()
    click.secho(f"{number}  {text}", bold=True)


def _width() -> int:
    """No line is longer than the terminal has columns."""
    return max(_NARROWEST, min(_WIDTH, shutil.get_terminal_size((_WIDTH + 1, 24)).columns - 1))


def _say(text: str) -> None:
    indent = "   "
    for line in textwrap.wrap(text, _width(), initial_indent=indent, subsequent_indent=indent):
        click.echo(line)


def _show(name: str, text: str, width: int = 10) -> None:
    first, indent = f"   {name:<{width}}", " " * (width + 3)
    for line in textwrap.wrap(text, _width(), initial_indent=first, subsequent_indent=indent):
        click.echo(line)


def _question(plan: Plan, *, native: bool, chosen: bool) -> None:
    terms = plan.terms
    _head(1, "The question")
    _say(
        f"{terms.parties} people vote, 0 or 1, and want to know how many said 1. Nobody is to "
        "learn how anybody voted: not the organiser, not who reads the public log, and not "
        f"{terms.corrupt} of the people who put their heads together."
    )
    if not native and not chosen:
        _say(
            f"There are only {terms.parties} of them, as the native core is not installed and the "
            f"reference backend takes about ten times as long. For {_NATIVE_PEOPLE}: "
            f"{HOW_TO_GET_NATIVE}."
        )
    _show("plan", f"{promise_of(terms.epsilon, f'{float(terms.delta):g}')}: how private it is")
    moved = blur(plan.errors.planned)
    _show("error", f"{moved} is about what the protecting noise moves the answer")
    for warning in plan.warnings:
        _show("warning", warning)


def _vote(plan: Plan, votes: list[int], *, native: bool) -> Result:
    """The session. Person and party have the same number."""
    _head(2, "The vote")
    seconds = _SECONDS[native] * len(votes)
    _say(
        "Everybody is a party with keys of its own. All parties, the organiser and the log run in "
        "this process, so it is a simulation; the messages, proofs and rules are the real ones. "
        f"Person {_LEAVES} goes away in the middle, and person {_CHEATS} sends a false proof, as "
        "one does whose vote is to count for more than one. This takes about "
        f"{seconds:.0f} seconds."
    )
    actors = [
        Malicious(_LEAVES, at="publish", do=deeds.leave()),
        Malicious(_CHEATS, at="commit", do=deeds.spoil_proof()),
    ]
    started = time.monotonic()
    jobs = min(_MOST_JOBS, os.cpu_count() or 1)
    result = average(votes, plan, script=script_of(actors), progress=True, jobs=jobs)
    truth = sum(votes[party] for party in result.included) / result.count
    _show("answer", f"{numbers(result.mean, result.stderr)} of {result.count} people voted 1")
    _show("truth", f"{short(truth, 3)} of them did, which only a simulation knows")
    for lost in result.excluded:
        reason = exclusion_reason(lost.phase, lost.cause, "")
        _show("left out", f"person {lost.party}, who {reason}")
    _show("time", f"{time.monotonic() - started:.0f} seconds")
    return result


def _audit(result: Result, files: DemoFiles) -> Report:
    log, anchors = result.transcript.archive(files.log), result.transcript.anchors(files.anchors)
    _head(3, "The audit")
    _say(
        "Anybody can check all of it who has the log, and knows from elsewhere which vote it "
        "should be. This is the whole command:"
    )
    click.echo(f"   $ gopa audit {log} --anchors {anchors} --html {files.page}")
    report = audit(log, anchors=anchors)
    names = {key: f"number {place}" for place, key in enumerate(report.rounds[0].joined)}
    replace_file(files.page, to_html(to_json_dict(report), names).encode())
    _verdict(report)
    for fault in report.faults:
        _show("cheater", Names(names).put_in(visible(str(fault), 500)))
    return report


def _verdict(report: Report) -> None:
    click.secho(f"   {report.verdict.value}", bold=True)
    _say(visible(report.summary, 2_000))


def _one_bit(files: DemoFiles) -> None:
    data = bytearray(files.log.read_bytes())
    data[len(data) // 2] ^= 1
    replace_file(files.damaged, bytes(data))
    _head(4, "One bit")
    _say(f"The same log of {len(data):,} bytes, with a single bit changed:")
    click.echo(f"   $ gopa audit {files.damaged} --anchors {files.anchors}")
    _verdict(audit(files.damaged, anchors=files.anchors))


def _what_is_left(files: DemoFiles, report: Report) -> None:
    _head(5, "What is left")
    for path, what in (
        (files.log, "the log: all there is to check"),
        (files.anchors, "what an auditor has to know from elsewhere"),
        (files.page, "the audit as a page for everybody: open it in a browser"),
        (files.damaged, "the log with one bit changed"),
    ):
        _show(path.name, what, width=14)
    _say(f"They are in {files.directory}. Audit them as above, or ask for more:")
    click.echo(f"   $ gopa audit {files.log} --anchors {files.anchors} --json")
    if report.faults:
        click.echo(
            f"   $ gopa audit {files.log} --anchors {files.anchors} "
            f"--trace {report.faults[0].author.hex()[:16]}"
        )
    click.echo("   $ gopa plan -n 1000 --epsilon 1 --delta 1e-6")
