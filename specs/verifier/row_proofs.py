"""Proofs about long vectors: 14, sections 1 and 4."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from math import prod
from typing import NamedTuple, TypeAlias

from codec import refusing, require
from curve import (
    GENERATOR, IDENTITY, Point, Q, add, decode_point, decode_scalar, encode_point, multi, same,
)  # fmt: skip
from proofs import (
    G, H, NAME, Constraint, Row, Sponge, Transcript, bits_hold, length, little, packed, proof_size,
    value_bases, weights,
)  # fmt: skip

TESTS = 360
"""14-L4: kappa."""
Terms: TypeAlias = "list[tuple[int, Point]]"
Equation: TypeAlias = "tuple[list[tuple[int, int]], list[tuple[int, int, int]]]"
"""02-R1: an image of (element, factor), and terms of (secret, element, factor)."""


class Shape(NamedTuple):
    """14-L2: a vector of d entries has h rows of 2^s; 2^r is the number of rows, rounded up."""

    d: int
    s: int
    h: int
    r: int
    pads: int

    @property
    def v(self) -> int:
        """Bits of a position."""
        return self.r + self.s

    @property
    def size(self) -> int:
        """Positions, padding included."""
        return self.h << self.s


def shape_of(d: int) -> Shape:
    """14-L2, 14-L4."""
    s = max(5, ((d - 1).bit_length() + 3) // 2)
    h, pads = -(-d >> s), -(-TESTS >> s)
    return Shape(d, s, h, (max(h, pads) - 1).bit_length(), pads)


class Coins(NamedTuple):
    """Bits of the tests: the rows' for one vector or two, and the columns', one entry a test."""

    rows: list[list[int]]
    columns: list[int]


def read_tests(data: bytes) -> list[int]:
    """14-M1, 14-M2."""
    require(len(data) == 15 * TESTS)
    values = [int.from_bytes(data[at : at + 15], signed=True) for at in range(0, len(data), 15)]
    require(all(-(2**113) < value < 2**113 for value in values))
    return values


def spread(z: list[int]) -> list[int]:
    """eq(z, j) for all j; the first variable is that of the most significant bit."""
    table = [1]
    for one in z:
        upper = [each * one % Q for each in table]
        pairs = zip(table, upper, strict=True)
        table = [part for whole, high in pairs for part in (whole - high, high)]
    return table


class Reader:
    """Follows a proof: what comes next of it is absorbed, decoded and kept."""

    def __init__(self, script: Transcript, shape: Shape, proof: bytes, tests: bytes) -> None:
        self.script, self.shape, self.proof, self.at = script, shape, proof, 0
        self.tests, self.p = read_tests(tests), list[int]()

    def take(self, size: int) -> bytes:
        """The next bytes."""
        self.at += size
        return self.proof[self.at - size : self.at]

    def points(self, label: bytes, count: int) -> list[Point]:
        """The next points."""
        data = self.take(32 * count)
        self.script.bind(b"long/" + label, data, 3)
        return [decode_point(data[at : at + 32]) for at in range(0, len(data), 32)]

    def integers(self, label: bytes, values: Iterable[int]) -> None:
        """An entry for each."""
        for n in values:
            data = n.to_bytes(n.bit_length() // 8 + 1, "little")
            self.script.bind(b"long/" + label, data, 2)

    def drawn(self, label: bytes, count: int) -> list[int]:
        """Challenges."""
        return self.script.challenges(b"long/" + label, count)

    def sumcheck(self, C: Terms, degree: int) -> Point:
        """14-E3: C_v; the point is `p`."""
        for _ in range(self.shape.v):
            sent = self.points(b"round", degree)
            (x,) = self.drawn(b"point", 1)
            C = [(x * factor % Q, point) for factor, point in C]
            C.append((1 - 2 * x, sent[0]))
            C += [(pow(x, k, Q) - x, point) for k, point in enumerate(sent[1:], 2)]
            self.p.append(x)
        return multi(C)

    def chosen(self, coins: Coins, gamma: int) -> list[int]:
        """g~(p) for each vector's bits of rows."""
        h, rows = self.shape.h, spread(self.p[: self.shape.r])
        columns = spread(self.p[self.shape.r :])
        right = [sum(compress(columns, bits_of(each, len(columns)))) for each in coins.columns]
        left = [[sum(compress(rows, bits_of(each, h))) for each in own] for own in coins.rows]
        return [weighed(list(map(int.__mul__, own, right)), gamma) for own in left]

    def padded(self, gamma: int) -> int:
        """g_R~(p)."""
        rows, columns = spread(self.p[: self.shape.r]), spread(self.p[self.shape.r :])
        width = len(columns)
        return weighed([rows[k // width] * columns[k % width] for k in range(TESTS)], gamma)

    def sigma(self, elements: list[Point], secrets: int, equations: list[Equation]) -> None:
        """02, sections 3, 4 and 6: the batchable proof of one relation; `elements` are P_1, .."""
        require(not any(same(each, IDENTITY) for each in elements), "02-I8")
        all_of, relation = [GENERATOR, *elements], little(len(equations))
        for image, terms in equations:
            relation += little(len(image))
            relation += b"".join(little(at) + packed([factor]) for at, factor in image)
            relation += little(len(terms))
            relation += b"".join(little(x) + little(at) + packed([c]) for x, at, c in terms)
        relation += b"".join(map(encode_point, elements))
        sponge = Sponge(self.script.session(b"DSFS-with-sigma-proofs_Shake128_" + NAME))
        self.script.bind(b"sigma statement", relation)
        proof = self.take(32 * (len(equations) + secrets))
        pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
        sponge.absorb(relation + proof[: 32 * len(equations)])
        c, answers = sponge.challenge(), list(map(decode_scalar, pieces[len(equations) :]))
        for (image, terms), sent in zip(equations, pieces, strict=False):
            known = multi((factor, all_of[at]) for at, factor in image)
            require(not same(known, IDENTITY), "02-I9")
            hidden = [(factor * answers[x], all_of[at]) for x, at, factor in terms]
            require(same(add(decode_point(sent), multi([(c, known)])), multi(hidden)), "02-N4")
        self.script.bind(b"sigma proof", proof)

    def opening(self, rows: list[tuple[int, list[bytes]]], E: Terms) -> None:
        """14-E4, unrolled: `rows` are those of each vector, with its factor."""
        s, (chi,) = self.shape.s, self.drawn(b"opening", 1)
        places, columns = spread(self.p[: self.shape.r]), self.p[self.shape.r :]
        P = [(chi * factor, point) for factor, point in E]
        for factor, own in rows:
            P += [(factor * at, decode_point(each))
                  for at, each in zip(places, own, strict=False)]  # fmt: skip
        folds, w = [1], 1
        for column in columns:
            L, R = self.points(b"fold", 2)
            (e,) = self.drawn(b"fold", 1)
            inverse = pow(e, -1, Q)
            P += [(inverse, L), (e, R)]
            folds = [part for each in folds for part in (each, each * inverse % Q)]
            w = w * (1 - column + inverse * column) % Q
        (T,) = self.points(b"last", 1)
        (c,) = self.drawn(b"last", 1)
        answers = self.take(64)
        y, rho = decode_scalar(answers[:32]), decode_scalar(answers[32:])
        self.script.bind(b"long/answers", answers, 4)
        P = [(c * factor, point) for factor, point in P]
        P += [(-y * each, point) for each, point in zip(folds, value_bases(1 << s), strict=True)]
        P += [(1, T), (-y * chi * w, G), (-rho, H)]
        require(same(multi(P), IDENTITY), "14-E4")


def bits_of(data: int, count: int) -> list[int]:
    """From the lowest on; more are skipped."""
    return [int(each) for each in reversed(f"{data & (1 << count) - 1:0{count}b}")]


def weighed(values: list[int], gamma: int) -> int:
    """The sum of gamma^(k + 1) times value k."""
    total = 0
    for value in reversed(values):
        total = (total + value) * gamma % Q
    return total


def spans_of(bounds: list[int], weight: list[int]) -> list[int]:
    """What the ranges of step 11 of 14-E1 end with."""
    B, S, K = bounds
    more = [weight[0], (weight[1] * weight[0] + weight[3]) ** 2] if weight else []
    return [B, S, K**8, *more]


def lengths_size(shape: Shape, bounds: list[int], weight: list[int]) -> int:
    """14-E6."""
    bits = sum(len(weights(span)) for span in spans_of(bounds, weight))
    before = 3 + 8 * shape.v + 7 + 22 + 2 * shape.s + 3 + 7 * bool(weight)
    return 32 * before + proof_size(length(bits))


def masks_size(shape: Shape, t: int) -> int:
    """14-E9."""
    return 32 * (1 + 2 * shape.v + 4 + t + 2 * shape.s + 3)


@refusing
def lengths_hold(
    script: Transcript, shape: Shape, bounds: list[int], weight: list[int],
    vectors: list[list[bytes]], tests: bytes, coins: Coins, proof: bytes,
) -> bool:  # fmt: skip
    """14-E1, with 14-W2 where there are weights: `vectors` are the rows of x, a and R."""
    spans = spans_of(bounds, weight)
    require(len(proof) == lengths_size(shape, bounds, weight))
    by = Reader(script, shape, proof, tests)
    by.integers(b"shape", (shape.d, shape.s, shape.r))
    by.integers(b"bounds", bounds)
    by.integers(b"weight", weight)
    for rows in vectors:
        script.bind(b"long/rows", b"".join(rows), 3)
    script.bind(b"long/tests", packed(by.tests), 4)
    sums = by.points(b"sums", len(spans))
    gamma, *w = by.drawn(b"weights", 5 if weight else 4)
    claim = [*zip(w, sums, strict=False), (weighed(by.tests, gamma), G)]
    C = by.sumcheck(claim, 8)
    found = by.points(b"evaluations", 7)
    g_x, g_a = by.chosen(coins, gamma)
    if weight:
        g_x += w[3] * eq(by.p, shape.d - 1)
    elements = [G, H, *found, C, *sums[3:]]
    image = [(10, 1), (6, -w[0]), (7, -w[1]), (9, -w[2]), (3, -g_x), (4, -g_a),
             (5, -by.padded(gamma))]  # fmt: skip
    equations: list[Equation] = [
        ([(3, 1)], [(0, 1, 1), (1, 2, 1)]), ([(6, 1)], [(0, 3, 1), (2, 2, 1)]),
        ([(4, 1)], [(3, 1, 1), (4, 2, 1)]), ([(7, 1)], [(3, 4, 1), (5, 2, 1)]),
        ([(7, 1)], [(6, 1, 1), (7, 2, 1)]), ([(8, 1)], [(6, 7, 1), (8, 2, 1)]),
        ([(8, 1)], [(9, 1, 1), (10, 2, 1)]), ([(9, 1)], [(9, 8, 1), (11, 2, 1)]),
        (image, [(12, 2, 1)]),
    ]  # fmt: skip
    if weight:
        equations.append(([(11, 1)], [(13, 1, 1), (14, 2, 1)]))
        equations.append(([(12, 1)], [(13, 11, 1), (15, 2, 1)]))
    by.sigma(elements, 16 if weight else 13, equations)
    (eta,) = by.drawn(b"openings", 1)
    factors = [1, eta, eta * eta % Q]
    values = list(zip(factors, found[:3], strict=True))
    by.opening(list(zip(factors, vectors, strict=True)), values)
    if weight:
        (_, k, D, sigma), (V, V_2) = weight, sums[3:]
        last = [(k * k + D * D, V_2), (2 * k * sigma, V), (sigma * sigma, G), (-D * D, sums[0])]
        sums[4:] = [multi(last)]
    return bool(_ranges_hold(script, sums, spans, proof[by.at :]))


def _ranges_hold(script: Transcript, points: list[Point], spans: list[int], proof: bytes) -> bool:
    """07-R2, for intervals that begin with 0."""
    at, constraints = 0, []
    for point, span in zip(points, spans, strict=True):
        own = weights(span)
        row = Row(list(enumerate(own, at)))
        constraints.append(Constraint([row], encode_point(point)))
        at += len(own)
    return bool(bits_hold(script, at, constraints, proof))


class Words(NamedTuple):
    """What a party published, and what moves its noise: the words, w, and T_u of 14-H2."""

    words: list[int]
    width: int
    hash: bytes
    places: list[int]
    minus: list[int]


class Edges(NamedTuple):
    """What a party posts about its masks: the live edges' positions, signs and M; M_b."""

    positions: list[int]
    signs: list[int]
    points: list[bytes]
    own: bytes


@refusing
def masks_hold(
    script: Transcript, shape: Shape, said: Words, z: list[list[int]], vectors: list[list[bytes]],
    edges: Edges, tests: bytes, coins: Coins, proof: bytes,
) -> bool:  # fmt: skip
    """14-E8: `vectors` are the rows of x, a, c and R'."""
    t, width = len(z), said.width
    require(len(proof) == masks_size(shape, t))
    by = Reader(script, shape, proof, tests)
    by.integers(b"shape", (shape.d, shape.s, shape.r, width, t))
    script.bind(b"long/words", said.hash)
    for rows in vectors:
        script.bind(b"long/rows", b"".join(rows), 3)
    by.integers(b"live", edges.positions)
    script.bind(b"long/signs", bytes(sign > 0 for sign in edges.signs))
    script.bind(b"long/edges", b"".join(edges.points), 3)
    script.bind(b"long/self", edges.own, 3)
    script.bind(b"long/tests", packed(by.tests), 4)
    gamma, chi, w = by.drawn(b"weights", 3)
    phi = [pow(chi, i, Q) for i in range(1, t + 1)]
    F = [0] * shape.size
    for factor, point in zip(phi, z, strict=True):
        F = [(each + factor * one) % Q for each, one in zip(F, spread(point), strict=False)]
    (W,) = by.points(b"masks", 1)
    known = w * sum(map(int.__mul__, F, said.words)) + weighed(by.tests, gamma)
    C = by.sumcheck([(known, G), (-w, W)], 2)
    points = [decode_point(each) for each in (edges.own, *edges.points)]
    elements = [G, H, *value_bases(t), *points, W]
    first = [(3 + t + i, sign) for i, sign in enumerate((1, *edges.signs))]
    m = range(t)
    by.sigma(elements, t + 2, [
        (first, [*((i, 3 + i, 1) for i in m), (t, 2, 1)]),
        ([(len(elements), 1)], [*((i, 1, phi[i]) for i in m), (t + 1, 2, 1)]),
    ])  # fmt: skip
    table = spread(by.p)[: shape.size]
    plain = sum(map(int.__mul__, F, table)) % Q
    moved = sum(map(int.__mul__, F[shape.d :], table[shape.d :]))
    for place, minus, each in zip(said.places, said.minus, F, strict=False):
        moved += -each * table[place] if minus else each * table[place]
    (g_c,) = by.chosen(coins, gamma)
    factors = [w * plain, w * moved, g_c - (w * plain << width), by.padded(gamma)]
    by.opening(list(zip(factors, vectors, strict=True)), [(1, C)])
    return True


def eq(z: list[int], j: int) -> int:
    """The product eq of z and the bits of j."""
    return prod(one if j >> at & 1 else 1 - one for at, one in enumerate(reversed(z))) % Q
