"""Verifies BLS signatures over BLS12-381, on py_ecc. The only module that imports it.

Not constant-time, and nothing here is secret. Specification: `specs/09-beacon.md`,
section 2.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from py_ecc.bls.hash_to_curve import hash_to_G1, hash_to_G2
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G1Uncompressed, G2Compressed, G2Uncompressed
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, curve_order, is_inf, multiply, neg
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from gopa.contract.beacon.scheme import Scheme, require_canonical
from wire.errors import InvalidProof, MalformedMessage

if TYPE_CHECKING:
    from _hashlib import HASH

ENCODING: Final = "09-D7"
SUBGROUP: Final = "09-D8"
EQUATION: Final = "09-D9"

# py_ecc declares the hash function as a hash object; what it calls is the constructor.
_SHA256 = cast("HASH", hashlib.sha256)

_KNOWN_KEYS = 16


def verify_signature(scheme: Scheme, key: bytes, message: bytes, signature: bytes) -> None:
    """Return if `signature` is *the* signature of `message` under `key`.

    Raises `InvalidProof`: 09-D7 for an encoding that is not canonical, 09-D8 for a point
    off the curve or outside the subgroup of prime order, 09-D9 for the equation.
    """
    if scheme.key_on_g1:
        on_g1, on_g2 = _key_g1(key), decode_g2(signature)
        hashed2 = hash_to_G2(message, scheme.hash_domain, _SHA256)
        _require_equal(hashed2, on_g1, on_g2, G1)
    else:
        on_g2, on_g1 = _key_g2(key), decode_g1(signature)
        hashed1 = hash_to_G1(message, scheme.hash_domain, _SHA256)
        _require_equal(on_g2, hashed1, G2, on_g1)


def decode_g1(data: bytes) -> G1Uncompressed:
    """A point of order r on the curve over the prime field; raises `InvalidProof`."""
    _require_encoding(data, 48)
    plain = G1Compressed(int.from_bytes(data))
    try:
        point = decompress_G1(plain)
    except ValueError:
        raise InvalidProof("no point of the curve has this coordinate", SUBGROUP) from None
    # Adding a point of small order leaves the equation true and changes the bytes.
    if not is_inf(multiply(point, curve_order)):
        raise InvalidProof("the point is outside the subgroup of prime order", SUBGROUP)
    return point


def decode_g2(data: bytes) -> G2Uncompressed:
    """A point of order r on the twist; raises `InvalidProof`."""
    _require_encoding(data, 96)
    plain = G2Compressed((int.from_bytes(data[:48]), int.from_bytes(data[48:])))
    try:
        point = decompress_G2(plain)
    except ValueError:
        raise InvalidProof("no point of the curve has this coordinate", SUBGROUP) from None
    if not is_inf(multiply(point, curve_order)):
        raise InvalidProof("the point is outside the subgroup of prime order", SUBGROUP)
    return point


_key_g1 = lru_cache(maxsize=_KNOWN_KEYS)(decode_g1)
_key_g2 = lru_cache(maxsize=_KNOWN_KEYS)(decode_g2)


def _require_encoding(data: bytes, size: int) -> None:
    try:
        require_canonical(data, size)
    except MalformedMessage as error:
        raise InvalidProof(error.message, ENCODING) from None


def _require_equal(
    left2: G2Uncompressed, left1: G1Uncompressed, right2: G2Uncompressed, right1: G1Uncompressed
) -> None:
    """Require e(left1, left2) = e(right1, right2), with one final exponentiation."""
    left = pairing(left2, left1, final_exponentiate=False)
    right = pairing(right2, neg(right1), final_exponentiate=False)
    if final_exponentiate(left * right) != FQ12.one():
        raise InvalidProof("the beacon's key did not sign this", EQUATION)
