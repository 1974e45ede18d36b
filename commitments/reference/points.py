"""Implements group elements, single ones and vectors of them."""

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
from commitments.reference.scalar_vectors import (
    ReferenceScalarVec,
    any_vector,
    public_residues,
)
from commitments.reference.scalars import (
    ReferenceScalar,
    ReferenceSecretScalar,
    any_residue,
    check_length,
)
from wire.errors import MalformedMessage, UsageError


class ReferencePoint:
    """A group element. Implements `commitments.group.Point`."""

    __slots__ = ("curve", "element")

    def __init__(self, curve: Curve, element: Element) -> None:
        self.curve = curve
        self.element = element

    def __add__(self, other: Point, /) -> ReferencePoint:
        return self._with(self.curve.add(self.element, element_of(self.curve, other)))

    def __sub__(self, other: Point, /) -> ReferencePoint:
        return self._with(
            self.curve.add(self.element, self.curve.negate(element_of(self.curve, other)))
        )

    def __neg__(self) -> ReferencePoint:
        return self._with(self.curve.negate(self.element))

    def __mul__(self, scalar: AnyScalar, /) -> ReferencePoint:
        residue = any_residue(self.curve, scalar)
        return self._with(multiples(self.curve, [self.element], residue)[0])

    def is_identity(self) -> bool:
        return self.curve.is_identity(self.element)

    def __eq__(self, other: object, /) -> bool:
        if isinstance(other, ReferencePoint):
            return self.curve is other.curve and self.curve.equal(self.element, other.element)
        return NotImplemented

    def __hash__(self) -> int:
        # Only the encoding is the same for all coordinates of one element, and
        # an identity may have none.
        return hash((self.curve.name, None if self.is_identity() else self.to_bytes()))

    def to_bytes(self) -> bytes:
        return self.curve.encode(self.element)

    def __repr__(self) -> str:
        shown = "identity" if self.is_identity() else self.to_bytes().hex()
        return f"<Point of {self.curve.name}: {shown}>"

    def __reduce__(self) -> tuple[object, ...]:
        return load_point, (self.curve, self.to_bytes())

    def _with(self, element: Element) -> ReferencePoint:
        return ReferencePoint(self.curve, element)


def element_of(curve: Curve, point: object) -> Element:
    """The coordinates of a point of this curve.

    Raises:
        UsageError: it is no point, or one of another group or backend.
    """
    if isinstance(point, ReferencePoint) and point.curve is curve:
        return point.element
    raise foreign(curve, "point", point)


def decode_elements(
    curve: Curve, data: bytes, count: int, *, allow_identity: bool
) -> tuple[Element, ...]:
    """Strict: exactly `count` encodings of elements.

    Raises:
        MalformedMessage: the length is wrong, an encoding is invalid, or one is the
            identity and that is not allowed.
    """
    size = curve.point_size
    check_length(data, count, size)
    elements = []
    for offset in range(0, len(data), size):
        element = curve.decode(data[offset : offset + size])
        if element is None:
            raise MalformedMessage(f"no element of {curve.name} encodes to this", offset=offset)
        if curve.is_identity(element) and not allow_identity:
            raise MalformedMessage("the identity is not allowed here", offset=offset)
        elements.append(element)
    return tuple(elements)


def load_point(curve: Curve, data: bytes) -> ReferencePoint:
    """Unpickle a point as strictly as any received one."""
    return ReferencePoint(curve, decode_elements(curve, data, 1, allow_identity=True)[0])


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
