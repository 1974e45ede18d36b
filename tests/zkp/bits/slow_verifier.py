"""A second verifier of the bit argument, written from specification 06 alone.

It follows the text step by step: dense rows of Python integers, every folded base
computed, both equations checked by themselves, in the notation of the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from commitments import Pedersen, VectorPedersen, derive_generators
from commitments.group import Group, Point
from tests.zkp.bits.samples import Sample
from wire.errors import ProtocolError
from zkp.bits import Committed, Public, Row, Vector
from zkp.transcript import Transcript


class Refused(Exception):
    """The proof is refused; `rule` is the rule that failed."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def slow_verify(sample: Sample, proof: bytes, transcript: Transcript) -> None:
    """Raise `Refused` unless the proof holds."""
    _Run(sample, proof, transcript).check()


def multiply(group: Group, scalar: int, point: Point) -> Point:
    return point * group.scalar(scalar % group.order)


class _Run:
    def __init__(self, sample: Sample, proof: bytes, transcript: Transcript) -> None:
        self.sample, self.group, self.transcript = sample, sample.group, transcript
        self.q = sample.group.order
        self.dims = sorted({len(c.rows) for c in sample.constraints if isinstance(c, Vector)})
        self.extension = sum(self.dims)
        M = len(sample.bits) + self.extension
        while M.bit_count() > 3:
            M += 1
        self.M, self.N = M, M - self.extension
        self.decode(proof)

    # Rule A7.
    def decode(self, proof: bytes) -> None:
        folds = self.M.bit_length() - 1
        odd = self.M.bit_count() - 1
        if len(proof) != 32 * (9 + 2 * folds + 2 * odd):
            raise Refused("A7")
        pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
        try:
            points = [self.group.decode_point(piece) for piece in pieces[: 4 + 2 * folds]]
        except ProtocolError:
            raise Refused("A7") from None
        scalars = [int.from_bytes(piece, "little") for piece in pieces[4 + 2 * folds :]]
        if any(scalar >= self.q for scalar in scalars):
            raise Refused("A7")
        self.A, self.S, self.T1, self.T2 = points[:4]
        self.t, self.tau, self.mu = scalars[:3]
        self.crossed = iter(points[4:])
        self.pairs = iter(scalars[3:])

    # Rules A3 and A8.
    def digest(self) -> bytes:
        def u32(n: int) -> bytes:
            return n.to_bytes(4, "big")

        def row(r: Row) -> bytes:
            out = u32(len(r.fixed)) + b"".join(u32(at) for at, _ in r.fixed)
            out += b"".join((k % self.q).to_bytes(32, "little") for _, k in r.fixed)
            return out + u32(len(r.varying)) + b"".join(u32(at) for at in r.varying)

        data = b""
        for framed in (b"gopa/v1/zkp/bit-shape", self.group.name.encode()):
            data += len(framed).to_bytes(4, "little") + framed
        data += u32(len(self.sample.bits)) + u32(len(self.sample.constraints))
        for c in self.sample.constraints:
            if isinstance(c, Vector):
                data += b"\x02" + u32(len(c.rows)) + b"".join(map(row, c.rows))
            else:
                data += (b"\x00" if isinstance(c, Public) else b"\x01") + row(c.row)
        return hashlib.sha256(data).digest()

    def absorb_points(self, label: bytes, *points: Point) -> None:
        self.transcript.absorb_points(label, self.group.points(points))

    def absorb_scalars(self, label: bytes, *scalars: int) -> None:
        self.transcript.absorb_scalars(label, self.group.scalars(scalars))

    def draw(self, label: bytes, count: int) -> list[int]:
        return self.transcript.challenges(label, self.group, count).ints()

    def check(self) -> None:
        self.transcript.absorb(b"bits/shape", self.digest())
        self.absorb_scalars(b"bits/constants", *self.sample.constants)
        self.absorb_scalars(b"bits/varying", *self.sample.varying)
        V = [point for c in self.sample.commitments for point in c.points]
        D = [c.points[0] for c in self.sample.vectors]
        self.absorb_points(b"bits/commitments", *V)
        self.absorb_points(b"bits/vectors", *D)
        self.absorb_points(b"bits/A", self.A)
        rho, eta, *xi = self.draw(b"bits/rho eta xi", 2 + len(self.dims))
        self.absorb_points(b"bits/S", self.S)
        self.y, self.z = self.draw(b"bits/y z", 2)
        self.absorb_points(b"bits/T", self.T1, self.T2)
        (self.x,) = self.draw(b"bits/x", 1)
        self.absorb_scalars(b"bits/t tau mu", self.t, self.tau, self.mu)
        (self.w,) = self.draw(b"bits/w", 1)
        self.merge(rho, eta, xi, V, D)
        evaluation = self.evaluation_holds()
        inner = self.inner_product_holds()
        if not evaluation:
            raise Refused("A9")
        if not inner:
            raise Refused("A10")

    # Step 2.
    def merge(self, rho: int, eta: int, xi: list[int], V: list[Point], D: list[Point]) -> None:
        q, constants, varying = self.q, iter(self.sample.constants), iter(self.sample.varying)
        self.c, self.k = [0] * self.N, 0
        self.V = self.linked = self.group.identity
        scalar_rows = sum(not isinstance(c, Vector) for c in self.sample.constraints)
        first = {d: scalar_rows + 1 + sum(e for e in self.dims if e < d) for d in self.dims}
        self.rho_of = [pow(rho, scalar_rows + 1 + place, q) for place in range(self.extension)]
        self.xi_of = [x for x, d in zip(xi, self.dims, strict=True) for _ in range(d)]
        seen = dict.fromkeys(self.dims, 0)
        n, v, d_index = 0, 0, 0
        for c in self.sample.constraints:
            if isinstance(c, Vector):
                d = len(c.rows)
                power = pow(eta, seen[d], q)
                seen[d] += 1
                for j, row in enumerate(c.rows):
                    self.add_row(row, power * pow(rho, first[d] + j, q), next(constants), varying)
                own = xi[self.dims.index(d)] * power
                self.linked += multiply(self.group, own, D[d_index])
                d_index += 1
                continue
            n += 1
            self.add_row(c.row, pow(rho, n, q), next(constants), varying)
            if isinstance(c, Committed):
                self.V += multiply(self.group, pow(rho, n, q), V[v])
                v += 1

    def add_row(self, row: Row, weight: int, constant: int, varying: Iterator[int]) -> None:
        for at, factor in row.fixed:
            self.c[at] += weight * factor
        for at in row.varying:
            self.c[at] += weight * next(varying)
        self.k += weight * constant

    # Rule A9.
    def evaluation_holds(self) -> bool:
        q, y, z, x, key = self.q, self.y, self.z, self.x, Pedersen(self.group)
        G, H = key.value_base, key.blinding_base
        delta = (z - z * z) * sum(pow(y, i, q) for i in range(self.N)) - z**3 * sum(self.c)
        left = multiply(self.group, self.t, G) + multiply(self.group, self.tau, H)
        right = multiply(self.group, z * z, self.V)
        right += multiply(self.group, delta - z * z * self.k, G)
        right += multiply(self.group, x, self.T1) + multiply(self.group, x * x, self.T2)
        return left == right

    # Step 7 and rule A10, with the folding of section 4 done base by base.
    def inner_product_holds(self) -> bool:
        q, group, z = self.q, self.group, self.z
        y_inverse = pow(self.y, -1, q)
        B = list(derive_generators(group, b"bits/left", self.N))
        for d in self.dims:
            B += list(VectorPedersen(group, d).value_bases)
        H = [
            multiply(group, pow(y_inverse, i, q), base)
            for i, base in enumerate(derive_generators(group, b"bits/right", self.M))
        ]
        U = multiply(group, self.w, derive_generators(group, b"bits/inner", 1)[0])
        P = self.A + multiply(group, self.x, self.S) + self.linked
        P += multiply(group, -self.mu, Pedersen(group).blinding_base) + multiply(group, self.t, U)
        for i in range(self.N):
            P += multiply(group, -z, B[i])
            P += multiply(group, z * pow(self.y, i, q) + z * z * self.c[i], H[i])
        for place in range(self.extension):
            r = -z * z * self.rho_of[place] * pow(self.xi_of[place], -1, q)
            P += multiply(group, r, H[self.N + place])
        return self.reduce(P, B, H, U)

    def reduce(self, P: Point, B: list[Point], H: list[Point], U: Point) -> bool:
        group, q = self.group, self.q
        while len(B) > 1:
            if len(B) % 2:
                P -= self.given(B.pop(), H.pop(), U)
                continue
            h = len(B) // 2
            L, R = next(self.crossed), next(self.crossed)
            self.absorb_points(b"bits/L R", L, R)
            (u,) = self.draw(b"bits/u", 1)
            v = pow(u, -1, q)
            P += multiply(group, u * u, L) + multiply(group, v * v, R)
            B = [multiply(group, v, B[i]) + multiply(group, u, B[h + i]) for i in range(h)]
            H = [multiply(group, u, H[i]) + multiply(group, v, H[h + i]) for i in range(h)]
        return bool(self.given(B[0], H[0], U) == P)

    def given(self, B: Point, H: Point, U: Point) -> Point:
        l, r = next(self.pairs), next(self.pairs)
        self.absorb_scalars(b"bits/l r", l, r)
        group = self.group
        return multiply(group, l, B) + multiply(group, r, H) + multiply(group, l * r, U)
