"""Invites people: puts their keys on a roster, over a channel that others can write to.

The organiser gives each person a secret token. Whoever has one sends back a public key with a
code that only the token makes, so that nobody on the way can put another key in its place.
Specification: `specs/12-sessions.md`, section 6.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from wire.domains import INVITATION_CODE, INVITATION_NAME
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes

_PREFIX: Final = "gopa-invitation-"
_SIZE: Final = 20
_NAME_DIGITS: Final = 16
_LINE: Final = re.compile(
    rf"enrolment ([0-9a-f]{{{_NAME_DIGITS}}}) ([0-9a-f]{{64}}) ([0-9a-f]{{64}})"
)


@dataclass(frozen=True, slots=True)
class InvitationAnswer:
    """Answers an invitation; not secret. `code` shows that the token's owner sent it."""

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
    """Holds a token of 160 random bits, good for one key."""

    token: SecretBytes

    @classmethod
    def fresh(cls, rng: Rng) -> Self:
        """A new invitation."""
        return cls(SecretBytes(draw(rng, _SIZE)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """As `reveal` writes it, blanks around it allowed; `UsageError` never repeats the text."""
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
