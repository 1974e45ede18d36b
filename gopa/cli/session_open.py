"""Runs `gopa session open`, which runs a session, and `gopa session close`, which ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from gopa.auditing.auditor import workers
from gopa.cli.config import config_option
from gopa.cli.exits import FAILED_EXIT, INTERRUPTED_EXIT, OPEN, exit_help
from gopa.cli.figures import PHASES, MetricsAddress, figures_option, watched
from gopa.cli.logs import LogOptions, log_options
from gopa.cli.options import Seconds, as_json_option, reporting, show
from gopa.cli.roster import NOBODY, Names, names_in
from gopa.cli.session_access import board_client, known_secret, secret_options
from gopa.cli.session_progress import OrganiserProgress, ProgressDisplay, ProgressEvent, progress
from gopa.contract.phases import Phase
from gopa.protocol.rules import SessionState
from gopa.sessions.organising import (
    BoardLog,
    Deadlines,
    DurableOrganiser,
    OrganiserPace,
    Schedule,
    drand_source,
    run,
)
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.vault import Secret, VaultInUse
from wire.errors import UsageError

_POLL: Final = 1.0
_T = TypeVar("_T")
_directory = click.argument("directory", type=click.Path(path_type=Path))


_HELP: Final = f"""Run the session in DIRECTORY until its rounds are done.

A phase ends when everybody who is expected has spoken, or when its time is over. Stop
and start the command whenever you like, also after a crash: it goes on where it was
and never says two things. With --json every event is one line.

{exit_help(OPEN)}
"""


@click.command("open", help=_HELP)
@_directory
@click.option(
    "--join-seconds",
    type=float,
    default=600.0,
    show_default=True,
    help="How long parties may join.",
)
@click.option(
    "--phase-seconds", type=float, default=120.0, show_default=True, help="Every other phase."
)
@click.option(
    "--seconds",
    "others",
    type=(click.Choice(PHASES), float),
    multiple=True,
    metavar="PHASE SECONDS",
    help="Another time for one phase; may be given for several.",
)
@click.option("--rounds", type=click.IntRange(1), help="Stop after so many rounds in all.")
@click.option("--pause", type=float, default=0.0, help="Seconds between two rounds.")
@click.option(
    "--drand",
    help="With --beacon drand: where its rounds are, the address of a relay's chain or a file.",
)
@click.option(
    "--drand-margin",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds for witnesses and parties to see the roll before the beacon's round.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Processes that check proofs.",
)
@click.option(
    "--poll", type=click.FloatRange(0.01, 60.0), default=0.5, help="Seconds between looks."
)
@click.option("--quiet", is_flag=True, help="No progress on the screen, and no log.")
@figures_option
@log_options
@secret_options
@as_json_option
@config_option("session.open")
def open_command(  # noqa: PLR0913 - one argument for each option
    *,
    directory: Path,
    join_seconds: float,
    phase_seconds: float,
    others: Sequence[tuple[str, float]],
    rounds: int | None,
    pause: float,
    drand: str | None,
    drand_margin: float,
    jobs: int,
    poll: float,
    quiet: bool,
    metrics: MetricsAddress | None,
    log_lines: LogOptions,
    passphrase_file: Path | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Runs the session to the end of its rounds."""
    schedule = Schedule(
        Deadlines(join_seconds, phase_seconds, {Phase[name.upper()]: t for name, t in others}),
        rounds,
        pause,
        drand_margin,
    )
    place = OrganiserPlace(directory)
    place.ticket()
    if place.closed:
        raise UsageError(f"{directory} was closed: create another session")
    with reporting(), ExitStack() as stack:
        secret = known_secret(place.identity_path, passphrase_file, key_file)
        pool = stack.enter_context(workers(jobs, None))
        screen = progress(as_json=as_json, quiet=quiet, logs=log_lines)
        shown = stack.enter_context(watched(screen, metrics, "organiser"))
        work = _OrganiserProcess(
            place, schedule, secret, drand, OrganiserPace(poll_seconds=poll), shown, pool
        )
        state = _until_stopped(work.run())
    if state is None:
        click.echo(f"stopped; `gopa session open {directory}` goes on", err=True)
        sys.exit(INTERRUPTED_EXIT)
    if state.failed:
        click.echo("gopa: the session failed: `gopa audit` says what broke the rules", err=True)
        sys.exit(FAILED_EXIT)
    if not state.results:
        message = f"gopa: no round has a result; `gopa session status {directory}` says why"
        click.echo(message, err=True)
        sys.exit(FAILED_EXIT)


@click.command()
@_directory
@click.option(
    "--wait",
    type=Seconds(),
    default=60.0,
    show_default=True,
    help="Seconds for a running `gopa session open` to notice.",
)
@secret_options
@as_json_option
def close(
    *,
    directory: Path,
    wait: float,
    passphrase_file: Path | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """End the session in DIRECTORY: abort a round that is running, and open no more.

    A result that is there already stays. A `gopa session open` that is running does it; if
    none is, this command does.
    """
    place = OrganiserPlace(directory)
    place.ticket()
    with reporting():
        secret = known_secret(place.identity_path, passphrase_file, key_file)
        place.close()
        state = _close(place, secret, time.monotonic() + wait)
    show({"closed": str(directory), "rounds": state.rounds_ended}, as_json)


def _close(place: OrganiserPlace, secret: Secret | None, deadline: float) -> SessionState:
    """Take the vault as soon as it is free, and end what is left to be ended."""
    quiet = progress(as_json=False, quiet=True)
    work = _OrganiserProcess(
        place, Schedule(), secret, None, OrganiserPace(outage_seconds=30.0), quiet, None
    )
    while True:
        try:
            state = _until_stopped(work.run())
        except VaultInUse:
            if time.monotonic() >= deadline:
                message = (
                    "the process that runs the session has not ended it: try again, or stop it"
                )
                raise UsageError(message, "--wait") from None
            time.sleep(_POLL)
        else:
            if state is None:
                raise click.Abort
            return state


class _OrganiserProcess:
    """One process of an organiser."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it is built from
        self,
        place: OrganiserPlace,
        schedule: Schedule,
        secret: Secret | None,
        drand: str | None,
        pace: OrganiserPace,
        shown: ProgressDisplay,
        pool: Any,
    ) -> None:
        self._place, self._schedule, self._secret, self._pool = place, schedule, secret, pool
        self._beacon = None if drand is None else drand_source(drand)
        self._pace, self._shown = pace, shown

    async def run(self) -> SessionState:
        place = self._place
        ticket = place.ticket()
        manifest = place.manifest(ticket)
        vault = place.vault(ticket, os.urandom, self._secret)
        try:
            organiser = DurableOrganiser(
                vault,
                manifest,
                place.key(self._secret),
                self._schedule,
                rng=os.urandom,
                executor=self._pool,
            )
            if place.closed:
                organiser.close()
            self._shown.add_event(_begun(ticket.session, ticket.board))
            return await run(
                organiser,
                BoardLog(board_client(ticket, vault.board), ticket.session, self._pool),
                beacon=self._beacon,
                pace=self._pace,
                tell=OrganiserProgress(manifest, self._shown, _names(place)),
                closing=lambda: place.closed,
            )
        finally:
            vault.close()


def _names(place: OrganiserPlace) -> Names:
    """The names of the roster that the session was created with, if it had any."""
    return names_in(place.roster_path) if place.roster_path.is_file() else NOBODY


def _begun(session: bytes, board: str) -> ProgressEvent:
    text = f"session {session.hex()[:16]} on {board}"
    return ProgressEvent("session-open", text, {"session": session.hex(), "board": board})


def _until_stopped(work: Coroutine[Any, Any, _T]) -> _T | None:
    """The result, or None after SIGINT or SIGTERM: what is stored is whole at any moment."""

    async def guarded() -> _T | None:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return None

    return asyncio.run(guarded())
