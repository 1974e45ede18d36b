"""Proves that the Euclidean norm of a committed vector is at most a public bound, exactly.

Specification 07, section 5. For vectors of few coordinates: the proof grows with
their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from math import isqrt
from operator import add

from commitments import Commitment, Opening, Pedersen, VectorPedersen
from commitments.group import Group, PointVec
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng
from zkp.bits import layout_of, proof_size
from zkp.equations import Equation, require_all
from zkp.range import Interval, RangeStatement, VectorStatement, prove_range
from zkp.sigma import LinearRelation, RelationBuilder, RelationShape, witness
from zkp.sigma.proof import Form, checking, prove_unchecked, relation_equations
from zkp.transcript import Transcript
from zkp.vectors import errors_offset_by


@dataclass(frozen=True, slots=True)
class L2Statement(VectorStatement):
    """States that the squares of the coordinates, as signed residues, sum to at most `bound`."""

    bound: int

    def __post_init__(self) -> None:
        VectorStatement.__post_init__(self)
        if type(self.bound) is not int or self.bound < 1:
            raise UsageError("the bound is an integer from 1 on")
        # Coordinates of a prover lie in the interval whatever it does: this is all
        # that keeps the sum of its squares from wrapping around the group order.
        if self.dimension * self.bound > self.group.order // 2:
            raise UsageError("dimension times bound stays below half the group order")

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Where every coordinate lies, and the sum of the squares behind them."""
        largest = isqrt(self.bound)
        return (*[Interval(-largest, largest)] * self.dimension, Interval(0, self.bound))

    @property
    def proof_size(self) -> int:
        """The number of bytes of every proof."""
        return sum(self._sizes())

    def _sizes(self) -> tuple[int, int, int]:
        """Bytes of the commitments, of the Sigma proof and of the range proof."""
        group, d = self.group, self.dimension
        hidden = sum(len(interval.weights) for interval in self.intervals)
        linked = group.point_size * (d + 2) + group.scalar_size * (2 * d + 2)
        return group.point_size * (d + 1), linked, proof_size(group, layout_of(hidden))

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for the proof to be valid; raises as `verify_l2`."""
        group, (first, second, _) = self.group, self._sizes()
        if len(proof) != self.proof_size:  # R17
            raise MalformedMessage(
                f"a proof of {self.proof_size} bytes was expected, not {len(proof)}", "proof"
            )
        with errors_offset_by(0):
            points = group.decode_points(proof[:first], self.dimension + 1)
        self.bind(transcript)
        transcript.absorb_points(b"l2/commitments", points)
        with errors_offset_by(first):
            linked = relation_equations(
                self.relation(points), proof[first : first + second], transcript
            )  # R18
        with errors_offset_by(first + second):
            ranges = self.ranges(points).equations(proof[first + second :], transcript)  # R19
        return linked + ranges

    def bind(self, transcript: Transcript) -> None:
        """Absorb the statement (rule R16)."""
        transcript.absorb_int(b"l2/bound", self.bound)
        transcript.absorb_int(b"l2/dimension", self.dimension)
        transcript.absorb_points(b"l2/vector", self.commitment.points)

    def relation(self, points: PointVec) -> LinearRelation:
        """The points hide the coordinates, and the sum of their squares (rule R18)."""
        key = Pedersen(self.group)
        bases = self.group.points([key.value_base, key.blinding_base])
        generators = VectorPedersen(self.group, self.dimension).value_bases
        elements = bases.concat(generators).concat(self.commitment.points).concat(points)
        return LinearRelation(_shape(self.group, self.dimension), elements)

    def ranges(self, points: PointVec) -> RangeStatement:
        """Every coordinate and the sum of the squares lie where they must (rule R19)."""
        return RangeStatement(Commitment(Pedersen(self.group), points), self.intervals)


def prove_l2(
    statement: L2Statement, opening: Opening, transcript: Transcript, *, rng: Rng
) -> bytes:
    """Prove that the squares of the coordinates sum to at most the bound.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: they do not, or the opening does not fit. Nothing was sent.
    """
    group, d = statement.group, statement.dimension
    if opening.key != statement.commitment.key or len(opening) != 1:
        raise UsageError("give the opening of the statement's vector commitment")
    values = opening.values
    hidden = values.concat(witness(group, values.inner(values)))
    before = transcript.copy()
    statement.bind(transcript)
    known = values.concat(opening.blindings)
    source = transcript.nonce_source(b"l2/blindings", group, d + 1, known, rng)
    blindings = source.draw()
    committed = Opening(Pedersen(group), hidden, blindings)
    points = Pedersen(group).commit(hidden, blindings).points
    transcript.absorb_points(b"l2/commitments", points)
    bridge = blindings[d] - values.inner(blindings[:d])
    secret = known.concat(blindings[:d]).concat(witness(group, bridge))
    relation = statement.relation(points)
    linked = prove_unchecked(relation, secret, transcript, rng=rng, form=Form.BATCHABLE)
    ranges = prove_range(statement.ranges(points), committed, transcript, rng=rng)
    source.require_used(blindings)
    proof = points.to_bytes() + linked + ranges
    with checking(relation, secret):
        verify_l2(statement, proof, before)
    return proof


def verify_l2(statement: L2Statement, proof: bytes, transcript: Transcript) -> None:
    """Check an L2 proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    claims = statement.equations(proof, transcript)
    require_all(statement.group, claims, transcript)


@lru_cache(maxsize=16)
def _shape(group: Group, dimension: int) -> RelationShape:
    """State D = sum v_j G_j + rH; V_j = v_j G + r_j H; S = sum v_j V_j + bridge H."""
    build = RelationBuilder(group)
    G, H = build.elements(2)
    bases, D = build.elements(dimension), build.element()
    V, S = build.elements(dimension), build.element()
    v, r = build.scalars(dimension), build.scalar()
    blindings, bridge = build.scalars(dimension), build.scalar()
    build.equation(D, reduce(add, [a * base for a, base in zip(v, bases, strict=True)]) + r * H)
    for a, blinding, own in zip(v, blindings, V, strict=True):
        build.equation(own, a * G + blinding * H)
    build.equation(S, reduce(add, [a * own for a, own in zip(v, V, strict=True)]) + bridge * H)
    return build.shape()
