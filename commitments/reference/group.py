"""Implements the reference group: constructors and constants over one curve."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

from commitments.group import AnyScalarVec, Point, PointVec, Scalar, ScalarVec
from commitments.reference.arguments import (
    count,
    foreign,
    integer,
    residue,
    residues,
    same_length,
)
from commitments.reference.bigint import mpz
from commitments.reference.curve import Curve
from commitments.reference.fixed_bases import ReferenceFixedBases
from commitments.reference.points import (
    ReferencePoint,
    ReferencePointVec,
    decode_elements,
    element_of,
    elements_of,
)
from commitments.reference.scalar_vectors import (
    ReferenceScalarVec,
    ReferenceSecretScalarVec,
    any_vector,
    public_residues,
)
from commitments.reference.scalars import (
    ReferenceScalar,
    ReferenceSecretScalar,
    decode_residues,
    public_residue,
)
from commitments.reference.stream import ReferenceStream, ReferenceWideTable, reduce_wide
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc.Buffer from Python 3.12 on

_UNIFORM_SIZE = 64
_SESSION_SIZE = 32
_RATE = 168


class ReferenceGroup:
    """A group in pure Python, NOT constant-time. Implements `commitments.group.Group`."""

    backend = "reference"
    details = "pure Python with gmpy2, not constant-time"

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.name = curve.name
        self.order = curve.order
        self.scalar_size = curve.scalar_size
        self.point_size = curve.point_size
        self.generator = ReferencePoint(curve, curve.generator)
        self.identity = ReferencePoint(curve, curve.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceGroup) and self.curve is other.curve

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[object, ...]:
        return ReferenceGroup, (self.curve,)

    def __repr__(self) -> str:
        return f"<Group {self.name} on the reference backend>"

    def scalar(self, value: int, /) -> ReferenceScalar:
        return ReferenceScalar(self.curve, residue(value, self.order))

    def secret_scalar(self, value: int, /) -> ReferenceSecretScalar:
        return self.scalar(value).secret()

    def scalars(self, values: Iterable[int] | Buffer, /) -> ReferenceScalarVec:
        return self._vector(residues(values, self.order))

    def secret_scalars(self, values: Iterable[int] | Buffer, /) -> ReferenceSecretScalarVec:
        return self.scalars(values).secret()

    def random_scalars(self, n: int, rng: Rng, /) -> ReferenceSecretScalarVec:
        size = _UNIFORM_SIZE * count(n)
        data = rng(size)
        if not isinstance(data, bytes) or len(data) != size:
            raise UsageError("rng(n) must return n bytes")
        return self._vector(reduce_wide(data, _UNIFORM_SIZE, self.order)).secret()

    def hedged_scalars(
        self, n: int, session: bytes, fresh: bytes, witness: AnyScalarVec, /
    ) -> ReferenceSecretScalarVec:
        size = _UNIFORM_SIZE * count(n)
        if not isinstance(session, bytes) or len(session) != _SESSION_SIZE:
            raise UsageError(f"the session has {_SESSION_SIZE} bytes")
        if not isinstance(fresh, bytes):
            raise UsageError("fresh randomness is bytes")
        encoded = any_vector(self.curve, witness).to_bytes()
        absorbed = session + bytes(_RATE - _SESSION_SIZE) + _frame(fresh) + _frame(encoded)
        data = hashlib.shake_128(absorbed).digest(size)
        return self._vector(reduce_wide(data, _UNIFORM_SIZE, self.order)).secret()

    def reduce_scalars(self, data: bytes, width: int, /) -> ReferenceScalarVec:
        width = integer(width, "the width")
        if not 1 <= width <= 64:
            raise UsageError("the width must lie in 1..64")
        if not isinstance(data, bytes) or len(data) % width:
            raise UsageError(f"reduce bytes whose length is a multiple of {width}")
        return self._vector(reduce_wide(data, width, self.order))

    def decode_scalars(self, data: bytes, number: int, /) -> ReferenceScalarVec:
        return self._vector(decode_residues(self.curve, data, count(number)))

    def powers(self, base: Scalar, n: int, /) -> ReferenceScalarVec:
        factor = public_residue(self.curve, base)
        number = count(n)
        factors = repeat(factor, max(number - 1, 0))
        every = accumulate(factors, lambda a, b: a * b % self.order, initial=mpz(1))
        return self._vector(tuple(every)[:number])

    def combine_scalars(
        self, coefficients: ScalarVec, vectors: Sequence[AnyScalarVec], /
    ) -> ReferenceScalarVec | ReferenceSecretScalarVec:
        factors = public_residues(self.curve, coefficients)
        rows = [any_vector(self.curve, vector).residues for vector in vectors]
        same_length(len(factors), len(rows), "coefficients and vectors")
        if not rows:
            raise UsageError("a combination needs at least one vector")
        for row in rows:
            same_length(len(rows[0]), len(row), "vectors")
        total = self._vector(
            tuple(
                sum(k * value for k, value in zip(factors, column, strict=True)) % self.order
                for column in zip(*rows, strict=True)
            )
        )
        concealed = any(isinstance(vector, ReferenceSecretScalarVec) for vector in vectors)
        return total.secret() if concealed else total

    def points(self, values: Iterable[Point], /) -> ReferencePointVec:
        if not isinstance(values, Iterable):
            raise foreign(self.curve, "series of points", values)
        return ReferencePointVec(
            self.curve, tuple(element_of(self.curve, value) for value in values)
        )

    def decode_point(self, data: bytes, /, *, allow_identity: bool = False) -> ReferencePoint:
        return self.decode_points(data, 1, allow_identity=allow_identity)[0]

    def decode_points(
        self, data: bytes, number: int, /, *, allow_identity: bool = False
    ) -> ReferencePointVec:
        return ReferencePointVec(
            self.curve,
            decode_elements(self.curve, data, count(number), allow_identity=allow_identity),
        )

    def map_to_points(self, data: bytes, /) -> ReferencePointVec:
        one_way_map = self.curve.one_way_map
        if one_way_map is None:
            raise UsageError(f"{self.name} has no one-way map here")
        if not isinstance(data, bytes) or len(data) % _UNIFORM_SIZE:
            raise UsageError(f"map bytes whose length is a multiple of {_UNIFORM_SIZE}")
        return ReferencePointVec(
            self.curve,
            tuple(
                one_way_map(data[start : start + _UNIFORM_SIZE])
                for start in range(0, len(data), _UNIFORM_SIZE)
            ),
        )

    def fixed_bases(self, bases: PointVec, /) -> ReferenceFixedBases:
        return ReferenceFixedBases(self.curve, elements_of(self.curve, bases))

    def wide_table(self, lower: Sequence[int], /) -> ReferenceWideTable:
        return ReferenceWideTable(lower)

    def stream(self, seed: SecretBytes, domain: bytes, /) -> ReferenceStream:
        return ReferenceStream(self.curve, seed, domain)

    def _vector(self, values: tuple[int, ...]) -> ReferenceScalarVec:
        return ReferenceScalarVec(self.curve, values)


def _frame(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data
