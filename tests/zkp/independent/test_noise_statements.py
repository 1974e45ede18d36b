"""Noise statements: what the library writes in bits is what the text says, entry by entry."""

from __future__ import annotations

from dataclasses import replace

from commitments.group import Group
from tests.zkp import gaussian_noise_vectors, weighted_noise_vectors
from tests.zkp.independent.bit_argument import Committed, Public, Row, Statement, Vector
from tests.zkp.independent.noise_statements import (
    Draws,
    Flips,
    gaussian_statement,
    weighted_statement,
)
from tests.zkp.independent.reading import read
from tests.zkp.proof_vectors import published


def reduced(group: Group, statement: Statement) -> Statement:
    """Numbers mod q, as they are encoded."""

    def entries(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((at, value % group.order) for at, value in pairs)

    def row(own: Row) -> Row:
        return Row(entries(own.fixed), own.constant % group.order, entries(own.varying))

    found: list[Public | Committed | Vector] = []
    for each in statement.constraints:
        if isinstance(each, Vector):
            found.append(replace(each, rows=tuple(map(row, each.rows))))
        else:
            found.append(replace(each, row=row(each.row)))
    return Statement(statement.bits, tuple(found))


def test_gaussian_statements(group: Group) -> None:
    records = published("gaussian_noise")["proofs"]
    for record in records:
        library = gaussian_noise_vectors.statement_of(group, record)
        inputs = library.inputs
        text = Draws(
            library.table.masses,
            library.coins,
            list(library.seeds.points),
            list(library.output.points),
            [] if inputs is None else list(inputs.commitment.points),
            [(each.low, each.high) for each in library.intervals],
        )
        expected = reduced(group, gaussian_statement(text))
        assert reduced(group, read(library.as_bits())) == expected, record["name"]
    assert {bool(record["inputs"]) for record in records} == {True, False}


def test_weighted_statements(group: Group) -> None:
    for record in published("weighted_noise")["proofs"]:
        library = weighted_noise_vectors.statement_of(group, record)
        plan, given = library.plan, library.inputs
        text = Flips(
            plan.law.weights,
            plan.dimension,
            library.coins,
            library.output.points[0],
            None if plan.interval is None else (plan.interval.low, plan.interval.high),
            None if given is None else given.points[0],
        )
        expected = reduced(group, weighted_statement(text))
        assert reduced(group, read(library.as_bits())) == expected, record["name"]
