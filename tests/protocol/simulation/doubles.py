"""Proofs that cost nothing, for tests of very many sessions.

A proof is a hash of its claim under a key that only this module has: it holds exactly
for claims that went through a prover, and the provers refuse what is not true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TypeAlias

from commitments import Opening
from commitments.group import SecretScalar
from gopa.rounds.proofs import (
    LengthClaim,
    MaskClaim,
    NoiseClaim,
    PossessionClaim,
    SharedKeyClaim,
)
from gopa.rounds.toolkit import Toolkit
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.noise import NoiseSeed
from zkp.rows.length_prover import HiddenLengths
from zkp.rows.mask_prover import HiddenMasks

AnyClaim: TypeAlias = PossessionClaim | NoiseClaim | SharedKeyClaim | LengthClaim | MaskClaim


class Tags:
    """`Proofs` by hashes."""

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        del rng
        group = claim.context.group
        if (group.generator * secret).to_bytes() != claim.key:
            raise UsageError("another secret")
        return _tag(claim)

    def prove_noise(
        self,
        claim: NoiseClaim,
        seed: NoiseSeed | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        del seed, given, output, rng
        return _tag(claim), b""

    def prove_shared(self, claim: SharedKeyClaim, secret: SecretScalar, rng: Rng) -> bytes:
        del rng
        other = claim.context.group.decode_point(claim.other)
        if (other * secret).to_bytes() != claim.shared:
            raise UsageError("another key")
        return _tag(claim)

    def prove_lengths(self, claim: LengthClaim, hidden: HiddenLengths, rng: Rng) -> bytes:
        del hidden, rng
        return _tag(claim)

    def prove_masks(self, claim: MaskClaim, hidden: HiddenMasks, rng: Rng) -> bytes:
        del hidden, rng
        return _tag(claim)

    def _bad(
        self, claims: Sequence[AnyClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        del rng, executor
        return frozenset(i for i, each in enumerate(claims) if each.proof != _tag(_bare(each)))

    bad_possessions = bad_noises = bad_shared = bad_lengths = bad_masks = _bad


SWIFT = Toolkit(proofs=Tags())


def _bare(claim: AnyClaim) -> AnyClaim:
    """A claim as its prover saw it."""
    if isinstance(claim, NoiseClaim):
        return replace(claim, proof=b"", weighing=b"")
    return replace(claim, proof=b"")


def _tag(claim: AnyClaim) -> bytes:
    """64 bytes over every field of the claim."""
    context = claim.context
    fields = [context.session, context.round.to_bytes(2), type(claim).__name__.encode()]
    names = [name for name in claim.__slots__ if name != "context"]
    values = [getattr(claim, name) for name in names]
    fields += [each if isinstance(each, bytes) else repr(each).encode() for each in values]
    framed = b"".join(len(field).to_bytes(4) + field for field in fields)
    return hashlib.sha512(b"tags of tests" + framed).digest()
