"""Sums of multiples, in variable time: Straus for few terms, Pippenger for many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from commitments.reference.curve import Addend, Curve, Element
from commitments.reference.recoding import (
    SparseDigits,
    Windows,
    centred,
    sparse_digits,
    windows_for,
)

_WIDTHS: Final = range(2, 15)
_STRAUS_LIMIT: Final = 48


def weighted_sum(curve: Curve, elements: Sequence[Element], residues: Sequence[int]) -> Element:
    """The sum of residues[i] * elements[i]. Terms with a zero scalar cost nothing."""
    terms = [
        (element, scalar)
        for element, scalar in zip(elements, centred(curve, residues), strict=True)
        if scalar
    ]
    if len(terms) < _STRAUS_LIMIT:
        return joint_sum(
            curve, [element for element, _ in terms], [sparse_digits(s) for _, s in terms]
        )
    return _bucket_sum(curve, terms)


def multiples(curve: Curve, elements: Sequence[Element], residue: int) -> tuple[Element, ...]:
    """Every element multiplied by one scalar."""
    digits = [sparse_digits(centred(curve, [residue])[0])]
    return tuple(joint_sum(curve, [element], digits) for element in elements)


def joint_sum(
    curve: Curve, elements: Sequence[Element], recoded: Sequence[SparseDigits]
) -> Element:
    """Straus: one chain of doublings for all terms, a table of odd multiples for each."""
    tables = _odd_multiples(curve, elements, recoded)
    schedule: defaultdict[int, list[Addend]] = defaultdict(list)
    for table, scalar in zip(tables, recoded, strict=True):
        for position, digit in scalar.digits:
            addend = table[abs(digit) // 2]
            schedule[position].append(addend if digit > 0 else curve.negate_addend(addend))
    total = curve.identity
    level = max(schedule, default=0)
    for position in sorted(schedule, reverse=True):
        total = curve.add_all(curve.double(total, level - position), schedule[position])
        level = position
    return curve.double(total, level)


def _odd_multiples(
    curve: Curve, elements: Sequence[Element], recoded: Sequence[SparseDigits]
) -> list[list[Addend]]:
    """1, 3, 5, ... times each element, as addends made in one batch."""
    flat: list[Element] = []
    for element, scalar in zip(elements, recoded, strict=True):
        flat.append(element)
        if scalar.table_size > 1:
            twice = curve.double(element, 1)
            for _ in range(1, scalar.table_size):
                flat.append(curve.add(flat[-1], twice))
    addends = curve.addends(flat)
    tables = []
    start = 0
    for scalar in recoded:
        tables.append(addends[start : start + scalar.table_size])
        start += scalar.table_size
    return tables


def _bucket_sum(curve: Curve, terms: Sequence[tuple[Element, int]]) -> Element:
    """Pippenger: for each window, terms meet in the bucket of their digit."""
    windows = _cheapest(len(terms), max(abs(scalar) for _, scalar in terms))
    addends = curve.addends([element for element, _ in terms])
    negated = [curve.negate_addend(addend) for addend in addends]
    offset = windows.offset
    shifted = [scalar + offset for _, scalar in terms]
    total = curve.identity
    for index in reversed(range(windows.count)):
        buckets = _fill(windows, index, shifted, addends, negated)
        total = _collect(curve, curve.double(total, windows.width), buckets)
    return total


def _cheapest(terms: int, largest: int) -> Windows:
    """Each window costs one addition a term and two a bucket (one of them a full one)."""
    return min(
        (windows_for(largest, width) for width in _WIDTHS),
        key=lambda windows: windows.count * (terms + 2 * windows.half),
    )


def _fill(
    windows: Windows,
    index: int,
    shifted: Sequence[int],
    addends: Sequence[Addend],
    negated: Sequence[Addend],
) -> list[list[Addend]]:
    """Bucket k holds what enters this window's sum k times."""
    shift = windows.width * index
    mask = (1 << windows.width) - 1
    half = windows.half
    buckets: list[list[Addend]] = [[] for _ in range(half + 1)]
    for scalar, addend, opposite in zip(shifted, addends, negated, strict=True):
        digit = (scalar >> shift & mask) - half
        if digit > 0:
            buckets[digit].append(addend)
        elif digit:
            buckets[-digit].append(opposite)
    return buckets


def _collect(curve: Curve, start: Element, buckets: Sequence[Sequence[Addend]]) -> Element:
    """Add k times bucket k to `start`, for all k, by summing the running sums from the top."""
    running = curve.identity
    total = start
    for bucket in reversed(buckets[1:]):
        running = curve.add_all(running, bucket)
        total = curve.add(total, running)
    return total
