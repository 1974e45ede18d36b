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

from bulletin_board.display import visible
from gopa.cli.config import config_option
from gopa.cli.exits import ABORTED_EXIT, INTERRUPTED_EXIT, JOIN, LATER_EXIT, exit_help
from gopa.cli.figures import MetricsAddress, figures_option, watched
from gopa.cli.join_words import (
    BoardUnreachable,
    Declined,
    PatientConnect,
    SessionAbsent,
    asked_line,
    facts_of,
    joined_line,
    on_terminal,
    sentence,
    tell,
)
from gopa.cli.logs import LogOptions, log_options
from gopa.cli.options import Seconds, read_numbers, read_value, reporting
from gopa.cli.session_access import known_secret, secret_options
from gopa.cli.session_progress import (
    CurrentActivity,
    ProgressDisplay,
    ProgressEvent,
    progress,
    question_rows,
)
from gopa.planning.target import CORRUPT
from gopa.protocol.party import LocalPolicy, Refusal
from gopa.sessions.vault import identity as identities
from gopa.support.wording import EXACT_DIFFERENCE
from gopa.support.wording import sentence as capitalised
from wire.errors import Aborted, UsageError

if TYPE_CHECKING:
    from gopa.contract.manifest import Manifest
    from gopa.sessions.client import Membership
    from gopa.sessions.contribution import Contribution

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
    "exact_sums": "--accept-exact-sum",
    "path": "leave out --refuse-rows",
}
"""What to say to take part all the same."""


_UNUSED: Final = (
    "The value given now was not used: an earlier run of this party has answered, or the session"
    " ended without it."
)


_FIRST: Final = "Your value (empty: do not take part): "
_AGAIN: Final = "Your value, the same as before, which has been sent (empty: stop here): "


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
    """One run of the command. A `value` that is None is typed on the terminal."""

    ticket: Path
    identity: Path
    state: Path
    marks: Path | None
    value: Any
    asks: bool
    weight: float | None
    max_weight: str | None
    clip: bool
    rounds: int
    again: bool
    policy: LocalPolicy


_HELP: Final = f"""Take part in the session of TICKET with one value, and see the result.

Nobody learns your value: not the organiser, not the board, not the other parties. On a
terminal you see the question, the range and the privacy first, and are asked. It may
take as long as the organiser waits for everybody. If this is stopped, or the machine goes
down, the same command goes on where it was.

{exit_help(JOIN)}
"""


@click.command(help=_HELP)
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
    help="Where to remember the session: by default KEY.sessions beside the key.",
)
@click.option(
    "--marks",
    type=_path,
    help="Where to remember which memory is the newest: by default STATE-marks beside STATE.",
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
    default=str(CORRUPT),
    show_default=True,
    help="The part of the parties that may collude without harm to you, rounded down, but at least"
    " one. 1/200 takes a plan for one of 200.",
)
@click.option("--witnesses", is_flag=True, help="Take part only where witnesses watch the board.")
@click.option("--allow-signed", is_flag=True, help="Take part where inputs are not proved.")
@click.option(
    "--refuse-rows",
    is_flag=True,
    help="Take no part where noise is only proved to be short and not aimed, as of long vectors.",
)
@click.option("--allow-curious", is_flag=True, help="Take part where liars are not found.")
@click.option("--allow-anyone", is_flag=True, help="Take part where anybody may join.")
@click.option("--allow-simulation", is_flag=True, help="Take part in a simulation.")
@click.option(
    "--accept-exact-sum", is_flag=True, help="Take part where the sum is released without noise."
)
@click.option(
    "--again", is_flag=True, help="Give a new value to another exact sum of the same session."
)
@click.option("--yes", is_flag=True, help="Do not ask on a terminal whether to take part.")
@figures_option
@log_options
@secret_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, as things happen.")
@config_option("join")
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
    marks: Path | None,
    patience: float,
    epsilon: Decimal,
    delta: Decimal,
    corrupt_share: Fraction,
    witnesses: bool,
    allow_signed: bool,
    refuse_rows: bool,
    allow_curious: bool,
    allow_anyone: bool,
    allow_simulation: bool,
    accept_exact_sum: bool,
    again: bool,
    yes: bool,
    metrics: MetricsAddress | None,
    log_lines: LogOptions,
    passphrase_file: Path | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Takes part in one session, to its result."""
    from gopa.contract.manifest import Mode
    from gopa.contract.manifest import Path as ProofPath

    terminal = on_terminal()
    typed = terminal and value is None and file is None
    asked = _JoinOptions(
        ticket=ticket,
        identity=identity,
        state=state or _sessions_of(identity.resolve()),
        marks=marks,
        value=None if typed else read_value(value, file),
        asks=terminal and not yes and value != "-",
        weight=weight,
        max_weight=max_weight,
        clip=clip,
        rounds=rounds,
        again=again,
        policy=LocalPolicy(
            epsilon=epsilon,
            delta=delta,
            corrupt_share=corrupt_share,
            modes=frozenset(Mode) if allow_signed else frozenset({Mode.FULL}),
            paths=frozenset({ProofPath.BITS}) if refuse_rows else frozenset(ProofPath),
            honest_but_curious=allow_curious,
            witnesses=witnesses,
            open_admission=allow_anyone,
            simulation=allow_simulation,
            exact_sums=accept_exact_sum,
        ),
    )
    secret = known_secret(identity, passphrase_file, key_file)
    shown = progress(as_json=as_json, logs=log_lines)
    connect = None
    try:
        with reporting(), watched(shown, metrics, "party") as screen:
            connect = PatientConnect(screen, patience)
            connect.run(_run(asked, secret, screen, connect, as_json=as_json))
    except Refusal as error:
        raise advised(error) from None
    except Aborted as error:
        click.echo(f"gopa: {error}", err=True)
        sys.exit(ABORTED_EXIT)
    except SessionAbsent as error:
        click.echo(f"gopa: {error}", err=True)
        _leave(LATER_EXIT, connect)
    except BoardUnreachable as error:
        click.echo(f"gopa: {error}; the same command goes on where it was", err=True)
        _leave(LATER_EXIT, connect)
    except Declined:
        raise UsageError("you did not take part. Nothing was sent") from None
    except KeyboardInterrupt:
        click.echo("gopa: stopped; the same command goes on where it was", err=True)
        _leave(INTERRUPTED_EXIT, connect)


def _sessions_of(identity: Path) -> Path:
    """Where a key's sessions are remembered: keys may lie beside each other, memories may not."""
    return identity.with_name(f"{identity.name}.sessions")


def _leave(code: int, connect: PatientConnect | None) -> NoReturn:
    """End the process, also if a thread hangs: what is stored is whole at any moment."""
    if connect is not None and connect.hangs:
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
    from gopa.sessions.vault import FileGuard

    key = identities.load(asked.identity, secret)
    ticket = Ticket.read(asked.ticket)
    screen.set_activity(CurrentActivity(f"waiting until the session is open at {ticket.board}"))
    guard = None if asked.marks is None else FileGuard(asked.marks)
    made = Client(key, asked.policy, home=asked.state, guard=guard, secret=secret, connect=connect)
    async with made as client:
        membership = await client.join(ticket, watch=lambda news: tell(screen, news))
        _require_one_round(membership.manifest, asked.rounds)
        screen.add_event(joined_line(membership.manifest))
        value = await _answer(asked, membership, screen)
        found = await membership.concluded(value, weight=asked.weight, max_weight=asked.max_weight)
        if found is not None:
            _show_last(found, screen, as_json=as_json)
            return
        _require_new_value(membership, again=asked.again)
        for _ in range(asked.rounds):
            if membership.news is None or membership.news.opens is None:
                screen.set_activity(CurrentActivity("waiting for a round to open"))
            _show(await _contributed(membership, asked, value), screen, as_json=as_json)


def _require_one_round(manifest: Manifest, rounds: int) -> None:
    """No value goes into several exact sums: they may differ by this party alone (03-V43)."""
    if manifest.terms.exact and rounds > 1:
        message = (
            f"{EXACT_DIFFERENCE}, so every round of them takes a new value, and one command has one"
            " (rule 03-V43): take 1, and join again with the value for the next round"
        )
        raise UsageError(message, "--rounds")


def _require_new_value(membership: Membership, *, again: bool) -> None:
    """A command that is started once more does not give a value to a second exact sum unasked."""
    if membership.manifest.terms.exact and membership.gave_before and not again:
        message = (
            "a value of yours was in a round of this session before, whose exact sum somebody may"
            f" know: {EXACT_DIFFERENCE}. If this value is a new one, say --again"
        )
        raise UsageError(message, "value")


async def _answer(asked: _JoinOptions, membership: Membership, screen: ProgressDisplay) -> Any:
    """The value; on a terminal the owner is asked first, unless the party is in already."""
    if asked.value is not None and (not asked.asks or membership.committed):
        return asked.value
    screen.set_activity(None)
    with screen.paused():
        for name, text in question_rows(membership.manifest):
            click.echo(f"{name:<10}{visible(text, 2_000)}", err=True)
        if asked.value is None:
            line = await asked_line(_AGAIN if membership.committed else _FIRST)
            if not line and membership.committed:
                raise KeyboardInterrupt  # the first answer stands: this only stops
            if not line:
                raise Declined
            return read_numbers(line, "your value")
        if (await asked_line("Take part? [y/N] ")).lower() not in {"y", "yes"}:
            raise Declined
        return asked.value


def _show_last(found: Contribution, screen: ProgressDisplay, *, as_json: bool) -> None:
    """The session was over before: whatever value was given now came too late."""
    text = f"the session is over; this was its last result. {_UNUSED}"
    facts = {"round": found.round, "value_used": False}
    screen.add_event(ProgressEvent("session over", text, facts))
    _show(found, screen, as_json=as_json)
    if not as_json:
        click.echo(f"note     {_UNUSED}")


async def _contributed(membership: Membership, asked: _JoinOptions, value: Any) -> Contribution:
    """A session that is over broke no rule: it ends like a round without a result."""
    from gopa.aggregation.values import InvalidValue, OutOfRange
    from gopa.sessions.parties.runner import SessionOver

    try:
        return await membership.contribute(
            value, weight=asked.weight, max_weight=asked.max_weight, clip=asked.clip
        )
    except SessionOver as error:
        raise Aborted(str(error)) from None
    except InvalidValue as error:  # its field is that of a list of values
        what = error.message
        if isinstance(error, OutOfRange):
            what = f"{what.partition(':')[0]}: --clip takes the nearest that is allowed"
        raise UsageError(what, f"value{error.coordinate}") from None


def _show(found: Contribution, screen: ProgressDisplay, *, as_json: bool) -> None:
    screen.set_activity(None)
    text = f"round {found.round} has its result, over {found.count} parties"
    screen.add_event(ProgressEvent("result", text, facts_of(found)))
    if not as_json:
        click.echo(sentence(found))


def advised(error: Refusal) -> UsageError:
    """The reason, and what to say to accept it all the same, where that helps."""
    helps = error.needed or error.field not in {"admission", "policy"}
    advice = ACCEPT.get(error.field, "") if helps else ""
    accept = f" To accept: {advice.format(needed=error.needed)}" if advice else ""
    kept = "Your value was not used." if error.field == "joined" else "Nothing was sent."
    return UsageError(f"{capitalised(error.message)}. {kept}{accept}")
