"""Range proofs: values in Pedersen commitments lie in public intervals.

Specification 07, section 1. One proof covers any number of commitments; it grows
with the logarithm of their total number of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commitments import Commitment, Opening, Pedersen
from commitments.group import Group
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import bits
from zkp.equations import Equation
from zkp.interval import Interval, require_unambiguous, secret_bits
from zkp.proof_kind import ProofKind, prover_of, verifier_of
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class RangeStatement:
    """The value of commitment i lies in intervals[i], read as a signed residue."""

    commitment: Commitment
    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        if self.commitment.key != Pedersen(self.group):
            raise UsageError("range proofs are about Pedersen commitments")
        if len(self.intervals) != len(self.commitment):
            raise UsageError(
                f"{len(self.commitment)} commitment(s) need as many intervals, "
                f"not {len(self.intervals)}"
            )
        for interval in self.intervals:
            require_unambiguous(interval, self.group)

    @classmethod
    def up_to(cls, commitment: Commitment, maximum: int) -> RangeStatement:
        """Every value lies in [0, maximum]."""
        return cls(commitment, (Interval(0, maximum),) * len(commitment))

    @property
    def group(self) -> Group:
        """The group of the commitments."""
        return self.commitment.key.group

    def as_bits(self) -> bits.Statement:
        """The same claim about hidden bits."""
        spans = tuple(interval.high - interval.low for interval in self.intervals)
        return bits.Statement.of(
            _shape(self.group, spans),
            constants=[interval.low for interval in self.intervals],
            commitments=[self.commitment],
        )

    def equations(self, proof: bytes, transcript: Transcript) -> tuple[Equation, ...]:
        """What must hold for a proof of kind `bits`; raises as `verify_range`."""
        return bits.equations(self.as_bits(), proof, transcript)


def prove_range(
    statement: RangeStatement,
    opening: Opening,
    transcript: Transcript,
    *,
    rng: Rng,
    proof: ProofKind = "bits",
) -> bytes:
    """Prove that all values lie in their intervals.

    The caller has bound the context to the transcript. After an error it is spent.

    Raises:
        UsageError: a value is outside, or the opening does not fit. Nothing was sent.
    """
    if len(opening) != len(statement.commitment):
        raise UsageError(f"{len(statement.commitment)} opening(s) wanted, not {len(opening)}")
    hidden = secret_bits(statement.group, opening.values, statement.intervals)
    openings = bits.Openings(commitments=[opening])
    return prover_of(proof)(statement.as_bits(), hidden, openings, transcript, rng=rng)


def verify_range(
    statement: RangeStatement,
    proof: bytes,
    transcript: Transcript,
    *,
    kind: ProofKind = "bits",
) -> None:
    """Check a range proof. The transcript is bound as the prover's was.

    Raises:
        MalformedMessage: bytes no prover writes.
        InvalidProof: with the check that failed.
    """
    verifier_of(kind)(statement.as_bits(), proof, transcript)


@lru_cache(maxsize=64)
def _shape(group: Group, spans: Sequence[int]) -> bits.Shape:
    rows, at = [], 0
    for span in spans:
        weights = Interval(0, span).weights
        rows.append(bits.Committed(bits.Row.weighted(at, weights)))
        at += len(weights)
    return bits.Shape(group, at, rows)
