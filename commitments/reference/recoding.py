"""Scalars as sums of few small multiples of powers of two.

Signed throughout: the residue order - 3 is the short integer -3 here, which is
what makes small scalars cheap from both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commitments.reference.curve import Curve


def centred(curve: Curve, residues: Sequence[int]) -> list[int]:
    """The representatives closest to zero."""
    order = curve.order
    half = order // 2
    return [residue - order if residue > half else residue for residue in residues]


@dataclass(frozen=True, slots=True)
class SparseDigits:
    """A width-w non-adjacent form: the scalar is the sum of digit * 2^position.

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
    """Signed fixed windows: digits in [-half, half), one for each window of bits.

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
    """As few windows as hold every scalar of magnitude up to `largest`."""
    windows = Windows(width, max(1, largest.bit_length() // width))
    while windows.reach < largest:
        windows = Windows(width, windows.count + 1)
    return windows
