"""Vectors of group elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from typing import Final, overload

from commitments.group import (
    AnyScalar,
    AnyScalarVec,
    Point,
    PointVec,
    ScalarVec,
)
from commitments.reference.arguments import (
    count,
    counts,
    foreign,
    item_at,
    items_at,
    items_in,
    same_length,
)
from commitments.reference.curve import Curve, Element
from commitments.reference.multiexp import multiples, weighted_sum
from commitments.reference.points import ReferencePoint, decode_elements
from commitments.reference.scalar_vectors import (
    ReferenceScalarVec,
    any_vector,
    public_residues,
)
from commitments.reference.scalars import (
    ReferenceScalar,
    ReferenceSecretScalar,
    any_residue,
)
from wire.errors import UsageError

_MOST_BITS: Final = 58


class ReferencePointVec:
    """A vector of group elements. Implements `commitments.group.PointVec`."""

    __slots__ = ("curve", "elements")

    def __init__(self, curve: Curve, elements: tuple[Element, ...]) -> None:
        self.curve = curve
        self.elements = elements

    def __len__(self) -> int:
        return len(self.elements)

    @overload
    def __getitem__(self, index: int, /) -> ReferencePoint: ...
    @overload
    def __getitem__(self, index: slice, /) -> ReferencePointVec: ...
    def __getitem__(self, index: int | slice, /) -> ReferencePoint | ReferencePointVec:
        if isinstance(index, slice):
            return self._with(items_in(self.elements, index))
        return ReferencePoint(self.curve, item_at(self.elements, index))

    def __iter__(self) -> Iterator[ReferencePoint]:
        return (ReferencePoint(self.curve, element) for element in self.elements)

    def __add__(self, other: Point | PointVec, /) -> ReferencePointVec:
        others = self._operand(other)
        return self._with(map(self.curve.add, self.elements, others))

    def __sub__(self, other: Point | PointVec, /) -> ReferencePointVec:
        others = map(self.curve.negate, self._operand(other))
        return self._with(map(self.curve.add, self.elements, others))

    def __neg__(self) -> ReferencePointVec:
        return self._with(map(self.curve.negate, self.elements))

    def __mul__(self, scalars: AnyScalar | AnyScalarVec, /) -> ReferencePointVec:
        if isinstance(scalars, ReferenceScalar | ReferenceSecretScalar):
            residue = any_residue(self.curve, scalars)
            return self._with(multiples(self.curve, self.elements, residue))
        residues = any_vector(self.curve, scalars).residues
        same_length(len(self), len(residues), "points and scalars")
        pairs = zip(self.elements, residues, strict=True)
        return self._with(multiples(self.curve, [element], k)[0] for element, k in pairs)

    def sum(self) -> ReferencePoint:
        addends = self.curve.addends(self.elements)
        return self._point(self.curve.add_all(self.curve.identity, addends))

    def msm(self, scalars: AnyScalarVec, /) -> ReferencePoint:
        return self.vartime_msm(any_vector(self.curve, scalars))

    def msms(
        self, rows: Iterable[AnyScalarVec], /, *, bits: int | None = None
    ) -> ReferencePointVec:
        vectors = [any_vector(self.curve, row) for row in _iterable(rows)]
        for vector in vectors:
            same_length(len(self), len(vector), "points and scalars")
        if bits is not None:
            _require_small(self.curve, vectors, bits)
        return self._with(self.vartime_msm(vector).element for vector in vectors)

    def vartime_msm(self, scalars: ScalarVec, /) -> ReferencePoint:
        residues = public_residues(self.curve, scalars)
        same_length(len(self), len(residues), "points and scalars")
        return self._point(weighted_sum(self.curve, self.elements, residues))

    def vartime_segment_msm(
        self, scalars: ScalarVec, lengths: Sequence[int], /
    ) -> ReferencePointVec:
        residues = public_residues(self.curve, scalars)
        same_length(len(self), len(residues), "points and scalars")
        sizes = counts(lengths, "a segment's length")
        same_length(len(self), sum(sizes), "points and segments")
        ends = accumulate(sizes)
        return self._with(
            weighted_sum(self.curve, self.elements[end - size : end], residues[end - size : end])
            for size, end in zip(sizes, ends, strict=True)
        )

    def gather(self, indices: Sequence[int], /) -> ReferencePointVec:
        return self._with(items_at(self.elements, indices))

    def concat(self, other: PointVec, /) -> ReferencePointVec:
        return self._with(self.elements + elements_of(self.curve, other))

    def find_identity(self) -> int | None:
        for position, element in enumerate(self.elements):
            if self.curve.is_identity(element):
                return position
        return None

    def to_bytes(self) -> bytes:
        return b"".join(map(self.curve.encode, self.elements))

    def __eq__(self, other: object, /) -> bool:
        if isinstance(other, ReferencePointVec):
            if self.curve is not other.curve or len(self) != len(other):
                return False
            return all(map(self.curve.equal, self.elements, other.elements))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PointVec of {self.curve.name}: {len(self)} points>"

    def __reduce__(self) -> tuple[object, ...]:
        return load_points, (self.curve, self.to_bytes())

    def _with(self, elements: Iterable[Element]) -> ReferencePointVec:
        return ReferencePointVec(self.curve, tuple(elements))

    def _point(self, element: Element) -> ReferencePoint:
        return ReferencePoint(self.curve, element)

    def _operand(self, other: object) -> Iterable[Element]:
        """The other side of an element-wise operation; a single point is broadcast."""
        if isinstance(other, ReferencePoint) and other.curve is self.curve:
            return repeat(other.element, len(self))
        elements = elements_of(self.curve, other)
        same_length(len(self), len(elements), "vectors")
        return elements


def _iterable(rows: Iterable[AnyScalarVec]) -> Iterable[AnyScalarVec]:
    if isinstance(rows, Iterable):
        return rows
    raise UsageError(f"expected vectors of scalars, not {type(rows).__name__}")


def _require_small(curve: Curve, vectors: list[ReferenceScalarVec], bits: int) -> None:
    """Every scalar lies in [-2^bits, 2^bits), or `UsageError`."""
    if not 1 <= count(bits, "the number of bits") <= _MOST_BITS:
        raise UsageError(f"small scalars have 1 to {_MOST_BITS} bits")
    limit = 1 << bits
    raised = ((value + limit) % curve.order for vector in vectors for value in vector.residues)
    if any(value >= 2 * limit for value in raised):
        raise UsageError(f"a scalar does not fit {bits} bits and a sign")


def elements_of(curve: Curve, vector: object) -> tuple[Element, ...]:
    """The coordinates of a vector of points of this curve.

    Raises:
        UsageError: it is no such vector, or one of another group or backend.
    """
    if isinstance(vector, ReferencePointVec) and vector.curve is curve:
        return vector.elements
    raise foreign(curve, "vector of points", vector)


def load_points(curve: Curve, data: bytes) -> ReferencePointVec:
    """Unpickle a vector as strictly as any received one."""
    number = len(data) // curve.point_size
    return ReferencePointVec(curve, decode_elements(curve, data, number, allow_identity=True))
