"""Signs and verifies with Ed25519, and says what a signature covers besides the payload.

RFC 8032 leaves room: implementations disagree about small-order points and
non-canonical encodings, so that two honest auditors could disagree about one
log. Here a signature is accepted if and only if 00-E1 to 00-E8 of
`specs/00-wire.md` hold. The checks made before the library is asked remove the
inputs on which libraries differ, and no batch equation is used anywhere: it
would accept a different set. What is signed is the pre-authentication encoding of DSSE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from cryptography import exceptions
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from gmpy2 import legendre  # type: ignore[import-untyped]  # it ships no types

from wire.codec import Codec, converted, fixed
from wire.errors import InvalidSignature, MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes

_LONGEST_TYPE = 255
_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))


def pre_auth_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes to sign for `payload` in the role `payload_type`.

    "DSSEv1", the type and the payload, each of the two behind its length in
    decimal, separated by single spaces (`specs/00-wire.md`, section 6). Different
    (type, payload) pairs always give different bytes, and a signature made in one
    role is worth nothing in another.

    The type is a constant of the calling code, 1 to 255 visible ASCII characters
    without spaces; anything else raises `UsageError`.
    """
    if type(payload_type) is not str or not _VISIBLE.issuperset(payload_type):
        raise UsageError("a payload type is made of visible ASCII characters without spaces")
    if not 1 <= len(payload_type) <= _LONGEST_TYPE:
        raise UsageError(f"a payload type has 1 to {_LONGEST_TYPE} characters")
    if type(payload) is not bytes:
        raise UsageError(f"a payload is bytes, not {type(payload).__name__}")
    header = f"DSSEv1 {len(payload_type)} {payload_type} {len(payload)} "
    return header.encode("ascii") + payload


KEY_SIZE = 32
SIGNATURE_SIZE = 64
SEED_SIZE = 32

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = 0x52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3
_Y_MASK = 2**255 - 1
_Y_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _Y_ORDER_8, _P - _Y_ORDER_8})
"""The y coordinates of all eight points whose order divides 8."""

_CHUNK = 32
"""Verifications in one task: about 2 ms of work, many times the cost of handing it out."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """32 bytes that passed 00-E1 to 00-E4: a canonical point, not of small order.

    Construction raises `MalformedMessage` for other bytes.
    """

    data: bytes

    def __post_init__(self) -> None:
        if type(self.data) is not bytes:
            raise UsageError(f"a public key is bytes, not {type(self.data).__name__}")
        if len(self.data) != KEY_SIZE:  # E1
            raise MalformedMessage(f"a public key has {KEY_SIZE} bytes, not {len(self.data)}")
        if not _is_canonical(self.data):  # E2
            raise MalformedMessage("the public key is not a canonical encoding")
        if not _is_on_curve(self.data):  # E3
            raise MalformedMessage("the public key is not a point of the curve")
        if _has_small_order(self.data):  # E4
            raise MalformedMessage("the public key is a point of small order")

    def __repr__(self) -> str:
        return f"PublicKey({self.data.hex()})"


# Authors come again and again; what a key takes to check is not kept for one that fails.
_known = lru_cache(4096)(PublicKey)
PUBLIC_KEY: Codec[PublicKey] = converted(fixed(KEY_SIZE), _known, lambda key: key.data)
SIGNATURE: Codec[bytes] = fixed(SIGNATURE_SIZE)


class SigningKey(Guarded):
    """Signs; the key never prints, pickles, hashes or compares."""

    __slots__ = ("_key", "_public")

    def __init__(self, seed: SecretBytes) -> None:
        """Take the 32-byte private key of RFC 8032, section 5.1.5."""
        if not isinstance(seed, SecretBytes) or len(seed) != SEED_SIZE:
            raise UsageError(f"a signing key is made from a SecretBytes of {SEED_SIZE} bytes")
        self._key = Ed25519PrivateKey.from_private_bytes(seed.reveal())
        self._public = PublicKey(self._key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, rng: Rng) -> SigningKey:
        """A new key from 32 bytes of `rng`."""
        return cls(SecretBytes(draw(rng, SEED_SIZE)))

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one signs."""
        return self._public

    def sign(self, message: bytes) -> bytes:
        """The deterministic signature of RFC 8032 (64 bytes) over exactly these bytes."""
        if type(message) is not bytes:
            raise UsageError(f"only bytes can be signed, not {type(message).__name__}")
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"<SigningKey of {self._public.data.hex()[:16]}>"


class SignatureClaim(NamedTuple):
    """One signature to verify."""

    key: PublicKey
    message: bytes
    signature: bytes


def verify(key: PublicKey, message: bytes, signature: bytes) -> None:
    """Return if 00-E1 to 00-E8 hold, raise `InvalidSignature` citing the first that does not."""
    if type(key) is not PublicKey or type(message) is not bytes or type(signature) is not bytes:
        raise UsageError("verify takes a PublicKey and two bytes objects")
    if len(signature) != SIGNATURE_SIZE:  # E1
        raise _invalid(1, f"a signature has {SIGNATURE_SIZE} bytes, not {len(signature)}")
    R = signature[:32]
    if not _is_canonical(R):  # E5
        raise _invalid(5, "R is not a canonical encoding")
    if _has_small_order(R):  # E6
        raise _invalid(6, "R is a point of small order")
    if int.from_bytes(signature[32:], "little") >= _ORDER:  # E7
        raise _invalid(7, "S is not below the group order")
    try:
        Ed25519PublicKey.from_public_bytes(key.data).verify(signature, message)
    except exceptions.InvalidSignature:  # E8
        raise _invalid(8, "the signature does not belong to this key and message") from None


def verify_many(items: Iterable[SignatureClaim], executor: Executor | None = None) -> None:
    """Return if `verify` accepts every item.

    Otherwise raise one `InvalidSignature` whose `culprits` are the positions of
    all bad items and whose `check` is the rule that the first of them breaks.

    The items are verified one by one, on `executor` if there is one. A verification
    releases the interpreter lock, so a `ThreadPoolExecutor` with one thread for
    each core is the right executor; a process pool works and mostly pays for
    moving bytes. All items may be held in memory at once: pass bounded batches.
    """
    batches = _batches(items)
    answers = map(_checks, batches) if executor is None else executor.map(_checks, batches)
    failed = {i: check for i, check in enumerate(chain.from_iterable(answers)) if check}
    if failed:
        culprits = tuple(failed)
        raise InvalidSignature("signatures that do not verify", failed[culprits[0]], culprits)


def _batches(items: Iterable[SignatureClaim]) -> Iterator[list[SignatureClaim]]:
    rest = iter(items)
    while batch := list(islice(rest, _CHUNK)):
        yield batch


def _checks(batch: list[SignatureClaim]) -> list[str]:
    return [_failed_check(item) for item in batch]


def _failed_check(item: SignatureClaim) -> str:
    """The check that the item fails, or the empty string."""
    try:
        verify(*item)
    except InvalidSignature as error:
        return error.check
    return ""


def _invalid(rule: int, message: str) -> InvalidSignature:
    return InvalidSignature(message, f"00-E{rule}")


def _y(encoding: bytes) -> int:
    return int.from_bytes(encoding, "little") & _Y_MASK


def _is_canonical(encoding: bytes) -> bool:
    """Whether y < p, and the sign bit is clear where x = 0 (exactly at y = 1 and y = -1)."""
    y = _y(encoding)
    return y < _P and not (encoding[31] & 0x80 and y in {1, _P - 1})


def _has_small_order(encoding: bytes) -> bool:
    """Whether a canonical encoding has small order; both signs of x do, so y decides."""
    return _y(encoding) in _SMALL_ORDER_Y


def _is_on_curve(encoding: bytes) -> bool:
    """Whether x^2 = (y^2 - 1) / (d y^2 + 1) has a solution; the denominator is never 0."""
    y_squared = _y(encoding) ** 2 % _P
    quotient_class = (y_squared - 1) * (_D * y_squared + 1) % _P
    return bool(legendre(quotient_class, _P) >= 0)
