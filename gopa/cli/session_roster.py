"""Rosters, invitations and the answers to them, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bulletin_board.storage.directory import read_secret
from gopa.sessions.invitations import Enrolment, Invitation, admitted
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage, UsageError

_LARGEST_ROSTER: Final = 2**28


def read_roster(path: Path) -> tuple[bytes, ...]:
    """Ed25519 keys in hex, one a line; what follows a # is a comment.

    Raises `UsageError` that names the line.
    """
    found: dict[bytes, int] = {}
    for number, word in _lines(_text(path)):
        key = _public_key(word, f"{path}, line {number}")
        if key in found:
            raise UsageError(f"{path}, line {number}: the key stands in line {found[key]} already")
        found[key] = number
    if not found:
        raise UsageError(f"{path} holds no keys: parties make them with `gopa keygen`")
    return tuple(sorted(found))


def read_answers(invitations: Path, enrolments: Path) -> tuple[bytes, ...]:
    """The keys of all that were invited and have answered.

    Raises `UsageError` that names the line, or says which invitation is in doubt.
    """
    answers = []
    for number, line in _lines(_text(enrolments)):
        try:
            answers.append(Enrolment.parse(line))
        except MalformedMessage as error:
            raise UsageError(f"{enrolments}, line {number}: {error}") from None
    keys = admitted(read_invitations(invitations), answers)
    if not keys:
        raise UsageError(f"{enrolments} holds no answers: parties make them with `gopa enrol`")
    return keys


def read_invitations(path: Path) -> list[Invitation]:
    """One a line, in a file that only its owner can read."""
    text = read_secret(path).reveal().decode("utf-8", "replace")
    return [Invitation.parse(line) for _, line in _lines(text)]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_ROSTER).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None


def _lines(text: str) -> list[tuple[int, str]]:
    """What says something, with the numbers of the lines."""
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [(number, line) for number, line in enumerate(stripped, 1) if line]


def _public_key(word: str, where: str) -> bytes:
    try:
        return PublicKey(bytes.fromhex(word)).data
    except (ValueError, MalformedMessage):
        message = "not an Ed25519 key of 64 hexadecimal digits, as `gopa keygen` prints it"
        raise UsageError(f"{where}: {message}") from None
