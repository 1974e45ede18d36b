"""Runs `gopa board serve` and `gopa board witness`, which go on until they are stopped.

The options of `serve` also say who may post to the board.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bulletin_board.admission import AdmissionPolicy, Anyone, RosterAdmission
from bulletin_board.storage.directory import BoardDirectory
from gopa.cli.config import config_option
from gopa.cli.logs import LogOptions, log_event, log_options, logging_to, standard_error
from gopa.cli.options import (
    as_json_option,
    check_certificate,
    directory,
    listen_options,
    lock_option,
    numbered_lines,
    parse_log_key,
    parse_public_key,
    policy_option,
    read_policy,
    read_text,
    reporting,
    show,
    witness_signer,
)
from gopa.cli.serving_options import ServingOptions, serving_options
from wire.errors import UsageError

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from bulletin_board.server.page import SessionView
    from bulletin_board.server.run import ListenOptions


@dataclass(frozen=True, slots=True)
class BoardAdmission:
    """Holds where a board gets its policy from, and what its page shows of that."""

    admission: Callable[[], AdmissionPolicy]
    view: SessionView | None = None


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """Holds the options that say who may post, as they were given."""

    sessions: bool
    organisers: Path | None
    roster: Path | None
    anyone: bool
    quota: int
    most_sessions: int
    most_pending: int

    def board_admission(self) -> BoardAdmission:
        """Raises `UsageError` unless exactly one way was chosen, and its files are right."""
        if self.sessions + self.anyone + (self.roster is not None) != 1:
            raise UsageError("say who may post: --sessions, --roster FILE or --anyone")
        if self.organisers is not None and not self.sessions:
            raise UsageError("--organisers says who may begin sessions: give --sessions too")
        if self.sessions:
            return self._sessions()
        if self.roster is not None:
            keys = read_keys(self.roster)
            return BoardAdmission(lambda: RosterAdmission(keys, self.quota))
        return BoardAdmission(lambda: Anyone(self.quota))

    def _sessions(self) -> BoardAdmission:
        from gopa.admission import Limits
        from gopa.session_view import Sessions

        organisers = None if self.organisers is None else read_keys(self.organisers)
        limits = Limits.of(
            organisers, most_sessions=self.most_sessions, most_pending=self.most_pending
        )
        sessions = Sessions(limits)
        return BoardAdmission(sessions.policy, sessions)


def read_keys(path: Path) -> list[bytes]:
    """Reads Ed25519 keys from a file, one of 64 hexadecimal digits a line; # begins a comment."""
    lines = numbered_lines(read_text(path))
    keys = [parse_public_key(word, f"{path}, line {number}") for number, word in lines]
    if not keys:
        raise UsageError(f"{path} holds no keys: nobody could post")
    return keys


@click.command()
@directory
@lock_option
@click.option("--sessions", is_flag=True, help="Admit what can count in sessions of GOPA.")
@click.option(
    "--organisers",
    type=click.Path(path_type=Path),
    help="With --sessions: keys that may begin some, one hex per line. Else anybody may.",
)
@click.option(
    "--roster", type=click.Path(path_type=Path), help="Registered keys, one hex per line."
)
@click.option("--anyone", is_flag=True, help="Admit every key: for trials, nothing bounds the log.")
@click.option(
    "--quota", type=click.IntRange(1), default=10_000, show_default=True, help="Entries per author."
)
@click.option(
    "--most-sessions",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="With --sessions: how many may be open at once; one without a round may be given up"
    " for another.",
)
@click.option(
    "--most-pending",
    type=click.IntRange(1),
    default=1_024,
    show_default=True,
    help="With --sessions: how many manifests of several entries may be on their way; the one"
    " that stood still longest is given up for another.",
)
@click.option(
    "--risk-fork",
    is_flag=True,
    help="Open a log although too few witnesses say that they hold no more of it. If its storage"
    " comes from a backup, this forks the log and finishes its key.",
)
@policy_option
@serving_options
@listen_options(8765)
@log_options
@as_json_option
@config_option("board.serve")
def serve(  # noqa: PLR0913 - click passes every option by name
    *,
    directory: Path,
    lock: Path | None,
    sessions: bool,
    organisers: Path | None,
    roster: Path | None,
    anyone: bool,
    quota: int,
    most_sessions: int,
    most_pending: int,
    risk_fork: bool,
    policy_path: Path | None,
    serving: ServingOptions,
    listen: ListenOptions,
    log_lines: LogOptions,
    as_json: bool,
) -> None:
    """Serve the log in DIRECTORY: tiles, entry submission, a page that shows it live.

    SIGTERM stops it without losing anything that was acknowledged. What happens is logged on
    stderr, a line for each event; figures for Prometheus are at /metrics. Exits with 0 when it
    was stopped, 1 when its storage or its witnesses forbid to go on, 2 for wrong usage.
    """
    from bulletin_board.server.run import start_board

    with reporting(), ExitStack() as stack:
        stack.enter_context(logging_to(standard_error(), log_lines))
        check_certificate(listen.certificate, listen.certificate_key)
        doors = AdmissionOptions(
            sessions, organisers, roster, anyone, quota, most_sessions, most_pending
        ).board_admission()
        place = BoardDirectory(directory, lock)
        signer = place.signer()
        policy = read_policy(policy_path, str(signer.verifier))

        def application() -> Starlette:
            return start_board(
                place,
                signer,
                policy,
                doors.admission,
                stack,
                serving.limits(directory, strangers=roster is None and organisers is None),
                doors.view,
                risk_fork=risk_fork,
                access_log=serving.access_log,
            )

        _run(application, serving.listening(listen), {"log": str(signer.verifier)}, as_json)


@click.command()
@directory
@click.option("--name", help="The witness's name; needed the first time.")
@click.option("--log", "logs", multiple=True, required=True, help="A log's verifier key.")
@listen_options(8766)
@log_options
@as_json_option
def witness(  # noqa: PLR0913 - click passes every option by name
    *,
    directory: Path,
    name: str | None,
    logs: tuple[str, ...],
    listen: ListenOptions,
    log_lines: LogOptions,
    as_json: bool,
) -> None:
    """Cosign checkpoints of logs, one history each. DIRECTORY keeps the key and the memory."""
    from bulletin_board.witness.service import Witness, WitnessStore, build_witness_app

    with reporting(), logging_to(standard_error(), log_lines):
        check_certificate(listen.certificate, listen.certificate_key)
        keys = [parse_log_key(log) for log in logs]
        signer = witness_signer(directory, name)

        def application() -> Starlette:
            return build_witness_app(
                Witness(signer, keys, WitnessStore(directory / "witness.sqlite"))
            )

        _run(application, listen, {"witness": str(signer.verifier)}, as_json)


def _run(
    application: Callable[[], Starlette],
    listen: ListenOptions,
    facts: dict[str, object],
    as_json: bool,
) -> None:
    """Serve until stopped. The address is taken before anything is opened, and said after."""
    from bulletin_board.server.accepting import raise_descriptor_limit
    from bulletin_board.server.run import bind, make_server

    raise_descriptor_limit()

    def listening(addresses: list[str]) -> None:
        show(facts | {"listening": ", ".join(addresses)}, as_json)
        log_event("listening", f"listening at {', '.join(addresses)}", {"addresses": addresses})

    with ExitStack() as stack:
        sockets = [stack.enter_context(bound) for bound in bind(listen)]
        with _ending_well():
            make_server(application(), listen, listening).run(sockets)
        log_event("stopped", "stopped: everything that was acknowledged is in the log", {})


@contextmanager
def _ending_well() -> Iterator[None]:
    """Lets SIGTERM end the command with 0: the server raises it again when all is in the log."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
