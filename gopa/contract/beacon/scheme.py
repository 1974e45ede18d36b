"""The schemes of drand that are supported: their signatures, and the encodings of points.

Here are integers only, and no curve. `specs/09-beacon.md`, section 1.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from wire.errors import MalformedMessage, UsageError

_HASH_TO_G1: Final = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_HASH_TO_G2: Final = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"


class Scheme(Enum):
    """The four ways in which drand networks use BLS over BLS12-381.

    The value travels in manifests; `title` is the name that drand gives it.
    """

    PEDERSEN_BLS_CHAINED = 1
    PEDERSEN_BLS_UNCHAINED = 2
    BLS_UNCHAINED_ON_G1 = 3
    BLS_UNCHAINED_G1_RFC9380 = 4

    @property
    def title(self) -> str:
        """The name as drand writes it, such as `bls-unchained-g1-rfc9380`."""
        return self.name.lower().replace("_", "-")

    @classmethod
    def titled(cls, title: str) -> Scheme:
        """The scheme of that name; `UsageError` for one that is not supported."""
        for scheme in cls:
            if scheme.title == title:
                return scheme
        raise UsageError(f"a scheme is one of {', '.join(s.title for s in cls)}", "scheme")

    @property
    def chained(self) -> bool:
        """Whether a round signs the signature of the round before it."""
        return self is Scheme.PEDERSEN_BLS_CHAINED

    @property
    def key_on_g1(self) -> bool:
        """Whether the key is the short point and the signature the long one."""
        return self in {Scheme.PEDERSEN_BLS_CHAINED, Scheme.PEDERSEN_BLS_UNCHAINED}

    @property
    def key_size(self) -> int:
        """Bytes of a public key."""
        return 48 if self.key_on_g1 else 96

    @property
    def signature_size(self) -> int:
        """Bytes of a signature."""
        return 96 if self.key_on_g1 else 48

    @property
    def hash_domain(self) -> bytes:
        """The domain of hashing to the curve.

        The third scheme hashes to G1 under the domain of G2: a slip of its authors that
        its signatures made permanent.
        """
        return _HASH_TO_G1 if self is Scheme.BLS_UNCHAINED_G1_RFC9380 else _HASH_TO_G2


FIELD_MODULUS: Final = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
    "1eabfffeb153ffffb9feffffffffaaab",
    16,
)

_COORDINATE: Final = 48
_COMPRESSED, _INFINITY = 0x80, 0x40
_BELOW_FLAGS = 0x1F


def require_canonical(data: bytes, size: int) -> None:
    """Return if `data` is the one encoding of some pair (x, sign), else `MalformedMessage`.

    Exactly `size` bytes (48 or 96), compressed, not infinity, every coordinate below the
    modulus. Whether x belongs to a point is for the curve to say.
    """
    if len(data) != size:
        raise MalformedMessage(f"a point of {size} bytes, not {len(data)}")
    # Libraries disagree about other encodings, so two honest auditors could disagree as well.
    if not data[0] & _COMPRESSED:
        raise MalformedMessage("a point in compressed form", offset=0)
    if data[0] & _INFINITY:
        raise MalformedMessage("a point other than infinity", offset=0)
    plain = bytes([data[0] & _BELOW_FLAGS]) + data[1:]
    for start in range(0, size, _COORDINATE):
        if int.from_bytes(plain[start : start + _COORDINATE]) >= FIELD_MODULUS:
            raise MalformedMessage("a coordinate below the modulus of the field", offset=start)
