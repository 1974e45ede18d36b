"""Reads what several commands take, options, values and files, and prints their answers.

Everything wrong there is the user's to mend, and a `UsageError` says how. Facts go to stdout,
what is wrong in one line to stderr.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import ssl
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, Final, TypeVar
from zipfile import BadZipFile

import click
import numpy as np

from bulletin_board.display import visible
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey, check_name
from bulletin_board.policy import TrustPolicy
from bulletin_board.storage.directory import BoardDirectory, read_secret, write_secret
from bulletin_board.storage.files import make_private_directory, replace_file, require_private
from gopa.cli.exits import USAGE_EXIT, complain, exit_code, last_words
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage, ProtocolError, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes
from wire.strict_json import read_json


class Seconds(click.FloatRange):
    """Reads a number of seconds, not negative; `inf` is for ever, and so would `nan` be."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0.0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; refuses everything else."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return found


_LARGEST: Final = 1 << 30
_LARGEST_TEXT: Final = 1 << 28
_LONGEST_LINE: Final = 4_096
_LONGEST_WORD: Final = 80
_STANDARD_INPUT: Final = "-"
_UNREADABLE: Final = (
    ValueError,
    EOFError,
    SyntaxError,
    TypeError,
    OverflowError,
    MemoryError,
    TokenError,
    BadZipFile,
)
"""What numpy raises on files of which it cannot read the head."""


def read_value(text: str | None, path: Path | None) -> Any:
    """Reads a number, or what a file holds: an array (.npy), JSON (.json), or numbers in a text.

    Raises:
        UsageError: there is not exactly one source, or it holds no numbers. What it holds
            instead is not repeated: it may be private.
    """
    if (text is None) == (path is None):
        raise UsageError("give one value: --value NUMBER (or - for standard input) or --file FILE")
    if path is not None:
        return _from_file(path)
    if text == _STANDARD_INPUT:
        return read_numbers(sys.stdin.read(_LARGEST), "standard input")
    return read_numbers(text or "", "--value")


def read_text(path: Path) -> str:
    """Reads the text of a file; `UsageError` where it cannot be read or is no text."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_TEXT).decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """Gives the lines that say something, with their numbers; a # begins a comment."""
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [(number, line) for number, line in enumerate(stripped, 1) if line]


def read_line(path: Path) -> str:
    """Reads the first line of a file, or of standard input."""
    try:
        if str(path) == _STANDARD_INPUT:
            return sys.stdin.readline(_LONGEST_LINE)
        with path.open() as file:
            return file.readline(_LONGEST_LINE)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None


def _from_file(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            if path.suffix == ".npy":
                return _array(file, path)
            data = file.read(_LARGEST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is neither a .npy file nor text in UTF-8") from None
    if path.suffix == ".json":
        try:
            return read_json(data)
        except json.JSONDecodeError as error:
            raise UsageError(f"{path}, line {error.lineno}: this is no JSON") from None
        except ValueError:
            raise UsageError(f"{path} holds no JSON") from None
    return read_numbers(text, str(path))


def _array(file: IO[bytes], path: Path) -> Any:
    try:
        found = np.load(file, allow_pickle=False)
    except _UNREADABLE:
        raise UsageError(f"{path} holds no array of numbers that numpy can read") from None
    if not isinstance(found, np.ndarray):
        raise UsageError(f"{path} holds several arrays: save one as .npy")
    return found.item() if found.ndim == 0 else found


def read_numbers(text: str, where: str) -> Any:
    """One number, or an array of those that blanks or commas separate.

    A word that is none is named by its place, and not repeated: values are private.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for place, word in enumerate(line.replace(",", " ").split(), 1):
            try:
                found.append(float(word))
            except ValueError:
                message = f"{where}, line {number}: word {place} is not a number"
                raise UsageError(f"{message}; numbers stand between blanks or commas") from None
    if not found:
        raise UsageError(f"{where} holds no number")
    return found[0] if len(found) == 1 else np.array(found)


_Command = TypeVar("_Command", bound=Callable[..., Any])


@contextmanager
def reporting() -> Iterator[None]:
    """Ends with one line and its exit code if what was received is wrong, or the machine is.

    Usage errors and all others go on.
    """
    try:
        yield
    except ProtocolError as error:
        complain(visible(last_words(error), 1_000))
        sys.exit(exit_code(error))
    except BrokenPipeError:
        raise  # whoever read the output has gone: click ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        said = f"{where}{error.strerror or error}"
        if exit_code(error) == USAGE_EXIT:
            raise UsageError(said) from None
        complain(visible(said, 1_000))
        sys.exit(exit_code(error))


@contextmanager
def undone(directory: Path) -> Iterator[None]:
    """Takes away what was made in a directory that was new or empty, if what follows fails.

    The same command can then be given again, when there is room on the disk or a better option.
    """
    new = not directory.exists()
    ours = new or (directory.is_dir() and not any(directory.iterdir()))
    try:
        yield
    except BaseException:
        if ours and directory.is_dir():
            for each in directory.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
            if new:
                directory.rmdir()
        raise


def show(facts: dict[str, object], as_json: bool) -> None:
    """Prints one JSON object, or a line for each fact."""
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {visible(str(value), 1_000)}")


as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
log_option = click.option(
    "--log", "log_key", help="The log's verifier key, or its file (log.vkey)."
)
policy_option = click.option(
    "--policy", "policy_path", type=click.Path(path_type=Path), help="A tlog policy file."
)
lock_option = click.option(
    "--lock", type=click.Path(path_type=Path), help="The lock file, best kept on another disk."
)
directory = click.argument("directory", type=click.Path(path_type=Path))


def jobs_option(help: str) -> Callable[[_Command], _Command]:  # noqa: A002 - as click calls it
    """Adds `--jobs`: how many processes, one without it."""
    most = click.IntRange(1, 1024)
    return click.option("--jobs", type=most, default=1, show_default=True, metavar="N", help=help)


_certificate = click.Path(path_type=Path, exists=True)


def listen_options(port: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds where a server listens, and to how many; the command gets one `ListenOptions`."""

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
            from bulletin_board.server.run import ListenOptions

            listen = ListenOptions(
                host, port, tls_cert, tls_key, connections, connections_per_address
            )
            command(listen=listen, **others)

        return listening

    return decorate


def read_policy(path: Path | None, log_key: str | None) -> TrustPolicy:
    """Reads the policy in the file, or trusts the one log."""
    if path is not None:
        try:
            return TrustPolicy.parse(path.read_bytes())
        except MalformedMessage as error:
            raise UsageError(f"{path} is not a policy: {error}") from None
    if log_key is None:
        raise UsageError("name the log you trust: --log VKEY or --policy FILE")
    return TrustPolicy.single_log(parse_log_key(log_key))


def own_key(source: str) -> str | None:
    """Finds the key of the operator's own board, which it need not name."""
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
    """Refuses a TLS certificate without its key, and a key that others can read."""
    if (certificate is None) != (key is None):
        raise UsageError("TLS needs both: --tls-cert FILE and --tls-key FILE")
    if certificate is not None and key is not None:
        require_private(key)
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except ssl.SSLError:
            raise UsageError(f"{certificate} and {key} are not a certificate and its key") from None


def witness_signer(directory: Path, name: str | None) -> NoteSigner:
    """Loads the witness's key, and makes it the first time."""
    path = directory / "key"
    if not path.exists():
        if name is None:
            raise UsageError("a new witness needs --name")
        check_option_name(name, "--name")
        make_private_directory(directory)
        signer = NoteSigner(name, KeyKind.WITNESS, SecretBytes(draw(os.urandom, 32)))
        write_secret(path, signer.to_secret_text())
        replace_file(directory / "witness.vkey", f"{signer.verifier}\n".encode(), private=True)
    require_private(directory)
    return NoteSigner.from_secret_text(read_secret(path))


def parse_session(text: str) -> bytes:
    """Reads the 32 bytes of a session id from hexadecimal digits."""
    try:
        session = bytes.fromhex(text)
    except ValueError:
        session = b""
    if len(session) != 32:
        raise UsageError("a session must be 64 hexadecimal digits")
    return session


def parse_public_key(word: str, where: str) -> bytes:
    """Reads an Ed25519 key; `where` begins the message of the `UsageError` for anything else."""
    try:
        return PublicKey(bytes.fromhex(word)).data
    except (ValueError, MalformedMessage):
        shown = visible(word[:_LONGEST_WORD])
        message = f"{shown!r} is not an Ed25519 key of 64 hexadecimal digits"
        raise UsageError(f"{where}: {message}, as `gopa keygen` prints it") from None


def check_option_name(name: str, option: str) -> None:
    """Refuses names that no key may have."""
    try:
        check_name(name)
    except MalformedMessage as error:
        raise UsageError(f"{option} is {error.message}") from None


def parse_log_key(text: str) -> VerifierKey:
    """Reads the key of a log as people exchange it, or the file that holds it (log.vkey)."""
    if "+" not in text and Path(text).is_file():
        text = read_line(Path(text))
    try:
        key = VerifierKey.parse(text.strip())
    except MalformedMessage as error:
        raise UsageError(
            f"{text[:80]!r} is neither a file nor a verifier key as `gopa board init` writes it:"
            f" {error.message}"
        ) from None
    if key.kind is not KeyKind.LOG:
        raise UsageError(f"{key} is the key of a witness, not of a log")
    return key


_LABEL: Final = re.compile(r" *(?:\S+(?: \S+)? {2,}|-> |- )?")
_FEWEST: Final = 24


def fitting(text: str) -> str:
    """The text in lines as wide as the terminal; as it is where there is none."""
    if not sys.stdout.isatty():
        return text
    return fold(text, shutil.get_terminal_size().columns)


def fold(text: str, columns: int) -> str:
    """Folds long lines between words, so that what goes on stands below where it began."""
    lines = text.split("\n")
    return "\n".join(each for line in lines for each in _folded(line, columns))


def _folded(line: str, columns: int) -> list[str]:
    found = _LABEL.match(line)
    hang = (0 if found is None else found.end()) or 2
    if hang > columns - _FEWEST:
        hang = 2
    return textwrap.wrap(
        line,
        max(columns, _FEWEST),
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
