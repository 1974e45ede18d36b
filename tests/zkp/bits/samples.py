"""Statements with witnesses, made from a seed: any mixture of constraints that holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from commitments import Commitment, Opening, Pedersen, VectorPedersen
from commitments.group import Group
from tests.randomness import seeded
from zkp.bits import (
    BitForm,
    BitStatement,
    CommittedValue,
    CommittedVector,
    Constraint,
    ConstraintShape,
    Openings,
    Public,
    prove,
    verify,
)
from zkp.transcript import Transcript

KINDS = ("public", "committed", "1", "2", "3", "5")


def transcript(context: bytes = b"context") -> Transcript:
    fresh = Transcript(b"tests of the bit argument")
    fresh.absorb(b"context", context)
    return fresh


@dataclass(slots=True)
class Sample:
    """All parts of a statement and its witness, open to changes by tests."""

    group: Group
    bits: list[int]
    constraints: list[Constraint] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    varying: list[int] = field(default_factory=list)
    commitments: list[Commitment] = field(default_factory=list)
    vectors: list[Commitment] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    vector_openings: list[Opening] = field(default_factory=list)

    def shape(self) -> ConstraintShape:
        return ConstraintShape(self.group, len(self.bits), self.constraints)

    def statement(self) -> BitStatement:
        return BitStatement.of(
            self.shape(),
            constants=self.constants,
            commitments=self.commitments,
            vectors=self.vectors,
            varying=self.varying,
        )

    def secret_openings(self) -> Openings:
        return Openings(self.openings, self.vector_openings)

    def prove(self, onto: Transcript | None = None, seed: int = 0) -> bytes:
        bits = self.group.secret_scalars(self.bits)
        return prove(
            self.statement(), bits, self.secret_openings(), onto or transcript(), rng=seeded(seed)
        )

    def verify(self, proof: bytes, onto: Transcript | None = None) -> None:
        verify(self.statement(), proof, onto or transcript())

    def commit(self, value: int, seed: int) -> None:
        secret = self.group.secret_scalars([value % self.group.order])
        commitment, opening = Pedersen(self.group).commit_fresh(secret, rng=seeded(seed))
        self.commitments.append(commitment)
        self.openings.append(opening)

    def commit_vector(self, values: Sequence[int], seed: int) -> None:
        secret = self.group.secret_scalars([value % self.group.order for value in values])
        key = VectorPedersen(self.group, len(values))
        commitment, opening = key.commit_fresh(secret, rng=seeded(seed))
        self.vectors.append(commitment)
        self.vector_openings.append(opening)


def sample(group: Group, bit_count: int, kinds: Sequence[str], seed: int = 1) -> Sample:
    """A true statement: rows and constants are random, the commitments fit them."""
    source = random.Random(f"{bit_count} {kinds} {seed}")
    made = Sample(group, [source.randrange(2) for _ in range(bit_count)])
    for number, kind in enumerate(kinds):
        if kind == "public":
            row, value = _row(made, source)
            made.constraints.append(Public(row))
            made.constants.append(-value % group.order)
        elif kind == "committed":
            row, value = _row(made, source)
            made.constraints.append(CommittedValue(row))
            made.constants.append(source.randrange(group.order))
            made.commit(value + made.constants[-1], seed + number)
        else:
            rows, values = [], []
            for _ in range(int(kind)):
                row, value = _row(made, source)
                rows.append(row)
                made.constants.append(source.randrange(group.order))
                values.append(value + made.constants[-1])
            made.constraints.append(CommittedVector(tuple(rows)))
            made.commit_vector(values, seed + number)
    return made


def _row(made: Sample, source: random.Random) -> tuple[BitForm, int]:
    """A random row, sometimes with repeated positions, and its value for the bits."""
    count, order = len(made.bits), made.group.order
    fixed = tuple(
        (source.randrange(count), source.choice([1, -1, source.randrange(order)]))
        for _ in range(source.randrange(2 * count))
    )
    varying = tuple(source.randrange(count) for _ in range(source.randrange(3)))
    supplied = [source.randrange(order) for _ in varying]
    made.varying += supplied
    terms = [*fixed, *zip(varying, supplied, strict=True)]
    return BitForm(fixed, varying), sum(made.bits[at] * factor for at, factor in terms) % order
