"""The Fiat-Shamir transcript of a proof (specification 02, sections 1 and 2).

The caller owns the transcript and binds, before the first challenge, everything
the proof is about: protocol and version, session, round, party, role, every
parameter and base, and the full statement. What is not absorbed can be replaced
by whoever holds the proof.

Prover and verifier make the same calls in the same order. A transcript whose
proof was refused, or whose proving failed, is spent.

Below it is the duplex sponge of draft-irtf-cfrg-fiat-shamir over SHAKE128. Everything absorbed so
far decides everything squeezed next. Squeezed bytes are never fed back, so two sponges that
absorbed the same bytes give the same bytes whatever was squeezed from them in between.

Nonces come from it, too (specification 02, F9). A prover whose nonces a fault replaced by zeros,
or by others it used before, makes a proof that verifies and tells the witness. So it draws them
again from the same bytes when its proof is finished, and compares them with those that went into
it.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalarVec
from wire.domains import HEDGED_STREAM, PROVER_NONCES, TRANSCRIPT, stream_domain
from wire.errors import ComputationFault, InvalidProof, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes
from zkp.vectors import constant

RATE: Final = 168
SESSION_SIZE: Final = 32
CHALLENGE_SLACK: Final = 16  # extra bytes that keep a reduced challenge within 2^-128 of uniform

_SESSION_LABEL: Final = b"irtf-cfrg-fiat-shamir/session-id"
_MAX_FRAME: Final = 1 << 32


class DuplexSponge:
    """SHAKE128 over a session identifier, zeros up to one block, and what is absorbed.

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


_BYTES: Final = b"\x01"
_INTEGER: Final = b"\x02"
_POINTS: Final = b"\x03"
_SCALARS: Final = b"\x04"
_CHALLENGES: Final = b"\x10"
_SESSION: Final = b"\x11"
_FORK: Final = b"\x12"
_NONCES: Final = b"\x13"

_HEDGE_SIZE: Final = 32


class Transcript:
    """Labelled, framed input to a sponge, and the challenges drawn from it.

    Every entry is kind, framed label, framed data, so two different sequences of
    calls never absorb the same bytes: ("a", "bc") is not ("ab", "c").
    """

    __slots__ = ("_bound", "_sponge")

    def __init__(self, protocol: bytes) -> None:
        if not protocol:
            raise UsageError("name the protocol and its version: the name separates its proofs")
        self._sponge = DuplexSponge(derive_session_id(TRANSCRIPT + frame(protocol)))
        self._bound = False

    def absorb(self, label: bytes, data: bytes) -> None:
        """Bind labelled bytes to the transcript."""
        self._bind(_BYTES, label, data)

    def absorb_int(self, label: bytes, value: int) -> None:
        """Bind an integer of any size and sign."""
        if type(value) is not int:
            raise UsageError(f"absorb an int, not {type(value).__name__}")
        size = (value.bit_length() + 8) // 8
        self._bind(_INTEGER, label, value.to_bytes(size, "little", signed=True))

    def absorb_points(self, label: bytes, points: PointVec) -> None:
        """Bind a vector of points with its length."""
        self._bind(_POINTS, label, points.to_bytes())

    def absorb_encoded_points(self, label: bytes, encodings: bytes) -> None:
        """Bind a vector of points as `absorb_points`, by what decoded to them."""
        self._bind(_POINTS, label, encodings)

    def absorb_scalars(self, label: bytes, scalars: ScalarVec) -> None:
        """Bind a vector of public scalars with its length."""
        self._bind(_SCALARS, label, scalars.to_bytes())

    def challenge(self, label: bytes, group: Group) -> Scalar:
        """One uniform non-zero scalar that depends on everything bound so far.

        Raises:
            UsageError: nothing was bound yet.
            InvalidProof: the challenge is zero.
        """
        return self.challenges(label, group, 1)[0]

    def challenges(self, label: bytes, group: Group, n: int) -> ScalarVec:
        """Several uniform non-zero scalars; raises as `challenge`."""
        self._require_bound()
        self._absorb(_CHALLENGES, label, _asked(group, n))
        drawn = decode_challenges(group, self._sponge.squeeze(n * challenge_width(group)))
        for scalar in drawn:
            # Honest runs meet zero with probability 2^-252. It is refused because
            # protocols divide by challenges and drop what a zero multiplies.
            if scalar.is_zero():
                raise InvalidProof("a challenge is zero: prove again", "02-F6")
        return drawn

    def digest(self, label: bytes) -> bytes:
        """Gives 32 bytes that stand for everything bound so far in another protocol's hash.

        The specification calls them a session identifier (02-F7); no session of `gopa` is meant.

        Raises:
            UsageError: nothing was bound yet.
        """
        self._require_bound()
        self._absorb(_SESSION, label, b"")
        return self._sponge.squeeze(SESSION_SIZE)

    def copy(self) -> Transcript:
        """An independent transcript in the same state."""
        twin = Transcript.__new__(Transcript)
        twin._sponge = self._sponge.copy()  # noqa: SLF001  its own class
        twin._bound = self._bound  # noqa: SLF001  its own class
        return twin

    def __copy__(self) -> Transcript:
        return self.copy()

    def fork(self, label: bytes, data: bytes) -> Transcript:
        """A transcript that continues this one under data of its own, one for each branch."""
        branch = self.copy()
        branch._bind(_FORK, label, data)  # noqa: SLF001  its own class
        return branch

    def nonce_source(
        self, label: bytes, group: Group, n: int, witness: SecretScalarVec, rng: Rng
    ) -> NonceSource:
        """Where n secret scalars come from to hide the witness; the transcript does not change.

        They depend on 32 bytes of `rng`, on the whole witness, on the label and on
        everything bound so far. A generator that repeats or is guessed therefore
        gives no two statements the same nonces, and a transcript that repeats gets
        new nonces from a working generator. Bind the statement before calling.

        Raises:
            UsageError: nothing was bound yet, or `rng` returns a wrong length.
        """
        self._require_bound()
        fresh = draw(rng, _HEDGE_SIZE)
        bound = self._sponge.copy()
        bound.absorb(_NONCES + frame(PROVER_NONCES) + frame(label))
        bound.absorb(frame(group.name.encode()) + n.to_bytes(4, "little"))
        # What is bound is public. The witness is absorbed by the group itself: bytes of
        # Python would stay behind in freed memory.
        return NonceSource(group, n, bound.squeeze(SESSION_SIZE), fresh, witness)

    def nonces(
        self, label: bytes, group: Group, n: int, witness: SecretScalarVec, rng: Rng
    ) -> SecretScalarVec:
        """The secret scalars of a `nonce_source`; raises the same."""
        return self.nonce_source(label, group, n, witness, rng).draw()

    def hedged(self, label: bytes, group: Group, witness: SecretScalarVec, rng: Rng) -> Rng:
        """A source of randomness that is hedged as one nonce is; the transcript does not change.

        For secrets that are no nonces of a proof: pads, seeds, keys, shares (specification 02,
        F11). Its first bytes are drawn from `rng` now, and it never asks `rng` again. Raises as
        `nonces`.
        """
        key = SecretBytes(self.nonces(label, group, 1, witness, rng).reveal().to_bytes())
        return group.stream(key, stream_domain(HEDGED_STREAM)).bytes

    def _bind(self, kind: bytes, label: bytes, data: bytes) -> None:
        self._absorb(kind, label, data)
        self._bound = True

    def _absorb(self, kind: bytes, label: bytes, data: bytes) -> None:
        if type(label) is not bytes:  # other types may equal bytes that are known
            raise UsageError(f"a label is bytes, not {type(label).__name__}")
        self._sponge.absorb(_entry(kind, label) + frame(data))

    def _require_bound(self) -> None:
        # A challenge that depends on a protocol name alone is a constant everybody
        # knows before choosing a statement.
        if not self._bound:
            raise UsageError("absorb the context and the statement before drawing from it")


@lru_cache(maxsize=256)
def _entry(kind: bytes, label: bytes) -> bytes:
    """What an entry begins with. Labels are few, and absorbed again for every proof."""
    return kind + frame(label)


@lru_cache(maxsize=256)
def _asked(group: Group, n: int) -> bytes:
    """What is absorbed before so many challenges are drawn."""
    return frame(group.name.encode()) + n.to_bytes(4, "little")


class NonceSource(Guarded):
    """Nonces from a transcript, a label, fresh bytes and a witness; ever the same ones."""

    __slots__ = ("_count", "_fresh", "_group", "_session", "_witness")

    def __init__(
        self, group: Group, count: int, session: bytes, fresh: bytes, witness: SecretScalarVec
    ) -> None:
        """Keep what nonces are drawn from; `Transcript.nonce_source` makes one."""
        self._group = group
        self._count = count
        self._session = session
        self._fresh = fresh
        self._witness = witness

    def draw(self) -> SecretScalarVec:
        """The nonces; every call makes them anew."""
        return self._group.hedged_scalars(self._count, self._session, self._fresh, self._witness)

    def require_used(self, used: SecretScalarVec) -> None:
        """Raises `ComputationFault` unless these are the nonces."""
        require_equal(self._group, used, self.draw())


def require_equal(group: Group, left: SecretScalarVec, right: SecretScalarVec) -> None:
    """Raises `ComputationFault` unless both vectors are the same."""
    # Where they are, as they always should be, what is revealed is zeros.
    if len(left) != len(right) or (left - right).reveal() != constant(group, 0, len(left)):
        raise ComputationFault("the nonces of a proof are not those that were drawn for it")
