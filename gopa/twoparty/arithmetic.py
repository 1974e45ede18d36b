"""Builds comparators, adders and multiplexers of unsigned integers out of gates.

Words may have different widths: missing bits are zero. Each function says how many tables it
costs for words of n bits. Specification: `specs/21-two-parties.md`, section 2.
"""

from __future__ import annotations

from itertools import zip_longest

from gopa.twoparty.circuits import ONE, ZERO, Builder, Wire, Word


def add(build: Builder, left: Word, right: Word, carry: Wire = ZERO) -> Word:
    """The whole sum, with its carry as the highest bit: n tables."""
    total: list[Wire] = []
    for a, b in zip_longest(left, right, fillvalue=ZERO):
        a_differs, b_differs = build.xor(a, carry), build.xor(b, carry)
        total.append(build.xor(a_differs, b))
        carry = build.xor(carry, build.and_(a_differs, b_differs))
    return (*total, carry)


def subtract(build: Builder, left: Word, right: Word) -> Word:
    """left - right modulo 2^n, then as the highest bit whether left < right: n tables."""
    width = max(len(left), len(right))
    padded = right + (ZERO,) * (width - len(right))
    *difference, kept = add(build, left, tuple(map(build.not_, padded)), ONE)
    return (*difference, build.not_(kept))


def less(build: Builder, left: Word, right: Word) -> Wire:
    """Whether left < right: n tables."""
    return subtract(build, left, right)[-1]


def equal(build: Builder, left: Word, right: Word) -> Wire:
    """Whether both are the same: n - 1 tables."""
    same = ONE
    for a, b in zip_longest(left, right, fillvalue=ZERO):
        same = build.and_(same, build.not_(build.xor(a, b)))
    return same


def choose(build: Builder, condition: Wire, left: Word, right: Word) -> Word:
    """The left word if the condition holds, else the right one: n tables."""
    pairs = zip_longest(left, right, fillvalue=ZERO)
    return tuple(build.xor(b, build.and_(condition, build.xor(a, b))) for a, b in pairs)


def absolute_difference(build: Builder, left: Word, right: Word) -> Word:
    """|left - right|: 2 n - 1 tables."""
    *difference, negative = subtract(build, left, right)
    flipped = tuple(build.xor(bit, negative) for bit in difference)
    return add(build, flipped, (), negative)[:-1]


def square(build: Builder, word: Word) -> Word:
    """The product of a word with itself: n^2 - 2 tables."""
    total: Word = ()
    for place, bit in enumerate(word):
        # Each product of two different bits occurs twice: once, one place higher, is enough.
        row = [ZERO] * (2 * place) + [bit]
        row += [ZERO, *(build.and_(bit, other) for other in word[place + 1 :])]
        total = add(build, total, tuple(row))
    return total


def below(build: Builder, word: Word, bound: int) -> Wire:
    """Whether the word is below a constant from 0 to 2^n: at most n - 1 tables."""
    if bound >> len(word):
        return ONE
    found = ZERO
    for place, bit in enumerate(word):
        join = build.or_ if bound >> place & 1 else build.and_
        found = join(build.not_(bit), found)
    return found
