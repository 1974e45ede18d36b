"""The manifest: everything a session is, fixed before anybody joins.

`specs/04-protocol.md`, section 1.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from bulletin_board.policy import TrustPolicy
from gopa.messages.agreement import policy_of, require_agreement
from gopa.messages.parameters import (
    ADMISSION,
    BEACON,
    Admission,
    Beacon,
    CommitReveal,
    DrandBeacon,
    Mode,
    OpenAdmission,
    Roster,
    TestCoins,
    Trust,
)
from gopa.messages.terms import TERMS
from gopa.planning.terms import Terms
from wire.codec import Codec, boolean, enumeration, fixed, opaque, record, u8, u16
from wire.domains import SESSION
from wire.errors import UsageError
from zkp.noise_table import GaussianTable

__all__ = [
    "MANIFEST",
    "Admission",
    "Beacon",
    "CommitReveal",
    "DrandBeacon",
    "Manifest",
    "Mode",
    "OpenAdmission",
    "Roster",
    "TestCoins",
    "Trust",
    "session_id",
]

VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    """A session. Its encoding is the body of the session's first message.

    `salt` makes every session's id new. `log` is the verifier key of the board's log.
    `policy` is the trust policy whose quorum the closes need, as text, or empty.
    `word_width` is the width of values in signed mode, else 0. With `weighted` the last
    coordinate is the weight of the others. An instance keeps [S2] and [Z2]: `UsageError`
    names the field that does not fit.
    """

    version: int
    salt: bytes
    title: bytes
    organiser: bytes
    log: bytes
    policy: bytes
    simulation: bool
    mode: Mode
    trust: Trust
    terms: Terms
    weighted: bool
    word_width: int
    beacon: Beacon
    admission: Admission
    max_rollbacks: int

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        require_agreement(self)

    def to_bytes(self) -> bytes:
        """The body of the session's first message."""
        return MANIFEST.encode(self)

    @property
    def session(self) -> bytes:
        """The id of the session ([S1])."""
        return session_id(self.to_bytes())

    @property
    def quorum(self) -> TrustPolicy | None:
        """The policy whose quorum closes need; None where they need none ([C4])."""
        policy = policy_of(self.policy)
        return policy if policy is not None and policy.needs_witnesses else None

    @property
    def deals_seeds(self) -> bool:
        """Whether parties share the seeds of their self-masks; if they share, else the masks.

        A mask itself is shared where it is one scalar under Pedersen's commitment: the dealer
        cannot deal another one then, since C_0 is the commitment to the mask ([K1]).
        """
        masks = self.mode is Mode.FULL and isinstance(self.terms.noise, GaussianTable)
        return self.terms.threshold is not None and not masks

    def coefficients(self, neighbours: int) -> int:
        """How many coefficients a party with so many neighbours publishes ([K1])."""
        needed = self.terms.shares_needed(neighbours)
        if needed is None or not neighbours:
            return 0
        return needed if self.deals_seeds else needed - 1


def session_id(body: bytes) -> bytes:
    """The id of the session with this manifest."""
    return hashlib.sha256(SESSION + body).digest()


MANIFEST: Final[Codec[Manifest]] = record(
    Manifest,
    version=u16,
    salt=fixed(32),
    title=opaque(0, 255),
    organiser=fixed(32),
    log=opaque(1, 1024),
    policy=opaque(0, 65_535),
    simulation=boolean,
    mode=enumeration(Mode, u8),
    trust=enumeration(Trust, u8),
    terms=TERMS,
    weighted=boolean,
    word_width=u8,
    beacon=BEACON,
    admission=ADMISSION,
    max_rollbacks=u16,
)
