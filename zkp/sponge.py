"""The duplex sponge of draft-irtf-cfrg-fiat-shamir over SHAKE128 (specification 02, section 1).

Everything absorbed so far decides everything squeezed next. Squeezed bytes are
never fed back, so two sponges that absorbed the same bytes give the same bytes
whatever was squeezed from them in between.
"""

from __future__ import annotations

import hashlib
from typing import Final

from commitments.group import Group, ScalarVec
from wire.errors import UsageError

RATE: Final = 168
SESSION_SIZE: Final = 32
CHALLENGE_SLACK: Final = 16  # extra bytes that keep a reduced challenge within 2^-128 of uniform

_SESSION_LABEL: Final = b"irtf-cfrg-fiat-shamir/session-id"
_MAX_FRAME: Final = 1 << 32


class DuplexSponge:
    """SHAKE128 over a session identifier, zero padding to one block, and what is absorbed.

    Absorbing has no frames: the caller absorbs prefix-free encodings only.
    """

    __slots__ = ("_absorbed", "_squeezed")

    def __init__(self, session_id: bytes) -> None:
        if len(session_id) != SESSION_SIZE:
            raise UsageError(f"a session id has {SESSION_SIZE} bytes, not {len(session_id)}")
        self._absorbed = hashlib.shake_128(session_id + bytes(RATE - SESSION_SIZE))
        self._squeezed = 0

    def absorb(self, data: bytes) -> None:
        """Append to the input. The next squeeze starts a new stream, unless `data` is empty."""
        if data:
            self._absorbed.update(data)
            self._squeezed = 0

    def squeeze(self, n: int) -> bytes:
        """The next n bytes of the stream that the absorbed input determines."""
        start, self._squeezed = self._squeezed, self._squeezed + n
        return self._absorbed.digest(self._squeezed)[start:]

    def copy(self) -> DuplexSponge:
        """An independent sponge in the same state."""
        twin = DuplexSponge.__new__(DuplexSponge)
        twin._absorbed = self._absorbed.copy()  # noqa: SLF001  its own class
        twin._squeezed = self._squeezed  # noqa: SLF001  its own class
        return twin


def derive_session_id(tag: bytes) -> bytes:
    """The 32-byte session identifier of an application tag."""
    sponge = DuplexSponge(_SESSION_LABEL)
    sponge.absorb(tag)
    return sponge.squeeze(SESSION_SIZE)


def frame(data: bytes) -> bytes:
    """A prefix-free encoding: four little-endian length bytes, then the data."""
    if type(data) is not bytes:
        # Other buffers may count items where bytes are written: the frame would be ambiguous.
        raise UsageError(f"only bytes can be framed, not {type(data).__name__}")
    if len(data) >= _MAX_FRAME:
        raise UsageError("at most 2^32 - 1 bytes fit in one frame: absorb a hash of them instead")
    return len(data).to_bytes(4, "little") + data


def challenge_width(group: Group) -> int:
    """How many squeezed bytes make one challenge."""
    return group.scalar_size + CHALLENGE_SLACK


def decode_challenges(group: Group, squeezed: bytes) -> ScalarVec:
    """Squeezed bytes as uniform scalars, `challenge_width` bytes each, little-endian.

    Little-endian in every group, also where scalars are encoded big-endian.
    """
    return group.reduce_scalars(squeezed, challenge_width(group))
