"""Cuts proofs about long vectors into their parts, and draws the blindings of their provers.

Proofs are checked here, too: one's own before it is sent. Rules 14-E5 to 14-E7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from commitments import Pedersen, derive_generators
from commitments.group import Group, PointVec, ScalarVec, SecretScalarVec
from commitments.pedersen import BLINDING_FAMILY, VALUE_FAMILY
from wire.errors import MalformedMessage
from wire.randomness import Rng
from zkp.batch import Verifiable
from zkp.equations import require_all
from zkp.rows.opening import HiddenRow, OpeningMessages, prove_opening
from zkp.rows.sumcheck import Sources
from zkp.sigma import LinearRelation
from zkp.sigma.proof import checking
from zkp.transcript import NonceSource, Transcript
from zkp.vectors import concatenate, errors_offset_by

T = TypeVar("T")


class ProofParts:
    """The parts of a proof, in order."""

    def __init__(self, proof: bytes, sizes: tuple[int, ...]) -> None:
        if len(proof) != sum(sizes):
            message = f"a proof of {sum(sizes)} bytes was expected, not {len(proof)}"
            raise MalformedMessage(message, "proof")
        self._proof, self._sizes, self._at = proof, list(sizes), 0

    def take(self, load: Callable[[bytes], T]) -> T:
        """What is made of the next part."""
        start, size = self._at, self._sizes.pop(0)
        self._at += size
        with errors_offset_by(start):
            return load(self._proof[start : start + size])

    def points(self, group: Group) -> PointVec:
        """The next part as points."""
        return self.take(lambda part: group.decode_points(part, len(part) // group.point_size))

    def opening(self, group: Group) -> OpeningMessages:
        """The next part as the messages of an opening."""
        split = self._sizes[0] - 2 * group.scalar_size
        self._sizes[:1] = [split, 2 * group.scalar_size]
        points = self.points(group)
        answers = self.take(lambda part: group.decode_scalars(part, 2))
        last = len(points) - 1
        return OpeningMessages(points[:last], points[last:], answers)


def statement_points(group: Group, *parts: PointVec) -> PointVec:
    """G, H and these points: the elements of a relation.

    Each part is encoded alone, so that those which were decoded are not encoded again.
    """
    ends = (derive_generators(group, each, 1) for each in (VALUE_FAMILY, BLINDING_FAMILY))
    known = [*ends, *parts]
    for part in known:
        part.to_bytes()
    return concatenate(known, group.points([]))


@dataclass(frozen=True, slots=True)
class HiddenNumbers:
    """Numbers and their commitments, each with a blinding of its own."""

    values: SecretScalarVec
    blindings: SecretScalarVec
    points: PointVec


class Blindings:
    """Blindings drawn from everything bound so far; what was used is checked at last."""

    def __init__(
        self, transcript: Transcript, group: Group, witness: SecretScalarVec, rng: Rng
    ) -> None:
        self._transcript, self._group, self._witness, self._rng = transcript, group, witness, rng
        self._sources: list[tuple[NonceSource, SecretScalarVec]] = []

    def draw(self, label: bytes, values: SecretScalarVec, count: int) -> SecretScalarVec:
        """So many blindings for these values."""
        witness = self._witness.concat(values)
        source = self._transcript.nonce_source(label, self._group, count, witness, self._rng)
        found = source.draw()
        self._sources.append((source, found))
        return found

    def commit(self, label: bytes, values: SecretScalarVec) -> HiddenNumbers:
        """Hide these values, and bind their commitments to the transcript under the label."""
        blindings = self.draw(label, values, len(values))
        points = Pedersen(self._group).commit(values, blindings).points
        self._transcript.absorb_points(label, points)
        return HiddenNumbers(values, blindings, points)

    def open(self, hidden: HiddenRow, point: ScalarVec) -> bytes:
        """Prove what a combined row is at a point."""
        opened, sources = prove_opening(self._group, hidden, point, self._transcript, rng=self._rng)
        self.keep(sources)
        return opened.to_bytes()

    def keep(self, sources: Sources) -> None:
        """Check these in the end, too."""
        self._sources += sources

    def require_used(self) -> None:
        """Raises `ComputationFault` unless all are as they were drawn."""
        for source, used in self._sources:
            source.require_used(used)


class Prover(Protocol):
    """The prover of one statement; `relation` and `witness` are there once they are made."""

    relation: LinearRelation
    witness: SecretScalarVec

    def proof(self) -> bytes: ...


def proved(statement: Verifiable, prover: Prover, before: Transcript) -> bytes:
    """The proof that a prover makes, checked against a copy of the transcript from before.

    Raises:
        UsageError: the witness does not fit.
        ComputationFault: the proof does not hold, or a blinding is not the one that was drawn.
    """
    proof = prover.proof()
    with checking(prover.relation, prover.witness):
        require_valid(statement, proof, before)
    return proof


def require_valid(statement: Verifiable, proof: bytes, transcript: Transcript) -> None:
    """Check one proof; raises `MalformedMessage` or `InvalidProof`."""
    claims = statement.equations(proof, transcript)
    require_all(statement.group, claims, transcript)
