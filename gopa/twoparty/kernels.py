"""The circuits of the kernels of pairwise statistics, with or without noise.

The garbler's integers come first in each kernel. Specification:
`specs/21-two-parties.md`, section 2.
"""

from __future__ import annotations

from gopa.twoparty import arithmetic
from gopa.twoparty.circuits import Builder, Circuit, Word
from gopa.twoparty.noise import Noise
from wire.errors import UsageError


def comparison(width: int, noise: Noise | None = None) -> Circuit:
    """1 if the garbler's integer is less than the evaluator's, else 0."""
    build = Builder()
    left, right = build.word("garbler", width), build.word("evaluator", width)
    return _finished(build, (arithmetic.less(build, left, right),), 0, 2, noise)


def equality(width: int, noise: Noise | None = None) -> Circuit:
    """1 if both integers are the same, else 0."""
    build = Builder()
    left, right = build.word("garbler", width), build.word("evaluator", width)
    return _finished(build, (arithmetic.equal(build, left, right),), 0, 2, noise)


def distance(width: int, noise: Noise | None = None) -> Circuit:
    """The absolute difference of both integers."""
    build = Builder()
    left, right = build.word("garbler", width), build.word("evaluator", width)
    result = arithmetic.absolute_difference(build, left, right)
    return _finished(build, result, 0, 1 << width, noise)


def squared_distance(width: int, noise: Noise | None = None) -> Circuit:
    """The square of the difference of both integers, of at most 31 bits each."""
    build = Builder()
    left, right = build.word("garbler", width), build.word("evaluator", width)
    result = arithmetic.square(build, arithmetic.absolute_difference(build, left, right))
    return _finished(build, result[: 2 * width], 0, ((1 << width) - 1) ** 2 + 1, noise)


def concordance(width: int, noise: Noise | None = None) -> Circuit:
    """Kendall's kernel of two pairs of integers: sign(x - y) sign(x' - y'), which is -1, 0 or 1."""
    build = Builder()
    x, x_other = build.word("garbler", width), build.word("garbler", width)
    y, y_other = build.word("evaluator", width), build.word("evaluator", width)
    differs = build.xor(arithmetic.less(build, x, y), arithmetic.less(build, x_other, y_other))
    tie = build.or_(arithmetic.equal(build, x, y), arithmetic.equal(build, x_other, y_other))
    # One more than the kernel: 0 where the orders differ, 1 for a tie, 2 where they agree.
    agree = build.not_(build.or_(differs, tie))
    return _finished(build, (tie, agree), -1, 3, noise)


def _finished(build: Builder, word: Word, low: int, values: int, noise: Noise | None) -> Circuit:
    if not isinstance(noise, Noise | None):
        raise UsageError("must be randomised_answer(..), laplace_noise(..) or None", "noise")
    if noise is not None:
        word, low = noise.apply(build, word, low, values)
    return build.build(word, low=low)
