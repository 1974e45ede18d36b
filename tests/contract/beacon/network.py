"""A drand network of one node, for tests that need rounds nobody published."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, cast

from py_ecc.bls.hash_to_curve import hash_to_G1, hash_to_G2
from py_ecc.bls.point_compression import compress_G1, compress_G2
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, multiply

from gopa.contract.beacon import DrandChain, Scheme

if TYPE_CHECKING:
    from _hashlib import HASH

    from py_ecc.bls.typing import G1Uncompressed, G2Uncompressed

_SHA256 = cast("HASH", hashlib.sha256)
GROUP_HASH: Final = hashlib.sha256(b"a group").digest()


def encode_g1(point: G1Uncompressed) -> bytes:
    """The compressed form."""
    return int(compress_G1(point)).to_bytes(48)


def encode_g2(point: G2Uncompressed) -> bytes:
    """The compressed form."""
    high, low = compress_G2(point)
    return high.to_bytes(48) + low.to_bytes(48)


def chain_with_key(scheme: Scheme, key: bytes, period: int = 3, genesis: int = 1000) -> DrandChain:
    """A chain around any key, its hash computed as the specification says."""
    name = "local"
    parts = period.to_bytes(4) + genesis.to_bytes(8) + key + GROUP_HASH + name.encode()
    chain_hash = hashlib.sha256(parts).digest()
    return DrandChain(scheme, key, period, genesis, GROUP_HASH, name, chain_hash)


class Network:
    """Signs any round of its own chain, whatever the time."""

    def __init__(self, scheme: Scheme, secret: int = 0x5EED, period: int = 3) -> None:
        self.secret = secret
        on_g1 = scheme.key_on_g1
        key = encode_g1(multiply(G1, secret)) if on_g1 else encode_g2(multiply(G2, secret))
        self.chain = chain_with_key(scheme, key, period)

    def sign(self, number: int, previous: bytes | None = None) -> bytes:
        """The signature of a round, after `previous` if the scheme is chained."""
        message = hashlib.sha256((previous or b"") + number.to_bytes(8)).digest()
        scheme = self.chain.scheme
        if scheme.key_on_g1:
            on_g2 = hash_to_G2(message, scheme.hash_domain, _SHA256)
            return encode_g2(multiply(on_g2, self.secret))
        on_g1 = hash_to_G1(message, scheme.hash_domain, _SHA256)
        return encode_g1(multiply(on_g1, self.secret))
