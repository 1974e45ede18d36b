"""The verifier of specification 06, from its text alone: slow, literal, no shortcuts.

Scalars are Python integers, points are multiplied one by one, bases are folded and
not unrolled, and [A9] and [A10] are checked one after the other. Nothing is imported
from the code under test but the group, the transcript and the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from commitments.group import Group, Point
from tests.zkp.independent import bases
from wire.errors import InvalidProof, MalformedMessage
from zkp.transcript import Transcript

SIZE = 32

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One linear form on the bits, `(position, coefficient)` by `(position, coefficient)`."""

    fixed: tuple[tuple[int, int], ...]
    constant: int
    varying: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Public:
    row: Row


@dataclass(frozen=True)
class Committed:
    row: Row
    commitment: Point


@dataclass(frozen=True)
class Vector:
    rows: tuple[Row, ...]
    commitment: Point

    @property
    def dimension(self) -> int:
        return len(self.rows)


Constraint = Public | Committed | Vector


@dataclass(frozen=True)
class Statement:
    """[A2]: what is claimed about `bits` hidden bits."""

    bits: int
    constraints: tuple[Constraint, ...]

    def rows(self) -> list[Row]:
        return [row for constraint in self.constraints for row in _rows(constraint)]

    def dimensions(self) -> list[int]:
        return sorted({c.dimension for c in self.constraints if isinstance(c, Vector)})


def _rows(constraint: Constraint) -> tuple[Row, ...]:
    return constraint.rows if isinstance(constraint, Vector) else (constraint.row,)


def length(statement: Statement) -> int:
    """[A4]."""
    M = statement.bits + sum(statement.dimensions())
    while M.bit_count() > 3:
        M += 1
    return M


def folds(M: int) -> int:
    return M.bit_length() - 1


def proof_size(statement: Statement) -> int:
    """Section 5."""
    M = length(statement)
    return SIZE * (9 + 2 * folds(M) + 2 * (M.bit_count() - 1))


def shape_digest(group: Group, statement: Statement) -> bytes:
    """[A3]: the digest of the fixed part."""
    hashed = sha256()
    for text in (b"gopa/v1/zkp/bit-shape", b"ristretto255"):
        hashed.update(len(text).to_bytes(4, "little") + text)
    hashed.update(_uint32(statement.bits) + _uint32(len(statement.constraints)))
    for constraint in statement.constraints:
        hashed.update(_kind(constraint))
        for row in _rows(constraint):
            hashed.update(_uint32(len(row.fixed)))
            hashed.update(b"".join(_uint32(position) for position, _ in row.fixed))
            hashed.update(_scalars(group, [value for _, value in row.fixed]))
            hashed.update(_uint32(len(row.varying)))
            hashed.update(b"".join(_uint32(position) for position, _ in row.varying))
    return hashed.digest()


def _kind(constraint: Constraint) -> bytes:
    if isinstance(constraint, Vector):
        return b"\x02" + _uint32(constraint.dimension)
    return b"\x01" if isinstance(constraint, Committed) else b"\x00"


def _uint32(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _scalars(group: Group, values: list[int]) -> bytes:
    return b"".join((value % group.order).to_bytes(SIZE, "little") for value in values)


@dataclass(frozen=True)
class Messages:
    """A proof, decoded: the points in order, then the scalars in order."""

    A: Point
    S: Point
    T1: Point
    T2: Point
    LR: list[tuple[Point, Point]]
    t: int
    tau: int
    mu: int
    pairs: list[tuple[int, int]]


def decode(group: Group, statement: Statement, proof: bytes) -> Messages:
    """[A7]."""
    if len(proof) != proof_size(statement):
        raise MalformedMessage("the length is another", "proof")
    count = 4 + 2 * folds(length(statement))
    points = [_decode_point(group, proof, i * SIZE) for i in range(count)]
    scalars = [_decode_scalar(group, proof, i) for i in range(count * SIZE, len(proof), SIZE)]
    A, S, T1, T2, *LR = points
    t, tau, mu, *pairs = scalars
    return Messages(A, S, T1, T2, _pairs(LR), t, tau, mu, _pairs(pairs))


def _pairs(items: list[T]) -> list[tuple[T, T]]:
    return list(zip(items[::2], items[1::2], strict=True))


def _decode_point(group: Group, proof: bytes, offset: int) -> Point:
    try:
        return group.decode_point(proof[offset : offset + SIZE])
    except MalformedMessage as error:
        raise MalformedMessage("no point", "proof", offset) from error


def _decode_scalar(group: Group, proof: bytes, offset: int) -> int:
    value = int.from_bytes(proof[offset : offset + SIZE], "little")
    if value >= group.order:
        raise MalformedMessage("no scalar", "proof", offset)
    return value


class _Log:
    """The transcript of [A5], with integers in place of scalars."""

    def __init__(self, group: Group, transcript: Transcript) -> None:
        self._group, self._transcript = group, transcript

    def statement(self, statement: Statement) -> None:
        rows, constraints = statement.rows(), statement.constraints
        self._transcript.absorb(b"bits/shape", shape_digest(self._group, statement))
        self.scalars(b"bits/constants", [row.constant for row in rows])
        self.scalars(b"bits/varying", [value for row in rows for _, value in row.varying])
        self.points(
            b"bits/commitments", [c.commitment for c in constraints if isinstance(c, Committed)]
        )
        self.points(b"bits/vectors", [c.commitment for c in constraints if isinstance(c, Vector)])

    def points(self, label: bytes, points: list[Point]) -> None:
        self._transcript.absorb_points(label, self._group.points(points))

    def scalars(self, label: bytes, values: list[int]) -> None:
        reduced = [value % self._group.order for value in values]
        self._transcript.absorb_scalars(label, self._group.scalars(reduced))

    def draw(self, label: bytes, count: int) -> list[int]:
        return self._transcript.challenges(label, self._group, count).ints()


@dataclass(frozen=True)
class Challenges:
    rho: int
    eta: int
    xi: dict[int, int]
    y: int
    z: int
    x: int
    w: int
    u: list[int]


def _challenges(
    group: Group, statement: Statement, sent: Messages, transcript: Transcript
) -> Challenges:
    """[A8]: sections 2 to 4, message by message."""
    log = _Log(group, transcript)
    log.statement(statement)
    log.points(b"bits/A", [sent.A])
    dimensions = statement.dimensions()
    rho, eta, *xi = log.draw(b"bits/rho eta xi", 2 + len(dimensions))
    log.points(b"bits/S", [sent.S])
    y, z = log.draw(b"bits/y z", 2)
    log.points(b"bits/T", [sent.T1, sent.T2])
    (x,) = log.draw(b"bits/x", 1)
    log.scalars(b"bits/t tau mu", [sent.t, sent.tau, sent.mu])
    (w,) = log.draw(b"bits/w", 1)
    u = []
    n, LR, pairs = length(statement), iter(sent.LR), iter(sent.pairs)
    while n > 1:
        if n % 2:
            log.scalars(b"bits/l r", list(next(pairs)))
            n -= 1
        else:
            log.points(b"bits/L R", list(next(LR)))
            u += log.draw(b"bits/u", 1)
            n //= 2
    log.scalars(b"bits/l r", list(next(pairs)))
    return Challenges(rho, eta, dict(zip(dimensions, xi, strict=True)), y, z, x, w, u)


@dataclass
class _Combined:
    """Step 2: c on all positions, k, V, and D for each dimension."""

    c: list[int]
    k: int
    V: Point
    D: dict[int, Point]


def _combine(group: Group, statement: Statement, M: int, ch: Challenges) -> _Combined:
    q = group.order
    out = _Combined([0] * M, 0, group.identity, {})

    def add(row: Row, weight: int) -> None:
        for position, value in row.fixed + row.varying:
            out.c[position] = (out.c[position] + weight * value) % q
        out.k = (out.k + weight * row.constant) % q

    number = 0
    for constraint in statement.constraints:
        if isinstance(constraint, Vector):
            continue
        number += 1
        weight = pow(ch.rho, number, q)
        add(constraint.row, weight)
        if isinstance(constraint, Committed):
            out.V += _times(group, weight, constraint.commitment)
    position = M - sum(statement.dimensions())
    for d in statement.dimensions():
        weights = [pow(ch.rho, number + 1 + j, q) for j in range(d)]
        out.c[position : position + d] = [-w * pow(ch.xi[d], -1, q) % q for w in weights]
        number, position = number + d, position + d
        out.D[d] = group.identity
        same = [c for c in statement.constraints if isinstance(c, Vector) and c.dimension == d]
        for s, vector in enumerate(same):
            out.D[d] += _times(group, pow(ch.eta, s, q), vector.commitment)
            for weight, row in zip(weights, vector.rows, strict=True):
                add(row, weight * pow(ch.eta, s, q) % q)
    return out


def _times(group: Group, value: int, point: Point) -> Point:
    return point * group.scalar(value % group.order)


def _dot(group: Group, values: list[int], points: list[Point]) -> Point:
    total = group.identity
    for value, point in zip(values, points, strict=True):
        total += _times(group, value, point)
    return total


def verify(
    group: Group,
    statement: Statement,
    proof: bytes,
    transcript: Transcript,
    *,
    published: Point | None = None,
) -> None:
    """[A7], [A12] if A was published, [A8], [A9], [A10], in this order."""
    sent = decode(group, statement, proof)
    if published is not None and published != sent.A:
        raise InvalidProof("A is not the published one", "06-A12")
    ch = _challenges(group, statement, sent, transcript)
    _polynomial_check(group, statement, sent, ch)
    _inner_product_check(group, statement, sent, ch)


def _polynomial_check(group: Group, statement: Statement, sent: Messages, ch: Challenges) -> None:
    """[A9]."""
    q, x, y, z = group.order, ch.x, ch.y, ch.z
    M = length(statement)
    N = M - sum(statement.dimensions())
    total = _combine(group, statement, M, ch)
    G, H = bases.value_base(group), bases.blinding_base(group)
    delta = (z - z * z) * sum(pow(y, i, q) for i in range(N)) - z**3 * sum(total.c)
    left = _dot(group, [sent.t, sent.tau], [G, H])
    right = _dot(
        group,
        [z * z, delta - z * z * total.k, x, x * x],
        [total.V, G, sent.T1, sent.T2],
    )
    if left != right:
        raise InvalidProof("the polynomial is another", "06-A9")


def _inner_product_check(
    group: Group, statement: Statement, sent: Messages, ch: Challenges
) -> None:
    """[A10]: the start of step 7, then section 4."""
    q, z = group.order, ch.z
    M = length(statement)
    N = M - sum(statement.dimensions())
    total = _combine(group, statement, M, ch)
    back = [pow(ch.y, -i, q) for i in range(M)]
    B = [bases.left_base(group, i) for i in range(N)]
    B += [bases.vector_base(group, d, j) for d in statement.dimensions() for j in range(d)]
    H = [bases.right_base(group, i) for i in range(M)]
    P = sent.A + _times(group, ch.x, sent.S)
    for d, D in total.D.items():
        P += _times(group, ch.xi[d], D)
    P -= _times(group, sent.mu, bases.blinding_base(group))
    P -= _dot(group, [z] * M, B)
    P += _dot(group, [z] * N, H[:N])
    P += _dot(group, [back[i] * z * z * total.c[i] for i in range(M)], H)
    U = _times(group, ch.w, bases.inner_base(group))
    P += _times(group, sent.t, U)
    scaled = [_times(group, factor, point) for factor, point in zip(back, H, strict=True)]
    _fold(group, P, (B, scaled, U), sent, ch.u)


def _fold(
    group: Group,
    P: Point,
    on: tuple[list[Point], list[Point], Point],
    sent: Messages,
    u: list[int],
) -> None:
    """Section 4 with the bases folded."""
    B, H, U = on
    challenges, LR, pairs = iter(u), iter(sent.LR), iter(sent.pairs)
    while True:
        if len(B) % 2:
            l, r = next(pairs)
            P -= _dot(group, [l, r, l * r], [B.pop(), H.pop(), U])
            if not B:
                break
        else:
            h = len(B) // 2
            ch = next(challenges)
            inverse = pow(ch, -1, group.order)
            L, R = next(LR)
            P += _dot(group, [ch * ch, inverse * inverse], [L, R])
            B = [_dot(group, [inverse, ch], [B[i], B[h + i]]) for i in range(h)]
            H = [_dot(group, [ch, inverse], [H[i], H[h + i]]) for i in range(h)]
    if not P.is_identity():
        raise InvalidProof("the inner product is another", "06-A10")
