"""Range proofs of numbers, of vectors and of values under a weight: what is accepted, what is not.

Most tests run for all three kinds; what only one of them promises stands behind those. That a
proof is none of another statement or context is asked of the published records: see
`tests/zkp/range_vectors.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Commitment, Opening, Pedersen, VectorPedersen, decode_opening, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import InvalidProof, MalformedMessage, ProtocolError, UsageError
from zkp.batch import ProofClaim, verify_batch
from zkp.bits import BitStatement, ConstraintShape
from zkp.bits import shape as shape_module
from zkp.range import (
    Interval,
    LastLargestStatement,
    RangeStatement,
    VectorRangeStatement,
    _last_largest_shape,
    prove_last_largest,
    prove_range,
    prove_vector_range,
    require_unambiguous,
    secret_bits,
    verify_last_largest,
    verify_range,
    verify_vector_range,
)
from zkp.transcript import Transcript

GROUPS = st.sampled_from(proving_groups())
ENDS = st.integers(-(10**30), 10**30)


def transcript() -> Transcript:
    fresh = Transcript(b"tests of range proofs")
    fresh.absorb(b"context", b"context")
    return fresh


@dataclass(frozen=True)
class Kind:
    """How statements of one kind are made, proved and verified; `claim` is interval or maximum.

    `outside` are values that do not hold. `bits` says what an honest prover of values hides.
    """

    state: Callable[[Commitment, Any], Any]
    by: Callable[..., bytes]
    check_by: Callable[..., None]
    vector: bool
    honest: tuple[int, ...]
    claim: Any
    outside: tuple[tuple[int, ...], ...]
    bits: Callable[[Sequence[int], Any], list[int]]

    def commit(
        self, group: Group, values: Sequence[int], seed: int = 1
    ) -> tuple[Commitment, Opening]:
        key = VectorPedersen(group, len(values)) if self.vector else Pedersen(group)
        secret = group.secret_scalars([value % group.order for value in values])
        return key.commit_fresh(secret, rng=seeded(seed))

    def prove(self, group: Group, values: Sequence[int], claim: Any) -> tuple[Any, bytes]:
        commitment, opening = self.commit(group, values)
        statement = self.state(commitment, claim)
        return statement, self.by(statement, opening, transcript(), rng=seeded(2))

    def check(self, statement: Any, proof: bytes) -> None:
        self.check_by(statement, proof, transcript())

    def liar(self, group: Group, patched: pytest.MonkeyPatch, bits: list[int]) -> None:
        """Make a prover of one that skips its own checks and hides these bits."""
        patched.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
        patched.setattr("zkp.bits.prover.require_valid", lambda *_: None)
        patched.setattr("zkp.range.secret_bits", lambda *_: group.secret_scalars(bits))


def all_in(commitment: Commitment, interval: Interval) -> RangeStatement:
    return RangeStatement(commitment, (interval,) * len(commitment))


def bits_in(values: Sequence[int], interval: Interval) -> list[int]:
    return [bit for value in values for bit in interval.bits(value)]


def bits_under(values: Sequence[int], maximum: int) -> list[int]:
    distances = [max(0, values[-1] - value) for value in values[:-1]]
    return bits_in([*values, *distances], Interval(0, maximum))


def intervals(*ends: tuple[int, int]) -> tuple[Interval, ...]:
    return tuple(Interval(*pair) for pair in ends)


NUMBERS: Final = Kind(
    all_in,
    prove_range,
    verify_range,
    False,
    (5, 0, 13),
    Interval(0, 13),
    ((5, 0, 14), (5, 16, 13), (-1, 0, 13), (5, 2**252, 13), (5, 0, 10**70)),
    bits_in,
)
VECTORS: Final = Kind(
    VectorRangeStatement,
    prove_vector_range,
    verify_vector_range,
    True,
    (0, 13, 5, 6),
    Interval(0, 13),
    tuple(
        tuple(value if at == place else each for at, each in enumerate((0, 13, 5, 6)))
        for place in range(4)
        for value in (-1, 14, 2**252)
    ),
    bits_in,
)
WEIGHTS: Final = Kind(
    LastLargestStatement,
    prove_last_largest,
    verify_last_largest,
    True,
    (3, 0, 5),
    5,
    (
        (6, 0, 5),  # above the weight and the range
        (4, 0, 3),  # above the weight alone
        (5, 5, 4),
        (3, 0, 6),  # a weight out of range
        (-1, 0, 5),
        (3, 0, -1),
        (3, 2**252, 5),
    ),
    bits_under,
)
KINDS: Final = {"numbers": NUMBERS, "vectors": VECTORS, "weights": WEIGHTS}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def ids_of(value: object) -> str | None:
    return None if isinstance(value, Kind) else str(value)


# For every kind


@every_kind
@given(GROUPS, st.tuples(st.integers(-999, 999), st.integers(1, 999)), st.data())
@settings(max_examples=examples(25), deadline=None)
def test_what_holds_is_proved(
    kind: Kind, group: Group, ends: tuple[int, int], data: st.DataObject
) -> None:
    low, span = ends
    count = data.draw(st.integers(1, 5))
    if kind is WEIGHTS:
        weight = data.draw(st.integers(0, span))
        values = data.draw(st.lists(st.integers(0, weight), min_size=count, max_size=count))
        kind.check(*kind.prove(group, [*values, weight], span))
        return
    inside = st.integers(low, low + span)
    values = data.draw(st.lists(inside, min_size=count, max_size=count))
    kind.check(*kind.prove(group, values, Interval(low, low + span)))


@pytest.mark.parametrize(
    ("kind", "values"),
    [(kind, values) for kind in KINDS.values() for values in kind.outside],
    ids=ids_of,
)
def test_what_does_not_hold_has_no_proof(
    group: Group, kind: Kind, values: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prover without its own checks, with the bits of an honest one."""
    kind.check(*kind.prove(group, kind.honest, kind.claim))
    with pytest.raises(UsageError):
        kind.prove(group, values, kind.claim)
    kind.liar(group, monkeypatch, kind.bits(kind.honest, kind.claim))
    kind.check(*kind.prove(group, kind.honest, kind.claim))
    with pytest.raises(InvalidProof):
        kind.check(*kind.prove(group, values, kind.claim))


@every_kind
def test_the_opening_must_fit(group: Group, kind: Kind) -> None:
    commitment, opening = kind.commit(group, kind.honest)
    statement = kind.state(commitment, kind.claim)
    kind.check(statement, kind.by(statement, opening, transcript(), rng=seeded(1)))
    longer, other = (*kind.honest, kind.honest[-1]), (*kind.honest[:-1], kind.honest[-1] - 1)
    for values, seed in ((longer, 1), (kind.honest, 9), (other, 9)):
        _, wrong = kind.commit(group, values, seed)
        with pytest.raises(UsageError):
            kind.by(statement, wrong, transcript(), rng=seeded(1))


@every_kind
def test_the_identity_is_refused(group: Group, kind: Kind) -> None:
    """It opens to zero without a blinding, for everybody: a proof about it holds, if nobody looks.

    Also with the proof of a prover that does not look, for a verifier that does not, and ours.
    """
    count, claim = len(kind.honest), kind.claim

    def of_zeros(blinding: int) -> tuple[Any, Opening]:
        key: Any = VectorPedersen(group, count) if kind.vector else Pedersen(group)
        blindings = group.secret_scalars([blinding] * (1 if kind.vector else count))
        opening = Opening(key, group.secret_scalars([0] * count), blindings)
        made: Any = key.commit(opening.values, blindings[0] if kind.vector else blindings)
        return kind.state(made, claim), opening

    honest, opening = of_zeros(5)
    good = kind.by(honest, opening, transcript(), rng=seeded(1))
    kind.check(honest, good)
    empty, known = of_zeros(0)
    with pytest.raises(UsageError):
        kind.by(empty, known, transcript(), rng=seeded(1))
    with mock.patch.object(BitStatement, "has_identity", new=False):
        forged = kind.by(empty, known, transcript(), rng=seeded(1))
        kind.check(empty, forged)
    for proof in (good, forged):
        with pytest.raises(InvalidProof) as refused:
            kind.check(empty, proof)
        assert refused.value.check == "06-A2"
    claims = [ProofClaim(honest, good, transcript()), ProofClaim(empty, forged, transcript())]
    with pytest.raises(InvalidProof) as culprits:
        verify_batch(claims, rng=seeded(1))
    assert culprits.value.culprits == (1,)


@every_kind
def test_statements_are_of_their_kind(group: Group, kind: Kind) -> None:
    commitment, _ = kind.commit(group, kind.honest)
    kind.state(commitment, kind.claim)
    turned = Pedersen(group) if kind.vector else VectorPedersen(group, 2)
    wrong, _ = turned.commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    with pytest.raises(UsageError):
        kind.state(wrong, kind.claim)
    half = group.order // 2 + 1
    for claim in (half, 0, -1) if kind is WEIGHTS else (Interval(0, half),):
        with pytest.raises(UsageError):
            kind.state(commitment, claim)


@pytest.mark.parametrize(
    ("kind", "dimension", "maximum"),
    [
        (VECTORS, 100, 255),
        pytest.param(VECTORS, 1000, 2**16 - 1, marks=pytest.mark.soak),
        pytest.param(WEIGHTS, 500, 2**16 - 1, marks=pytest.mark.soak),
    ],
    ids=ids_of,
)
def test_many_coordinates(kind: Kind, dimension: int, maximum: int) -> None:
    values = [(7919 * i) % (maximum + 1) for i in range(dimension)]
    claim: Any = Interval(0, maximum)
    if kind is WEIGHTS:
        values, claim = [*(value % 40_000 for value in values), 40_000], maximum
    statement, proof = kind.prove(ristretto255(), values, claim)
    kind.check(statement, proof)
    with pytest.raises(ProtocolError):
        kind.check(statement, proof[:-1] + bytes([proof[-1] ^ 1]))


# Numbers


@pytest.mark.parametrize("maximum", [1, 2, 3, 4, 5, 7, 8, 100, 2**16 - 1, 2**16, 2**64 - 1])
def test_both_ends_are_inside_and_nothing_beyond(group: Group, maximum: int) -> None:
    for value in (0, maximum):
        statement, proof = NUMBERS.prove(group, [value], Interval(0, maximum))
        NUMBERS.check(statement, proof)
        NUMBERS.check(RangeStatement.up_to(statement.commitment, maximum), proof)
    for value in (maximum + 1, -1):
        with pytest.raises(UsageError):
            NUMBERS.prove(group, [value], Interval(0, maximum))


def test_a_value_plus_the_order_is_no_value(group: Group) -> None:
    NUMBERS.check(*NUMBERS.prove(group, [5], Interval(0, 7)))
    with pytest.raises(UsageError):
        group.secret_scalars([5 + group.order])
    _, opening = NUMBERS.commit(group, [5])
    encoded = bytearray(opening.reveal().to_bytes())
    decode_opening(Pedersen(group), bytes(encoded), 1)
    encoded[:32] = (5 + group.order).to_bytes(32, "little")
    with pytest.raises(MalformedMessage):
        decode_opening(Pedersen(group), bytes(encoded), 1)


def test_numbers_may_have_intervals_of_their_own(group: Group) -> None:
    commitment, opening = NUMBERS.commit(group, [1, 100, -3])
    own = intervals((0, 7), (90, 1000), (-3, 0))
    statement = RangeStatement(commitment, own)
    proof = prove_range(statement, opening, transcript(), rng=seeded(2))
    NUMBERS.check(statement, proof)
    with pytest.raises(UsageError):
        prove_range(replace(statement, intervals=own[::-1]), opening, transcript(), rng=seeded(2))
    for count in (2, 4):
        with pytest.raises(UsageError):
            RangeStatement(commitment, (*own, *own)[:count])


# Values under a weight


@given(GROUPS, st.integers(1, 40), st.integers(1, 4), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_a_value_above_its_weight_is_not_proved(
    group: Group, maximum: int, others: int, data: st.DataObject
) -> None:
    weight = data.draw(st.integers(0, maximum - 1))
    values = data.draw(st.lists(st.integers(0, weight), min_size=others, max_size=others))
    WEIGHTS.check(*WEIGHTS.prove(group, [*values, weight], maximum))
    values[data.draw(st.integers(0, others - 1))] = data.draw(st.integers(weight + 1, maximum))
    with pytest.raises(UsageError):
        WEIGHTS.prove(group, [*values, weight], maximum)


def test_every_distance_counts(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other coordinate in turn exceeds the weight, with bits that fit all the others."""
    WEIGHTS.check(*WEIGHTS.prove(group, [1, 1, 1, 2], 3))
    for place in range(3):
        values = [1, 1, 1, 2]
        values[place] = 3
        WEIGHTS.liar(group, monkeypatch, bits_under(values, 3))
        with pytest.raises(InvalidProof):
            WEIGHTS.check(*WEIGHTS.prove(group, values, 3))


def test_a_weight_has_something_under_it(group: Group) -> None:
    two, _ = WEIGHTS.commit(group, [1, 2])
    LastLargestStatement(two, 7)
    alone, _ = WEIGHTS.commit(group, [1])
    with pytest.raises(UsageError):
        LastLargestStatement(alone, 7)


def test_a_weight_over_many_values_is_summed_as_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    group, count = ristretto255(), 40
    statement, proof = WEIGHTS.prove(group, [*range(count), count], 63)
    WEIGHTS.check(statement, proof)
    other = WEIGHTS.commit(group, [*range(count), count + 1])[0]
    with pytest.raises(InvalidProof):
        WEIGHTS.check(LastLargestStatement(other, 63), proof)
    shape, dense = _last_largest_shape(group, count + 1, 63), []
    for many in (32, 10**6):
        monkeypatch.setattr(shape_module, "_MANY", many)
        made = ConstraintShape(group, shape.layout.bits, shape.constraints)
        weights = group.scalars(range(1, made.row_count + 1))
        varying = group.scalars([0] * made.varying_count)
        dense.append((made.combine(weights, varying).to_bytes(), len(made._columns)))
    assert dense[0][0] == dense[1][0]
    assert [columns for _, columns in dense] == [6, 0]


# Intervals


@given(ENDS, st.integers(1, 10**30), st.data())
def test_bits_and_weights_give_the_value_back(low: int, span: int, data: st.DataObject) -> None:
    interval = Interval(low, low + span)
    value = data.draw(st.integers(low, low + span) | st.sampled_from([low, low + span]))
    bits = interval.bits(value)
    assert set(bits) <= {0, 1}
    assert low + sum(w * b for w, b in zip(interval.weights, bits, strict=True)) == value


@pytest.mark.parametrize("span", range(1, 70))
def test_sums_of_weights_are_exactly_the_interval(span: int) -> None:
    sums = {0}
    for weight in Interval(5, 5 + span).weights:
        sums |= {known + weight for known in sums}
    assert sums == set(range(span + 1))


@given(ENDS, st.integers(1, 10**30), st.integers(1, 10**30))
def test_values_outside_are_refused(low: int, span: int, beyond: int) -> None:
    interval = Interval(low, low + span)
    interval.bits(low)
    interval.bits(low + span)
    for value in (low - 1, low + span + 1, low - beyond, low + span + beyond):
        with pytest.raises(UsageError):
            interval.bits(value)


@pytest.mark.parametrize(("low", "high"), [(3, 3), (3, 2), (0, 0)])
def test_an_interval_has_two_integers(low: int, high: int) -> None:
    with pytest.raises(UsageError):
        Interval(low, high)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1), (0, 1.5), (False, True)])
def test_ends_are_integers(low: int, high: int) -> None:
    with pytest.raises(UsageError):
        Interval(low, high)


def test_ends_stay_within_half_the_order(group: Group) -> None:
    half = group.order // 2
    require_unambiguous(Interval(-half, half), group)
    for low, high in ((-half - 1, 0), (0, half + 1)):
        with pytest.raises(UsageError):
            require_unambiguous(Interval(low, high), group)


def test_residues_are_read_as_signed(group: Group) -> None:
    values = group.secret_scalars([group.order - 3, 4])
    bits = secret_bits(group, values, [Interval(-4, 3), Interval(-4, 4)]).reveal().ints()
    assert bits == [1, 0, 0, 1, 1, 1, 1]
