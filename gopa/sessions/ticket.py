"""Tickets, which a party needs to find a session and to believe it, and invitations to a roster.

The organiser gives each person a secret token. Whoever has one sends back a public key with a
code that only the token makes, so that nobody on the way can put another key in its place.
Specification: `specs/12-sessions.md`, sections 4 and 6.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from bulletin_board.note import KeyKind, VerifierKey
from bulletin_board.policy import LARGEST_POLICY, TrustPolicy
from bulletin_board.storage.files import replace_file
from gopa.contract.manifest import MANIFEST, Manifest, session_id
from gopa.contract.manifest import VERSION as MANIFEST_VERSION
from wire.brief import Brief
from wire.domains import INVITATION_CODE, INVITATION_NAME
from wire.ed25519 import PublicKey
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes
from wire.strict_json import read_json

VERSION: Final = 1
LARGEST_TICKET: Final = 2 * LARGEST_POLICY
_NAMES: Final = frozenset({"version", "board", "log", "session", "policy"})
_SESSION = re.compile(r"[0-9a-f]{64}")
_LONGEST_ADDRESS = 2048


@dataclass(frozen=True, slots=True, repr=False)
class Ticket(Brief):
    """Where a session is and what to trust: the same for all parties (12-T1, 12-T3).

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


_PREFIX: Final = "gopa-invitation-"
_SIZE: Final = 20
_NAME_DIGITS: Final = 16
_LINE: Final = re.compile(
    rf"enrolment ([0-9a-f]{{{_NAME_DIGITS}}}) ([0-9a-f]{{64}}) ([0-9a-f]{{64}})"
)


@dataclass(frozen=True, slots=True)
class InvitationAnswer:
    """The answer to an invitation; not secret. `code` shows that the token's owner sent it."""

    name: str
    key: bytes
    code: bytes

    def __str__(self) -> str:
        """One line, as `parse` reads it."""
        return f"enrolment {self.name} {self.key.hex()} {self.code.hex()}"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read such a line; `MalformedMessage` for anything else."""
        found = _LINE.fullmatch(line)
        if found is None:
            raise MalformedMessage("must be an enrolment as `gopa enrol` prints it", "enrolment")
        key = PublicKey(bytes.fromhex(found[2])).data
        return cls(found[1], key, bytes.fromhex(found[3]))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Invitation(Guarded):
    """A token of 160 random bits, good for one key."""

    token: SecretBytes

    @classmethod
    def fresh(cls, rng: Rng) -> Self:
        """A new invitation, drawn at random."""
        return cls(SecretBytes(draw(rng, _SIZE)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The invitation in a text, blanks allowed; `UsageError` never repeats the text."""
        word = text.strip()
        try:
            token = base64.b32decode(word.removeprefix(_PREFIX).upper())
        except (binascii.Error, ValueError):
            token = b""
        if not word.startswith(_PREFIX) or len(token) != _SIZE:
            raise UsageError(f"an invitation begins with {_PREFIX} and has 32 letters", "token")
        return cls(SecretBytes(token))

    @property
    def name(self) -> str:
        """What the organiser knows it by; it gives nothing away."""
        return hashlib.sha256(INVITATION_NAME + self.token.reveal()).hexdigest()[:_NAME_DIGITS]

    def reveal(self) -> str:
        """The token as text, for the person who is invited and for nobody else."""
        return _PREFIX + base64.b32encode(self.token.reveal()).decode().lower()

    def enrol(self, key: bytes) -> InvitationAnswer:
        """The answer with this Ed25519 key."""
        return InvitationAnswer(self.name, key, self._code(key))

    def admits(self, enrolment: InvitationAnswer) -> bool:
        """Whether the owner of the token sent this key."""
        return hmac.compare_digest(self._code(enrolment.key), enrolment.code)

    def _code(self, key: bytes) -> bytes:
        return hmac.digest(self.token.reveal(), INVITATION_CODE + key, "sha256")


def admitted(
    invitations: Iterable[Invitation], answers: Iterable[InvitationAnswer]
) -> tuple[bytes, ...]:
    """The keys for a roster, in order. The same answer twice counts once.

    Raises:
        UsageError: an answer to no invitation, with a wrong code, a second key for one
            invitation, or one key for two. Nothing is guessed: ask whoever was invited.
    """
    known = {each.name: each for each in invitations}
    keys: dict[str, bytes] = {}
    for answer in answers:
        invitation = known.get(answer.name)
        if invitation is None:
            raise UsageError(f"{answer.name} is none of these invitations", "enrolment")
        if not invitation.admits(answer):
            raise UsageError(f"the code for {answer.name} is wrong: it was changed", "enrolment")
        if keys.setdefault(answer.name, answer.key) != answer.key:
            message = f"{answer.name} was used for two keys: withdraw it and invite again"
            raise UsageError(message, "enrolment")
    if len(set(keys.values())) != len(keys):
        raise UsageError("one key answers two invitations", "enrolment")
    return tuple(sorted(keys.values()))
