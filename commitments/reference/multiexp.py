"""Adds up multiples of points, in variable time: Straus for few terms, Pippenger for many.

Scalars are written as sums of few small multiples of powers of two. They are signed throughout:
the residue order - 3 is the short integer -3 here, which is what makes small scalars cheap from
both ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from commitments.reference.curve import Addend, Curve, Element


def centred(curve: Curve, residues: Sequence[int]) -> list[int]:
    """The representatives closest to zero."""
    order = curve.order
    half = order // 2
    return [residue - order if residue > half else residue for residue in residues]


@dataclass(frozen=True, slots=True)
class SparseDigits:
    """A scalar in width-w non-adjacent form, as the sum of digit * 2^position.

    Digits are odd and below 2 * `table_size` in magnitude; positions increase.
    """

    table_size: int
    digits: tuple[tuple[int, int], ...]


def sparse_digits(scalar: int) -> SparseDigits:
    """Recode a centred scalar, with a table that pays off for its length."""
    length = scalar.bit_length()
    width = 2 if length < 16 else 3 if length < 48 else 4 if length < 160 else 5
    modulus = 1 << width
    digits = []
    position = 0
    while scalar:
        zeros = (scalar & -scalar).bit_length() - 1
        scalar >>= zeros
        position += zeros
        digit = int(scalar & (modulus - 1))
        if digit >= modulus // 2:
            digit -= modulus
        digits.append((position, digit))
        scalar -= digit
    return SparseDigits(modulus // 4, tuple(digits))


@dataclass(frozen=True, slots=True)
class Windows:
    """Scalars in signed fixed windows: digits in [-half, half), one for each.

    A scalar plus `offset` is non-negative, and its plain base-2^width digits
    minus `half` are the signed digits: no carry travels from window to window.
    """

    width: int
    count: int

    @property
    def half(self) -> int:
        return 1 << (self.width - 1)

    @property
    def offset(self) -> int:
        return self.half * (((1 << (self.width * self.count)) - 1) // ((1 << self.width) - 1))

    @property
    def reach(self) -> int:
        """The largest magnitude that fits on both sides of zero."""
        return (1 << (self.width * self.count)) - 1 - self.offset


def windows_for(largest: int, width: int) -> Windows:
    """The fewest windows that hold every scalar of magnitude up to `largest`."""
    windows = Windows(width, max(1, largest.bit_length() // width))
    while windows.reach < largest:
        windows = Windows(width, windows.count + 1)
    return windows


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
    """The windows with the fewest additions: each costs one for a term and two for a bucket."""
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
