"""What coins and closes decide about long vectors: 14, section 3, and 14-K2."""

from __future__ import annotations

import hmac
from hashlib import sha256, shake_128

from curve import Q, encode_point
from row_proofs import TESTS, Coins, Shape, bits_of, spread
from masks import LABEL, Masks, Stream
from proofs import commit

MOST_POINTS = 64
"""14-K2."""


def framed(label: bytes, *fields: bytes) -> bytes:
    """F of 09-D13."""
    return bytes([len(label)]) + label + b"".join(fields)


def stream(label: bytes, *fields: bytes) -> Stream:
    """Section 3: the key is a hash, the domain that of the same label."""
    return Stream(sha256(framed(label, *fields)).digest(), label)


def drawn_bits(source: Stream, count: int) -> int:
    """The bytes with the next bits, the first one lowest; what is left of the last is skipped."""
    return source.number(-(-count // 8))


def tests_of(source: Stream, shape: Shape, vectors: int) -> Coins:
    """kappa times the bits of rows of each vector, then those of columns."""
    rows, columns = [list[int]() for _ in range(vectors)], list[int]()
    for _ in range(TESTS):
        for own in rows:
            own.append(drawn_bits(source, shape.h))
        columns.append(drawn_bits(source, 1 << shape.s))
    return Coins(rows, columns)


def input_tests(joint: bytes, tag: bytes, shape: Shape) -> Coins:
    """14-H1; `tag` is session and round."""
    return tests_of(stream(b"gopa/v1/beacon/input-tests", joint, tag), shape, 2)


def carry_tests(tag: bytes, leaf: bytes, shape: Shape) -> Coins:
    """14-H3."""
    return tests_of(stream(b"gopa/v1/protocol/carry-tests", tag, leaf), shape, 1)


def signed_permutation(
    joint: bytes, tag: bytes, party: bytes, d: int
) -> tuple[list[int], list[int]]:
    """14-H2: pi, and 1 where the sign is minus."""
    source = stream(b"gopa/v1/beacon/signed-permutation", joint, tag, party)
    places = list(range(d))
    for i in range(d - 1, 0, -1):
        g = 2**32
        while g >= 2**32 - 2**32 % (i + 1):
            g = source.number(4)
        j = g % (i + 1)
        places[i], places[j] = places[j], places[i]
    return places, bits_of(drawn_bits(source, d), d)


def count_of_points(v: int, m: int, f: int) -> int:
    """14-K2, for m parties of which f may be missing; or MOST_POINTS + 1 where it is more."""
    subsets, more = 1, 1
    for i in range(1, f + 1):
        more = more * (m - i + 1) // i
        subsets += more
        if 2**128 * v**MOST_POINTS * subsets > Q**MOST_POINTS:
            return MOST_POINTS + 1
    return next(t for t in range(1, MOST_POINTS + 1) if Q**t >= 2**128 * v**t * subsets)


def equation_points(tag: bytes, leaf: bytes, t: int, v: int) -> list[list[int]]:
    """14-H4."""
    label = b"gopa/v1/protocol/equation-points"
    data = shake_128(framed(label, tag, leaf, t.to_bytes(2))).digest(48 * t * v)
    drawn = [int.from_bytes(data[at : at + 48], "little") % Q for at in range(0, len(data), 48)]
    return [drawn[at : at + v] for at in range(0, len(drawn), v)]


class Equations:
    """What masks are at the points of a round: 14-P6 and 14-H5."""

    def __init__(self, masks: Masks, leaf: bytes, z: list[list[int]]) -> None:
        self.masks, self.leaf, self.z = masks, leaf, z
        self.tables = list[list[int]]()

    def edge(self, key: bytes, one: bytes, other: bytes) -> bytes:
        """M_uv, for the key of an edge between these ids."""
        info = self.masks.round + min(one, other) + max(one, other)
        return self._made(key, self.masks.edge(key)[0], b"edge-equation", info)

    def own(self, seed: bytes, party: bytes) -> bytes:
        """M_b."""
        key = self.masks.self_key(seed, party)
        values = self.masks.own(seed, party)[0]
        return self._made(key, values, b"self-equation", self.masks.round + party)

    def _made(self, key: bytes, mask: list[int], label: bytes, info: bytes) -> bytes:
        self.tables = self.tables or [spread(each) for each in self.z]
        mask = [word & (1 << self.masks.width) - 1 for word in mask]
        values = [sum(map(int.__mul__, mask, table)) % Q for table in self.tables]
        extracted = hmac.digest(self.leaf, key, "sha256")
        named = LABEL + b"equation-key" + info + b"\x01"
        inner = hmac.digest(extracted, named, "sha256")
        blinding = Stream(inner, LABEL + label).number(64) % Q
        return encode_point(commit(values, blinding, vector=True))
