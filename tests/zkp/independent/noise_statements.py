"""The statements of specification 07, sections 3 and 4, from the text alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments.group import Point
from tests.zkp.independent.bit_argument import Committed, Constraint, Public, Row, Statement, Vector
from tests.zkp.independent.range_statements import weights

Entries = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Draws:
    """The public parts of [R7]; no inputs where `inputs` is empty."""

    masses: Sequence[int]
    coins: Sequence[int]
    seeds: Sequence[Point]
    outputs: Sequence[Point]
    inputs: Sequence[Point] = ()
    intervals: Sequence[tuple[int, int]] = ()


def gaussian_statement(given: Draws) -> Statement:
    """[R6] and [R7]."""
    masses, J = given.masses, len(given.masses)
    b = (max(masses) - 1).bit_length()
    block, n = J + 2 * b + 1, len(given.coins)
    at = block * n
    inputs: list[Entries] = []
    for low, high in given.intervals:
        own = weights(low, high)
        inputs.append(tuple(enumerate(own, start=at)))
        at += len(own)
    lows = [low for low, _ in given.intervals] or [0] * n
    parts: list[list[Constraint]] = [[], [], [], [], []]
    for k in range(n):
        e, s = block * k, block * k + J
        rows = range(J)
        slack = tuple((s + j, -(1 << j % b)) for j in range(2 * b))
        lower = tuple((s + j, 1 << j) for j in range(b))
        carry = ((s + 2 * b, sum(masses)),)
        one = tuple((e + i, 1) for i in rows)
        inside = tuple((e + i, masses[i]) for i in rows) + slack
        seed = tuple((e + i, sum(masses[:i])) for i in rows) + lower + carry
        noise = tuple((e + i, i - (J - 1) // 2) for i in rows)
        parts[0].append(Public(Row(one, -1)))
        parts[1].append(Public(Row(inside, -1)))
        parts[2].append(Committed(Row(seed, -given.coins[k]), given.seeds[k]))
        if inputs:
            parts[3].append(Committed(Row(inputs[k], lows[k]), given.inputs[k]))
            noise += inputs[k]
        parts[4].append(Committed(Row(noise, lows[k]), given.outputs[k]))
    return Statement(at, tuple(each for part in parts for each in part))


@dataclass(frozen=True)
class Flips:
    """The public parts of [R12]; no interval for noise alone, no C for inputs in bits alone."""

    weights: Sequence[int]
    dimension: int
    coins: Sequence[int]
    output: Point
    interval: tuple[int, int] | None = None
    inputs: Point | None = None


def weighted_statement(given: Flips) -> Statement:
    """[R11] and [R12]."""
    w, c, d = given.weights, len(given.weights), given.dimension
    own = weights(*given.interval) if given.interval else []
    low = given.interval[0] if given.interval else 0
    v, inputs, outputs = len(own), [], []
    for j in range(d):
        entries = tuple(enumerate(own, start=c * d + v * j))
        t = given.coins[c * j : c * (j + 1)]
        flipped = tuple((c * j + i, -w[i] if t[i] else w[i]) for i in range(c))
        constant = sum(w[i] for i in range(c) if t[i]) - sum(w) // 2 + low
        inputs.append(Row(entries, low))
        outputs.append(Row(entries, constant, flipped))
    first = [Vector(tuple(inputs), given.inputs)] if given.inputs else []
    return Statement((c + v) * d, (*first, Vector(tuple(outputs), given.output)))
