"""Makes statements about long vectors that hold, small enough to be proved in a moment."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from hashlib import sha256
from math import isqrt
from typing import Any

import numpy as np

from commitments import VectorPedersen
from commitments.group import Group, SecretScalarVec
from commitments.tables import table_kernels
from tests.randomness import seeded
from wire.secret import SecretBytes
from zkp import Transcript
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.length_prover import HiddenLengths, prove_lengths
from zkp.rows.lengths import LengthStatement, verify_lengths
from zkp.rows.mask_prover import HiddenMasks, prove_masks
from zkp.rows.masking import MaskStatement, SignedPermutation, verify_masks
from zkp.rows.product_tests import TEST_SIZE, ProductTests, draw_pads, encode_tests, hidden_tests
from zkp.rows.rows import hide_pads, hide_rows
from zkp.rows.shape import Integers, RowShape
from zkp.rows.sumcheck import vector_of

WORD_BITS = 32
BITS = 12


def transcript(context: bytes = b"party 3") -> Transcript:
    made = Transcript(b"test/long")
    made.absorb(b"context", context)
    return made


def decoded_tests(data: bytes, size: int = TEST_SIZE) -> list[int]:
    """The tests that these bytes stand for."""
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return [int.from_bytes(piece, "big", signed=True) for piece in pieces]


def coins(group: Group, name: str) -> Any:
    return group.stream(SecretBytes(sha256(name.encode()).digest()), b"test  coins ")


@dataclass(frozen=True)
class Proved:
    """Holds a statement, what it hides, and a proof."""

    statement: Any
    hidden: Any
    proof: bytes

    def verify(
        self, proof: bytes | None = None, context: bytes = b"party 3", **changed: Any
    ) -> None:
        """Check the proof, or another one, of the statement with these changes."""
        statement = dataclasses.replace(self.statement, **changed)
        check = verify_lengths if isinstance(statement, LengthStatement) else verify_masks
        check(statement, self.proof if proof is None else proof, transcript(context))


@dataclass(frozen=True)
class Vectors:
    """Holds an input and noise, and the bounds that they just keep."""

    inputs: Integers
    noise: Integers

    @classmethod
    def random(cls, dimension: int, seed: int = 1) -> Vectors:
        draws = np.random.default_rng(seed)
        return cls(draws.integers(-1000, 1001, dimension), draws.integers(-60, 61, dimension))

    @classmethod
    def weighted(cls, dimension: int, weight: int = 70) -> Vectors:
        """Random ones, short and with a weight in the last place."""
        drawn = cls.random(dimension)
        inputs = drawn.inputs // 50
        inputs[-1] = weight
        return cls(inputs, drawn.noise)

    @property
    def weight(self) -> WeightBound:
        """A bound that the last coordinate and the others just keep."""
        *others, last = self.inputs.tolist()
        least = 3 * isqrt(sum(v * v for v in others))
        while least**2 < 9 * sum(v * v for v in others):
            least += 1
        slack = max(0, least - 2 * last)
        return WeightBound(most=max(1, last), numerator=2, denominator=3, slack=slack)

    @property
    def bounds(self) -> LengthBounds:
        x, a = self.inputs.tolist(), self.noise.tolist()
        eighth = sum(value**8 for value in a)
        spike = next(k for k in range(1, 1 << 31) if k**8 >= eighth)
        return LengthBounds(max(1, sum(v * v for v in x)), max(1, sum(v * v for v in a)), spike)


def weighted(group: Group, vectors: Vectors) -> Proved:
    """A statement about vectors whose last coordinate is a weight, and its proof."""
    return lengths(group, vectors, weight=vectors.weight)


def lengths(
    group: Group,
    vectors: Vectors,
    bounds: LengthBounds | None = None,
    weight: WeightBound | None = None,
) -> Proved:
    """A statement about these vectors and its proof."""
    shape, rng = RowShape(len(vectors.inputs)), seeded(f"lengths {len(vectors.inputs)}")
    x, a = (
        hide_rows(group, shape, each, BITS, rng=rng) for each in (vectors.inputs, vectors.noise)
    )
    pads = draw_pads(group, rng)
    hidden_pads = hide_pads(group, shape, pads, rng=rng)
    tests = ProductTests.draw(shape, 2, coins(group, "tests"))
    sums = tests.sums([each.column_sums(group, tests) for each in (x, a)])
    answers = encode_tests(hidden_tests(group, sums, pads))
    statement = LengthStatement(
        group,
        shape,
        bounds or vectors.bounds,
        tests,
        x.points,
        a.points,
        hidden_pads.points,
        answers,
        weight,
    )
    hidden = HiddenLengths(x, a, hidden_pads)
    return Proved(statement, hidden, prove_lengths(statement, hidden, transcript(), rng=rng))


def masks(
    group: Group, vectors: Vectors, points: int = 2, signs: tuple[int, ...] = (1, -1, 1)
) -> Proved:
    """A statement about the words of these vectors under masks, and its proof."""
    dimension = len(vectors.inputs)
    shape, rng, draws = RowShape(dimension), seeded("masks"), np.random.default_rng(2)
    stream = coins(group, "permutation")
    permutation = SignedPermutation(
        np.frombuffer(stream.permutation(dimension), np.uint32), stream.bytes(-(-dimension // 8))
    )
    size = 1 << WORD_BITS
    edges = [draws.integers(0, size, dimension, np.uint64) for _ in signs]
    own = draws.integers(0, size, dimension, np.uint64)
    total = vectors.inputs + permutation.applied(vectors.noise) + own.astype(np.int64)
    for sign, mask in zip(signs, edges, strict=True):
        total = total + sign * mask.astype(np.int64)
    words, carries = (total % size).astype(np.uint64), total >> WORD_BITS
    hidden = [
        hide_rows(group, shape, each, BITS, rng=rng)
        for each in (vectors.inputs, vectors.noise, carries)
    ]
    pads = draw_pads(group, rng)
    hidden_pads = hide_pads(group, shape, pads, rng=rng)
    tests = ProductTests.draw(shape, 1, coins(group, "carry tests"))
    sums = tests.sums([hidden[2].column_sums(group, tests)])
    z = tuple(
        group.reduce_scalars(seeded(f"point {at}")(48 * shape.bits), 48) for at in range(points)
    )
    key, kernels = VectorPedersen(group, points), table_kernels(group)

    def committed(mask: Any) -> tuple[Any, SecretScalarVec, SecretScalarVec]:
        values = vector_of(group, *(kernels.equality(p, dimension).inner_words(mask) for p in z))
        blindings = group.random_scalars(1, rng)
        return key.commit(values, blindings[0]).points, values, blindings

    found = [committed(each) for each in edges]
    point, value, blinding = committed(own)
    for sign, (_, values, blindings) in zip(signs, found, strict=True):
        factor = group.scalar(sign % group.order)
        value, blinding = value + values * factor, blinding + blindings * factor
    statement = MaskStatement(
        group=group,
        shape=shape,
        word_bits=WORD_BITS,
        permutation=permutation,
        points=z,
        tests=tests,
        words=words,
        words_hash=sha256(words.tobytes()).digest(),
        inputs=hidden[0].points,
        noise=hidden[1].points,
        carries=hidden[2].points,
        pads=hidden_pads.points,
        neighbours=tuple(range(3, 3 + len(signs))),
        signs=signs,
        edges=group.points([each[0][0] for each in found]),
        own=point,
        answers=encode_tests(hidden_tests(group, sums, pads)),
    )
    x, a, c = hidden
    secrets = HiddenMasks(x, a, c, hidden_pads, value, blinding[0])
    return Proved(statement, secrets, prove_masks(statement, secrets, transcript(), rng=rng))
