"""Carries messages between two users that whoever relays them cannot read, change or send again.

Each user of a run has a `Correspondent`, which lives in one process and is gone with it. Users
first show each other their cards. Specification: `specs/12-sessions.md`, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from commitments import ristretto255
from gopa.rounds.masks.keys import SharedPoint, derived_key, require_id, shared_point
from gopa.sessions.vault.protection import NotForThisKey, SecretBox
from wire.codec import Codec, fixed, opaque, record, u64
from wire.domains import CARD_PAYLOAD_TYPE, LETTER_KEY, LETTER_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE, PublicKey, SigningKey, pre_auth_encoding, verify
from wire.errors import InvalidProof, Unattributed, UsageError
from wire.randomness import Rng
from wire.secret import Guarded

LARGEST: Final = 2**26
_ID: Final = fixed(32)


class Misdirected(Unattributed):
    """A letter or a card of another run, for somebody else, or from a stranger."""


class LetterReplayed(Unattributed):
    """A letter that was read before."""


class LetterMissing(Unattributed):
    """A letter of which one before it was not read: whoever relays them withholds it."""


@dataclass(frozen=True, slots=True)
class Card:
    """The point under which a user takes letters in a run."""

    run: bytes
    user: bytes
    point: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """The `number`-th letter of a user to another one in a run, in a box."""

    run: bytes
    sender: bytes
    receiver: bytes
    number: int
    box: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A card or a letter, and the signature of its author."""

    content: bytes
    signature: bytes


CARD: Final[Codec[Card]] = record(Card, run=_ID, user=_ID, point=fixed(32))
LETTER: Final[Codec[Letter]] = record(
    Letter, run=_ID, sender=_ID, receiver=_ID, number=u64, box=opaque(0, LARGEST)
)
SIGNED: Final[Codec[Signed]] = record(Signed, content=opaque(0, LARGEST + 256), signature=SIGNATURE)


def receiver_of(letter: bytes) -> bytes:
    """The key of the user that a letter is for, which is all that a relay needs to know."""
    return LETTER.decode(SIGNED.decode(letter).content).receiver


class Correspondent(Guarded):
    """One user of a run, who writes letters and reads those that are for it.

    `run` are 32 bytes that no other run has, and `card` is what all others have to see. Users are
    named by their keys.
    """

    __slots__ = ("_identity", "_met", "_read", "_rng", "_run", "_secret", "_written", "card")

    def __init__(self, run: bytes, identity: SigningKey, *, rng: Rng) -> None:
        require_id(run, "run")
        group = ristretto255()
        self._run, self._identity, self._rng = run, identity, rng
        # New for each run and process: no letter to whoever was here before can be opened.
        self._secret = group.random_scalars(1, rng)[0]
        self._met: dict[bytes, tuple[bytes, SharedPoint]] = {}
        self._read: dict[bytes, int] = {}
        self._written: dict[bytes, int] = {}
        point = (group.generator * self._secret).to_bytes()
        self.card = self._signed(CARD_PAYLOAD_TYPE, CARD.encode(Card(run, self.key, point)))

    @property
    def key(self) -> bytes:
        """The key that names this user."""
        return self._identity.public.data

    def meet(self, user: bytes, card: bytes) -> None:
        """Takes the card of a user whose key is known from elsewhere.

        Raises:
            Misdirected: it is the card of another user or run.
            InvalidSignature: the user did not sign it.
            InvalidProof: it is no card, or another one than the user has shown before.
        """
        signed = SIGNED.decode(card)
        given = CARD.decode(signed.content)
        if (given.run, given.user) != (self._run, user):
            raise Misdirected("the card of another user, or of another run")
        _verify(user, CARD_PAYLOAD_TYPE, signed)
        if user == self.key:
            raise UsageError("nobody writes to itself", "user")
        if user in self._met and self._met[user][0] != given.point:
            # With two points a relay would choose which letters can be opened.
            raise InvalidProof("a second card of one user", "12-LT2")
        (point,) = ristretto255().decode_points(given.point, 1)
        self._met[user] = given.point, shared_point(self._secret, point)

    def write(self, receiver: bytes, content: bytes) -> bytes:
        """The next letter to a user whose card was shown."""
        if type(content) is not bytes or len(content) > LARGEST - 256:
            raise UsageError(f"bytes, at most {LARGEST - 256}", "content")
        if receiver not in self._met:
            raise UsageError("no card of this user was shown: call `meet`", "receiver")
        number = self._written.get(receiver, 0)
        # Counted first: an interrupted letter is missing, and no number is used twice.
        self._written[receiver] = number + 1
        box = self._box(receiver, self.key, receiver, number)
        boxed = box.seal(content, self._rng)
        letter = Letter(self._run, self.key, receiver, number, boxed)
        return self._signed(LETTER_PAYLOAD_TYPE, LETTER.encode(letter))

    def read(self, letter: bytes) -> tuple[bytes, bytes]:
        """Who wrote a letter, and what; each is read once, in the order in which it was written.

        Raises:
            MalformedMessage: these bytes are no letter.
            Misdirected: it is for somebody else, of another run, or from a stranger.
            InvalidSignature: the sender did not sign it, or not like that.
            LetterReplayed: it was read before.
            LetterMissing: one before it was not read.
            InvalidProof: the sender signed what does not open.
        """
        signed = SIGNED.decode(letter)
        found = LETTER.decode(signed.content)
        sender = found.sender
        if (found.run, found.receiver) != (self._run, self.key) or sender not in self._met:
            raise Misdirected("a letter for somebody else, of another run, or from a stranger")
        _verify(sender, LETTER_PAYLOAD_TYPE, signed)
        due = self.heard(sender)
        if found.number < due:
            raise LetterReplayed(f"letter {found.number} of this user was read before")
        if found.number > due:
            raise LetterMissing(f"letter {due} of this user has to come first")
        try:
            content = self._box(sender, sender, self.key, due).decrypt(found.box)
        except NotForThisKey:
            raise InvalidProof("a letter that does not open", "12-LT4") from None
        self._read[sender] = due + 1
        return sender, content

    def heard(self, sender: bytes) -> int:
        """How many letters of a user were read."""
        return self._read.get(sender, 0)

    def _box(self, other: bytes, sender: bytes, receiver: bytes, number: int) -> SecretBox:
        shared = self._met[other][1].reveal().to_bytes()
        info = sender + receiver + number.to_bytes(8)
        return SecretBox(derived_key(shared, self._run, LETTER_KEY, info))

    def _signed(self, role: str, content: bytes) -> bytes:
        signature = self._identity.sign(pre_auth_encoding(role, content))
        return SIGNED.encode(Signed(content, signature))


def _verify(user: bytes, role: str, signed: Signed) -> None:
    verify(PublicKey(user), pre_auth_encoding(role, signed.content), signed.signature)
