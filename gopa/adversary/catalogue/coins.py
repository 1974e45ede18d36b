"""Attacks on public randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from bulletin_board.note import SignedNote
from gopa.adversary.aims import gets_off, listed_at
from gopa.adversary.attack import AttackRoles, attack
from gopa.adversary.deeds import another_nonce
from gopa.adversary.deeds.organising import AlteredClose, with_nonce_of
from gopa.adversary.malicious import DRAND as FROM_DRAND
from gopa.adversary.malicious import NONCES, Actor, Malicious, MaliciousOrganiser
from gopa.adversary.setup import FOUR, SMALL, SessionSetup
from gopa.contract.beacon import QUICKNET, latest_cosignature_time
from gopa.contract.manifest import DrandBeacon
from gopa.contract.organiser import Close
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import BeaconValue

_NUMBER: Final = 657_413
_SIGNATURE: Final = bytes.fromhex(
    "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be"
    "41076862b98fad56e91a6b85b89cd97b"
)

_attack = partial(attack, family="coins", setup=SMALL)


@dataclass(frozen=True, slots=True)
class KnownBeaconRound:
    """The one round of a beacon that is known: quicknet has published it."""

    number: int
    signature: bytes

    def name(self) -> int:
        """The round that the next close of join names."""
        return self.number

    def value(self, number: int) -> BeaconValue:
        """The round with its signature, whichever is asked for."""
        del number
        return BeaconValue(self.number, self.signature, b"")


_IN_TIME: Final = latest_cosignature_time(QUICKNET, _NUMBER)

DRAND: Final = SessionSetup(
    replace(FOUR, beacon="drand"),
    SessionSetting(beacon=DrandBeacon(QUICKNET)),
    witnesses=2,
    beacon=KnownBeaconRound(_NUMBER, _SIGNATURE),
    witness_time=_IN_TIME,
)
"""Coins come from drand. Checking its signature needs the extra `drand`."""


@_attack("wrong-nonce", "04-V1", aim=listed_at(Phase.COINS))
def wrong_nonce(roles: AttackRoles) -> Sequence[Actor]:
    """Reveals another nonce than the one whose hash it joined with, when it has seen the others'.

    Caught: the nonce does not fit its hash on the roll.
    Costs: it is no member, and convicted.
    """
    return [Malicious(roles.liar, at="coins", do=another_nonce())]


@_attack("exchanged-nonce", "04-C3", aim=gets_off, needs=(NONCES,))
def exchanged_nonce(roles: AttackRoles) -> Sequence[Actor]:
    """The organiser lists another nonce for a party it colludes with, to choose a graph.

    Caught: everybody reads all nonces, and this one does not fit its hash on the roll.
    Costs: everybody stops; the log convicts the organiser.
    """
    return [MaliciousOrganiser(AlteredClose(Phase.COINS, with_nonce_of(roles.liar)))]


@_attack("late-witnesses", "04-V4", aim=gets_off, setup=DRAND, needs=(FROM_DRAND,))
def late_witnesses(roles: AttackRoles) -> Sequence[Actor]:
    """The roll is made when the beacon's value is known, and witnesses cosign it afterwards.

    Needs the extra `drand`, and says so where it is missing.

    Caught: a quorum has to have cosigned two periods before the round of the beacon.
    Costs: everybody stops; the log convicts the organiser.
    """
    del roles
    return [MaliciousOrganiser(AlteredClose(Phase.COINS, _cosigned_late))]


def _cosigned_late(close: Close) -> Close:
    note = SignedNote.parse(close.checkpoint)
    bare = SignedNote(note.text, note.signatures[:1]).to_bytes()
    late = DRAND.cosigners(_IN_TIME + QUICKNET.period).cosigned(bare)
    return replace(close, checkpoint=late)
