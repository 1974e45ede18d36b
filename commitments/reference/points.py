"""Single group elements."""

from __future__ import annotations

from commitments.group import AnyScalar, Point
from commitments.reference.arguments import foreign
from commitments.reference.curve import Curve, Element
from commitments.reference.multiexp import multiples
from commitments.reference.scalars import any_residue, check_length
from wire.errors import MalformedMessage


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
