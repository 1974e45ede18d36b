"""Reads and writes tickets: what a party has to know to find a session and to believe it.

`specs/12-sessions.md`, section 4.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bulletin_board.note import KeyKind, VerifierKey
from bulletin_board.policy import LARGEST_POLICY, TrustPolicy
from bulletin_board.storage.files import replace_file
from gopa.contract.manifest import MANIFEST, Manifest, session_id
from gopa.contract.manifest import VERSION as MANIFEST_VERSION
from wire.brief import Brief
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.strict_json import read_json

VERSION: Final = 1
LARGEST_TICKET: Final = 2 * LARGEST_POLICY
_NAMES: Final = frozenset({"version", "board", "log", "session", "policy"})
_SESSION = re.compile(r"[0-9a-f]{64}")
_LONGEST_ADDRESS = 2048


@dataclass(frozen=True, slots=True, repr=False)
class Ticket(Brief):
    """Says where a session is and what to trust: the same for all parties (12-T1, 12-T3).

    `board` is the address of the board, `log` the verifier key of its log, `session` the
    id, `policy` the text of a trust policy about this log or empty for the log alone.

    Raises:
        UsageError: a part is not what it has to be; `field` says which.
    """

    board: str
    log: VerifierKey
    session: bytes
    policy: bytes = b""

    def __post_init__(self) -> None:
        _require_address(self.board)
        if type(self.session) is not bytes or len(self.session) != 32:
            raise UsageError("a session has 32 bytes", "session")
        if self.log.kind is not KeyKind.LOG:
            raise UsageError("the verifier key of a log, not of a witness", "log")
        if self.policy and _policy(self.policy).log.key != self.log:
            raise UsageError("the policy trusts another log", "policy")

    @property
    def trust(self) -> TrustPolicy:
        """What checkpoints have to satisfy."""
        if self.policy:
            return _policy(self.policy)
        return TrustPolicy.single_log(self.log)

    def to_json(self) -> bytes:
        """Write one JSON object; the same ticket gives the same bytes."""
        facts = {
            "version": VERSION,
            "board": self.board,
            "log": str(self.log),
            "session": self.session.hex(),
            "policy": base64.b64encode(self.policy).decode(),
        }
        return json.dumps(facts, indent=2).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Ticket:
        """Read a ticket strictly; `MalformedMessage` names the field."""
        found = _load(data)
        wrong = min(found.keys() ^ _NAMES, default=None)
        if wrong is not None:
            known = "unknown" if wrong in found else "missing"
            raise MalformedMessage(f"this name is {known} in a ticket", wrong)
        if type(found["version"]) is not int or found["version"] != VERSION:
            raise MalformedMessage(f"only version {VERSION} is known", "version")
        session = _text(found, "session")
        if _SESSION.fullmatch(session) is None:
            raise MalformedMessage("64 small hexadecimal digits", "session")
        policy = _base64(_text(found, "policy"))
        try:
            log = _log_key(_text(found, "log"))
            return cls(_text(found, "board"), log, bytes.fromhex(session), policy)
        except UsageError as error:
            raise MalformedMessage(error.message, error.field) from None

    def write(self, path: Path) -> None:
        """Write a file durably; raises `UsageError` if it cannot be written."""
        try:
            replace_file(path, self.to_json())
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None

    @classmethod
    def read(cls, path: Path) -> Ticket:
        """Read a file; raises `UsageError` if it holds no ticket."""
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST_TICKET + 1)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        try:
            return cls.from_json(data)
        except MalformedMessage as error:
            raise UsageError(f"{path} is not a ticket: {error}") from None


def _load(data: bytes) -> dict[str, object]:
    if type(data) is not bytes:
        raise UsageError("a ticket is bytes")
    if len(data) > LARGEST_TICKET:
        raise MalformedMessage(f"a ticket has at most {LARGEST_TICKET} bytes")
    try:
        found = read_json(data, pairs=_unique)
    except ValueError:
        raise MalformedMessage("a ticket must be JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise MalformedMessage("a ticket is one JSON object")
    return found


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise MalformedMessage("a name stands twice", name)
        found[name] = value
    return found


def _text(found: dict[str, object], name: str) -> str:
    value = found[name]
    if not isinstance(value, str):
        raise MalformedMessage("needs text", name)
    return value


def _base64(text: str) -> bytes:
    """One spelling for each policy."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedMessage("needs base64", "policy") from None
    if base64.b64encode(data).decode() != text:
        raise MalformedMessage("needs base64 in its canonical form", "policy")
    return data


def _require_address(board: str) -> None:
    if type(board) is not str or len(board) > _LONGEST_ADDRESS or not board.isascii():
        raise UsageError("must be an address such as https://board.example", "board")
    if not board.isprintable() or " " in board:
        raise UsageError("must be an address without spaces and control characters", "board")
    try:
        parts = urlsplit(board)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        raise UsageError("must be an address such as https://board.example", "board") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("must be an address that begins with https:// or http://", "board")
    # A ticket is copied and shown: it is no place for a password.
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError("must be an address without user, query and fragment", "board")


def _log_key(text: str) -> VerifierKey:
    """One spelling for each key."""
    try:
        key = VerifierKey.parse(text)
    except MalformedMessage as error:
        raise MalformedMessage(f"not a verifier key: {error.message}", "log") from None
    if str(key) != text:
        raise MalformedMessage("a verifier key in its one spelling", "log")
    return key


def _policy(text: bytes) -> TrustPolicy:
    try:
        return TrustPolicy.parse(text)
    except MalformedMessage as error:
        raise UsageError(f"not a trust policy: {error}", "policy") from None


def checked_manifest(ticket: Ticket, body: bytes) -> Manifest:
    """Decode a manifest and require that it is the one of the ticket's session (12-T2).

    Else a board could lead a party into another session than the one it was invited to.

    Raises:
        MalformedMessage: it is no manifest, or one of another version.
        InvalidProof: it is another one than the ticket's.
    """
    if session_id(body) != ticket.session:
        raise InvalidProof("the manifest is not that of the ticket's session", "12-T2")
    # Another version has other fields: what they would be refused for says nothing to anybody.
    version = int.from_bytes(body[:2])
    if version != MANIFEST_VERSION:
        message = (
            f"the session has version {version} of manifests, and this library knows "
            f"{MANIFEST_VERSION}: take the library that created the session, or create another one"
        )
        raise MalformedMessage(message, "manifest.version")
    manifest = MANIFEST.decode(body)
    if manifest.log != str(ticket.log).encode() or manifest.policy != ticket.policy:
        raise InvalidProof("the manifest trusts another log than the ticket", "12-T2")
    return manifest
