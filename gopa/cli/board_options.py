"""Reads the options and files that commands of `gopa board` share, and prints their answers.

Policies, rosters, keys and certificates come in: everything wrong there is the user's to mend,
and a `UsageError` says how. Facts go to stdout, what is wrong in one line.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import click

from bulletin_board.modes import make_private_directory, require_private
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey, check_name
from bulletin_board.policy import TrustPolicy
from bulletin_board.storage.directory import BoardDirectory, read_secret, write_secret
from bulletin_board.text import visible
from wire.errors import MalformedMessage, ProtocolError, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes

FAILED_EXIT = 1


@contextmanager
def reporting() -> Iterator[None]:
    """What was received is wrong: one line and exit code 1. Usage errors go on to `main`."""
    try:
        yield
    except ProtocolError as error:
        click.echo(f"gopa: {type(error).__name__}: {visible(str(error), 1_000)}", err=True)
        sys.exit(FAILED_EXIT)
    except BrokenPipeError:
        raise  # whoever read the output has gone: click ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise UsageError(f"{where}{error.strerror or error}") from None


def show(facts: dict[str, object], as_json: bool) -> None:
    """One JSON object, or a line for each fact."""
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {visible(str(value), 1_000)}")


as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
log_option = click.option("--log", "log_key", help="The log's verifier key (vkey).")
policy_option = click.option(
    "--policy", "policy_path", type=click.Path(path_type=Path), help="A tlog policy file."
)
lock_option = click.option(
    "--lock", type=click.Path(path_type=Path), help="The lock file, best kept on another disk."
)
directory = click.argument("directory", type=click.Path(path_type=Path))

_certificate = click.Path(path_type=Path, exists=True)


def listen_options(port: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Where a server listens, and to how many: the command gets one `Listen` for all options."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @click.option("--host", default="127.0.0.1", show_default=True)
        @click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            show_default=True,
            help="0 takes any free one, and says which.",
        )
        @click.option("--tls-cert", type=_certificate, help="Certificate chain in PEM.")
        @click.option("--tls-key", type=_certificate, help="Its private key in PEM.")
        @click.option(
            "--connections",
            type=click.IntRange(1),
            default=1_024,
            show_default=True,
            help="How many may be open at once.",
        )
        @click.option(
            "--connections-per-address",
            type=click.IntRange(1),
            default=256,
            show_default=True,
            help="How many of them from one address other than this machine's. Behind a proxy on"
            " another machine all come from one: give as many as --connections there.",
        )
        @wraps(command)
        def listening(  # noqa: PLR0913 - click passes every option by name
            *,
            host: str,
            port: int,
            tls_cert: Path | None,
            tls_key: Path | None,
            connections: int,
            connections_per_address: int,
            **others: object,
        ) -> None:
            from bulletin_board.server.run import Listen

            listen = Listen(host, port, tls_cert, tls_key, connections, connections_per_address)
            command(listen=listen, **others)

        return listening

    return decorate


def read_policy(path: Path | None, log_key: str | None) -> TrustPolicy:
    """The policy in the file, or trust in the one log."""
    if path is not None:
        try:
            return TrustPolicy.parse(path.read_bytes())
        except MalformedMessage as error:
            raise UsageError(f"{path} is not a policy: {error}") from None
    if log_key is None:
        raise UsageError("name the log you trust: --log VKEY or --policy FILE")
    return TrustPolicy.single_log(parse_log_key(log_key))


def own_key(source: str) -> str | None:
    """The operator of a board need not name its own key."""
    directory = Path(source)
    if "://" in source:
        return None
    if not directory.exists():
        raise UsageError(f"{directory} does not exist")
    try:
        if not BoardDirectory(directory).key_path.is_file():
            return None
    except PermissionError:
        return None  # somebody else's board: its public files alone can be read
    return str(BoardDirectory(directory).signer().verifier)


def check_certificate(certificate: Path | None, key: Path | None) -> None:
    """Return if there are both or none, they belong together, and the key is its owner's alone."""
    if (certificate is None) != (key is None):
        raise UsageError("TLS needs both: --tls-cert FILE and --tls-key FILE")
    if certificate is not None and key is not None:
        require_private(key)
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except ssl.SSLError:
            raise UsageError(f"{certificate} and {key} are not a certificate and its key") from None


def witness_signer(directory: Path, name: str | None) -> NoteSigner:
    """The witness's key, made the first time."""
    path = directory / "key"
    if not path.exists():
        if name is None:
            raise UsageError("a new witness needs --name")
        check_option_name(name, "--name")
        make_private_directory(directory)
        signer = NoteSigner(name, KeyKind.WITNESS, SecretBytes(draw(os.urandom, 32)))
        write_secret(path, signer.to_secret_text())
    require_private(directory)
    return NoteSigner.from_secret_text(read_secret(path))


def parse_session(text: str) -> bytes:
    """32 bytes from hexadecimal digits."""
    try:
        session = bytes.fromhex(text)
    except ValueError:
        session = b""
    if len(session) != 32:
        raise UsageError("a session is 64 hexadecimal digits")
    return session


def check_option_name(name: str, option: str) -> None:
    """Return if a key may have this name."""
    try:
        check_name(name)
    except MalformedMessage as error:
        raise UsageError(f"{option} is {error.message}") from None


def parse_log_key(text: str) -> VerifierKey:
    """The key of a log as people exchange it."""
    try:
        key = VerifierKey.parse(text.strip())
    except MalformedMessage as error:
        raise UsageError(
            f"{text[:80]!r} is not a verifier key as `gopa board init` prints it: {error.message}"
        ) from None
    if key.kind is not KeyKind.LOG:
        raise UsageError(f"{key} is the key of a witness, not of a log")
    return key
