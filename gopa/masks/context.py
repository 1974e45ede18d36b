"""What the keys and hashes of masks are bound to: session, round and party ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wire.errors import UsageError

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
