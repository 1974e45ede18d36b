"""The tree of errors. The class of an error says what is proved about whom.

Every error of the library descends from `GopaError`. A message says what to
change; machine-readable facts are attributes. No error ever carries a secret.
All arguments are positional and stored in `args`, so that every error survives
pickling on its way back from a worker process.
"""

from __future__ import annotations

from typing import Final, Literal


class GopaError(Exception):
    """The base of every error this library raises on purpose."""


class UsageError(GopaError):
    """Wrong use of the library: no remote party can cause this.

    `field` is the path of the offending value inside a larger one, such as
    `edges[3].key`, where there is a larger one.
    """

    def __init__(self, message: str = "", field: str = "") -> None:
        super().__init__(message, field)
        self.message = message
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class BackendError(GopaError):
    """A backend, or the package of an extra, that is missing or not what was asked for."""


class ComputationFault(GopaError):
    """A computation on this machine that went wrong; nothing was released.

    Do it again. If that fails too, the machine or the installation is not to be trusted.
    """


class Aborted(GopaError):
    """The end of a round without a result; `released` is what the others saw."""

    def __init__(self, message: str, released: Literal["none", "masked"] = "none") -> None:
        super().__init__(message, released)
        self.message = message
        self.released = released

    def __str__(self) -> str:
        return f"{self.message}; {PUBLISHED[self.released]}"


PUBLISHED: Final = {
    "none": "nothing about any value was published",
    "masked": "only masked values were published",
}
"""What others saw of a round that ended without a result."""


class ProtocolError(GopaError):
    """Received data that are wrong. Subclasses name what that proves."""


class MalformedMessage(ProtocolError):
    """Bytes that no honest encoder produces; `field` and `offset` name the place."""

    def __init__(self, message: str, field: str = "", offset: int | None = None) -> None:
        super().__init__(message, field, offset)
        self.message = message
        self.field = field
        self.offset = offset

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        at = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{where}{self.message}{at}"


class InvalidProof(ProtocolError):
    """A well-formed proof, opening or signature that does not hold.

    `check` cites the numbered verification step of the specification that
    failed; `culprits` holds the positions of the bad items when several were
    checked together, in increasing order.
    """

    def __init__(self, message: str, check: str = "", culprits: tuple[int, ...] = ()) -> None:
        super().__init__(message, check, culprits)
        self.message = message
        self.check = check
        self.culprits = culprits

    def __str__(self) -> str:
        cited = f"[{self.check}] " if self.check else ""
        named = f" (items {', '.join(map(str, self.culprits))})" if self.culprits else ""
        return f"{cited}{self.message}{named}"


class InvalidSignature(InvalidProof):
    """An Ed25519 signature outside the accept set of the specification."""


class FaultyParty(ProtocolError):
    """A party that is proved faulty; `evidence` convinces a third person."""

    def __init__(self, message: str, party: bytes, evidence: bytes = b"") -> None:
        super().__init__(message, party, evidence)
        self.message = message
        self.party = party
        self.evidence = evidence

    def __str__(self) -> str:
        return f"party {self.party.hex()[:16]}: {self.message}"


class SuspectedPartyOrBoard(ProtocolError):
    """A fault of the named party or of the board, without proof which."""

    def __init__(self, message: str, party: bytes) -> None:
        super().__init__(message, party)
        self.message = message
        self.party = party

    def __str__(self) -> str:
        return f"party {self.party.hex()[:16]} or the board: {self.message}"


class FaultyBoard(ProtocolError):
    """A proved fault of the board; `evidence` convinces a third person."""

    def __init__(self, message: str, evidence: bytes = b"") -> None:
        super().__init__(message, evidence)
        self.message = message
        self.evidence = evidence

    def __str__(self) -> str:
        return f"board: {self.message}"


class Unattributed(ProtocolError):
    """Something wrong of which nothing proves who did it."""
