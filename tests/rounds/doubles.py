"""Stand-ins for proofs, for tests of many small worlds.

A double looks at the witness, as no verifier of a real proof can, and answers with a
tag over every field of the claim. What is false gets no tag, and a tag fits one claim.
Whoever reads this file can make tags: tests only.
"""

# ruff: noqa: ARG002 - the signatures are those of the interface

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TypeAlias

from commitments import Opening
from commitments.group import Point, SecretScalar
from gopa.rounds.context import commit
from gopa.rounds.proofs import NoiseClaim, PossessionClaim, SharedKeyClaim
from gopa.rounds.statements import bit_coins, table_coins
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import NoiseSeeds
from zkp.weighted_noise import NoiseBits

AnyClaim: TypeAlias = PossessionClaim | NoiseClaim | SharedKeyClaim


class ProofDoubles:
    """`gopa.rounds.proofs.Proofs` by hashes. Sizes are those of real possessions only."""

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        _require(claim.context.group.generator * secret, claim.key)
        return 2 * _tag(claim)

    def bad_possessions(
        self, claims: Sequence[PossessionClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        return _wrong([each.proof == 2 * _tag(each) for each in claims])

    def prove_noise(
        self,
        claim: NoiseClaim,
        seeds: NoiseSeeds | NoiseBits | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        _require_noise(claim, seeds, given, output)
        if not claim.context.manifest.weighted:
            return _tag(claim), b""
        steps = given.values.reveal().ints()
        if max(steps) > steps[-1]:
            raise UsageError("a coordinate is above the last one")
        return _tag(claim), _tag(claim)

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        return _wrong(
            [
                each.proof == _tag(each)
                and each.weighing == (_tag(each) if each.context.manifest.weighted else b"")
                for each in claims
            ]
        )

    def prove_shared(self, claim: SharedKeyClaim, secret: SecretScalar, rng: Rng) -> bytes:
        group = claim.context.group
        _require(group.generator * secret, claim.own)
        _require(group.decode_point(claim.other) * secret, claim.shared)
        return _tag(claim)

    def bad_shared(
        self, claims: Sequence[SharedKeyClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        return _wrong([each.proof == _tag(each) for each in claims])


def _wrong(right: list[bool]) -> frozenset[int]:
    return frozenset(number for number, held in enumerate(right) if not held)


def _tag(claim: AnyClaim) -> bytes:
    """32 bytes over all fields but the proofs, each with its length."""
    context = claim.context
    fields = [type(claim).__name__.encode(), context.session, context.round.to_bytes(2)]
    if isinstance(claim, NoiseClaim):
        own = [claim.joint, claim.given, claim.seed, claim.output]
    elif isinstance(claim, SharedKeyClaim):
        own = [claim.own, claim.other, claim.shared]
    else:
        own = [claim.key]
    hashed = hashlib.sha256(b"gopa tests/proof doubles")
    for field in [*fields, claim.acts_on, claim.party, *own]:
        hashed.update(len(field).to_bytes(4) + field)
    return hashed.digest()


def _require(point: Point, encoding: bytes) -> None:
    if point.to_bytes() != encoding:
        raise UsageError("the witness does not satisfy the claim")


def _require_noise(
    claim: NoiseClaim, seeds: NoiseSeeds | NoiseBits | None, given: Opening, output: Opening
) -> None:
    context = claim.context
    exact = context.manifest.terms.exact
    posts = [(given, claim.given)] if exact else [(given, claim.given), (output, claim.output)]
    for opening, posted in posts:
        _require(commit(context.key, opening.values, opening.blindings[0]).points[0], posted)
    if isinstance(seeds, NoiseSeeds):
        _require(seeds.commitment.points[0], claim.seed)
        noise = seeds.noise(table_coins(context, claim.joint, claim.party))
    elif seeds is None:
        noise = output.values - given.values
        if not exact or claim.seed or claim.output or any(noise.reveal().ints()):
            raise UsageError("without noise the output is the input")
    else:
        _require(seeds.point, claim.seed)
        noise = seeds.noise(bit_coins(context, claim.joint, claim.party))
    if any((output.values - given.values - noise).reveal().ints()):
        raise UsageError("the output is not the input plus the noise")
    if max(given.values.reveal().ints()) > context.manifest.terms.steps:
        raise UsageError("the input is out of range")
