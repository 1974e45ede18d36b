"""Verification equations: sums of points that are claimed to be the identity, and their check.

A verifier that returns its equations instead of checking them lets many proofs of
any kinds be checked by one multi-scalar multiplication. Every equation enters such
a sum with a weight of its own that nobody could know when the proof was made:
with fixed weights the errors of two equations could cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from commitments import derive_generators
from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from wire.errors import InvalidProof, UsageError
from zkp.transcript import Transcript
from zkp.vectors import concatenate, constant, weighted_sum

_MERGE_AT: Final = 64


@dataclass(frozen=True, slots=True)
class Family:
    """A family of generators whose first bases equations have in common."""

    name: bytes
    dimension: int = 0

    def points(self, group: Group, count: int) -> PointVec:
        """The first `count` bases."""
        if self.dimension:
            return derive_generators(group, self.name, count, dimension=self.dimension)
        # Bases are derived for powers of two, so that arguments of many lengths
        # share one entry of the cache below this call.
        return derive_generators(group, self.name, 1 << (count - 1).bit_length())[:count]


Bases: TypeAlias = Family | PointVec


@dataclass(frozen=True, slots=True)
class Term:
    """The sum of scalars[i] * points[i]; bases named by their family are merged."""

    points: Bases
    scalars: ScalarVec


@dataclass(frozen=True, slots=True)
class Equation:
    """The claim that all terms add up to the identity; `check` cites its numbered step."""

    check: str
    terms: tuple[Term, ...]


class EquationSum:
    """The sum of weighted equations, evaluated in one multi-scalar multiplication."""

    __slots__ = ("_group", "_own_points", "_own_scalars", "_shared")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._own_points: list[PointVec] = []
        self._own_scalars: list[ScalarVec] = []
        self._shared: dict[tuple[Family, int], list[tuple[Scalar, ScalarVec]]] = {}

    def add(self, equation: Equation, weight: Scalar) -> None:
        """Add an equation; the caller answers for a weight that was unpredictable."""
        for term in equation.terms:
            if isinstance(term.points, Family):
                self._add_shared(term.points, term.scalars, weight)
            elif len(term.points) == len(term.scalars):
                self._own_points.append(term.points)
                self._own_scalars.append(term.scalars * weight)
            else:
                raise UsageError("a term needs one scalar for each of its points")

    def value(self) -> Point:
        """The sum of all equations by their weights."""
        families: dict[Family, ScalarVec] = {}
        for (family, _), entries in self._shared.items():
            merged = self._merge(entries)
            families[family] = _add_padded(self._group, families.get(family), merged)
        points, scalars = list(self._own_points), list(self._own_scalars)
        for family, merged in families.items():
            points.append(family.points(self._group, len(merged)))
            scalars.append(merged)
        everything = concatenate(points, self._group.points([]))
        return everything.vartime_msm(concatenate(scalars, self._group.scalars([])))

    def _add_shared(self, family: Family, scalars: ScalarVec, weight: Scalar) -> None:
        entries = self._shared.setdefault((family, len(scalars)), [])
        entries.append((weight, scalars))
        if len(entries) >= _MERGE_AT:
            entries[:] = [(self._group.scalar(1), self._merge(entries))]

    def _merge(self, entries: Sequence[tuple[Scalar, ScalarVec]]) -> ScalarVec:
        weights, vectors = zip(*entries, strict=True)
        return weighted_sum(self._group, weights, vectors)


def holds(group: Group, equation: Equation) -> bool:
    """Whether one equation holds by itself."""
    alone = EquationSum(group)
    alone.add(equation, group.scalar(1))
    return alone.value().is_identity()


def require_all(group: Group, equations: Sequence[Equation], transcript: Transcript) -> None:
    """Check the equations of one proof together.

    The weights come from the transcript, which must have bound the statement and
    every message of the proof; it does not change.

    Raises:
        InvalidProof: with the check of the first equation that does not hold.
    """
    weights = transcript.copy().challenges(b"equation weights", group, len(equations))
    together = EquationSum(group)
    for equation, weight in zip(equations, weights, strict=True):
        together.add(equation, weight)
    if together.value().is_identity():
        return
    alone = (equation for equation in equations if not holds(group, equation))
    # Where each holds by itself a computation went wrong; nothing is accepted then either.
    failed = next(alone, equations[0])
    raise InvalidProof("a verification equation does not hold", failed.check)


def _add_padded(group: Group, first: ScalarVec | None, second: ScalarVec) -> ScalarVec:
    if first is None:
        return second
    short, long = sorted((first, second), key=len)
    return long + short.concat(constant(group, 0, len(long) - len(short)))
