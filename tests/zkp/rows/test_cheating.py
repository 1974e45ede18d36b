"""A prover who has false values and takes the library's own steps is refused; its twin is not.

The prover makes every message as an honest one would, with entries that are residues of any size,
and checks nothing of what it made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from commitments import VectorPedersen
from commitments.group import Group, SecretScalar, SecretScalarVec
from commitments.tables import ResidueTable, TableKernels, table_kernels
from tests.group.backends import proving_groups
from tests.randomness import seeded
from tests.zkp.rows.worlds import Vectors, coins, decoded_tests, lengths, masks, transcript
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp.equations import holds
from zkp.rows.bounds import LengthBounds, WeightBound
from zkp.rows.length_prover import HiddenLengths, LengthProver, prove_lengths
from zkp.rows.lengths import LengthStatement, verify_lengths
from zkp.rows.mask_prover import MaskProver, prove_masks
from zkp.rows.masking import MaskStatement, SignedPermutation, verify_masks
from zkp.rows.product_tests import ProductTests, draw_pads, encode_tests
from zkp.rows.rows import HiddenRows, hide_pads
from zkp.rows.shape import TESTS, RowShape
from zkp.rows.sumcheck import vector_of

GROUP = proving_groups()[-1]
ORDER = GROUP.order
DIMENSION = 40
SHAPE = RowShape(DIMENSION)
BOUNDS = LengthBounds(100, 100, 4)
WEIGHT = WeightBound(most=3, numerator=2, denominator=1, slack=3)
MODULES = (
    "lengths",
    "length_prover",
    "masking",
    "mask_prover",
    "rows",
    "sumcheck",
    "product_tests",
)
IN_PADDING = DIMENSION + 3


class AnyRows(HiddenRows):
    """Holds rows of residues, where an honest party has small integers."""

    def combined(self, group: Group, weights: ResidueTable) -> tuple[SecretScalarVec, SecretScalar]:
        factors = weights.scalars().reveal().ints()
        rows = np.array(self.values, dtype=object).reshape(len(factors), -1)
        total = (rows * np.array(factors, dtype=object)[:, None]).sum(axis=0) % ORDER
        return group.secret_scalars(total.tolist()), weights.scalars().inner(self.blindings)


def hidden_rows(values: Any, seed: str) -> AnyRows:
    """Rows that hide any residues at all positions, padding included."""
    key = VectorPedersen(GROUP, SHAPE.width)
    blindings = GROUP.random_scalars(SHAPE.rows, seeded(seed))
    parts = np.array(values, dtype=object).reshape(SHAPE.rows, -1).tolist()
    rows = [GROUP.secret_scalars([each % ORDER for each in row]) for row in parts]
    return AnyRows(values, blindings, key.commit_rows(rows, blindings).points)


def entries(changes: dict[int, int]) -> Any:
    """A vector of zeros and ones with these entries."""
    values = np.array([j % 2 for j in range(DIMENSION)] + [0] * (SHAPE.entries - DIMENSION), object)
    for place, value in changes.items():
        values[place] = value
    return values


def column_sums(tests: ProductTests, _: Group, values: Any) -> Any:
    """What `ProductTests.column_sums` finds, for residues."""
    strings = np.frombuffer(tests.columns, np.uint8).reshape(TESTS, -1)
    bits = np.unpackbits(strings, axis=1, bitorder="little").astype(object)
    return np.array(values, dtype=object).reshape(SHAPE.rows, -1) @ bits.T


def of_residues(kernels: TableKernels) -> TableKernels:
    """Kernels that take residues for integers."""

    def of_integers(values: Any) -> ResidueTable:
        if values.dtype != object:
            return kernels.of_integers(values)
        return kernels.of_scalars(GROUP.secret_scalars([each % ORDER for each in values.tolist()]))

    return dataclasses.replace(kernels, of_integers=of_integers)


@contextmanager
def any_residues() -> Iterator[None]:
    """Inside, provers take vectors of residues."""
    with ExitStack() as stack:
        for name in MODULES:
            patched = f"zkp.rows.{name}.table_kernels"
            stack.enter_context(
                mock.patch(patched, lambda group: of_residues(table_kernels(group)))
            )
        stack.enter_context(mock.patch.object(ProductTests, "column_sums", column_sums))
        yield


def answers_of(tests: ProductTests, vectors: list[Any], pads: SecretScalarVec) -> list[int]:
    """The tests of residues, as residues of least size."""
    total = np.array(pads.reveal().ints(), dtype=object)
    for strings, values in zip(tests.rows, vectors, strict=True):
        drawn = np.frombuffer(strings, np.uint8).reshape(TESTS, -1)
        bits = np.unpackbits(drawn, axis=1, count=SHAPE.rows, bitorder="little").astype(object)
        total = total + (bits.T * column_sums(tests, GROUP, values)).sum(axis=0)
    reduced: list[int] = (total % ORDER).tolist()
    return [each - ORDER if each > ORDER // 2 else each for each in reduced]


class Cheat(LengthProver):
    """Says what it likes of sums and evaluations."""

    def __init__(self, *given: Any, said: list[int] | None = None, fits: bool = False) -> None:
        super().__init__(*given)
        self.said, self.fits = said, fits

    def sums(self) -> SecretScalarVec:
        return super().sums() if self.said is None else GROUP.secret_scalars(self.said)

    def summed(self, sums: Any, weights: Any) -> Any:
        self.left, self.weights = super().summed(sums, weights), weights
        return self.left

    def evaluated(self) -> SecretScalarVec:
        """With `fits`, the pads are said to be what makes up for the rest."""
        found = super().evaluated()
        if not self.fits:
            return found
        chosen = self._statement.choices(self.weights, self.left.point)
        w_1, w_2, w_3 = self.weights.sums[:3]
        rest = self.left.left.value - found[3] * w_1 - found[4] * w_2 - found[6] * w_3
        rest = (rest - found[0] * chosen[0] - found[1] * chosen[1]) * chosen[2].inverse()
        return found[:2].concat(vector_of(GROUP, rest)).concat(found[3:])


def outcome(
    x: Any,
    a: Any,
    *,
    posted: Callable[[list[int]], list[int]] = list,
    weight: WeightBound | None = None,
    **how: Any,
) -> set[str]:
    """Which checks fail of what a prover makes who has these vectors and posts `posted` tests."""
    rng = seeded("cheat")
    pads = draw_pads(GROUP, rng)
    hidden_pads = hide_pads(GROUP, SHAPE, pads, rng=rng)
    tests = ProductTests.draw(SHAPE, 2, coins(GROUP, "tests"))
    rows = hidden_rows(x, "x"), hidden_rows(a, "a")
    statement = LengthStatement(
        GROUP,
        SHAPE,
        BOUNDS,
        tests,
        rows[0].points,
        rows[1].points,
        hidden_pads.points,
        written(posted(answers_of(tests, [x, a], pads))),
        weight,
    )
    hidden = HiddenLengths(*rows, hidden_pads)
    with any_residues(), unchecked_ranges(statement):
        proof = Cheat(statement, hidden, transcript(), rng, **how).proof()
    return failures(statement, proof)


def failures(statement: LengthStatement | MaskStatement, proof: bytes) -> set[str]:
    """Which checks fail, one by one; the verifier agrees."""
    equations = statement.equations(proof, transcript())
    failed = {each.check for each in equations if not holds(GROUP, each)}
    verify: Any = verify_lengths if isinstance(statement, LengthStatement) else verify_masks
    if failed:
        with pytest.raises(InvalidProof):
            verify(statement, proof, transcript())
    else:
        verify(statement, proof, transcript())
    return failed


@contextmanager
def unchecked_ranges(statement: LengthStatement) -> Iterator[None]:
    """Inside, provers of ranges take any value, and hide the bits of one within the bounds."""
    bits = [
        bit
        for interval, value in zip(statement.intervals, WITHIN, strict=False)
        for bit in interval.bits(value)
    ]
    with (
        mock.patch("zkp.bits.prover.require_satisfied"),
        mock.patch("zkp.bits.prover.require_valid"),
        mock.patch("zkp.range.secret_bits", return_value=GROUP.secret_scalars(bits)),
    ):
        yield


def written(answers: list[int]) -> bytes:
    """Tests as they are posted, or, where one of them is larger than that, in 32 bytes each."""
    try:
        return encode_tests(answers)
    except OverflowError:
        return b"".join(answer.to_bytes(32, "big", signed=True) for answer in answers)


def small(answers: list[int]) -> list[int]:
    """Tests that are posted in range whatever they are."""
    return [each if abs(each) < 1 << 113 else each % (1 << 113) for each in answers]


def square_root(value: int) -> int | None:
    """A number whose square is the value mod the order, which is 5 mod 8, if there is one."""
    found = pow(value, (ORDER + 3) // 8, ORDER)
    if (found * found - value) % ORDER:
        found = found * pow(2, (ORDER - 1) // 4, ORDER) % ORDER
    return None if (found * found - value) % ORDER else found


def a_root(value: int) -> int:
    found = square_root(value)
    assert found is not None
    return found


def eighths_that_wrap(more: int) -> dict[int, int]:
    """Four entries with the squares and eighth powers of 1, 0, 1, 0, mod the order."""
    for third in range(more, more + 1000):
        squares, eighths = 2 - third**2 - 49, 2 - third**8 - 7**8
        # The squares s and t of two more: s + t and s^4 + t^4 are known, so p = s t is a root.
        inner = square_root((squares**4 + eighths) * pow(2, -1, ORDER) % ORDER)
        for sign in (1, -1) if inner is not None else ():
            product = (squares**2 + sign * (inner or 0)) % ORDER
            middle = square_root((squares**2 - 4 * product) % ORDER)
            if middle is None:
                continue
            s = (squares + middle) * pow(2, -1, ORDER) % ORDER
            found = square_root(s), square_root((squares - s) % ORDER)
            if None not in found:
                return dict(enumerate((7, third, *found), 5))  # type: ignore[arg-type]
    raise AssertionError("no such entries")


SIGMA, OPENING = {"02-N4"}, {"14-E4"}
RANGES = {"06-A9", "06-A10"}
SAID = [20, 20, 20]
"""The sums of `entries({})`."""
WEIGHED = [*SAID, 1, 1]
"""The same with its last coordinate and that one's square."""
WITHIN = [*SAID, 1, (2 * 1 + 3) ** 2 - (20 - 1)]
"""What is in the intervals."""
LAST = DIMENSION - 1


def test_the_honest_twin_is_accepted() -> None:
    for how in ({}, {"said": SAID}, {"fits": True}, {"said": SAID, "fits": True}):
        assert outcome(entries({}), entries({}), **how) == set()


LARGE = {
    "half": {5: (ORDER + 1) // 2},
    "a third": {5: pow(3, -1, ORDER)},
    "a third of the order": {5: ORDER // 3},
    "2^115": {5: 1 << 115},
    "2^115 in padding": {IN_PADDING: 1 << 115},
    "two that cancel in a row": {5: 1 << 116, 6: -(1 << 116)},
    "squares that wrap": {5: 7, 6: a_root(1 - 49)},
    "squares that wrap, in padding": {IN_PADDING: 1 << 120, IN_PADDING + 1: a_root(-(1 << 240))},
    "eighth powers that wrap": eighths_that_wrap(10),
}


@pytest.mark.parametrize("kind", LARGE)
def test_large_entries_are_refused(kind: str) -> None:
    """Their tests are out of range; tests that are posted in range instead are not theirs."""
    noise = "eighth" in kind
    x, a = (entries(LARGE[kind] if each == noise else {}) for each in (False, True))
    with pytest.raises(MalformedMessage) as caught:
        outcome(x, a)
    assert caught.value.field == "tests"
    assert outcome(x, a, posted=small, said=SAID) == SIGMA
    assert outcome(x, a, posted=small, said=SAID, fits=True) == OPENING
    assert outcome(a, x, posted=small, said=SAID, fits=True) == OPENING


@contextmanager
def any_tests(module: str) -> Iterator[None]:
    """Verifiers take tests of any size."""
    with (
        mock.patch(f"zkp.rows.{module}.check_tests"),
        mock.patch(
            f"zkp.rows.{module}.scalars_of_tests",
            lambda group, data: group.scalars(decoded_tests(data, len(data) // TESTS)),
        ),
    ):
        yield


def test_tests_alone_see_powers_that_wrap() -> None:
    """With tests in any range all else of these proofs holds."""
    for kind in ("squares that wrap", "squares that wrap, in padding", "eighth powers that wrap"):
        a = entries(LARGE[kind])
        assert sum(value**2 for value in a) % ORDER == 20
        with any_tests("lengths"):
            if "eighth" in kind:
                assert outcome(entries({}), a) == set()
            assert outcome(a, entries({})) == set()


def test_a_quarter_of_the_tests_of_a_large_entry_are_out_of_range() -> None:
    tests = ProductTests.draw(SHAPE, 2, coins(GROUP, "tests"))
    pads = draw_pads(GROUP, seeded("pads"))
    zeros = entries({})
    assert all(abs(u) < 1 << 113 for u in answers_of(tests, [zeros, zeros], pads))
    for changes in LARGE.values():
        found = answers_of(tests, [entries(changes), zeros], pads)
        assert sum(abs(u) < 1 << 113 for u in found) < 320


@pytest.mark.parametrize(
    ("x", "a"),
    [
        ({5: 10}, {}),
        ({}, {5: 10}),
        ({}, {5: 5}),  # squares are within the bound, eighth powers are not
        ({IN_PADDING: 10}, {}),
        ({}, {IN_PADDING: 5}),
    ],
    ids=str,
)
def test_vectors_that_are_too_long_are_refused(x: dict[int, int], a: dict[int, int]) -> None:
    given = entries(x), entries(a)
    assert outcome(*given) <= RANGES
    assert outcome(*given)
    assert outcome(*given, said=SAID) == SIGMA
    assert outcome(*given, said=SAID, fits=True) == OPENING


def test_the_honest_twin_with_a_weight_is_accepted() -> None:
    for how in ({}, {"said": WEIGHED}, {"fits": True}, {"said": WEIGHED, "fits": True}):
        assert outcome(entries({}), entries({}), weight=WEIGHT, **how) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "x",
    [
        {LAST: 4},  # more than the largest weight
        {LAST: -1},  # long enough backwards: its square is that of an honest weight
        {LAST: 0},  # too little for the others
        {5: 3},  # a length beyond the weight, and within the bound of all
        {IN_PADDING: 3},
    ],
    ids=str,
)
def test_lengths_beyond_their_weight_are_refused(x: dict[int, int]) -> None:
    """Whatever is said of the weight instead."""
    given = entries(x), entries({})
    found = outcome(*given, weight=WEIGHT)
    assert found
    assert found <= RANGES
    with mock.patch(f"{__name__}.WITHIN", [sum(each**2 for each in given[0]), 20, 20]):
        assert outcome(*given) == set()
    assert outcome(*given, weight=WEIGHT, said=WEIGHED) == SIGMA
    assert outcome(*given, weight=WEIGHT, said=WEIGHED, fits=True) == OPENING


def test_the_weight_is_the_last_coordinate() -> None:
    """Not another one, and not one in padding."""
    wide = WeightBound(most=3, numerator=2, denominator=1, slack=9)
    twin, cheat = {LAST: 3}, {5: 3, IN_PADDING: 3}
    for changes, total in ((twin, 28), (cheat, 37)):
        x, a, said = entries(changes), entries({}), [total, 20, 20, 3, 9]
        within = [total, 20, 20, 3, (2 * 3 + 9) ** 2 - (total - 9)]
        right = changes is twin
        with mock.patch(f"{__name__}.WITHIN", within):
            assert outcome(x, a, weight=wide, said=said) == (set() if right else SIGMA)
            found = outcome(x, a, weight=wide, said=said, fits=True)
            assert found == (set() if right else OPENING)


@pytest.mark.parametrize("square", [0, 1, 2, 16])
def test_the_square_of_a_weight_is_its_own(square: int) -> None:
    """Also where what it leaves over is in its interval."""
    left_over = (4 + 1) * square + 12 + 9 - 20
    assert 0 <= left_over <= WEIGHT.intervals[1].high
    with mock.patch(f"{__name__}.WITHIN", [*WITHIN[:4], left_over]):
        found = outcome(entries({}), entries({}), weight=WEIGHT, said=[*SAID, 1, square])
    assert found == (SIGMA if square != 1 else set())


@pytest.mark.parametrize(("fits", "failed"), [(False, SIGMA), (True, OPENING)])
def test_tests_that_are_others_are_refused(fits: bool, failed: set[str]) -> None:
    """Also where their sum stays the same, or two are exchanged."""
    changes: list[Callable[[list[int]], list[int]]] = [
        lambda u: [u[0] + 1, *u[1:]],
        lambda u: [u[0] + 1, u[1] - 1, *u[2:]],
        lambda u: [u[1], u[0], *u[2:]],
        lambda u: [*u[:-1], 0],
    ]
    for change in changes:
        assert outcome(entries({}), entries({}), posted=change, fits=fits) == failed


@pytest.fixture(scope="module")
def honest() -> Any:
    """A mask proof and what is behind it."""
    return masks(GROUP, Vectors.random(DIMENSION))


def mask_outcome(honest: Any, carries: Any = None, **changed: Any) -> set[str]:
    """Which checks fail of what a prover makes of these carries and a statement with changes."""
    statement, hidden = honest.statement, honest.hidden
    masks = changed.pop("masks", hidden.masks)
    answers = changed.pop("posted", list)
    if carries is not None:
        rows = hidden_rows(carries, "c")
        hidden = dataclasses.replace(hidden, carries=rows)
        found = answers_of(statement.tests, [carries], hidden.pads.values[:TESTS])
        changed |= {"carries": rows.points, "answers": written(answers(found))}
    statement = dataclasses.replace(statement, **changed)
    hidden = dataclasses.replace(hidden, masks=masks)
    with any_residues():
        proof = MaskProver(statement, hidden, transcript(), seeded("masks")).proof()
    return failures(statement, proof)


def raised(words: Any, place: int = 7) -> Any:
    """The words with one that is larger by 1."""
    found = words.copy()
    found[place] += np.uint64(1)
    return found


def test_the_twin_of_a_cheat_with_masks_is_accepted(honest: Any) -> None:
    carries = np.array(honest.hidden.carries.values.tolist(), object)
    assert mask_outcome(honest) == set()
    assert mask_outcome(honest, carries) == set()


def test_words_that_are_something_else_are_refused(honest: Any) -> None:
    statement = honest.statement
    permutation = statement.permutation
    assert mask_outcome(honest, words=raised(statement.words)) == OPENING
    wrong = SignedPermutation(permutation.places, bytes(len(permutation.signs)))
    assert mask_outcome(honest, permutation=wrong) == OPENING
    for bits in (31, 33):
        words = statement.words % np.uint64(1 << bits)
        assert mask_outcome(honest, word_bits=bits, words=words) == OPENING
    other = honest.hidden.masks + GROUP.secret_scalars([1, 0])
    assert mask_outcome(honest, masks=other) == SIGMA | OPENING


@pytest.mark.parametrize("place", [7, IN_PADDING])
def test_carries_that_are_not_integers_make_up_for_any_word(honest: Any, place: int) -> None:
    """2^-w times a difference is a carry mod the order: tests alone say that it is none."""
    statement = honest.statement
    carries = np.array(honest.hidden.carries.values.tolist(), object)
    carries[7] -= pow(1 << statement.word_bits, -1, ORDER)
    carries[place] += (1 << 115) * (place != 7)
    words = raised(statement.words)
    with pytest.raises(MalformedMessage) as caught:
        mask_outcome(honest, carries, words=words)
    assert caught.value.field == "tests"
    assert mask_outcome(honest, carries, words=words, posted=small) == OPENING
    with any_tests("masking"):
        found = mask_outcome(honest, carries, words=words)
    assert found == (set() if place == 7 else OPENING)


def test_a_carry_that_is_wrong_is_refused(honest: Any) -> None:
    """Also where a word beside it could make up for it, and in padding."""
    values = honest.hidden.carries.values.tolist()
    for place in (0, 7, IN_PADDING):
        carries = np.array(values, object)
        carries[place] += 1
        assert mask_outcome(honest, carries) == OPENING
    words = honest.statement.words
    worse = raised(words) if words[7] + 1 < 1 << 32 else raised(words, 8)
    assert mask_outcome(honest, np.array(values, object), words=worse) == OPENING


def test_a_statement_counts_each_edge_once(honest: Any) -> None:
    statement = honest.statement
    words = statement.words.copy()
    words[0] = 1 << statement.word_bits
    for changes in (
        {"neighbours": (3, 3, 5)},
        {"neighbours": (4, 3, 5)},
        {"neighbours": (-1, 3, 5)},
        {"neighbours": (3, 4)},
        {"signs": (1, 0, 1)},
        {"words": words},
        {"words_hash": b""},
        {"points": ()},
        {"points": (statement.points[0][1:], statement.points[1])},
        {"tests": ProductTests.draw(SHAPE, 2, coins(GROUP, "tests"))},
        {"tests": ProductTests.draw(RowShape(DIMENSION + 1), 1, coins(GROUP, "tests"))},
        {"shape": RowShape(DIMENSION + 30)},
    ):
        with pytest.raises(UsageError):
            dataclasses.replace(statement, **changes)
    places, signs = statement.permutation.places, statement.permutation.signs
    repeated, outside = places.copy(), places.copy()
    repeated[0], outside[0] = places[1], DIMENSION
    for wrong in (repeated, outside, places.astype(np.int64)):
        with pytest.raises(UsageError, match="places are a permutation"):
            SignedPermutation(wrong, signs)


@pytest.mark.parametrize("count", [1, 3])
def test_points_are_as_many_as_were_proved(count: int) -> None:
    found = masks(GROUP, Vectors.random(DIMENSION), points=count)
    found.verify()
    for other in {1, 2, 3} - {count}:
        points = (found.statement.points * 3)[:other]
        with pytest.raises(MalformedMessage, match="was expected"):
            found.verify(points=points)


def test_a_party_without_edges_proves_its_own_mask() -> None:
    found = masks(GROUP, Vectors.random(DIMENSION), signs=())
    found.verify()
    with pytest.raises(InvalidProof):
        found.verify(own=found.statement.noise[:1])


def test_a_generator_that_repeats_gives_no_two_proofs_a_blinding() -> None:
    """Not a point and not a scalar of one proof is in the other, and within one none is twice."""
    for made in (lengths, masks):
        found = made(GROUP, Vectors.random(DIMENSION))
        prove: Any = prove_lengths if made is lengths else prove_masks
        parts = []
        for context in (b"party 3", b"party 4"):
            proof = prove(found.statement, found.hidden, transcript(context), rng=bytes)
            found.verify(proof, context)
            parts += [proof[at : at + 32] for at in range(0, len(proof), 32)]
        assert len(set(parts)) == len(parts)


def test_the_largest_bounds_are_proved_and_kept() -> None:
    """Eighth powers up to 2^248, which is below half of the order."""
    most = LengthBounds((1 << 62) - 1, (1 << 62) - 1, (1 << 31) - 1)
    assert most.intervals[2].high < 1 << 248 < ORDER // 2
    vectors = Vectors.random(DIMENSION)
    found = lengths(GROUP, vectors, most)
    found.verify()
    with pytest.raises(ProtocolError):
        found.verify(bounds=dataclasses.replace(most, spike=most.spike - 1))
