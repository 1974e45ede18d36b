"""The statements of specification 07, sections 1, 2 and 7, from the text alone."""

from __future__ import annotations

from commitments.group import Point
from tests.zkp.independent.bit_argument import Committed, Public, Row, Statement, Vector


def weights(low: int, high: int) -> list[int]:
    """[R1]."""
    span = high - low
    t = span.bit_length() - 1
    return [1 << j for j in range(t)] + [span + 1 - (1 << t)]


def range_statement(commitments: list[Point], intervals: list[tuple[int, int]]) -> Statement:
    """[R2]."""
    constraints = []
    bits = 0
    for commitment, (low, high) in zip(commitments, intervals, strict=True):
        row = Row(tuple(enumerate(weights(low, high), start=bits)), low)
        constraints.append(Committed(row, commitment))
        bits += len(row.fixed)
    return Statement(bits, tuple(constraints))


def vector_statement(commitment: Point, dimension: int, interval: tuple[int, int]) -> Statement:
    """[R4]."""
    of_one = weights(*interval)
    size = len(of_one)
    rows = tuple(
        Row(tuple(enumerate(of_one, start=j * size)), interval[0]) for j in range(dimension)
    )
    return Statement(dimension * size, (Vector(rows, commitment),))


def last_largest_statement(commitment: Point, dimension: int, maximum: int) -> Statement:
    """[R16]."""
    own = weights(0, maximum)
    size, last = len(own), dimension - 1

    def entries(block: int, sign: int) -> tuple[tuple[int, int], ...]:
        return tuple((block * size + i, sign * own[i]) for i in range(size))

    public = [
        Public(Row(entries(last, 1) + entries(j, -1) + entries(dimension + j, -1), 0))
        for j in range(last)
    ]
    rows = tuple(Row(entries(j, 1), 0) for j in range(dimension))
    return Statement((2 * dimension - 1) * size, (*public, Vector(rows, commitment)))
