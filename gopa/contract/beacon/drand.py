"""Chains of the drand beacon: what proves the value of a round, and which round may decide.

`specs/09-beacon.md`, sections 1 to 3. A value is public once its round is due: the list of parties
must be fixed before that, and witnesses say when it was. A chain in a manifest is the organiser's
word. Comparing it with `KNOWN_CHAINS`, the public networks that run for everybody, is what makes
its values unpredictable to the organiser.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gopa.contract.beacon.scheme import Scheme, require_canonical
from gopa.support.extras import missing
from wire.brief import Brief
from wire.codec import Codec, converted, enumeration, fixed, opaque, record, u8, u32, u64
from wire.errors import InvalidProof, MalformedMessage, UsageError

LARGEST_PERIOD: Final = 2**32 - 1
LARGEST_TIME: Final = 2**63 - 1
LARGEST_ROUND: Final = 2**64 - 1

INPUTS: Final = "09-D6"

_DEFAULT_ID = "default"
_BEACON_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH_SIZE = 32


@dataclass(frozen=True, slots=True, repr=False)
class DrandChain(Brief):
    """What a verifier has to know of a drand network; hashes to `chain_hash`.

    `genesis` is the time of round 1 and `period` the distance of rounds, in seconds. A
    chain that constructs is consistent; that its key is a point of the right order is
    checked with the first round. *Which* chain deserves trust is not for this class:
    whoever makes up a chain knows all of its values (`KNOWN_CHAINS`).

    Raises:
        UsageError: a part has the wrong type, size or range, or `chain_hash` is not the
            hash of the other parts.
    """

    scheme: Scheme
    public_key: bytes
    period: int
    genesis: int
    group_hash: bytes
    beacon_id: str
    chain_hash: bytes

    def __post_init__(self) -> None:
        self._check_key()
        self._check_numbers()
        if type(self.group_hash) is not bytes or len(self.group_hash) != _HASH_SIZE:
            raise UsageError(f"a group hash is {_HASH_SIZE} bytes", "group_hash")
        if type(self.beacon_id) is not str or _BEACON_ID.fullmatch(self.beacon_id) is None:
            raise UsageError("a beacon id is 1 to 64 letters, digits, dots, - or _", "beacon_id")
        if type(self.chain_hash) is not bytes or self.chain_hash != self._hash_of_parts():
            raise UsageError("the hash of the chain is not that of its parts", "chain_hash")

    def time_of(self, drand_round: int) -> int:
        """When a round is due, in seconds since 1970. Rounds count from 1."""
        _require_round(drand_round)
        return self.genesis + (drand_round - 1) * self.period

    def round_at(self, time: int) -> int:
        """The newest round that is due at `time`; 0 before the first one."""
        if type(time) is not int:
            raise UsageError("a time is a whole number of seconds", "time")
        return max(0, (time - self.genesis) // self.period + 1)

    def _check_key(self) -> None:
        if not isinstance(self.scheme, Scheme):
            raise UsageError("a scheme is a member of Scheme", "scheme")
        if type(self.public_key) is not bytes:
            raise UsageError("a public key is bytes", "public_key")
        try:
            require_canonical(self.public_key, self.scheme.key_size)
        except MalformedMessage as error:
            raise UsageError(error.message, "public_key") from None

    def _check_numbers(self) -> None:
        if type(self.period) is not int or not 1 <= self.period <= LARGEST_PERIOD:
            raise UsageError("a period is 1 to 2^32 - 1 whole seconds", "period")
        if type(self.genesis) is not int or not 0 <= self.genesis <= LARGEST_TIME:
            raise UsageError("a genesis is a time below 2^63", "genesis")

    def _hash_of_parts(self) -> bytes:
        """Rule D3. The scheme is no part of it; drand leaves it out."""
        name = b"" if self.beacon_id == _DEFAULT_ID else self.beacon_id.encode()
        numbers = self.period.to_bytes(4) + self.genesis.to_bytes(8)
        return hashlib.sha256(numbers + self.public_key + self.group_hash + name).digest()


def _id_of(raw: bytes) -> str:
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedMessage("a beacon id is ASCII") from None


DRAND_CHAIN: Codec[DrandChain] = record(
    DrandChain,
    scheme=enumeration(Scheme, u8),
    public_key=opaque(48, 96),
    period=u32,
    genesis=u64,
    group_hash=fixed(32),
    beacon_id=converted(opaque(1, 64), _id_of, str.encode),
    chain_hash=fixed(32),
)
"""How a manifest names its beacon (09-D1)."""


def verify_round(
    chain: DrandChain,
    drand_round: int,
    signature: bytes,
    previous_signature: bytes | None = None,
) -> bytes:
    """The 32-byte value of a round, proved by the beacon's signature.

    `previous_signature` belongs to chained schemes and to no other. There is exactly one
    `signature` that passes for each round and previous signature, so nobody can choose
    among values. Whoever passes an unknown chain learns nothing: see `DrandChain`.

    Raises:
        InvalidProof: the signature, the previous one or the chain's key is refused;
            `check` names the rule, 09-D6 to 09-D9.
        BackendError: the extra `drand` is not installed.
        UsageError: an argument has the wrong type, or a round does not fit 64 bits.
    """
    _require_bytes(signature, "signature")
    if len(signature) != chain.scheme.signature_size:
        raise InvalidProof(f"a signature of {chain.scheme.signature_size} bytes", INPUTS)
    if drand_round == 0:
        raise InvalidProof("a round from 1: nobody signs round 0", INPUTS)
    _require_round(drand_round)
    message = _message(chain, drand_round, previous_signature)
    try:
        from gopa.contract.beacon.bls import verify_signature
    except ImportError as error:
        raise missing("drand") from error
    verify_signature(chain.scheme, chain.public_key, message, signature)
    return hashlib.sha256(signature).digest()


def _message(chain: DrandChain, drand_round: int, previous: bytes | None) -> bytes:
    number = drand_round.to_bytes(8)
    if previous is None:
        if chain.scheme.chained:
            raise InvalidProof("this chain needs the previous signature", INPUTS)
        return hashlib.sha256(number).digest()
    _require_bytes(previous, "previous_signature")
    if not chain.scheme.chained:
        raise InvalidProof("this chain takes no previous signature", INPUTS)
    if drand_round == 1 and previous != chain.group_hash:
        raise InvalidProof("before round 1 stands the group hash", INPUTS)
    if drand_round > 1 and len(previous) != chain.scheme.signature_size:
        size = chain.scheme.signature_size
        raise InvalidProof(f"a previous signature of {size} bytes", INPUTS)
    return hashlib.sha256(previous + number).digest()


def _require_bytes(value: object, field: str) -> None:
    if type(value) is not bytes:
        raise UsageError("a signature is bytes", field)


def _require_round(drand_round: int) -> None:
    if type(drand_round) is not int or not 1 <= drand_round <= LARGEST_ROUND:
        raise UsageError("rounds of a beacon count from 1 and stay below 2^64", "drand_round")


LEAGUE_OF_ENTROPY: Final = DrandChain(
    scheme=Scheme.PEDERSEN_BLS_CHAINED,
    public_key=bytes.fromhex(
        "868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5cce96366b5d7a5699"
        "37c529eeda66c7293784a9402801af31"
    ),
    period=30,
    genesis=1_595_431_050,
    group_hash=bytes.fromhex("176f93498eac9ca337150b46d21dd58673ea4e3581185f869672e59fa4cb390a"),
    beacon_id="default",
    chain_hash=bytes.fromhex("8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce"),
)
"""A value every 30 seconds since 2020."""

QUICKNET: Final = DrandChain(
    scheme=Scheme.BLS_UNCHAINED_G1_RFC9380,
    public_key=bytes.fromhex(
        "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
        "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb"
        "5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
    ),
    period=3,
    genesis=1_692_803_367,
    group_hash=bytes.fromhex("f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"),
    beacon_id="quicknet",
    chain_hash=bytes.fromhex("52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"),
)
"""A value every 3 seconds since 2023, each verifiable on its own."""

KNOWN_CHAINS: Final = (LEAGUE_OF_ENTROPY, QUICKNET)


DISTANCE: Final = 2
"""Periods between the last cosignature and the beacon's round: for clocks that differ."""

TIMES: Final = "09-D11"
QUORUM: Final = "09-D12"


def latest_cosignature_time(chain: DrandChain, drand_round: int) -> int:
    """The last second at which a cosignature still precedes the round (09-D11)."""
    return chain.time_of(drand_round) - DISTANCE * chain.period


def earliest_round(chain: DrandChain, time: int) -> int:
    """The first round that a close cosigned at `time` may name.

    The organiser adds the time that posting and collecting cosignatures takes, because
    the close names the round before witnesses have seen it.
    """
    if type(time) is not int:
        raise UsageError("a time is a whole number of seconds", "time")
    periods_after_genesis = -((chain.genesis - time) // chain.period)
    return max(1, periods_after_genesis + DISTANCE + 1)


def require_before(
    chain: DrandChain, drand_round: int, cosignature_times: Sequence[int], quorum: int
) -> None:
    """Return if witnesses fixed the list of parties before the round's value was known.

    `cosignature_times` are those of all cosignatures that a checkpoint covering the close
    of join carries. The caller has verified them: one for each witness, by the policy of
    the session. `quorum` is how many witnesses its quorum takes; where witnesses form
    groups the caller asks the policy about those that were early. Late cosignatures
    beside a quorum of early ones take nothing from these.

    Raises:
        InvalidProof: too few cosignatures (09-D12); or too few early ones (09-D11), with
            the positions of the others as `culprits`; or the round is 0 (09-D11).
        UsageError: the quorum is below 1: a beacon without witnesses is refused, because
            the list could be made up when the value is known.
    """
    if type(quorum) is not int or quorum < 1:
        raise UsageError("coins from a beacon need a quorum of witnesses", "quorum")
    if any(type(time) is not int for time in cosignature_times):
        raise UsageError("a time is a whole number of seconds", "cosignature_times")
    if drand_round == 0:
        raise InvalidProof("the close of join names no round of the beacon", TIMES)
    if len(cosignature_times) < quorum:
        raise InvalidProof(f"{len(cosignature_times)} of {quorum} cosignatures", QUORUM)
    latest = latest_cosignature_time(chain, drand_round)
    late = tuple(i for i, time in enumerate(cosignature_times) if not 0 < time <= latest)
    # Who closes a join when the value is known chooses a graph by choosing who is in it.
    if len(cosignature_times) - len(late) < quorum:
        message = f"a quorum must state times up to {latest}: name a later beacon round"
        raise InvalidProof(message, TIMES, late)
