"""The proofs of a round, behind one interface.

The rules, the parties and the organiser call these functions only through a `Proofs`
object, so that tests of large families of small worlds may put cheap doubles in.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from commitments import Opening
from commitments.group import SecretScalar
from gopa.rounds.context import RoundContext
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.noise import NoiseSeed
from zkp.rows.length_prover import HiddenLengths
from zkp.rows.mask_prover import HiddenMasks

NAME_SIZE: Final = 32


def _require_names(*names: bytes) -> None:
    """Leaves, ids and coins are the caller's own: wrong ones must not count against anybody."""
    if any(type(name) is not bytes or len(name) != NAME_SIZE for name in names):
        raise UsageError(f"leaves, ids and joint coins have {NAME_SIZE} bytes")


@dataclass(frozen=True, slots=True)
class PossessionClaim:
    """The claim that the author of a join knows the secret of its key."""

    context: RoundContext
    acts_on: bytes
    party: bytes
    key: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party)


@dataclass(frozen=True, slots=True)
class NoiseClaim:
    """The claim that an output hides an input in range and the noise that seed and coins decide.

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
    """The claim that `shared` is the Diffie-Hellman key of `own` and `other`."""

    context: RoundContext
    acts_on: bytes
    party: bytes
    own: bytes
    other: bytes
    shared: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party)


@dataclass(frozen=True, slots=True)
class LengthClaim:
    """The claim that rows hide a short vector and short noise, and that the tests are theirs.

    `acts_on` is the leaf of the close of coins; the rows are those of the join.
    """

    context: RoundContext
    acts_on: bytes
    party: bytes
    joint: bytes
    input: tuple[bytes, ...]
    noise: tuple[bytes, ...]
    pads: tuple[bytes, ...]
    tests: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party, self.joint)


@dataclass(frozen=True, slots=True)
class MaskClaim:
    """The claim that published words are a vector, its moved noise and masks, but for carries.

    `acts_on` is the leaf of the close of publish, which lists so many parties. `neighbours` are
    positions on live edges, increasing, with the signs of their masks. `input` and `noise` are
    rows of the join, `value`, `carries` and `pads` are of the publish; the rest is of the prove.
    """

    context: RoundContext
    acts_on: bytes
    party: bytes
    joint: bytes
    listed: int
    input: tuple[bytes, ...]
    noise: tuple[bytes, ...]
    value: bytes
    carries: tuple[bytes, ...]
    pads: tuple[bytes, ...]
    neighbours: tuple[int, ...]
    signs: tuple[int, ...]
    edges: tuple[bytes, ...]
    self_mask: bytes
    tests: bytes
    proof: bytes

    def __post_init__(self) -> None:
        _require_names(self.acts_on, self.party, self.joint)
        most, places = self.context.manifest.terms.parties, (-1, *self.neighbours)
        ordered = all(one < other for one, other in pairwise(places))
        if not ordered or not self.neighbours[-1:] < (most,) or not 1 <= self.listed <= most:
            raise UsageError("positions on the roll increase, and somebody is listed")
        if len(self.signs) != len(self.neighbours) or not {*self.signs} <= {1, -1}:
            raise UsageError("each live edge has a sign, 1 or -1")


class Proofs(Protocol):
    """The proofs of a round, made and checked.

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
        seed: NoiseSeed | None,
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

    def prove_lengths(self, claim: LengthClaim, hidden: HiddenLengths, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""

    def bad_lengths(
        self, claims: Sequence[LengthClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose vector or noise is too long, or has other tests."""

    def prove_masks(self, claim: MaskClaim, hidden: HiddenMasks, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""

    def bad_masks(
        self, claims: Sequence[MaskClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose words are made of something else."""
