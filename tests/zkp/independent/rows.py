"""The verifiers of specification 14, section 4, from its text: slow, literal, no shortcuts.

Residues are Python integers, tables are written out, commitments of the sumcheck are followed round
by round, and bases are folded. Of the code under test nothing is imported; Sigma proofs are checked
by `zkp.sigma`, and ranges by the verifier beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from commitments.group import Group, Point
from tests.zkp.independent import bases
from tests.zkp.independent.bit_argument import proof_size, verify
from tests.zkp.independent.range_statements import range_statement
from wire.errors import InvalidProof, MalformedMessage
from zkp.sigma import LinearRelation, RelationBuilder
from zkp.sigma import verify as verify_sigma
from zkp.transcript import Transcript

TESTS = 360
SIZE = 32


@dataclass(frozen=True)
class Shape:
    """[L2]."""

    d: int

    @property
    def s(self) -> int:
        L = next(L for L in range(21) if self.d <= 2**L)
        return max(5, (L + 3) // 2)

    @property
    def h(self) -> int:
        return -(-self.d // (1 << self.s))

    @property
    def pads(self) -> int:
        return -(-TESTS // (1 << self.s))

    @property
    def r(self) -> int:
        return next(r for r in range(21) if 1 << r >= max(self.h, self.pads))

    @property
    def v(self) -> int:
        return self.r + self.s


class Long:
    """What both proofs are checked with."""

    def __init__(self, group: Group, record: dict[str, Any], transcript: Transcript) -> None:
        self.group, self.q, self.record, self.transcript = group, group.order, record, transcript
        self.shape = Shape(record["dimension"])
        self.G, self.H = bases.value_base(group), bases.blinding_base(group)
        self.proof, self.at = bytes.fromhex(record["proof"]), 0
        tests = bytes.fromhex(record["tests"])
        self.u = [
            int.from_bytes(tests[at : at + 15], "big", signed=True)
            for at in range(0, len(tests), 15)
        ]
        if len(self.u) != TESTS or any(abs(u) >= 2**113 for u in self.u):
            raise MalformedMessage("tests", "tests")

    def points(self, name: str) -> list[Point]:
        data = bytes.fromhex(self.record[name])
        return [self.group.decode_point(data[at : at + SIZE]) for at in range(0, len(data), SIZE)]

    def take(self, size: int) -> bytes:
        self.at += size
        return self.proof[self.at - size : self.at]

    def sent(self, label: bytes, count: int) -> list[Point]:
        """The next points of the proof, absorbed."""
        data, found = self.take(SIZE * count), []
        for at in range(0, len(data), SIZE):
            try:
                found.append(self.group.decode_point(data[at : at + SIZE]))
            except MalformedMessage:
                raise MalformedMessage("a point", "proof") from None
            if found[-1].is_identity():
                raise MalformedMessage("the identity", "proof")
        self.absorb(label, found)
        return found

    def absorb(self, label: bytes, points: list[Point]) -> None:
        self.transcript.absorb_points(label, self.group.points(points))

    def scalars(self, label: bytes, values: list[int]) -> None:
        self.transcript.absorb_scalars(label, self.group.scalars([v % self.q for v in values]))

    def drawn(self, label: bytes, count: int) -> list[int]:
        return self.transcript.challenges(label, self.group, count).ints()

    def sum(self, scalars: list[int], points: list[Point]) -> Point:
        pairs = zip(scalars, points, strict=True)
        reduced = [point * self.group.scalar(scalar % self.q) for scalar, point in pairs]
        return sum(reduced[1:], reduced[0])

    def eq(self, z: list[int], j: int) -> int:
        """eq(z, j); bits are counted from the most significant."""
        bits = [(j >> (len(z) - 1 - i)) & 1 for i in range(len(z))]
        factors = [one if bit else 1 - one for one, bit in zip(z, bits, strict=True)]
        return prod(factors) % self.q

    def at_point(self, table: dict[int, int], p: list[int]) -> int:
        """f~(p) of a function that is zero where the table has nothing."""
        return sum(self.eq(p, j) * value for j, value in table.items()) % self.q

    def chosen(self, which: int, gamma: int) -> dict[int, int]:
        """g: what the weighted tests choose of a vector."""
        width = 1 << self.shape.s
        found: dict[int, int] = {}
        row_bytes, column_bytes = -(-self.shape.h // 8), width // 8
        rows = bytes.fromhex(self.record["test_rows"][which])
        columns = bytes.fromhex(self.record["test_columns"])
        for k in range(TESTS):
            alpha = rows[row_bytes * k : row_bytes * (k + 1)]
            beta = columns[column_bytes * k : column_bytes * (k + 1)]
            for i in range(self.shape.h):
                for l in range(width):
                    if alpha[i // 8] >> (i % 8) & 1 and beta[l // 8] >> (l % 8) & 1:
                        j = i * width + l
                        found[j] = found.get(j, 0) + pow(gamma, k + 1, self.q)
        return found

    def pads(self, gamma: int) -> dict[int, int]:
        """g_R."""
        return {k: pow(gamma, k + 1, self.q) for k in range(TESTS)}

    def sumcheck(self, C: Point, degree: int) -> tuple[Point, list[int]]:
        """[E3]: C_v and p."""
        p = []
        for _ in range(self.shape.v):
            first, *others = self.sent(b"long/round", degree)
            linear = self.sum([1, -2, *[-1] * len(others)], [C, first, *others])
            (x,) = self.drawn(b"long/point", 1)
            powers = [pow(x, k, self.q) for k in range(degree + 1)]
            C = self.sum(powers, [first, linear, *others])
            p.append(x)
        return C, p

    def sigma(self, relation: LinearRelation, size: int) -> None:
        verify_sigma(relation, self.take(size), self.transcript)

    def opening(self, vectors: list[tuple[int, list[Point]]], E: Point, p: list[int]) -> None:
        """[E4]."""
        s, q = self.shape.s, self.q
        rows, columns = p[: self.shape.r], p[self.shape.r :]
        (chi,) = self.drawn(b"long/opening", 1)
        P = E * self.group.scalar(chi)
        for factor, Y in vectors:
            P += self.sum([factor * self.eq(rows, i) for i in range(len(Y))], Y)
        w = [self.eq(columns, j) for j in range(2**s)]
        B = [bases.vector_base(self.group, 2**s, j) for j in range(2**s)]
        for _ in range(s):
            L, R = self.sent(b"long/fold", 2)
            (e,) = self.drawn(b"long/fold", 1)
            half, inverse = len(w) // 2, pow(e, -1, q)
            w = [(lo + inverse * hi) % q for lo, hi in zip(w[:half], w[half:], strict=True)]
            halves = zip(B[:half], B[half:], strict=True)
            B = [lo + hi * self.group.scalar(inverse) for lo, hi in halves]
            P = self.sum([1, inverse, e], [P, L, R])
        (T,) = self.sent(b"long/last", 1)
        (c,) = self.drawn(b"long/last", 1)
        answers = [int.from_bytes(self.take(SIZE), "little") for _ in range(2)]
        if max(answers) >= q:
            raise MalformedMessage("a scalar", "proof")
        self.scalars(b"long/answers", answers)
        y, rho = answers
        if self.sum([1, c], [T, P]) != self.sum([y, y * chi * w[0], rho], [B[0], self.G, self.H]):
            raise InvalidProof("the opening", "14-E4")

    def require_length(self, size: int) -> None:
        if len(self.proof) != size:
            raise MalformedMessage("the length", "proof")


def verify_lengths(group: Group, record: dict[str, Any], transcript: Transcript) -> None:
    """[E1]."""
    by, shape = Long(group, record, transcript), Shape(record["dimension"])
    B, S, K = map(int, record["bounds"])
    intervals = [(0, B), (0, S), (0, K**8)]
    weight = [int(each) for each in record.get("weight", [])]
    if weight:
        m, k, D, sigma = weight
        intervals += [(0, m), (0, (k * m + sigma) ** 2)]
    ranges = range_statement([by.G] * len(intervals), intervals)
    before = SIZE * (3 + 8 * shape.v + 7 + 22 + 2 * shape.s + 3 + 7 * bool(weight))
    by.require_length(before + proof_size(ranges))
    for value in (shape.d, shape.s, shape.r):
        transcript.absorb_int(b"long/shape", value)
    for value in (B, S, K):
        transcript.absorb_int(b"long/bounds", value)
    for value in weight:
        transcript.absorb_int(b"long/weight", value)
    rows = [by.points(name) for name in ("inputs", "noise", "pads")]
    for each in rows:
        by.absorb(b"long/rows", each)
    by.scalars(b"long/tests", by.u)
    sums = by.sent(b"long/sums", len(intervals))
    gamma, *w = by.drawn(b"long/weights", 5 if weight else 4)
    tested = sum(pow(gamma, i + 1, by.q) * u for i, u in enumerate(by.u))
    C, p = by.sumcheck(by.sum([*w, tested], [*sums[: len(w)], by.G]), 8)
    sent = by.sent(b"long/evaluations", 7)
    g = [by.at_point(by.chosen(which, gamma), p) for which in (0, 1)]
    g.append(by.at_point(by.pads(gamma), p))
    if weight:
        g[0] += w[3] * by.eq(p, shape.d - 1)
    relation = _powers(group, by, [*sent, C, *sums[3:]], w, g)
    by.sigma(relation, SIZE * (27 if weight else 22))
    (eta,) = by.drawn(b"long/openings", 1)
    factors = [1, eta, eta * eta]
    by.opening(list(zip(factors, rows, strict=True)), by.sum(factors, sent[:3]), p)
    if weight:
        V, V_2 = sums[3:]
        factors = [k * k, 2 * k * sigma, sigma * sigma, D * D, -D * D]
        sums = [*sums[:4], by.sum(factors, [V_2, V, by.G, V_2, sums[0]])]
    verify(group, range_statement(sums, intervals), by.proof[by.at :], transcript)


def _powers(
    group: Group, by: Long, points: list[Point], w: list[int], g: list[int]
) -> LinearRelation:
    """The relation of step 8; its elements are G, H, those of step 7, C_v, and V, V_2 if any."""
    build = RelationBuilder(group)
    G, H, E_x, E_a, E_R, X_2, A_2, A_4, A_8, C, *W = build.elements(2 + len(points))
    x, e, i, a, f, j, b, k, l, c, m, o, z = build.scalars(13)
    build.equation(E_x, x * G + e * H)
    build.equation(X_2, x * E_x + i * H)
    build.equation(E_a, a * G + f * H)
    build.equation(A_2, a * E_a + j * H)
    build.equation(A_2, b * G + k * H)
    build.equation(A_4, b * A_2 + l * H)
    build.equation(A_4, c * G + m * H)
    build.equation(A_8, c * A_4 + o * H)
    left = C - w[0] * X_2 - w[1] * A_2 - w[2] * A_8 - g[0] * E_x - g[1] * E_a - g[2] * E_R
    build.equation(left, z * H)
    if W:
        V, V_2 = W
        u, p, r = build.scalars(3)
        build.equation(V, u * G + p * H)
        build.equation(V_2, u * V + r * H)
    return LinearRelation(build.shape(), group.points([by.G, by.H, *points]))


def verify_masks(group: Group, record: dict[str, Any], transcript: Transcript) -> None:
    """[E8]."""
    by, shape = Long(group, record, transcript), Shape(record["dimension"])
    z = [_scalars(each) for each in record["points"]]
    t, width = len(z), record["word_bits"]
    by.require_length(SIZE * (1 + 2 * shape.v + 4 + t + 2 * shape.s + 3))
    for value in (shape.d, shape.s, shape.r, width, t):
        transcript.absorb_int(b"long/shape", value)
    transcript.absorb(b"long/words", bytes.fromhex(record["words_hash"]))
    rows = [by.points(name) for name in ("inputs", "noise", "carries", "pads")]
    for each in rows:
        by.absorb(b"long/rows", each)
    for position in record["neighbours"]:
        transcript.absorb_int(b"long/live", position)
    transcript.absorb(b"long/signs", bytes(int(sign == 1) for sign in record["signs"]))
    edges, own = by.points("edges"), by.points("own")
    by.absorb(b"long/edges", edges)
    by.absorb(b"long/self", own)
    by.scalars(b"long/tests", by.u)
    gamma, chi, w = by.drawn(b"long/weights", 3)
    phi = [pow(chi, i + 1, by.q) for i in range(t)]
    there = range(shape.h * 2**shape.s)
    F = {j: sum(f * by.eq(point, j) for f, point in zip(phi, z, strict=True)) for j in there}
    moved = dict(F)
    minus = bytes.fromhex(record["minus"])
    for j, place in enumerate(record["places"]):
        moved[place] = -F[j] if minus[j // 8] >> (j % 8) & 1 else F[j]
    (W,) = by.sent(b"long/masks", 1)
    known = w * sum(F[j] * word for j, word in enumerate(record["words"]))
    known += sum(pow(gamma, k + 1, by.q) * u for k, u in enumerate(by.u))
    C, p = by.sumcheck(by.sum([known, -w], [by.G, W]), 2)
    by.sigma(_masks(group, by, (record["signs"], edges, own[0]), W, phi), SIZE * (4 + t))
    plain, permuted = by.at_point(F, p), by.at_point(moved, p)
    carries = by.at_point(by.chosen(0, gamma), p) - 2**width * w * plain
    factors = [w * plain, w * permuted, carries, by.at_point(by.pads(gamma), p)]
    by.opening(list(zip(factors, rows, strict=True)), C, p)


def _masks(
    group: Group, by: Long, made: tuple[list[int], list[Point], Point], W: Point, phi: list[int]
) -> LinearRelation:
    """The relation of step 6; its elements are G, H, the bases, M_b, the M_uv, W."""
    signs, edges, own = made
    generators = [bases.vector_base(group, len(phi), i) for i in range(len(phi))]
    build = RelationBuilder(group)
    G, H = build.elements(2)
    G_t, M_b = build.elements(len(phi)), build.element()
    M, combined = build.elements(len(edges)), build.element()
    m, (n, o) = build.scalars(len(phi)), build.scalars(2)
    total, hidden, weighted = M_b, n * H, o * H
    for sign, edge in zip(signs, M, strict=True):
        total = total + sign * edge
    hidden = m[0] * G_t[0]
    weighted = phi[0] * (m[0] * G)
    for each, base, factor in list(zip(m, G_t, phi, strict=True))[1:]:
        hidden, weighted = hidden + each * base, weighted + factor * (each * G)
    build.equation(total, hidden + n * H)
    build.equation(combined, weighted + o * H)
    points = [by.G, by.H, *generators, own, *edges, W]
    return LinearRelation(build.shape(), group.points(points))


def _scalars(text: str) -> list[int]:
    data = bytes.fromhex(text)
    return [int.from_bytes(data[at : at + SIZE], "little") for at in range(0, len(data), SIZE)]
