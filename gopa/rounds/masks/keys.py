"""Derives the keys of an edge from the shared point of its two parties.

Every key and hash is bound to session, round and party ids. Each purpose has its own label, so a
key that is opened says nothing about the other keys or about the point. Specification:
`specs/08-masks.md`, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from commitments.group import Point, SecretScalar
from wire.domains import EDGE_KEY, SHARE_KEY, Domain
from wire.errors import UsageError
from wire.secret import Guarded, SecretBytes

ID_SIZE: Final = 32
LARGEST_ROUND: Final = 2**16 - 1


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """One edge of one round of one session; `low` is the smaller party id.

    Raises:
        UsageError: ids that are not 32 bytes or not in increasing order, or a round
            that is not an integer from 0 to 65535.
    """

    session: bytes
    round: int
    low: bytes
    high: bytes

    def __post_init__(self) -> None:
        _require_round(self.session, self.round)
        require_id(self.low, "low")
        require_id(self.high, "high")
        if self.low >= self.high:
            raise UsageError("the ids of an edge differ and the smaller one comes first", "low")

    @classmethod
    def between(cls, session: bytes, number: int, one: bytes, other: bytes) -> EdgeContext:
        """The edge between two parties, named in either order."""
        require_id(one, "one")
        require_id(other, "other")
        return cls(session, number, min(one, other), max(one, other))

    def to_bytes(self) -> bytes:
        """Round, low, high: 66 bytes. The session is hashed in front or used as salt."""
        return self.round.to_bytes(2) + self.low + self.high


@dataclass(frozen=True, slots=True)
class SelfContext:
    """One party in one round of one session.

    Raises:
        UsageError: as for `EdgeContext`.
    """

    session: bytes
    round: int
    party: bytes

    def __post_init__(self) -> None:
        _require_round(self.session, self.round)
        require_id(self.party, "party")

    def to_bytes(self) -> bytes:
        """Round and party: 34 bytes."""
        return self.round.to_bytes(2) + self.party


def require_id(value: bytes, field: str) -> None:
    """Raises `UsageError` for anything but 32 bytes."""
    if type(value) is not bytes or len(value) != ID_SIZE:
        raise UsageError(f"an id has {ID_SIZE} bytes", field)


def _require_round(session: bytes, number: int) -> None:
    require_id(session, "session")
    if type(number) is not int or not 0 <= number <= LARGEST_ROUND:
        raise UsageError(f"a round is an integer from 0 to {LARGEST_ROUND}", "round")


KEY_SIZE: Final = 32


class SharedPoint(Guarded):
    """The Diffie-Hellman point of two parties: whoever knows it knows all their keys."""

    __slots__ = ("_point",)

    def __init__(self, point: Point) -> None:
        if point.is_identity():
            raise UsageError("a shared point is not the identity: everyone would know it")
        self._point = point

    @classmethod
    def from_revealed(cls, point: Point) -> SharedPoint:
        """The point an accusation reveals, once its proof was checked."""
        return cls(point)

    def reveal(self) -> Point:
        """The point itself, for an accusation: it gives away all keys of this edge."""
        return self._point


def shared_point(secret: SecretScalar, other: Point) -> SharedPoint:
    """The point that both ends of an edge compute, in constant time.

    `other` is the other party's public key, strictly decoded and proved to be its own.

    Raises:
        UsageError: the key is the identity, or the secret is zero.
    """
    return SharedPoint(other * secret)


def edge_key(shared: SharedPoint, context: EdgeContext) -> SecretBytes:
    """The 32-byte key of the mask of this edge: equal at both ends."""
    return _derived(shared, context.session, EDGE_KEY, context.to_bytes())


def share_key(
    shared: SharedPoint, context: EdgeContext, dealer: bytes, recipient: bytes
) -> SecretBytes:
    """The 32-byte key that hides the dealer's share for the recipient on its way.

    Raises:
        UsageError: dealer and recipient are not the two ends of the edge.
    """
    if (dealer, recipient) not in {(context.low, context.high), (context.high, context.low)}:
        raise UsageError("dealer and recipient are the two ends of the edge")
    info = context.round.to_bytes(2) + dealer + recipient
    return _derived(shared, context.session, SHARE_KEY, info)


def derived_key(secret: bytes, session: bytes, label: Domain, info: bytes) -> SecretBytes:
    """HKDF-SHA256 with the session as salt; `info` has one length for each label."""
    hkdf = HKDF(algorithm=SHA256(), length=KEY_SIZE, salt=session, info=label + info)
    return SecretBytes(hkdf.derive(secret))


def require_key(key: SecretBytes) -> None:
    """Raises `UsageError` for anything but 32 secret bytes."""
    if not isinstance(key, SecretBytes) or len(key) != KEY_SIZE:
        raise UsageError(f"a key or seed is SecretBytes of {KEY_SIZE} bytes")


def _derived(shared: SharedPoint, session: bytes, label: Domain, info: bytes) -> SecretBytes:
    if not isinstance(shared, SharedPoint):
        raise UsageError(f"a SharedPoint is needed, not {type(shared).__name__}")
    return derived_key(shared.reveal().to_bytes(), session, label, info)
