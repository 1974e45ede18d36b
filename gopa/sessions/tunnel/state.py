"""Seals the state of a party that is called, and opens it. 12-N4, 12-N5.

    state = core | slot | slot | ..
    core  = format | session | party | counter | size | nonce | XSalsa20-Poly1305(content)

Everything in front of the nonce goes into the key, so none of it can be changed. The nonce follows
from key and content: the same content gives the same bytes, and another content another nonce.
The content names the slots, in their order: what is large stands in them (`slots`).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from bulletin_board.note import LARGEST_NOTE
from gopa.contract.manifest import MANIFEST
from gopa.sessions.tunnel.slots import NAME_SIZE, Slots
from gopa.sessions.vault.interface import VaultDamaged, VaultError
from gopa.sessions.vault.protection import NONCE_SIZE, NotForThisKey, SealingKey, SecretBox
from wire.codec import Codec, fixed, opaque, record, u16, u64, vector
from wire.domains import TUNNEL_CHANCE, TUNNEL_STATE
from wire.errors import MalformedMessage, UsageError
from wire.secret import Guarded, SecretBytes

VERSION: Final = 2
FORMAT: Final = b"gopa-tunnel-2\n"
SEED_SIZE: Final = 32
_COUNTER: Final = 8
_SIZE: Final = 4
_HEAD: Final = len(FORMAT) + 32 + 32 + _COUNTER
LARGEST_STATE: Final = 2**29


class StateOfAnother(VaultError):
    """Reports a state that is that of another party or session."""


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Says whose state it is, and in which session."""

    session: bytes
    party: bytes

    def __str__(self) -> str:
        return f"{self.session.hex()}-{self.party.hex()}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TunnelState(Guarded):
    """Holds what a party keeps between two calls.

    `seed` is what round secrets are drawn from. Logical rounds below `spent` take no value.
    `manifest` and `checkpoint` are empty until they have been shown; entries of the organiser and
    of the party below `start` have been heard. `machine` is a checkpoint of it, empty before it has
    begun, and `slots` name what is large in there. `evidence` shows that the log has forked.
    """

    version: int
    seed: bytes
    spent: int
    manifest: bytes
    checkpoint: bytes
    start: int
    machine: bytes
    slots: tuple[bytes, ...]
    evidence: bytes

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")


TUNNEL: Final[Codec[TunnelState]] = record(
    TunnelState,
    version=u16,
    seed=fixed(SEED_SIZE),
    spent=u16,
    manifest=opaque(0, MANIFEST.max_size),
    checkpoint=opaque(0, LARGEST_NOTE),
    start=u64,
    machine=opaque(0, 2**28),
    slots=vector(fixed(NAME_SIZE), 0, 2**16),
    evidence=opaque(0, 4 * LARGEST_NOTE),
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenedState(Guarded):
    """Holds what is in a state: its counter and content, and the slots behind its core."""

    counter: int
    content: TunnelState
    slots: Slots


def slots_of(place: StatePlace, secret: SealingKey) -> Slots:
    """Slots of this place, none yet."""
    return Slots(secret, FORMAT + place.session + place.party)


def seal(
    state: TunnelState, place: StatePlace, counter: int, secret: SealingKey, slots: Slots
) -> tuple[bytes, int]:
    """The bytes that only `unseal` with this place and secret opens; how many of them are the core.

    Raises `UsageError` if the state is too large to be kept.
    """
    content = TUNNEL.encode(state)
    behind = slots.written(state.slots)
    if len(content) + sum(map(len, behind)) >= LARGEST_STATE:
        raise UsageError("the state is too large", "state")
    head = FORMAT + place.session + place.party + counter.to_bytes(_COUNTER)
    nonce = _keyed(secret, b"nonce", head + content)[:NONCE_SIZE]
    box = _box(secret, head).encrypt(content, nonce)
    core = head + len(box).to_bytes(_SIZE) + box
    return b"".join([core, *behind]), len(core)


def unseal(data: bytes, place: StatePlace, secret: SealingKey) -> OpenedState:
    """What is in a state. Slots are opened when they are used, and refused then if changed.

    Raises:
        StateOfAnother: it is that of another party or session.
        VaultDamaged: it was changed, or sealed with another secret.
    """
    head, begin = data[:_HEAD], _HEAD + _SIZE
    if len(data) > 2 * LARGEST_STATE or len(data) < begin or not head.startswith(FORMAT):
        raise VaultDamaged("these bytes are no state of a party")
    if head[len(FORMAT) : -_COUNTER] != place.session + place.party:
        raise StateOfAnother("the state is that of another party or session: keep them apart")
    end = begin + int.from_bytes(data[_HEAD:begin])
    if end > len(data):
        raise VaultDamaged("the state ends early: use the last one returned")
    try:
        state = TUNNEL.decode(_box(secret, head).decrypt(data[begin:end]))
    except (NotForThisKey, MalformedMessage):
        message = "the state was changed, or sealed with another secret: use the last one returned"
        raise VaultDamaged(message) from None
    slots = slots_of(place, secret)
    slots.read(memoryview(data)[end:], state.slots)
    return OpenedState(int.from_bytes(head[-_COUNTER:]), state, slots)


def counter_of(data: bytes, place: StatePlace) -> int | None:
    """The counter of a state, which stands in front of the box; None for that of another place.

    Only `unseal` shows that nobody has changed it.
    """
    head = FORMAT + place.session + place.party
    return int.from_bytes(data[len(head) : _HEAD]) if data.startswith(head) else None


def _box(secret: SealingKey, head: bytes) -> SecretBox:
    return SecretBox(SecretBytes(_keyed(secret, b"key", head)))


def _keyed(secret: SealingKey, purpose: bytes, data: bytes) -> bytes:
    label = TUNNEL_STATE + bytes([len(purpose)]) + purpose
    return hmac.digest(secret.data.reveal(), label + data, "sha256")


class SeedRng(Guarded):
    """Draws from a seed, and gives the seed that follows. It is an `Rng`.

    What is drawn follows from the seed and what the call was told, so that two calls that were
    told different things share nothing (12-N7).
    """

    __slots__ = ("_drawn", "_seed")

    def __init__(self, seed: bytes, *told: bytes) -> None:
        hashed = hashlib.sha256(TUNNEL_CHANCE + seed)
        for part in told:
            hashed.update(len(part).to_bytes(8) + part)
        self._seed = hashed.digest()
        self._drawn = 0

    def __call__(self, count: int) -> bytes:
        """The next bytes."""
        self._drawn += 1
        place = b"draw" + self._drawn.to_bytes(8)
        return hashlib.shake_256(TUNNEL_CHANCE + self._seed + place).digest(count)

    def following(self, *kept: bytes) -> bytes:
        """The seed for the next call, which depends on all that is kept until then."""
        hashed = hashlib.sha256(TUNNEL_CHANCE + self._seed + b"next")
        for part in kept:
            hashed.update(len(part).to_bytes(8) + part)
        return hashed.digest()
