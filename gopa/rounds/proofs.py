"""Makes and checks the proofs of a round, behind one interface.

The rules, the parties and the organiser call these functions only through a `Proofs`
object, so that tests of large families of small worlds may put cheap doubles in.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, Protocol

from commitments import Opening
from commitments.group import SecretScalar
from gopa.rounds.context import RoundContext
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import NoiseSeeds
from zkp.weighted_noise import NoiseBits

NAME_SIZE: Final = 32


def _require_names(*names: bytes) -> None:
    """Leaves, ids and coins are the caller's own: wrong ones must not count against anybody."""
    if any(type(name) is not bytes or len(name) != NAME_SIZE for name in names):
        raise UsageError(f"leaves, ids and joint coins have {NAME_SIZE} bytes")


@dataclass(frozen=True, slots=True)
class PossessionClaim:
    """Claims that the author of a join knows the secret of its key."""

    context: RoundContext
    acts_on: bytes
    party: bytes
    key: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party)


@dataclass(frozen=True, slots=True)
class NoiseClaim:
    """Claims that an output hides an input in range and the noise that seed and coins decide.

    Without noise, `seed` and `output` are empty, and the claim is that the input is in range.
    """

    context: RoundContext
    acts_on: bytes
    party: bytes
    joint: bytes
    given: bytes
    seed: bytes
    output: bytes
    proof: bytes
    weighing: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party, self.joint)


@dataclass(frozen=True, slots=True)
class SharedKeyClaim:
    """Claims that `shared` is the Diffie-Hellman key of `own` and `other`."""

    context: RoundContext
    acts_on: bytes
    party: bytes
    own: bytes
    other: bytes
    shared: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party)


class Proofs(Protocol):
    """Makes and checks the proofs of a round.

    Provers raise `UsageError` and release nothing; checkers return positions of bad claims.
    A claim whose bytes do not decode is a bad claim. An executor spreads long checks over
    its workers; all claims of a call are over one group.
    """

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        """Make `proof`, in 64 bytes; the claim comes with it empty."""

    def bad_possessions(
        self, claims: Sequence[PossessionClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose author does not know the secret of its key."""

    def prove_noise(
        self,
        claim: NoiseClaim,
        seeds: NoiseSeeds | NoiseBits | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        """Make `proof` and `weighing`; the claim comes with both empty."""

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose output is not an input in range plus its noise."""

    def prove_shared(self, claim: SharedKeyClaim, secret: SecretScalar, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""

    def bad_shared(
        self, claims: Sequence[SharedKeyClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose key is not the one both share."""
