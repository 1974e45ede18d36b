"""Masks of edges and of parties, and shares of the latter: 08; streams: 01, section 5."""

from __future__ import annotations

import hmac
import struct
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256

from curve import Q, decode_point, decode_scalar, multi, same
from laws import mask_table
from proofs import commit
from codec import refusing, require

LABEL = b"gopa/v1/masks/"


class Stream:
    """01-S1: ChaCha20 (RFC 8439) under a seed and a label."""

    def __init__(self, seed: bytes, label: bytes) -> None:
        nonce = sha256(label).digest()[:12]
        self.key, self.nonce = struct.unpack("<8I", seed), struct.unpack("<3I", nonce)
        self.block, self.data, self.at = 0, b"", 0

    def take(self, size: int) -> bytes:
        """The next bytes."""
        while len(self.data) - self.at < size:
            count = min(1024, self.block + 1)
            self.data, self.at = self.data[self.at :] + self._next(count), 0
        self.at += size
        return self.data[self.at - size : self.at]

    def _next(self, count: int) -> bytes:
        """So many blocks at once: each word of all of them is one integer, 64 bits apart."""
        ones = sum(1 << 64 * lane for lane in range(count))
        low = ones * 0xFFFFFFFF
        counters = sum((self.block + lane) << 64 * lane for lane in range(count))
        words = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *self.key
        start = [*(word * ones for word in words), counters, *(word * ones for word in self.nonce)]
        s = list(start)
        for turn in range(20):  # columns, then diagonals
            for a in range(4):
                b, c, d = (4 * row + (a + row * (turn % 2)) % 4 for row in (1, 2, 3))
                for x, y, z, left in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    s[x] = s[x] + s[y] & low
                    word = s[z] ^ s[x]
                    s[z] = (word << left | word >> 32 - left) & low
        self.block += count
        out = bytearray(64 * count)
        for number, (x, y) in enumerate(zip(s, start, strict=True)):
            data = (x + y & low).to_bytes(8 * count, "little")
            for at in range(4):
                out[4 * number + at :: 64] = data[at::8]
        return bytes(out)

    def number(self, size: int) -> int:
        """The next bytes as a little-endian integer."""
        return int.from_bytes(self.take(size), "little")


@dataclass
class Masks:
    """What a round masks with. Deviation 0 means uniform masks, width 0 scalars."""

    session: bytes
    round: bytes
    dimension: int
    deviation: int
    width: int

    def _key(self, secret: bytes, purpose: bytes, info: bytes) -> bytes:
        """HKDF-SHA256 (RFC 5869) with 32 bytes of output."""
        extracted = hmac.digest(self.session, secret, "sha256")
        return hmac.digest(extracted, LABEL + purpose + self.round + info + b"\x01", "sha256")

    def _hash(self, purpose: bytes, info: bytes) -> bytes:
        """08-M17."""
        return sha256(LABEL + purpose + self.session + self.round + info).digest()

    def _drawn(self, key: bytes, whose: bytes, table: list[int]) -> tuple[list[int], int]:
        """Values and, with scalars, their blinding: 01-S2 or, with a table, 01-S5."""
        stream = Stream(key, LABEL + whose + (b"-words" if self.width else b"-values"))
        size = 16 if table else 64 if not self.width else 4 if self.width <= 32 else 8
        values = [stream.number(size) for _ in range(self.dimension)]
        if table:
            values = [bisect_right(table, value) - len(table) // 2 for value in values]
        blinding = 0 if self.width else Stream(key, LABEL + whose + b"-blinding").number(64)
        return values if self.width else [value % Q for value in values], blinding % Q

    def edge_key(self, shared: bytes, one: bytes, other: bytes) -> bytes:
        """08-M1, 08-M3."""
        return self._key(shared, b"edge-key", min(one, other) + max(one, other))

    def edge(self, key: bytes) -> tuple[list[int], int]:
        """08-M9, 08-M10, or 08-M15 for words."""
        return self._drawn(key, b"edge", mask_table(self.deviation) if self.deviation else [])

    def edge_hash(self, key: bytes, one: bytes, other: bytes) -> bytes:
        """08-M17."""
        return self._hash(b"edge-hash", min(one, other) + max(one, other) + key)

    def own(self, seed: bytes, party: bytes) -> tuple[list[int], int]:
        """08-M13, 08-M14, or 08-M16 for words."""
        return self._drawn(self.self_key(seed, party), b"self", [])

    def self_key(self, seed: bytes, party: bytes) -> bytes:
        """08-M13."""
        return self._key(seed, b"self-key", party)

    def seed_hash(self, seed: bytes, party: bytes) -> bytes:
        """08-M17."""
        return self._hash(b"seed-hash", party + seed)

    def open_share(self, sealed: bytes, shared: bytes, dealer: bytes, recipient: bytes) -> bytes:
        """08-M4, 08-M21."""
        key = self._key(shared, b"share-key", dealer + recipient)
        pad = Stream(key, LABEL + b"share-pad").take(64)
        return bytes(x ^ y for x, y in zip(sealed, pad, strict=True))


def unpack(data: bytes, count: int, width: int) -> list[int]:
    """08-M18, 08-M19."""
    require(len(data) == -(-count * width // 8))
    words: list[int] = []
    for at in range(0, len(data), 8 * width):  # of 64 words
        here = min(64, count - len(words))
        bits = int.from_bytes(data[at : at + 8 * width], "little")
        require(not bits >> here * width)
        words += [bits >> width * i & (1 << width) - 1 for i in range(here)]
    return words


@refusing
def share_fits(share: bytes, at: int, commitments: list[bytes]) -> bool:
    """08-M22, 08-M23: `commitments` are C_0 .. C_(T-1)."""
    y, r = decode_scalar(share[:32]), decode_scalar(share[32:])
    terms = [(pow(at, j, Q), decode_point(each)) for j, each in enumerate(commitments)]
    return same(multi(terms), commit([y], r, vector=False))


def combine(shares: dict[int, bytes]) -> int:
    """08-M24: b', by Lagrange's formula at 0."""
    total = 0
    for z, share in shares.items():
        factor = decode_scalar(share[:32])
        for other in shares.keys() - {z}:
            factor = factor * other * pow(other - z, -1, Q) % Q
        total += factor
    return total % Q
