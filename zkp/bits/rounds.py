"""The conversation of a bit argument: what is absorbed when, and which challenges follow.

Prover and verifier run the same functions, so they cannot disagree on the order.
Every message is absorbed before the challenge that follows it (rule A5).
"""

from __future__ import annotations

from dataclasses import dataclass

from commitments.group import Group, PointVec, Scalar, ScalarVec
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Mixing:
    """The challenges that merge all rows into one (step 2)."""

    rho: Scalar
    eta: Scalar
    xi: ScalarVec


@dataclass(frozen=True, slots=True)
class Rounds:
    """The messages of one argument, in order, on one transcript."""

    transcript: Transcript
    group: Group

    def bits(self, point: PointVec, dimensions: int) -> Mixing:
        """A, then rho, eta and one xi for each distinct dimension."""
        self.transcript.absorb_points(b"bits/A", point)
        drawn = self.transcript.challenges(b"bits/rho eta xi", self.group, 2 + dimensions)
        return Mixing(drawn[0], drawn[1], drawn[2:])

    def blinders(self, point: PointVec) -> tuple[Scalar, Scalar]:
        """S, then y and z."""
        self.transcript.absorb_points(b"bits/S", point)
        drawn = self.transcript.challenges(b"bits/y z", self.group, 2)
        return drawn[0], drawn[1]

    def polynomial(self, points: PointVec) -> Scalar:
        """T_1 and T_2, then x."""
        self.transcript.absorb_points(b"bits/T", points)
        return self.transcript.challenge(b"bits/x", self.group)

    def evaluation(self, scalars: ScalarVec) -> Scalar:
        """t, tau and mu, then w."""
        self.transcript.absorb_scalars(b"bits/t tau mu", scalars)
        return self.transcript.challenge(b"bits/w", self.group)

    def fold(self, points: PointVec) -> Scalar:
        """L and R, then u."""
        self.transcript.absorb_points(b"bits/L R", points)
        return self.transcript.challenge(b"bits/u", self.group)

    def pair(self, scalars: ScalarVec) -> None:
        """A pair of scalars given away, or the last one."""
        self.transcript.absorb_scalars(b"bits/l r", scalars)
