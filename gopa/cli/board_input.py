"""What the commands of `gopa board` are given: policies, rosters, keys, certificates.

Everything wrong here is the user's to mend: a `UsageError` says how.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from bulletin_board.modes import make_private_directory, require_private
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey, check_name
from bulletin_board.policy import TrustPolicy
from bulletin_board.storage.directory import BoardDirectory, read_secret, write_secret
from wire.errors import MalformedMessage, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes


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
