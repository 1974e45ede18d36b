"""Lists in closes: decoded once, checked for length and order ([C5]).

Many parties of one process read the same closes, so what follows from the bytes of a
close alone is kept and shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

from gopa.messages.framing import party_id
from gopa.messages.manifest import CommitReveal, DrandBeacon, Manifest, Roster
from gopa.messages.members import unpack_members
from gopa.messages.organiser import CLOSE, RESULT, Close, Coins, Members, Result, Roll
from gopa.messages.phases import Phase
from wire.errors import MalformedMessage

_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class Enrolment:
    """The roll of a round: authors and ids by position, positions by author."""

    roll: Roll
    authors: tuple[bytes, ...]
    ids: tuple[bytes, ...]
    positions: Mapping[bytes, int]

    def __len__(self) -> int:
        return len(self.authors)


@dataclass(frozen=True, slots=True)
class Closed:
    """A close as it was posted."""

    close: Close
    body: bytes
    leaf: bytes

    @property
    def cut(self) -> int:
        return self.close.cut


@lru_cache(maxsize=_KEPT)
def decode_close(body: bytes) -> Close:
    """Strictly; `MalformedMessage` for anything else."""
    return CLOSE.decode(body)


@lru_cache(maxsize=4)
def decode_result(body: bytes) -> Result:
    """Strictly; `MalformedMessage` for anything else."""
    return RESULT.decode(body)


def read_roll(body: bytes, manifest: Manifest) -> Enrolment:
    """[J6]: increasing authors who may join, each with a key of its own; sizes of the beacon."""
    enrolment = _enrolment(body)
    roll = enrolment.roll
    size = 32 if isinstance(manifest.beacon, CommitReveal) else 0
    if any(len(party.nonce_hash) != size for party in roll.parties):
        raise MalformedMessage(f"hashes of nonces have {size} bytes", "parties.nonce_hash")
    if (roll.beacon_round > 0) != isinstance(manifest.beacon, DrandBeacon):
        raise MalformedMessage("a round of the beacon exactly if there is one", "beacon_round")
    if manifest.organiser in enrolment.positions:
        raise MalformedMessage("the organiser is no party", "parties")
    if not manifest.terms.survivors <= len(enrolment) <= manifest.terms.parties:
        raise MalformedMessage("as many parties as the terms allow", "parties")
    admission = manifest.admission
    if isinstance(admission, Roster) and not enrolment.positions.keys() <= _roster(admission.keys):
        raise MalformedMessage("only parties of the roster", "parties")
    return enrolment


def read_coins(close: Close, manifest: Manifest, parties: int) -> tuple[Coins, tuple[int, ...]]:
    """The coins with the positions of their members, of the sizes of the beacon."""
    coins = close.content
    if close.phase is not Phase.COINS or not isinstance(coins, Coins):
        raise MalformedMessage("a close of coins lists coins", "content")
    members = unpack_members(coins.members, parties)
    nonces = len(members) if isinstance(manifest.beacon, CommitReveal) else 0
    if len(coins.nonces) != nonces:
        raise MalformedMessage(f"{nonces} nonces", "content.nonces")
    if not nonces and len(members) != parties:
        raise MalformedMessage("without nonces everybody is a member", "content.members")
    if bool(coins.signature) != isinstance(manifest.beacon, DrandBeacon):
        raise MalformedMessage("a signature exactly if there is a beacon", "content.signature")
    return coins, members


def read_members(close: Close, phase: Phase, parties: int) -> tuple[tuple[int, ...], bool]:
    """The positions in a later list, and whether it is final."""
    content = close.content
    if close.phase is not phase or not isinstance(content, Members):
        raise MalformedMessage(f"a close of {phase.name.lower()} lists members", "content")
    return unpack_members(content.members, parties), content.final


@lru_cache(maxsize=_KEPT)
def _enrolment(body: bytes) -> Enrolment:
    close = decode_close(body)
    if close.phase is not Phase.JOIN or not isinstance(close.content, Roll):
        raise MalformedMessage("a close of join lists a roll", "content")
    roll = close.content
    authors = tuple(party.author for party in roll.parties)
    if any(a >= b for a, b in pairwise(authors)):
        raise MalformedMessage("authors are distinct and in increasing order", "parties")
    if len({party.key for party in roll.parties}) != len(authors):
        raise MalformedMessage("every party has a key of its own", "parties")
    positions = MappingProxyType({author: i for i, author in enumerate(authors)})
    return Enrolment(roll, authors, tuple(map(party_id, authors)), positions)


@lru_cache(maxsize=_KEPT)
def _roster(keys: tuple[bytes, ...]) -> frozenset[bytes]:
    return frozenset(keys)
