"""The proofs of a session: transcripts and Sigma (02), the bit argument (06), noise (07)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256, shake_128
from typing import TypeAlias

from codec import Malformed
from curve import GENERATOR, Point, Q, add, base, decode_point, decode_scalar, is_zero, multi
from law import Law  # noqa: TC002 - a module of this program

NAME = b"ristretto255"
G, H = base(b"pedersen/value"), base(b"pedersen/blinding")


def commit(values: list[int], blinding: int, *, vector: bool) -> Point:
    """[P1] and [V1] of 01: the session's kind of commitment."""
    return multi(
        [(blinding, H), *zip(values, value_bases(len(values), vector=vector), strict=True)]
    )


def value_bases(size: int, *, vector: bool) -> list[Point]:
    """G, or the bases of this dimension."""
    return [base(b"vector-pedersen/value", j, size) for j in range(size)] if vector else [G]


# 02, sections 1 and 2


def little(value: int, size: int = 4) -> bytes:
    """LE(value, size)."""
    return value.to_bytes(size, "little")


def frame(data: bytes) -> bytes:
    """The length, then the data."""
    return little(len(data)) + data


class Sponge:
    """[S1] to [S3]."""

    def __init__(self, session: bytes) -> None:
        self.state, self.drawn = shake_128(session + bytes(136)), 0

    def absorb(self, data: bytes) -> None:
        """A non-empty absorb begins a new stream."""
        self.state.update(data)
        self.drawn = 0

    def squeeze(self, size: int) -> bytes:
        """The next bytes of the stream."""
        self.drawn += size
        return self.state.digest(self.drawn)[-size:]

    def challenge(self) -> int:
        """[S3]."""
        return int.from_bytes(self.squeeze(48), "little") % Q


class Transcript(Sponge):
    """[F1] to [F7], bound to a purpose and what 04 binds a party's proofs to ([J3], [K3])."""

    def __init__(
        self, purpose: bytes, session: bytes, number: int, leaf: bytes, party: bytes
    ) -> None:
        first = Sponge(b"irtf-cfrg-fiat-shamir/session-id")
        first.absorb(b"gopa/v1/zkp/transcript" + frame(b"gopa/v1/protocol/" + purpose))
        super().__init__(first.squeeze(32))
        self.bind(b"session", session)
        self.bind(b"round", little(number, number.bit_length() // 8 + 1), 2)  # [F3]
        self.bind(b"acts-on", leaf)
        self.bind(b"party", party)

    def bind(self, label: bytes, data: bytes, kind: int = 1) -> None:
        """[F2]."""
        self.absorb(bytes([kind]) + frame(label) + frame(data))

    def scalars(self, label: bytes, values: Iterable[int]) -> None:
        """Scalars, reduced."""
        self.bind(label, b"".join(little(value % Q, 32) for value in values), 4)

    def challenges(self, label: bytes, count: int) -> list[int]:
        """[F5], [F6]."""
        self.bind(label, frame(NAME) + little(count), 16)
        drawn = [self.challenge() for _ in range(count)]
        if 0 in drawn:
            raise Malformed("a challenge that is not zero")
        return drawn

    def session(self, label: bytes) -> bytes:
        """[F7]."""
        self.bind(label, b"", 17)
        return self.squeeze(32)


def same_logarithm(
    transcript: Transcript, pairs: list[tuple[bytes | None, bytes]], proof: bytes
) -> bool:
    """02, sections 3 to 6: one x with X_i = x P_i for all (P_i, X_i); None is the generator.

    The batchable proof of one relation with the elements B, then all other P_i, then all X_i:
    `discrete_log` and `dleq` of section 7.
    """
    elements = [given for given, _ in pairs if given is not None]
    serialized = little(len(pairs))
    for number, (given, _) in enumerate(pairs):
        place = 1 + len(elements) + number
        term = 0 if given is None else 1 + elements.index(given)
        serialized += little(1) + little(place) + little(1, 32)
        serialized += little(1) + little(0) + little(term) + little(1, 32)
    serialized += b"".join([*elements, *(image for _, image in pairs)])
    size = 32 * len(pairs)
    try:
        sponge = Sponge(transcript.session(b"DSFS-with-sigma-proofs_Shake128_" + NAME))
        sponge.absorb(serialized + proof[:size])
        c, z = sponge.challenge(), decode_scalar(proof[size:])  # [N1], [N3]
        for number, (given, image) in enumerate(pairs):
            T = decode_point(proof[32 * number : 32 * number + 32])  # [N2]
            X, B = decode_point(image), GENERATOR if given is None else decode_point(given)
            if not is_zero(add(T, multi([(c, X), (-z, B)]))):  # [N4]
                return False
    except Malformed:
        return False
    return True


# 06: hidden bits that satisfy linear constraints

Entries: TypeAlias = list[tuple[int, int]]
Triple: TypeAlias = tuple[bytes, bytes, bytes]


@dataclass
class Row:
    """[A2]: a linear form on the bits plus a constant; coefficients by position."""

    fixed: Entries
    constant: int = 0
    varying: Entries = field(default_factory=list)


@dataclass
class Constraint:
    """[A2]: public without a point; else committed, or, if `vector`, one row a coordinate."""

    rows: list[Row]
    point: bytes = b""
    vector: bool = False


def length(bits: int, dimension: int = 0) -> int:
    """[A4]. In a session no statement has vector constraints of two dimensions."""
    size = bits + dimension
    while size.bit_count() > 3:
        size += 1
    return size


def proof_size(M: int) -> int:
    """Section 5."""
    return 32 * (9 + 2 * (M.bit_length() - 1) + 2 * (M.bit_count() - 1))


def _shape(bits: int, constraints: list[Constraint]) -> bytes:
    """[A3]: the digest of what is fixed."""
    out = frame(b"gopa/v1/zkp/bit-shape") + frame(NAME)
    out += bits.to_bytes(4) + len(constraints).to_bytes(4)
    for each in constraints:
        out += b"\x02" + len(each.rows).to_bytes(4) if each.vector else bytes([bool(each.point)])
        for row in each.rows:
            out += len(row.fixed).to_bytes(4) + b"".join(at.to_bytes(4) for at, _ in row.fixed)
            out += b"".join(little(value % Q, 32) for _, value in row.fixed)
            out += len(row.varying).to_bytes(4) + b"".join(at.to_bytes(4) for at, _ in row.varying)
    return sha256(out).digest()


def bits_hold(
    transcript: Transcript,
    bits: int,
    constraints: list[Constraint],
    proof: bytes,
    early: bytes = b"",
) -> bool:
    """[A7] to [A10] and, if A was published early, [A12]."""
    try:
        return _Argument(transcript, bits, constraints, proof).holds(early)
    except Malformed:
        return False


class _Argument:
    """One proof, step by step, with the names of 06."""

    def __init__(
        self, transcript: Transcript, bits: int, constraints: list[Constraint], proof: bytes
    ) -> None:
        self.transcript, self.constraints, self.proof = transcript, constraints, proof
        self.d = max((len(each.rows) for each in constraints if each.vector), default=0)
        self.M = length(bits, self.d)
        self.N = self.M - self.d  # with padding
        if len(proof) != proof_size(self.M):  # [A7]
            raise Malformed("a proof of its length")
        pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
        count = 4 + 2 * (self.M.bit_length() - 1)
        self.points = [decode_point(piece) for piece in pieces[:count]]
        self.scalars = [decode_scalar(piece) for piece in pieces[count:]]
        self.shape = _shape(bits, constraints)

    def holds(self, early: bytes) -> bool:
        """[A12], [A8], [A9], [A10], in this order."""
        if early and early != self.proof[:32]:
            return False
        self._draw()
        self._combine()
        return is_zero(multi(self._polynomial())) and is_zero(multi(self._inner_product()))

    def _draw(self) -> None:
        """[A8]: sections 2 to 4, message by message ([A5])."""
        script, proof = self.transcript, self.proof
        rows = [row for each in self.constraints for row in each.rows]
        script.bind(b"bits/shape", self.shape)
        script.scalars(b"bits/constants", [row.constant for row in rows])
        script.scalars(b"bits/varying", [value for row in rows for _, value in row.varying])
        for label, vector in ((b"bits/commitments", False), (b"bits/vectors", True)):
            given = [each.point for each in self.constraints if each.vector == vector]
            script.bind(label, b"".join(given), 3)
        script.bind(b"bits/A", proof[:32], 3)
        self.rho, self.eta, *xi = script.challenges(b"bits/rho eta xi", 2 + bool(self.d))
        self.xi = xi[0] if xi else 1
        script.bind(b"bits/S", proof[32:64], 3)
        self.y, self.z = script.challenges(b"bits/y z", 2)
        script.bind(b"bits/T", proof[64:128], 3)
        (self.x,) = script.challenges(b"bits/x", 1)
        script.scalars(b"bits/t tau mu", self.scalars[:3])
        (self.w,) = script.challenges(b"bits/w", 1)
        self.u: list[int] = []
        n, at, pairs = self.M, 128, iter(self._pairs())
        while n > 1:
            if n % 2:
                script.scalars(b"bits/l r", next(pairs))
            else:
                script.bind(b"bits/L R", proof[at : at + 64], 3)
                self.u += script.challenges(b"bits/u", 1)
                at += 64
            n = n - 1 if n % 2 else n // 2
        script.scalars(b"bits/l r", next(pairs))

    def _pairs(self) -> list[tuple[int, int]]:
        """The pairs given away, then the last one."""
        return list(zip(self.scalars[3::2], self.scalars[4::2], strict=True))

    def _combine(self) -> None:
        """Step 2: c, k, and the weights of the commitments, of V and of D."""
        self.c, self.k = [0] * self.M, 0
        self.V: list[tuple[int, Point]] = []
        self.vectors: list[tuple[int, Point]] = []
        number, rank = 0, 1
        single = sum(not each.vector for each in self.constraints)
        for each in self.constraints:
            for j, row in enumerate(each.rows):
                number += not each.vector
                n = single + 1 + j if each.vector else number
                weight = pow(self.rho, n, Q) * (rank if each.vector else 1) % Q
                for position, value in row.fixed + row.varying:
                    self.c[position] = (self.c[position] + weight * value) % Q
                self.k = (self.k + weight * row.constant) % Q
            if each.vector:
                self.vectors.append((rank, decode_point(each.point)))
                rank = rank * self.eta % Q
            elif each.point:
                self.V.append((weight, decode_point(each.point)))
        for j in range(self.d):  # step 4
            self.c[self.N + j] = -pow(self.rho, single + 1 + j, Q) * pow(self.xi, -1, Q) % Q

    def _polynomial(self) -> list[tuple[int, Point]]:
        """[A9], with everything on one side."""
        x, y, z = self.x, self.y, self.z
        powers = sum(pow(y, i, Q) for i in range(self.N))
        delta = (z - z * z) * powers - z**3 * sum(self.c)
        terms = [(z * z * weight, point) for weight, point in self.V]
        t, tau = self.scalars[:2]
        terms += [(delta - z * z * self.k - t, G), (-tau, H)]
        return [*terms, (x, self.points[2]), (x * x, self.points[3])]

    def _inner_product(self) -> list[tuple[int, Point]]:
        """[A10]: step 7 and the folds, less what the scalars unroll to."""
        z, pairs, u = self.z, self._pairs(), list(self.u)
        terms = [(1, self.points[0]), (self.x, self.points[1]), (-self.scalars[2], H)]
        terms += [(self.xi * rank, point) for rank, point in self.vectors]
        for number, value in enumerate(u):
            inverse = pow(value, -1, Q)
            L, R = self.points[4 + 2 * number : 6 + 2 * number]
            terms += [(value * value, L), (inverse * inverse, R)]
        product = self.scalars[0] - sum(l * r for l, r in pairs)
        terms.append((product * self.w, base(b"bits/inner")))
        l, r = ([each] for each in pairs.pop())
        while len(l) < self.M:  # back from the last fold or odd step to the first
            if self._was_odd(len(l)):
                last = pairs.pop()
                l, r = [*l, last[0]], [*r, last[1]]
            else:
                value = u.pop()
                inverse = pow(value, -1, Q)
                l = [inverse * each % Q for each in l] + [value * each % Q for each in l]
                r = [value * each % Q for each in r] + [inverse * each % Q for each in r]
        back, factor = pow(self.y, -1, Q), 1
        bases = [base(b"bits/left", i) for i in range(self.N)] + value_bases(self.d, vector=True)
        for i, point in enumerate(bases):
            terms.append((-z - l[i], point))
            on_right = factor * (z * z * self.c[i] - r[i]) + (z if i < self.N else 0)
            terms.append((on_right, base(b"bits/right", i)))
            factor = factor * back % Q
        return terms

    def _was_odd(self, now: int) -> bool:
        """Whether a vector of `now` elements is what an odd step left of one more."""
        n = self.M
        while n > now:
            odd, n = n % 2 == 1, n - 1 if n % 2 else n // 2
        return odd


# 07: statements


def weights(span: int) -> list[int]:
    """[R1], for the interval [0, span]."""
    t = span.bit_length() - 1
    return [1 << j for j in range(t)] + [span + 1 - (1 << t)]


def _on(values: list[int], start: int, sign: int = 1) -> Entries:
    """Coefficients on consecutive bits."""
    return [(start + j, sign * value) for j, value in enumerate(values)]


def table_noise_holds(
    transcript: Transcript, law: Law, coin: int, steps: int, points: Triple, proof: bytes
) -> bool:
    """[R6] to [R9] for one draw: `points` are C_x, C_y and D."""
    m, F, J = law.masses, law.cumulative, len(law.masses)
    b = (max(m) - 1).bit_length()
    slack, powers = J + b, [1 << j for j in range(b)]
    given = _on(weights(steps), J + 2 * b + 1)
    one = Row(_on([1] * J, 0), -1)
    inside = Row(_on(m, 0) + _on(powers, J, -1) + _on(powers, slack, -1), -1)
    seed = Row(_on(F[:-1], 0) + _on(powers, J) + [(J + 2 * b, law.total)], -coin)
    noise = Row(_on([i - law.radius for i in range(J)], 0) + given)
    constraints = [Constraint([one]), Constraint([inside]), Constraint([seed], points[1])]
    constraints += [Constraint([Row(given)], points[0]), Constraint([noise], points[2])]
    transcript.bind(b"gaussian-noise/table", law.hash)
    transcript.bind(b"gaussian-noise/coins", little(coin, 8))
    return bits_hold(transcript, J + 2 * b + 1 + len(given), constraints, proof)


def table_bits(law: Law, steps: int) -> int:
    """The number of bits of that statement."""
    return len(law.masses) + 2 * (max(law.masses) - 1).bit_length() + 1 + len(weights(steps))


def bit_noise_holds(
    transcript: Transcript, law: Law, coins: list[int], steps: int, points: Triple, proof: bytes
) -> bool:
    """[R11] to [R14]: `points` are C_x, the early A, and D; coins for all coordinates."""
    w, c, own = law.weights, len(law.weights), weights(steps)
    d, v = len(coins) // len(law.weights), len(own)
    given, output = [], []
    for j in range(d):
        t, entries = coins[c * j : c * j + c], _on(own, c * d + v * j)
        flipped = [(c * j + i, -w[i] if t[i] else w[i]) for i in range(c)]
        given.append(Row(entries))
        output.append(Row(entries, sum(w[i] for i in range(c) if t[i]) - law.radius, flipped))
    transcript.bind(b"weighted-noise/law", law.hash)
    transcript.bind(b"weighted-noise/coins", bytes(coins))
    constraints = [Constraint(given, points[0], True), Constraint(output, points[2], True)]
    return bits_hold(transcript, (c + v) * d, constraints, proof, points[1])


def weighing_holds(transcript: Transcript, d: int, steps: int, point: bytes, proof: bytes) -> bool:
    """[R25], [R26]."""
    own = weights(steps)
    size = len(own)
    below = [
        _on(own, (d - 1) * size) + _on(own, j * size, -1) + _on(own, (d + j) * size, -1)
        for j in range(d - 1)
    ]
    constraints = [Constraint([Row(entries)]) for entries in below]
    constraints.append(Constraint([Row(_on(own, j * size)) for j in range(d)], point, True))
    return bits_hold(transcript, (2 * d - 1) * size, constraints, proof)
