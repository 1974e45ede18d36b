"""Masks of edges and of parties, and shares of the latter: 08; streams: 01, section 5."""

from __future__ import annotations

import hmac
import struct
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256

from codec import Malformed
from curve import Point, Q, add, decode_point, decode_scalar, is_zero, multi, negative
from law import mask_table
from proofs import G, H

LABEL = b"gopa/v1/masks/"


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 (RFC 5869) with 32 bytes of output."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, LABEL + info + b"\x01", "sha256")


class Stream:
    """[S1] of 01: ChaCha20 (RFC 8439) under a seed and a label."""

    def __init__(self, seed: bytes, label: bytes) -> None:
        nonce = sha256(LABEL + label).digest()[:12]
        self.key, self.nonce = struct.unpack("<8I", seed), struct.unpack("<3I", nonce)
        self.block, self.left = 0, b""

    def take(self, size: int) -> bytes:
        """The next bytes."""
        while len(self.left) < size:
            self.left += self._next()
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def _next(self) -> bytes:
        start = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *self.key, self.block, *self.nonce)
        s = list(start)
        for _ in range(10):
            for a in range(4):
                _quarter(s, a, 4 + a, 8 + a, 12 + a)
            for a in range(4):
                _quarter(s, a, 4 + (a + 1) % 4, 8 + (a + 2) % 4, 12 + (a + 3) % 4)
        self.block += 1
        return struct.pack("<16I", *(x + y & 0xFFFFFFFF for x, y in zip(s, start, strict=True)))

    def number(self, size: int) -> int:
        """The next bytes as a little-endian integer."""
        return int.from_bytes(self.take(size), "little")

    def scalar(self) -> int:
        """[S2] of 01."""
        return self.number(64) % Q

    def wide(self, deviation: int) -> int:
        """[S6] of 01 with the table of [M6]."""
        table = mask_table(deviation)
        return bisect_right(table, self.number(16)) - len(table) // 2


def _quarter(s: list[int], a: int, b: int, c: int, d: int) -> None:
    for one, other in ((16, 12), (8, 7)):
        s[a] = s[a] + s[b] & 0xFFFFFFFF
        x = s[d] ^ s[a]
        s[d] = (x << one | x >> 32 - one) & 0xFFFFFFFF
        s[c] = s[c] + s[d] & 0xFFFFFFFF
        x = s[b] ^ s[c]
        s[b] = (x << other | x >> 32 - other) & 0xFFFFFFFF


@dataclass
class Masks:
    """What a round masks with. Deviation 0 means uniform masks, width 0 scalars."""

    session: bytes
    round: bytes
    dimension: int
    deviation: int
    width: int

    def edge(self, one: bytes, other: bytes) -> bytes:
        """[M1]."""
        return self.round + min(one, other) + max(one, other)

    def edge_key(self, shared: bytes, one: bytes, other: bytes) -> bytes:
        """[M3]."""
        return hkdf(shared, self.session, b"edge-key" + self.edge(one, other))

    def edge_values(self, key: bytes) -> list[int]:
        """[M9], or [M15] for words."""
        stream = Stream(key, b"edge-words" if self.width else b"edge-values")
        return [self._draw(stream, self.deviation) for _ in range(self.dimension)]

    def edge_blinding(self, key: bytes) -> int:
        """[M10]."""
        return Stream(key, b"edge-blinding").scalar()

    def edge_hash(self, key: bytes, one: bytes, other: bytes) -> bytes:
        """[M17]."""
        return sha256(LABEL + b"edge-hash" + self.session + self.edge(one, other) + key).digest()

    def own_values(self, seed: bytes, party: bytes) -> list[int]:
        """[M13], [M14], or [M16] for words."""
        key = self._own_key(seed, party)
        stream = Stream(key, b"self-words" if self.width else b"self-values")
        return [self._draw(stream, 0) for _ in range(self.dimension)]

    def own_blinding(self, seed: bytes, party: bytes) -> int:
        """[M14]."""
        return Stream(self._own_key(seed, party), b"self-blinding").scalar()

    def seed_hash(self, seed: bytes, party: bytes) -> bytes:
        """[M17]."""
        return sha256(LABEL + b"seed-hash" + self.session + self.round + party + seed).digest()

    def open_share(self, sealed: bytes, shared: bytes, dealer: bytes, recipient: bytes) -> bytes:
        """[M4], [M21]."""
        key = hkdf(shared, self.session, b"share-key" + self.round + dealer + recipient)
        pad = Stream(key, b"share-pad").take(64)
        return bytes(x ^ y for x, y in zip(sealed, pad, strict=True))

    def _own_key(self, seed: bytes, party: bytes) -> bytes:
        return hkdf(seed, self.session, b"self-key" + self.round + party)

    def _draw(self, stream: Stream, deviation: int) -> int:
        if deviation:
            return stream.wide(deviation)
        return stream.number(4 if self.width <= 32 else 8) if self.width else stream.scalar()


def unpack(data: bytes, count: int, width: int) -> list[int]:
    """[M18], [M19]."""
    bits = int.from_bytes(data, "little")
    if len(data) != -(-count * width // 8) or bits >> count * width:
        raise Malformed("packed words")
    return [bits >> width * i & (1 << width) - 1 for i in range(count)]


def share_fits(share: bytes, at: int, commitments: list[bytes]) -> bool:
    """[M22], [M23]: `commitments` are C_0 .. C_(T-1)."""
    try:
        y, r = decode_scalar(share[:32]), decode_scalar(share[32:])
        terms = [(pow(at, j, Q), decode_point(each)) for j, each in enumerate(commitments)]
    except Malformed:
        return False
    return is_zero(multi([*terms, (-y, G), (-r, H)]))


def combine(shares: dict[int, bytes]) -> int:
    """[M24]: b', by Lagrange's formula at 0."""
    total = 0
    for z, share in shares.items():
        factor = decode_scalar(share[:32])
        for other in shares.keys() - {z}:
            factor = factor * other * pow(other - z, -1, Q) % Q
        total += factor
    return total % Q


def same(one: Point, other: Point) -> bool:
    """Whether two points of ristretto255 are equal."""
    return is_zero(add(one, negative(other)))
