"""What a session chooses among: modes, trust, beacons, who may join."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from gopa.contract.beacon.drand import DRAND_CHAIN, DrandChain
from wire.brief import Brief
from wire.codec import Case, Codec, enumeration, fixed, record, select, u8, u32, vector
from wire.errors import UsageError

MOST_REGISTERED: Final = 2**20


class Mode(IntEnum):
    """What is proved."""

    FULL = 1
    SIGNED = 2


class Path(IntEnum):
    """How full mode commits to numbers: one by one, or long vectors in rows."""

    BITS = 1
    ROWS = 2


class Trust(IntEnum):
    """Whom the aggregation withstands."""

    MALICIOUS = 1
    HONEST_BUT_CURIOUS = 2


@dataclass(frozen=True, slots=True)
class CommitReveal:
    """Coins from nonces that all parties commit to and reveal."""


@dataclass(frozen=True, slots=True)
class DrandBeacon:
    """Coins from a public beacon that nobody in the session controls."""

    chain: DrandChain


@dataclass(frozen=True, slots=True)
class TestCoins:
    """Coins from the log alone. Whoever writes it chooses them: simulations only."""

    __test__ = False


Beacon: TypeAlias = CommitReveal | DrandBeacon | TestCoins


@dataclass(frozen=True, slots=True, repr=False)
class Roster(Brief):
    """The Ed25519 keys that may join, in increasing order."""

    keys: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if any(a >= b for a, b in zip(self.keys, self.keys[1:], strict=False)):
            raise UsageError("keys are distinct and in increasing order", "keys")


@dataclass(frozen=True, slots=True)
class OpenAdmission:
    """Admission of anybody, up to so many: nothing is known about how many are corrupt."""

    most: int


Admission: TypeAlias = Roster | OpenAdmission


class BeaconTag(IntEnum):
    """Where coins come from."""

    COMMIT_REVEAL = 1
    DRAND = 2
    TEST = 3


class AdmissionTag(IntEnum):
    """Who may join."""

    ROSTER = 1
    OPEN = 2


BEACON: Final[Codec[Beacon]] = select(
    "Beacon",
    enumeration(BeaconTag, u8),
    Case(BeaconTag.COMMIT_REVEAL, record(CommitReveal)),
    Case(BeaconTag.DRAND, record(DrandBeacon, chain=DRAND_CHAIN)),
    Case(BeaconTag.TEST, record(TestCoins)),
)
ADMISSION: Final[Codec[Admission]] = select(
    "Admission",
    enumeration(AdmissionTag, u8),
    Case(AdmissionTag.ROSTER, record(Roster, keys=vector(fixed(32), 1, MOST_REGISTERED))),
    Case(AdmissionTag.OPEN, record(OpenAdmission, most=u32)),
)
