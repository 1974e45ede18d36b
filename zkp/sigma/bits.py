"""Proves statements about hidden bits, bit by bit with OR proofs (specification 07, section 5).

Every bit gets a Pedersen commitment of its own and a proof that it hides 0 or 1;
every constraint becomes a statement about a sum of these commitments. It takes the
statements of `zkp.bits` and none of the algebra of that argument, so that each is a
check of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, reduce
from operator import add
from typing import Final

from commitments import Pedersen
from commitments.group import Group, PointVec, SecretScalarVec
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng
from zkp.bits.shape import BitForm, CommittedValue, CommittedVector
from zkp.bits.statement import BitStatement
from zkp.bits.verifier import require_no_identity
from zkp.bits.witness import Openings, WitnessScalars
from zkp.sigma.composition import AllOf, AnyOf
from zkp.sigma.proof import Form, checking, prove_unchecked
from zkp.sigma.proof import verify as verify_sigma
from zkp.sigma.prover import ChildWitnesses
from zkp.sigma.relation import LinearRelation, RelationShape
from zkp.sigma.statements import RelationBuilder, witness
from zkp.transcript import Transcript
from zkp.vectors import errors_offset_by

_FORM: Final = Form.COMPACT


def prove(
    statement: BitStatement,
    bits: SecretScalarVec,
    openings: Openings,
    transcript: Transcript,
    *,
    rng: Rng,
) -> bytes:
    """Prove that the bits satisfy the statement. As `zkp.bits.prove`, transcript included.

    The side of each OR proof that is simulated runs the same operations as the other.

    Raises:
        UsageError: bits and openings do not satisfy the statement, or it has a vector
            commitment or a row without coefficients. Nothing was sent.
    """
    group, count = statement.group, _bit_count(statement)
    if statement.has_identity:
        raise UsageError("a commitment of the statement is the identity: commit again")
    secrets = WitnessScalars.of(statement, openings)
    values = bits.reveal().ints()
    if len(values) != count or not {0, 1}.issuperset(values):
        raise UsageError(f"the statement takes {count} hidden values, each 0 or 1")
    if Pedersen(group).commit(secrets.values, secrets.blindings).points != statement.commitments:
        raise UsageError("an opening does not fit its commitment")
    before = transcript.copy()
    statement.absorb(transcript)
    known = bits.concat(secrets.flat())
    source = transcript.nonce_source(b"schnorr-bits/blindings", group, count, known, rng)
    blindings = source.draw()
    points = Pedersen(group).commit(bits, blindings).points
    transcript.absorb_points(b"schnorr-bits/commitments", points)
    sides = [_one_side(group, blindings, place, bit) for place, bit in enumerate(values)]
    parts = ChildWitnesses(*sides, _differences(statement, blindings, secrets.blindings))
    relation = _relation(statement, points)
    own = prove_unchecked(relation, parts, transcript, rng=rng, form=_FORM)
    source.require_used(blindings)
    proof = points.to_bytes() + own
    with checking(relation, parts):
        verify(statement, proof, before)
    return proof


def verify(statement: BitStatement, proof: bytes, transcript: Transcript) -> None:
    """Check a proof made by `prove`.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check of specification 02 that failed, or 06-A2 where a
            commitment of the statement is the identity.
        UsageError: as `prove`, for the statement.
    """
    group, count = statement.group, _bit_count(statement)
    require_no_identity(statement)
    split = count * group.point_size
    expected = split + group.scalar_size * (1 + 3 * count + len(statement.shape.constraints))
    if len(proof) != expected:  # R18
        raise MalformedMessage(
            f"a proof of {expected} bytes was expected, not {len(proof)}", "proof"
        )
    with errors_offset_by(0):
        points = group.decode_points(proof[:split], count)
    statement.absorb(transcript)
    transcript.absorb_points(b"schnorr-bits/commitments", points)
    with errors_offset_by(split):
        verify_sigma(_relation(statement, points), proof[split:], transcript, form=_FORM)


def _bit_count(statement: BitStatement) -> int:
    constraints = statement.shape.constraints
    if any(isinstance(constraint, CommittedVector) for constraint in constraints):
        raise UsageError("bit-by-bit proofs are about Pedersen commitments, not vector commitments")
    if not all(_coefficients(statement)):
        raise UsageError("a row without coefficients says nothing about the bits: leave it out")
    return statement.shape.layout.bits


def _coefficients(statement: BitStatement) -> list[dict[int, int]]:
    """For each constraint the coefficients that are not zero, by position."""
    varying = iter(statement.varying.ints())
    order, found = statement.group.order, []
    for row in _rows(statement):
        sums: Counter[int] = Counter()
        for position, coefficient in row.fixed:
            sums[position] += coefficient
        for position in row.varying:
            sums[position] += next(varying)
        found.append({at: value % order for at, value in sorted(sums.items()) if value % order})
    return found


def _rows(statement: BitStatement) -> Iterator[BitForm]:
    for constraint in statement.shape.constraints:
        if not isinstance(constraint, CommittedVector):
            yield constraint.row


def _relation(statement: BitStatement, points: PointVec) -> AllOf:
    """Every commitment hides a bit, and every constraint holds (rule R17)."""
    group = statement.group
    key = Pedersen(group)
    bases = group.points([key.value_base, key.blinding_base])
    zero, one = _bit_shapes(group)
    sides = []
    for place in range(len(points)):
        own = points[place : place + 1]
        is_zero = LinearRelation(zero, bases[1:].concat(own))
        is_one = LinearRelation(one, bases.concat(own))
        sides.append(AnyOf(1, (is_zero, is_one)))
    return AllOf((*sides, _constraints(statement, bases, points)))


def _constraints(statement: BitStatement, bases: PointVec, points: PointVec) -> LinearRelation:
    """The sum of each row, plus its constant, minus its commitment, is a multiple of H."""
    rows = _coefficients(statement)
    used = sorted({position for row in rows for position in row})
    build = RelationBuilder(statement.group)
    G, H = build.elements(2)
    own = dict(zip(used, build.elements(len(used)), strict=True))
    committed = iter(build.elements(len(statement.commitments)))
    constants = statement.constants.ints()
    for constraint, row, constant in zip(statement.shape.constraints, rows, constants, strict=True):
        total = reduce(add, [factor * own[at] for at, factor in row.items()])
        total = total + constant * G
        if isinstance(constraint, CommittedValue):
            total = total - next(committed)
        build.equation(total, build.scalar() * H)
    elements = bases.concat(points.gather(used)).concat(statement.commitments)
    return LinearRelation(build.shape(), elements)


def _one_side(group: Group, blindings: SecretScalarVec, place: int, bit: int) -> ChildWitnesses:
    known = witness(group, blindings[place])
    return ChildWitnesses(None, known) if bit else ChildWitnesses(known, None)


def _differences(
    statement: BitStatement, blindings: SecretScalarVec, outer: SecretScalarVec
) -> SecretScalarVec:
    """For each constraint the blinding of its sum, minus that of its commitment."""
    group, constraints = statement.group, statement.shape.constraints
    joint = group.secret_scalars([])
    commitments = iter(range(len(outer)))
    for constraint, row in zip(constraints, _coefficients(statement), strict=True):
        total = blindings.gather(list(row)).inner(group.scalars(row.values()))
        if isinstance(constraint, CommittedValue):
            total = total - outer[next(commitments)]
        joint = joint.concat(witness(group, total))
    return joint


@lru_cache(maxsize=8)
def _bit_shapes(group: Group) -> tuple[RelationShape, RelationShape]:
    """The two claims of which one is proved: C = rH, or C - G = rH."""
    zero = RelationBuilder(group)
    H, C = zero.elements(2)
    zero.equation(C, zero.scalar() * H)
    one = RelationBuilder(group)
    G, H, C = one.elements(3)
    one.equation(C - G, one.scalar() * H)
    return zero.shape(), one.shape()
