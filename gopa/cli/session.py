"""Groups the commands of `gopa session`, and runs `gopa session status`.

The status is how far a session is, as its log shows it.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bulletin_board.display import visible
from gopa.cli.options import as_json_option, reporting
from gopa.cli.roster import NOBODY, Names, invite, names_in, roster, roster_option
from gopa.cli.session_access import board_client
from gopa.cli.session_create import create
from gopa.cli.session_open import close, open_command
from gopa.cli.session_progress import (
    abort_facts,
    phase_text,
    question_rows,
    result_facts,
    result_text,
    warnings_of,
    why_text,
)
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort
from gopa.sessions.organising.reading import (
    PIECE,
    BoardLog,
    FinishedRound,
    OpenRound,
    SessionStatus,
)
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from gopa.support.wording import counted, epsilon_text

_SHOWN: Final = 12
"""Entries that are listed for people."""

_HELP: Final = """Organise a session: who takes part, which privacy holds, when phases end.

\b
1. Parties make keys with `gopa keygen` and send you their public halves.
   (Over a channel that others can write to: `gopa session invite`, `gopa enrol`.)
2. `gopa session create` plans the session and writes a ticket for all parties.
3. `gopa session open` runs its rounds. It may be stopped and started again.
4. Parties take part with `gopa join TICKET`; anybody checks with `gopa audit`.

The organiser sees no value and decides nothing that others cannot check.
"""


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@roster_option
@as_json_option
def status(*, source: Path, roster: Path | None, as_json: bool) -> None:
    """Show what a session asks, and where it stands.

    SOURCE is a ticket, or the organiser's directory. The question, the range and the privacy
    are there as soon as the organiser has opened the session: look before you join.

    What is shown is in the log, signed by its authors. No proof is checked: that is what
    `gopa audit` is for.
    """
    with reporting():
        ticket, manifest = _of(source)
        found, size = asyncio.run(_read(ticket))
        names = names_in(roster or _own_roster(source))
    if as_json:
        click.echo(json.dumps(_facts(found, size), indent=2))
    else:
        Console().print(_table(found, size, manifest, names))


def _of(source: Path) -> tuple[Ticket, Manifest | None]:
    """The ticket, and what the organiser's own directory knows before it is in the log."""
    if not source.is_dir():
        return Ticket.read(source), None
    place = OrganiserPlace(source)
    ticket = place.ticket()
    return ticket, place.manifest(ticket)


def _own_roster(source: Path) -> Path | None:
    path = OrganiserPlace(source).roster_path
    return path if path.is_file() else None


async def _read(ticket: Ticket) -> tuple[SessionStatus, int]:
    log, found = BoardLog(board_client(ticket), ticket.session), SessionStatus(ticket)
    horizon, _ = await log.newest()
    for start in range(0, horizon.size, PIECE):
        found.take(await log.entries(start, min(start + PIECE, horizon.size)))
    return found, horizon.size


def _facts(found: SessionStatus, size: int) -> dict[str, object]:
    ticket, manifest, current = found.ticket, found.manifest, found.open
    facts: dict[str, object] = {
        "session": ticket.session.hex(),
        "board": ticket.board,
        "log_size": size,
        "begun": manifest is not None,
        "broken": found.unreadable,
        "rounds": [],
        "round": None if current is None else _open_facts(current),
    }
    if manifest is None:
        return facts
    return facts | {
        "title": manifest.title.decode("utf-8", "replace"),
        "organiser": manifest.organiser.hex(),
        "mode": manifest.mode.name.lower(),
        "parties": manifest.terms.parties,
        "corrupt": manifest.terms.corrupt,
        "low": str(manifest.terms.low),
        "high": str(manifest.terms.high),
        "dimension": manifest.terms.dimension,
        "epsilon": epsilon_text(manifest.terms.epsilon),
        "delta": str(manifest.terms.delta),
        "warnings": warnings_of(manifest),
        "rounds": [_past_facts(manifest, each) for each in found.past],
    }


def _open_facts(current: OpenRound) -> dict[str, object]:
    return {
        "round": current.round,
        "logical": current.logical,
        "attempt": current.attempt,
        "phase": None if current.phase is None else current.phase.name.lower(),
        "step": current.step,
        "present": [key.hex() for key in current.present],
        "posted": [key.hex() for key in current.posted],
    }


def _past_facts(manifest: Manifest, past: FinishedRound) -> dict[str, object]:
    facts: dict[str, object] = {
        "round": past.round,
        "logical": past.logical,
        "attempt": past.attempt,
        "joined": past.joined,
    }
    if isinstance(past.outcome, Abort):
        facts |= {"cut_off": list(past.cut_off), "vetoed": past.vetoed}
        return facts | {"outcome": "abort"} | abort_facts(past.outcome)
    facts |= {"outcome": "result", "parties": [key.hex() for key in past.included]}
    return facts | result_facts(manifest, past.outcome, len(past.included))


def _table(
    found: SessionStatus, size: int, known: Manifest | None = None, names: Names = NOBODY
) -> Table:
    """What people read; `known` is the manifest of a session that is not in the log yet."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    ticket, current = found.ticket, found.open
    _row(table, "session", ticket.session.hex())
    _row(table, "board", f"{ticket.board}, {counted(size, 'entry', 'entries')}")
    manifest = found.manifest or known
    for name, text in () if manifest is None else question_rows(manifest):
        _row(table, name, text)
    if found.manifest is None:
        _row(table, "state", "not in the log yet: `gopa session open` begins it")
        return table
    for past in found.past:
        _row(table, f"round {past.round}", _past_text(found.manifest, past, names))
    if current is not None:
        _row(table, f"round {current.round}", _open_text(current))
        _row(table, "in it", names.listed(current.present))
    if found.unreadable:
        _row(table, "state", "a message of the organiser cannot be read")
    _row(table, "note", "proofs were not checked: `gopa audit` does that")
    return table


def _row(table: Table, name: str, text: str) -> None:
    table.add_row(name, escape(visible(text, 2_000)))


def _past_text(manifest: Manifest, past: FinishedRound, names: Names = NOBODY) -> str:
    if isinstance(past.outcome, Abort):
        why = why_text(past.outcome, names.listed(past.culprits) if past.culprits else "")
        return f"aborted: {why}; {past.joined} had joined{_veto_text(past)}"
    return result_text(manifest, past.outcome, len(past.included))


def _veto_text(past: FinishedRound) -> str:
    left = ", ".join(map(str, past.cut_off[:_SHOWN]))
    more = " and more" if len(past.cut_off) > _SHOWN else ""
    cut = f"; its cut left out entries that the log had before: {left}{more}" if left else ""
    if not past.vetoed:
        return cut
    return f"; it looks like the organiser's VETO, `gopa audit` says whether it is one{cut}"


def _open_text(current: OpenRound) -> str:
    phase = "waiting for the result"
    if current.phase is not None:
        phase = f"{phase_text(current.phase)}: {len(current.posted)} have posted"
    attempt = f", attempt {current.attempt + 1}" if current.attempt else ""
    return f"{phase}, {len(current.present)} in the round{attempt}"


@click.group(help=_HELP)
def session() -> None:
    """Groups what an organiser does."""


for command in (invite, roster, create, open_command, status, close):
    session.add_command(command)
