"""Runs `gopa join`: takes part in one session as one party."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from gopa.cli.entry import INTERRUPTED_EXIT
from gopa.cli.join_words import (
    BoardUnreachable,
    PatientConnect,
    SessionAbsent,
    facts_of,
    joined_line,
    sentence,
    tell,
)
from gopa.cli.options import Seconds, read_value, reporting
from gopa.cli.session_access import known_secret, secret_options
from gopa.cli.session_progress import CurrentActivity, ProgressDisplay, ProgressEvent, progress
from gopa.party import LocalPolicy, Refusal
from gopa.sessions.vault import identity as identities
from gopa.wording import sentence as capitalised
from wire.errors import Aborted, UsageError

if TYPE_CHECKING:
    from gopa.sessions.client import Membership
    from gopa.sessions.contribution import Contribution

ABORTED_EXIT: Final = 3
"""The round ended without a result, and nobody's value was used."""

UNREACHABLE_EXIT: Final = 4
"""The board was out of reach, or without the session, for too long; the same command goes on."""

ACCEPT: Final = {
    "epsilon": "--epsilon {needed}",
    "delta": "--delta {needed}",
    "joined": "--delta {needed}",
    "mode": "--allow-signed",
    "trust": "--allow-curious",
    "admission": "--allow-anyone",
    "simulation": "--allow-simulation",
    "corrupt": "--corrupt-share {needed}",
    "policy": "leave out --witnesses",
}
"""What to say to take part all the same."""


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise click.BadParameter(f"{text!r} is no decimal number") from None


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is no fraction such as 1/10 or 0.1") from None


_path = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class _JoinOptions:
    """One run of the command."""

    ticket: Path
    identity: Path
    state: Path
    value: Any
    weight: float | None
    max_weight: str | None
    clip: bool
    rounds: int
    policy: LocalPolicy


@click.command()
@click.argument("ticket", type=_path)
@click.option(
    "--identity", type=_path, required=True, help="Your key, as `gopa keygen` has made it."
)
@click.option(
    "--value",
    metavar="NUMBER",
    help="Your value. The shell remembers what stands here: - reads it from standard input.",
)
@click.option("--file", "file", type=_path, help="Your value: .npy, .json, or numbers in a text.")
@click.option("--weight", type=float, help="The weight of your value; it stays private.")
@click.option("--max-weight", help="The largest weight of the session, as its organiser says.")
@click.option("--clip", is_flag=True, help="Move a value out of range to the nearest in range.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="In how many rounds the value is offered.",
)
@click.option(
    "--state",
    type=_path,
    help="Where to remember the session: by default `sessions` beside the key.",
)
@click.option(
    "--patience",
    type=Seconds(),
    metavar="SECONDS",
    default=600.0,
    show_default=True,
    help="How long to try on while the board cannot be reached or does not have the session.",
)
@click.option(
    "--epsilon",
    type=_decimal,
    metavar="NUMBER",
    default="1",
    show_default=True,
    help="The most you accept.",
)
@click.option(
    "--delta",
    type=_decimal,
    metavar="NUMBER",
    default="1e-5",
    show_default=True,
    help="The most you accept.",
)
@click.option(
    "--corrupt-share",
    type=_fraction,
    metavar="FRACTION",
    default="0",
    show_default=True,
    help="The part of the parties that may collude without harm to you, at least.",
)
@click.option("--witnesses", is_flag=True, help="Take part only where witnesses watch the board.")
@click.option("--allow-signed", is_flag=True, help="Take part where inputs are not proved.")
@click.option("--allow-curious", is_flag=True, help="Take part where liars are not found.")
@click.option("--allow-anyone", is_flag=True, help="Take part where anybody may join.")
@click.option("--allow-simulation", is_flag=True, help="Take part in a simulation.")
@secret_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, as things happen.")
def join(  # noqa: PLR0913 - click passes every option by name
    *,
    ticket: Path,
    identity: Path,
    value: str | None,
    file: Path | None,
    weight: float | None,
    max_weight: str | None,
    clip: bool,
    rounds: int,
    state: Path | None,
    patience: float,
    epsilon: Decimal,
    delta: Decimal,
    corrupt_share: Fraction,
    witnesses: bool,
    allow_signed: bool,
    allow_curious: bool,
    allow_anyone: bool,
    allow_simulation: bool,
    passphrase_file: Path | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Take part in the session of TICKET with one value, and see the result.

    Nobody learns your value: not the organiser, not the board, not the other parties. It may
    take as long as the organiser waits for everybody. If this is stopped, or the machine goes
    down, the same command goes on where it was.

    Ends with 0 and the result; with 3 if there was none; with 1 if somebody broke the rules in
    a way that stopped you, and says who; with 2 if something has to be changed here; with 4 if
    the board could not be reached, or did not have the session, for too long.
    """
    from gopa.messages.manifest import Mode

    asked = _JoinOptions(
        ticket=ticket,
        identity=identity,
        state=state or identity.resolve().parent / "sessions",
        value=read_value(value, file),
        weight=weight,
        max_weight=max_weight,
        clip=clip,
        rounds=rounds,
        policy=LocalPolicy(
            epsilon=epsilon,
            delta=delta,
            corrupt_share=corrupt_share,
            modes=frozenset(Mode) if allow_signed else frozenset({Mode.FULL}),
            honest_but_curious=allow_curious,
            witnesses=witnesses,
            open_admission=allow_anyone,
            simulation=allow_simulation,
        ),
    )
    secret = known_secret(identity, passphrase_file, key_file)
    screen = progress(as_json=as_json)
    connect = PatientConnect(screen, patience)
    try:
        with reporting(), screen:
            connect.run(_run(asked, secret, screen, connect, as_json=as_json))
    except Refusal as error:
        raise advised(error) from None
    except Aborted as error:
        click.echo(f"gopa: {error}", err=True)
        sys.exit(ABORTED_EXIT)
    except SessionAbsent as error:
        click.echo(f"gopa: {error}", err=True)
        _leave(UNREACHABLE_EXIT, connect)
    except BoardUnreachable as error:
        click.echo(f"gopa: {error}; the same command goes on where it was", err=True)
        _leave(UNREACHABLE_EXIT, connect)
    except KeyboardInterrupt:
        click.echo("gopa: stopped; the same command goes on where it was", err=True)
        _leave(INTERRUPTED_EXIT, connect)


def _leave(code: int, connect: PatientConnect) -> NoReturn:
    """End the process, also if a thread hangs: what is stored is whole at any moment."""
    if connect.hangs:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


async def _run(
    asked: _JoinOptions,
    secret: Any,
    screen: ProgressDisplay,
    connect: PatientConnect,
    *,
    as_json: bool,
) -> None:
    from gopa.sessions.client import Client
    from gopa.sessions.ticket import Ticket

    key = identities.load(asked.identity, secret)
    ticket = Ticket.read(asked.ticket)
    screen.set_activity(CurrentActivity(f"waiting until the session is open at {ticket.board}"))
    home = asked.state
    async with Client(key, asked.policy, home=home, secret=secret, connect=connect) as client:
        membership = await client.join(ticket, watch=lambda news: tell(screen, news))
        screen.add_event(joined_line(membership.manifest))
        found = await membership.concluded(
            asked.value, weight=asked.weight, max_weight=asked.max_weight
        )
        if found is not None:
            text = "the session is over; this was its last result"
            screen.add_event(ProgressEvent("session over", text, {"round": found.round}))
            _show(found, screen, as_json=as_json)
            return
        for _ in range(asked.rounds):
            if membership.news is None or membership.news.opens is None:
                screen.set_activity(CurrentActivity("waiting for a round to open"))
            _show(await _contributed(membership, asked), screen, as_json=as_json)


async def _contributed(membership: Membership, asked: _JoinOptions) -> Contribution:
    """A session that is over broke no rule: it ends like a round without a result."""
    from gopa.aggregation.errors import OutOfRange
    from gopa.sessions.party_runner import SessionOver

    try:
        return await membership.contribute(
            asked.value, weight=asked.weight, max_weight=asked.max_weight, clip=asked.clip
        )
    except SessionOver as error:
        raise Aborted(str(error)) from None
    except OutOfRange as error:
        what = error.message.partition(":")[0]
        raise UsageError(f"{what}: --clip moves it to the nearest in range", "value") from None


def _show(found: Contribution, screen: ProgressDisplay, *, as_json: bool) -> None:
    screen.set_activity(None)
    if as_json:
        screen.add_event(ProgressEvent("result", "", facts_of(found)))
    else:
        click.echo(sentence(found))


def advised(error: Refusal) -> UsageError:
    """The reason, and what to say to accept it all the same, where that helps."""
    helps = error.needed or error.field not in {"admission", "policy"}
    advice = ACCEPT.get(error.field, "") if helps else ""
    accept = f" To accept: {advice.format(needed=error.needed)}" if advice else ""
    kept = "Your value was not used." if error.field == "joined" else "Nothing was sent."
    return UsageError(f"{capitalised(error.message)}. {kept}{accept}")
