"""The proofs of a session: transcripts and Sigma (02), the bit argument (06), noise (07)."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256, shake_128
from typing import Any, NamedTuple, TypeAlias

from curve import (
    GENERATOR, IDENTITY, Point, Q, add, base, decode_point, decode_scalar, multi, same,
)  # fmt: skip
from codec import Record, refusing, require

NAME = b"ristretto255"
G, H = base(b"pedersen/value"), base(b"pedersen/blinding")


def commit(values: list[int], blinding: int, *, vector: bool) -> Point:
    """01-P1 and 01-V1: the session's kind of commitment."""
    bases = value_bases(len(values)) if vector else [G]
    return multi([(blinding, H), *zip(values, bases, strict=True)])


def value_bases(size: int) -> list[Point]:
    """01-B2: the bases of this dimension."""
    return [base(b"vector-pedersen/value", j, size) for j in range(size)]


# 02, sections 1 and 2


def little(value: int, size: int = 4) -> bytes:
    """LE(value, size)."""
    return value.to_bytes(size, "little")


def frame(data: bytes) -> bytes:
    """The length, then the data."""
    return little(len(data)) + data


def packed(values: Iterable[int]) -> bytes:
    """Scalars, reduced."""
    return b"".join(little(value % Q, 32) for value in values)


class Sponge:
    """02-S1 to 02-S3."""

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
        """02-S3."""
        return int.from_bytes(self.squeeze(48), "little") % Q


class Transcript(Sponge):
    """02-F1 to 02-F7, bound to a purpose and what 04 binds a party's proofs to (04-J3, 04-K3)."""

    def __init__(
        self, purpose: bytes, session: bytes, number: int, leaf: bytes, party: bytes
    ) -> None:
        first = Sponge(b"irtf-cfrg-fiat-shamir/session-id")
        first.absorb(b"gopa/v1/zkp/transcript" + frame(b"gopa/v1/protocol/" + purpose))
        super().__init__(first.squeeze(32))
        self.bind(b"session", session)
        self.bind(b"round", little(number, number.bit_length() // 8 + 1), 2)  # 02-F3
        self.bind(b"acts-on", leaf)
        self.bind(b"party", party)

    def bind(self, label: bytes, data: bytes, kind: int = 1) -> None:
        """02-F2: 1 bytes, 2 an integer, 3 points, 4 scalars, 16 challenges, 17 a session."""
        self.absorb(bytes([kind]) + frame(label) + frame(data))

    def challenges(self, label: bytes, count: int) -> list[int]:
        """02-F5, 02-F6."""
        self.bind(label, frame(NAME) + little(count), 16)
        drawn = [self.challenge() for _ in range(count)]
        require(0 not in drawn)
        return drawn

    def session(self, label: bytes) -> bytes:
        """02-F7."""
        self.bind(label, b"", 17)
        return self.squeeze(32)


@refusing
def same_logarithm(
    transcript: Transcript, pairs: list[tuple[bytes | None, bytes]], proof: bytes
) -> bool:
    """02, sections 3 to 6: one x with X_i = x P_i for all (P_i, X_i); None is the generator.

    The batchable proof of one relation with the elements B, then all other P_i, then all X_i:
    `discrete_log` and `dleq` of section 7.
    """
    elements = [given for given, _ in pairs if given is not None]
    relation, size = little(len(pairs)), 32 * len(pairs)
    for number, (given, _) in enumerate(pairs):
        term = 0 if given is None else 1 + elements.index(given)
        relation += little(1) + little(1 + len(elements) + number) + little(1, 32)
        relation += little(1) + little(0) + little(term) + little(1, 32)
    sponge = Sponge(transcript.session(b"DSFS-with-sigma-proofs_Shake128_" + NAME))
    sponge.absorb(relation + b"".join([*elements, *(X for _, X in pairs)]) + proof[:size])
    c, z = sponge.challenge(), decode_scalar(proof[size:])  # 02-N1, 02-N3
    for at, (given, image) in zip(range(0, size, 32), pairs, strict=True):
        T, X = decode_point(proof[at : at + 32]), decode_point(image)  # 02-N2
        B = GENERATOR if given is None else decode_point(given)
        require(same(add(T, multi([(c, X)])), multi([(z, B)])))  # 02-N4
    return True


# 06: hidden bits that satisfy linear constraints

Entries: TypeAlias = list[tuple[int, int]]
Triple: TypeAlias = tuple[bytes, bytes, bytes]


class Row(NamedTuple):
    """06-A2: a linear form on the bits plus a constant; coefficients by position."""

    fixed: Entries
    constant: int = 0
    varying: Entries = []  # noqa: RUF012 - never changed


class Constraint(NamedTuple):
    """06-A2: public without a point; else committed, or, if `vector`, one row a coordinate."""

    rows: list[Row]
    point: bytes = b""
    vector: bool = False


def length(size: int) -> int:
    """06-A4, for all bits, and one coordinate of each dimension of vectors."""
    while size.bit_count() > 3:
        size += 1
    return size


def proof_size(M: int) -> int:
    """Section 5."""
    return 32 * (5 + 2 * M.bit_length() + 2 * M.bit_count())


def _shape(bits: int, constraints: list[Constraint]) -> bytes:
    """06-A3: the digest of what is fixed."""
    out = frame(b"gopa/v1/zkp/bit-shape") + frame(NAME)
    out += bits.to_bytes(4) + len(constraints).to_bytes(4)
    for each in constraints:
        out += b"\x02" + len(each.rows).to_bytes(4) if each.vector else bytes([bool(each.point)])
        for row in each.rows:
            out += len(row.fixed).to_bytes(4) + b"".join(at.to_bytes(4) for at, _ in row.fixed)
            out += packed(value for _, value in row.fixed)
            out += len(row.varying).to_bytes(4) + b"".join(at.to_bytes(4) for at, _ in row.varying)
    return sha256(out).digest()


@refusing
def bits_hold(
    script: Transcript, bits: int, constraints: list[Constraint], proof: bytes, early: bytes = b""
) -> bool:
    """06-A2, 06-A7 to 06-A10 and, if A was published early, 06-A12; with the names of 06."""
    require(early in {b"", proof[:32]})  # 06-A12
    a = bits_read(script, bits, constraints, proof)
    return polynomial_holds(a) and inner_product_holds(a)


def bits_read(script: Transcript, bits: int, constraints: list[Constraint], proof: bytes) -> Record:
    """06-A2, 06-A7, 06-A8 and step 2: a proof, its challenges, and what they combine."""
    require(all(each.point != bytes(32) for each in constraints))  # 06-A2
    dimensions = sorted({len(each.rows) for each in constraints if each.vector})
    M = length(bits + sum(dimensions))
    require(len(proof) == proof_size(M))  # 06-A7
    pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
    points = [decode_point(each) for each in pieces[: 2 * M.bit_length() + 2]]
    scalars = [decode_scalar(each) for each in pieces[2 * M.bit_length() + 2 :]]
    a = Record(M=M, N=M - sum(dimensions), points=points, scalars=scalars, pieces=pieces)
    a.dimensions = dimensions
    script.bind(b"bits/shape", _shape(bits, constraints))
    _draw(a, script, constraints)
    _combine(a, constraints)
    return a


def polynomial_holds(a: Record) -> bool:
    """06-A9."""
    return same(multi(_polynomial(a)), IDENTITY)


def inner_product_holds(a: Record) -> bool:
    """06-A10."""
    return same(multi(_inner_product(a)), IDENTITY)


def _draw(a: Record, script: Transcript, constraints: list[Constraint]) -> None:
    """06-A8: sections 2 to 4, message by message (06-A5)."""
    rows = [row for each in constraints for row in each.rows]
    script.bind(b"bits/constants", packed(row.constant for row in rows), 4)
    script.bind(b"bits/varying", packed(value for row in rows for _, value in row.varying), 4)
    for label, vector in ((b"bits/commitments", False), (b"bits/vectors", True)):
        given = [each.point for each in constraints if each.vector == vector]
        script.bind(label, b"".join(given), 3)
    script.bind(b"bits/A", a.pieces[0], 3)
    a.rho, a.eta, *a.xi = script.challenges(b"bits/rho eta xi", 2 + len(a.dimensions))
    script.bind(b"bits/S", a.pieces[1], 3)
    a.y, a.z = script.challenges(b"bits/y z", 2)
    script.bind(b"bits/T", a.pieces[2] + a.pieces[3], 3)
    (a.x,) = script.challenges(b"bits/x", 1)
    script.bind(b"bits/t tau mu", packed(a.scalars[:3]), 4)
    (a.w,) = script.challenges(b"bits/w", 1)
    n, at, pairs = a.M, 4, iter(zip(a.scalars[3::2], a.scalars[4::2], strict=True))
    a.steps = []  # a challenge for each fold, and the pairs that odd steps give away
    while n > 1:
        if n % 2:
            a.steps.append(next(pairs))
            script.bind(b"bits/l r", packed(a.steps[-1]), 4)
        else:
            script.bind(b"bits/L R", a.pieces[at] + a.pieces[at + 1], 3)
            a.steps += script.challenges(b"bits/u", 1)
            at += 2
        n = n - 1 if n % 2 else n // 2
    a.last = next(pairs)
    script.bind(b"bits/l r", packed(a.last), 4)


def _combine(a: Record, constraints: list[Constraint]) -> None:
    """Step 2: c, k, and the weights of the commitments, of V and of D."""
    a.c, a.k, a.V, a.vectors = [0] * a.M, 0, [], []
    singles = [each for each in constraints if not each.vector]
    for number, each in enumerate(singles, 1):
        weight = pow(a.rho, number, Q)
        _add(a, each.rows[0], weight)
        if each.point:
            a.V.append((weight, decode_point(each.point)))
    number, start = len(singles), a.N
    for d, xi in zip(a.dimensions, a.xi, strict=True):
        weights = [pow(a.rho, number + 1 + j, Q) for j in range(d)]
        vectors = [each for each in constraints if each.vector and len(each.rows) == d]
        for s, each in enumerate(vectors):
            rank = pow(a.eta, s, Q)
            a.vectors.append((xi * rank, decode_point(each.point)))
            for row, weight in zip(each.rows, weights, strict=True):
                _add(a, row, weight * rank)
        a.c[start : start + d] = [-weight * pow(xi, -1, Q) % Q for weight in weights]  # step 4
        number, start = number + d, start + d


def _add(a: Record, row: Row, weight: int) -> None:
    for position, value in row.fixed + row.varying:
        a.c[position] = (a.c[position] + weight * value) % Q
    a.k = (a.k + weight * row.constant) % Q


def _polynomial(a: Record) -> list[tuple[int, Point]]:
    """06-A9, with everything on one side."""
    x, z = a.x, a.z
    delta = (z - z * z) * sum(pow(a.y, i, Q) for i in range(a.N)) - z**3 * sum(a.c)
    terms = [(z * z * weight, point) for weight, point in a.V]
    terms += [(delta - z * z * a.k - a.scalars[0], G), (-a.scalars[1], H)]
    return [*terms, (x, a.points[2]), (x * x, a.points[3])]


def _inner_product(a: Record) -> list[tuple[int, Point]]:
    """06-A10: step 7 and the folds, less what the scalars unroll to."""
    terms = [(1, a.points[0]), (a.x, a.points[1]), (-a.scalars[2], H)]
    terms += a.vectors
    product = a.scalars[0] - a.last[0] * a.last[1]
    l, r, at = [a.last[0]], [a.last[1]], len(a.points)
    for step in reversed(a.steps):  # back from the last fold or odd step to the first
        if isinstance(step, tuple):
            product -= step[0] * step[1]
            l, r = [*l, step[0]], [*r, step[1]]
        else:
            inverse, at = pow(step, -1, Q), at - 2
            terms += [(step**2, a.points[at]), (inverse**2, a.points[at + 1])]
            l = [inverse * each % Q for each in l] + [step * each % Q for each in l]
            r = [step * each % Q for each in r] + [inverse * each % Q for each in r]
    terms.append((product * a.w, base(b"bits/inner")))
    back, factor = pow(a.y, -1, Q), 1
    bases = [base(b"bits/left", i) for i in range(a.N)]
    bases += [point for d in a.dimensions for point in value_bases(d)]
    for i, point in enumerate(bases):
        on_right = factor * (a.z**2 * a.c[i] - r[i]) + (a.z if i < a.N else 0)
        terms += [(-a.z - l[i], point), (on_right, base(b"bits/right", i))]
        factor = factor * back % Q
    return terms


# 07: statements


def weights(span: int) -> list[int]:
    """07-R1, for the interval [0, span]."""
    t = span.bit_length() - 1
    return [1 << j for j in range(t)] + [span + 1 - (1 << t)]


def _on(values: list[int], start: int, sign: int = 1) -> Entries:
    """Coefficients on consecutive bits."""
    return [(start + j, sign * value) for j, value in enumerate(values)]


def table_noise_holds(
    script: Transcript, law: Record, coin: int, steps: int, points: Triple, proof: bytes
) -> Any:
    """07-R6 to 07-R9 for one draw: `points` are C_x, C_y and D."""
    J, b = len(law.m), (max(law.m) - 1).bit_length()
    slack, powers = J + b, [1 << j for j in range(b)]
    given = _on(weights(steps), J + 2 * b + 1)
    one = Row(_on([1] * J, 0), -1)
    inside = Row(_on(law.m, 0) + _on(powers, J, -1) + _on(powers, slack, -1), -1)
    seed = Row(_on(law.F[:-1], 0) + _on(powers, J) + [(J + 2 * b, law.T)], -coin)
    noise = Row(_on([i - law.R for i in range(J)], 0) + given)
    constraints = [Constraint([one]), Constraint([inside]), Constraint([seed], points[1])]
    constraints += [Constraint([Row(given)], points[0]), Constraint([noise], points[2])]
    script.bind(b"gaussian-noise/table", law.hash)
    script.bind(b"gaussian-noise/coins", little(coin, 8))
    return bits_hold(script, table_bits(law, steps), constraints, proof)


def table_bits(law: Record, steps: int) -> int:
    """The number of bits of that statement."""
    b: int = (max(law.m) - 1).bit_length()
    return len(law.m) + 2 * b + 1 + len(weights(steps))


def bit_noise_holds(
    script: Transcript, law: Record, coins: list[int], steps: int, points: Triple, proof: bytes
) -> Any:
    """07-R11 to 07-R14: `points` are C_x, the early A, and D; coins for all coordinates."""
    w, c, own = law.weights, len(law.weights), weights(steps)
    d, given, output = len(coins) // c, [], []
    for j in range(d):
        t, entries = coins[c * j : c * j + c], _on(own, c * d + len(own) * j)
        flipped = [(c * j + i, -w[i] if t[i] else w[i]) for i in range(c)]
        given.append(Row(entries))
        output.append(Row(entries, sum(w[i] for i in range(c) if t[i]) - law.R, flipped))
    script.bind(b"weighted-noise/law", law.hash)
    script.bind(b"weighted-noise/coins", bytes(coins))
    constraints = [Constraint(given, points[0], True), Constraint(output, points[2], True)]
    return bits_hold(script, (c + len(own)) * d, constraints, proof, points[1])


def range_holds(
    script: Transcript, d: int, steps: int, point: bytes, proof: bytes, *, vector: bool
) -> Any:
    """07-R2 and 07-R3 for one commitment, or 07-R4 and 07-R5 for one vector."""
    own = weights(steps)
    rows = [Row(_on(own, j * len(own))) for j in range(d)]
    whole = Constraint(rows, point, True) if vector else Constraint(rows, point)
    return bits_hold(script, d * len(own), [whole], proof)


def weighing_holds(script: Transcript, d: int, steps: int, point: bytes, proof: bytes) -> Any:
    """[R20], [R21]: each coordinate and its slack are the last one."""
    own = weights(steps)
    size = len(own)
    place = [_on(own, j * size) for j in range(2 * d - 1)]
    less = [_on(own, j * size, -1) for j in range(2 * d - 1)]
    below = [Constraint([Row(place[d - 1] + less[j] + less[d + j])]) for j in range(d - 1)]
    whole = Constraint([Row(entries) for entries in place[:d]], point, True)
    return bits_hold(script, (2 * d - 1) * size, [*below, whole], proof)
