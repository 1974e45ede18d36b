"""Runs `gopa board serve` and `gopa board witness`, which go on until they are stopped.

The options of `serve` also say who may post to the board.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bulletin_board.admission import AdmissionPolicy, Anyone, RosterAdmission
from bulletin_board.storage.directory import BoardDirectory
from gopa.cli.config import config_option
from gopa.cli.exits import SERVE, WITNESS, exit_help
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
from gopa.support.wording import counted
from wire.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.applications import Starlette

    from bulletin_board.server.run import ListenOptions


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """The options about who may post, as they were typed."""

    sessions: bool
    organisers: Path | None
    roster: Path | None
    anyone: bool
    quota: int
    most_sessions: int
    most_pending: int

    def check(self) -> None:
        """Raises `UsageError` unless exactly one way was chosen."""
        if self.sessions + self.anyone + (self.roster is not None) != 1:
            raise UsageError("say who may post: --sessions, --roster FILE or --anyone")
        if self.organisers is not None and not self.sessions:
            raise UsageError("--organisers says who may begin sessions: give --sessions too")


class BoardDoors:
    """The policies of a board, made of its options, and anew when their files have changed.

    `view` is what its page shows of sessions.
    """

    def __init__(self, options: AdmissionOptions) -> None:
        """Raises `UsageError` if the options exclude each other, or a file is wrong."""
        from gopa.protocol.admission.view import Sessions

        options.check()
        self._options = options
        self.view = Sessions() if options.sessions else None
        self.read()

    def read(self) -> None:
        """Read the files again; the next policy is of what they say. Raises as the constructor."""
        given = self._options
        path = given.organisers or given.roster
        self._keys = None if path is None else read_keys(path)
        if self.view is not None:
            from gopa.protocol.admission.policy import Limits

            most = given.most_sessions, given.most_pending
            self.view.limit(Limits.of(self._keys, None, *most))

    @property
    def said(self) -> str:
        """Who may post, in a few words."""
        if self._keys is None:
            return "anybody may begin sessions" if self.view is not None else "anybody may post"
        what = "begin sessions" if self.view is not None else "post"
        return f"{counted(len(self._keys), 'key')} may {what}"

    def policy(self) -> AdmissionPolicy:
        """A policy made of the options and files as they are now."""
        if self.view is not None:
            return self.view.policy()
        quota = self._options.quota
        return Anyone(quota) if self._keys is None else RosterAdmission(self._keys, quota)


def read_keys(path: Path) -> list[bytes]:
    """Reads Ed25519 keys from a file, one of 64 hexadecimal digits a line; # begins a comment."""
    lines = numbered_lines(read_text(path))
    keys = [parse_public_key(word, f"{path}, line {number}") for number, word in lines]
    if not keys:
        raise UsageError(f"{path} holds no keys: nobody could post")
    return keys


_SERVE: Final = f"""Serve the log in DIRECTORY: tiles, entry submission, a page that shows it live.

SIGTERM stops it without losing anything that was acknowledged. What happens is logged on
stderr, a line for each event; figures for Prometheus are at /metrics.

{exit_help(SERVE)}
"""

_WITNESS: Final = f"""Cosign checkpoints of logs, one history each.

DIRECTORY keeps the key and the memory; DIRECTORY/witness.vkey is the public half of the key, for
the policy of a board. The address has /healthz, and figures for Prometheus at /metrics.

{exit_help(WITNESS)}
"""


@click.command(help=_SERVE)
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
    help="Open a log although too few witnesses say that they hold no more of it, or although it"
    " had witnesses and --policy names none of them. If its storage comes from a backup, this forks"
    " the log and finishes its key.",
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
    """Serves a log until it is stopped."""
    from bulletin_board.server.run import start_board

    with reporting(), ExitStack() as stack:
        stack.enter_context(logging_to(standard_error(), log_lines))
        check_certificate(listen.certificate, listen.certificate_key)
        doors = BoardDoors(
            AdmissionOptions(
                sessions, organisers, roster, anyone, quota, most_sessions, most_pending
            )
        )
        place = BoardDirectory(directory, lock)
        signer = place.signer()
        policy = read_policy(policy_path, str(signer.verifier))

        def application() -> Starlette:
            return start_board(
                place,
                signer,
                policy,
                doors.policy,
                stack,
                serving.limits(directory, strangers=roster is None and organisers is None),
                doors.view,
                risk_fork=risk_fork,
                access_log=serving.access_log,
            )

        def renew(app: Starlette) -> str:
            doors.read()
            app.state.admit_anew()
            return doors.said

        service = Served(
            application,
            {"log": str(signer.verifier)},
            "stopped: everything that was acknowledged is in the log",
            renew,
        )
        service.run(serving.listening(listen), as_json=as_json)


@click.command(help=_WITNESS)
@directory
@click.option("--name", help="The witness's name; needed the first time.")
@click.option("--log", "logs", multiple=True, required=True, help="A log's verifier key.")
@listen_options(8766)
@log_options
@as_json_option
@config_option("board.witness")
def witness(  # noqa: PLR0913 - click passes every option by name
    *,
    directory: Path,
    name: str | None,
    logs: tuple[str, ...],
    listen: ListenOptions,
    log_lines: LogOptions,
    as_json: bool,
) -> None:
    """Serves a witness until it is stopped."""
    from bulletin_board.witness.service import Witness, WitnessStore, build_witness_app

    with reporting(), logging_to(standard_error(), log_lines):
        check_certificate(listen.certificate, listen.certificate_key)
        keys = [parse_log_key(log) for log in logs]
        signer = witness_signer(directory, name)

        def application() -> Starlette:
            return build_witness_app(
                Witness(signer, keys, WitnessStore(directory / "witness.sqlite"))
            )

        service = Served(
            application,
            {"witness": str(signer.verifier)},
            "stopped: everything that was cosigned is remembered",
        )
        service.run(listen, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Served:
    """An application served until it is stopped: by SIGTERM with 0, from the keyboard with 130.

    SIGHUP has it read its files anew: a certificate, and what `renew` reads, which says what came
    of it. `stopped` is said at the end.
    """

    application: Callable[[], Starlette]
    facts: dict[str, object]
    stopped: str
    renew: Callable[[Starlette], str] = lambda _: ""

    def run(self, listen: ListenOptions, *, as_json: bool) -> None:
        """The address is taken before anything is opened, and said after."""
        from bulletin_board.server.accepting import raise_descriptor_limit
        from bulletin_board.server.run import bind, make_server

        raise_descriptor_limit()

        def listening(addresses: list[str]) -> None:
            show(self.facts | {"listening": ", ".join(addresses)}, as_json)
            log_event("listening", f"listening at {', '.join(addresses)}", {"addresses": addresses})

        with ExitStack() as stack:
            opened = threading.Event()
            asked = stack.enter_context(_signals(opened))
            sockets = [stack.enter_context(bound) for bound in bind(listen)]
            app = self.application()

            def renew() -> None:
                check_certificate(listen.certificate, listen.certificate_key)
                found = [self.renew(app)]
                if listen.certificate is not None:
                    found.append(f"the certificate in {listen.certificate}")
                text = "; ".join(filter(None, found)) or "there is nothing to read"
                log_event("reloaded", f"read anew: {text}", {})

            server = make_server(app, listen, listening, asked, renew)
            opened.set()
            try:
                server.run(sockets)
            except KeyboardInterrupt:  # the server raises it again when all is done
                log_event("stopped", self.stopped, {})
                raise
            log_event("stopped", self.stopped, {})


@contextmanager
def _signals(opened: threading.Event) -> Iterator[threading.Event]:
    """Lets SIGTERM end the command with 0: at once while the log is being opened.

    Once it is `opened` the server stops, and raises the signal again when all is in the log. The
    event is set whenever SIGHUP comes.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {
        signal.SIGTERM: lambda *_: None if opened.is_set() else sys.exit(0)
    }
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = lambda *_: asked.set()
    before = {number: signal.signal(number, each) for number, each in handlers.items()}
    try:
        yield asked
    finally:
        for number, each in before.items():
            signal.signal(number, each)
