"""Reaches the board and the secrets of a session for the commands of `gopa session`.

Passphrases and key files come from files, the environment or the keyboard, never from the line.
What is on a command line is in the shell's history and in the list of processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from bulletin_board import TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, NetworkError
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.reader import MissingResource
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Passphrase, Secret
from gopa.sessions.vault import identity as identities
from gopa.sessions.vault import protection as key_file
from wire.errors import InvalidProof, MalformedMessage, UsageError

_SHORT: Final = Patience(attempts=3, first_seconds=0.2, most_seconds=1.0)
"""Somebody waits for the answer, or asks again by itself."""


def board_client(ticket: Ticket, state: ClientState | None = None) -> BoardClient:
    """Makes a client that believes what the ticket trusts."""
    return _client(ticket.board, ticket.trust, state or MemoryState())


def require_board(address: str, policy: TrustPolicy) -> None:
    """Refuses an address without a board that has this log; the error says what is there."""
    alone = TrustPolicy.single_log(policy.log.key)  # witnesses may come later
    try:
        _client(address, alone, MemoryState()).update()
    except NetworkError as error:
        message = f"the board does not answer: {error}. Start it, or use --offline"
        raise UsageError(message, "--board") from None
    except MissingResource:
        raise UsageError("there is a server, and it is no board", "--board") from None
    except (InvalidProof, MalformedMessage):
        message = "the board's log has another key: ask its operator, who sees it when it starts"
        raise UsageError(message, "--log-key") from None


def _client(address: str, policy: TrustPolicy, state: ClientState) -> BoardClient:
    transport = HttpTransport(seconds=20.0)
    return BoardClient(address, policy, state, transport, rng=os.urandom, patience=_SHORT)


PASSPHRASE_VARIABLE: Final = "GOPA_PASSPHRASE"  # noqa: S105 - a name, no passphrase
_LONGEST: Final = 4096
_file = click.Path(path_type=Path, dir_okay=False)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def secret_options(command: _Command) -> _Command:
    """Adds `--passphrase-file` and `--key-file`, for what is sealed already."""
    for option in (
        click.option("--key-file", type=_file, help="The key file that it is sealed with."),
        click.option(
            "--passphrase-file",
            type=_file,
            help="The passphrase that it is sealed with, as the first line of a file. Without it:"
            f" the environment variable {PASSPHRASE_VARIABLE}, or a question.",
        ),
    ):
        command = option(command)
    return command


def new_secret_options(command: _Command) -> _Command:
    """Adds the same for what is made now, and `--passphrase` to be asked for one."""
    for option in (
        click.option(
            "--key-file", type=_file, help="Seal it with this key file; made if it is not there."
        ),
        click.option(
            "--passphrase-file",
            type=_file,
            help="Seal it with the passphrase in the first line of this file.",
        ),
        click.option(
            "--passphrase",
            "ask",
            is_flag=True,
            help=f"Seal it with a passphrase: that in {PASSPHRASE_VARIABLE}, or ask for one.",
        ),
    ):
        command = option(command)
    return command


def new_secret(passphrase_file: Path | None, key_path: Path | None, *, ask: bool) -> Secret | None:
    """Gets what seals something new; None leaves it readable for whoever can read the file."""
    _require_one(passphrase_file, key_path, ask=ask)
    if key_path is not None:
        if key_path.exists():
            return key_file.load(key_path)
        try:
            return key_file.create(key_path, rng=os.urandom)
        except OSError as error:
            raise UsageError(f"{key_path} cannot be written: {error.strerror}") from None
    if passphrase_file is not None:
        return _from_file(passphrase_file)
    if not ask:
        return None
    return _from_environment() or _asked(confirm=True)


def known_secret(
    identity: Path, passphrase_file: Path | None, key_path: Path | None
) -> Secret | None:
    """Gets what opens an identity and the vault beside it; nothing if it is not sealed."""
    _require_one(passphrase_file, key_path, ask=False)
    if key_path is not None:
        return key_file.load(key_path)
    if passphrase_file is not None:
        return _from_file(passphrase_file)
    if not identities.is_sealed(identity):
        return None
    return _from_environment() or _asked(confirm=False)


def _require_one(passphrase_file: Path | None, key_path: Path | None, *, ask: bool) -> None:
    if (passphrase_file is not None) + (key_path is not None) + ask > 1:
        raise UsageError("take a passphrase or a key file, not both")


def _from_file(path: Path) -> Passphrase:
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST)
        return Passphrase.of(line.rstrip(b"\r\n").decode())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the first line of {path} is not text in UTF-8") from None


def _from_environment() -> Passphrase | None:
    text = os.environ.get(PASSPHRASE_VARIABLE)
    return None if text is None else Passphrase.of(text)


def _asked(*, confirm: bool) -> Passphrase:
    if not sys.stdin.isatty():
        raise UsageError(
            f"a passphrase is needed: --passphrase-file FILE, or {PASSPHRASE_VARIABLE} in the"
            " environment"
        )
    text: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return Passphrase.of(text)
