"""Shapes whose public factors alone differ: all that has no factor in it is made once.

The equations of a protocol's statement are the same in all of its proofs, but for factors that
challenges decide. A pattern is made of one such shape, and says of which sides of which equations
the factors are others each time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from commitments.group import ScalarVec
from wire.errors import UsageError
from zkp.sigma.relation import (
    ImageTerm,
    RelationEquation,
    RelationShape,
    RelationTerm,
    Side,
    certain_scalars,
)

_COUNT = 4


class RelationPattern:
    """A shape, and of which equations the image or the terms get other factors."""

    __slots__ = (
        "_counts",
        "_fixed",
        "_image_order",
        "_images",
        "_places",
        "_shape",
        "_term_order",
        "_terms",
    )

    def __init__(
        self, shape: RelationShape, *, images: Collection[int] = (), terms: Collection[int] = ()
    ) -> None:
        self._shape = shape
        self._images, self._terms = tuple(sorted(images)), tuple(sorted(terms))
        self._image_order = _order(shape.image, self._images)
        self._term_order = _order(shape.terms, self._terms)
        self._places = tuple(_places(shape, self._images, self._terms))
        self._counts = (
            sum(shape.image.lengths[at] for at in self._images),
            sum(shape.terms.lengths[at] for at in self._terms),
        )
        certain = certain_scalars(
            shape.group.order,
            [each for at, each in enumerate(shape.equations) if at not in self._terms],
        )
        # What does not depend on factors. Where it might, other factors make it uncertain.
        self._fixed = {
            "violation": shape.violation,
            "scalar_count": shape.scalar_count,
            "interleaved": shape.interleaved,
            "uncertain_images": tuple(sorted({*shape.uncertain_images, *self._images})),
            "uncertain_columns": tuple(sorted({*range(shape.scalar_count)} - certain)),
        }

    def shape(self, images: ScalarVec, terms: ScalarVec) -> RelationShape:
        """The shape with these factors, those of one side behind those of the one before it.

        Raises:
            UsageError: there are more or fewer than the sides have entries.
        """
        shape = self._shape
        if (len(images), len(terms)) != self._counts:
            raise UsageError(f"the pattern takes {self._counts} factors of images and of terms")
        equations = list(shape.equations)
        left, right = iter(images.ints()), iter(terms.ints())
        for at in self._images:
            equations[at] = _with_image(equations[at], left)
        for at in self._terms:
            equations[at] = _with_terms(equations[at], right)
        found = RelationShape(shape.group, tuple(equations), shape.element_count)
        found.__dict__.update(
            self._fixed,
            image=_filled(shape.image, images, self._image_order),
            terms=_filled(shape.terms, terms, self._term_order),
            header=self._header(images, terms),
        )
        return found

    def _header(self, images: ScalarVec, terms: ScalarVec) -> bytes:
        size = self._shape.group.scalar_size
        sides, at = (images.to_bytes(), terms.to_bytes()), [0, 0]
        header = bytearray(self._shape.header)
        for side, place in self._places:
            header[place : place + size] = sides[side][at[side] : at[side] + size]
            at[side] += size
        return bytes(header)


def _order(side: Side, varied: Sequence[int]) -> tuple[int, ...] | None:
    """Where each factor is in the list of a shape's own and all given ones; None if none are."""
    ends = list(accumulate(side.lengths))
    given = len(side.elements)
    order = list(range(given))
    for at in varied:
        start, end = ends[at] - side.lengths[at], ends[at]
        order[start:end] = range(given, given + end - start)
        given += end - start
    return tuple(order) if varied else None


def _filled(side: Side, factors: ScalarVec, order: tuple[int, ...] | None) -> Side:
    if order is None:
        return side
    coefficients = side.coefficients.concat(factors).gather(order)
    return replace(side, coefficients=coefficients, all_ones=False)


def _places(
    shape: RelationShape, images: Sequence[int], terms: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Where in a header each given factor is: of images, which are side 0, and of terms."""
    size, place = shape.group.scalar_size, _COUNT
    for at, equation in enumerate(shape.equations):
        sides = ((equation.image, 1, images), (equation.terms, 2, terms))
        for side, (entries, indices, varied) in enumerate(sides):
            place += _COUNT
            for _ in entries:
                place += indices * _COUNT
                if at in varied:
                    yield side, place
                place += size


def _with_image(equation: RelationEquation, factors: Iterator[int]) -> RelationEquation:
    image = tuple(ImageTerm(each.element, next(factors)) for each in equation.image)
    return RelationEquation(image, equation.terms)


def _with_terms(equation: RelationEquation, factors: Iterator[int]) -> RelationEquation:
    terms = tuple(RelationTerm(each.scalar, each.element, next(factors)) for each in equation.terms)
    return RelationEquation(equation.image, terms)
