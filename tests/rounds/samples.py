"""Rounds and honest claims for tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from commitments import Opening
from commitments.group import Group, SecretScalarVec
from gopa.contract.manifest import Manifest
from gopa.rounds.context import RoundContext, commit, opening_of
from gopa.rounds.proofs import NoiseClaim, PossessionClaim, Proofs, SharedKeyClaim
from gopa.rounds.statements import noise_coins
from tests.contract.samples import manifest, vector_terms
from tests.randomness import seeded
from wire.domains import INPUT_AND_NOISE
from wire.randomness import Rng
from zkp.noise import NoiseSeed

JOINT = b"\x21" * 32
CLOSE = b"\x31" * 32
KINDS = ("table", "bits", "weights")


@lru_cache
def manifest_of(kind: str) -> Manifest:
    """A session in which noise comes from a table, from bits, or from bits under weights."""
    if kind == "table":
        return manifest()
    return manifest(vector_terms(), weighted=kind == "weights")


def context_of(group: Group, kind: str = "table", number: int = 1) -> RoundContext:
    agreed = manifest_of(kind)
    return RoundContext(agreed, agreed.session, number, group)


def party_number(number: int) -> bytes:
    return bytes([number]) * 32


@dataclass(frozen=True)
class Noisy:
    """A claim without proofs, and everything its prover knows."""

    claim: NoiseClaim
    seeds: NoiseSeed
    given: Opening
    output: Opening

    def proved(self, proofs: Proofs, rng: Rng) -> NoiseClaim:
        proof, weighing = proofs.prove_noise(self.claim, self.seeds, self.given, self.output, rng)
        return replace(self.claim, proof=proof, weighing=weighing)


def noisy(
    context: RoundContext, number: int, values: list[int] | None = None, error: int = 0
) -> Noisy:
    """What an honest party knows; an `error` in the output makes it a dishonest one."""
    rng, group, party = seeded(f"noisy {number}"), context.group, party_number(number)
    inputs = group.secret_scalars(values or [7, 3, 9][-context.dimension :])
    given = _opened(context, inputs, rng)
    hedge = context.transcript(INPUT_AND_NOISE, CLOSE, party)
    law = context.manifest.terms.noise
    seeds = law.seed(context.noise_setting, inputs, hedge, rng=rng)
    assert seeds is not None
    noise, seed = seeds.noise(noise_coins(context, JOINT, party)), seeds.posted
    wrong = group.scalars([error] * context.dimension)
    output = _opened(context, inputs + noise + wrong, rng)
    claim = NoiseClaim(
        context,
        CLOSE,
        party,
        JOINT,
        _published(context, given),
        seed,
        _published(context, output),
        b"",
        b"",
    )
    return Noisy(claim, seeds, given, output)


def possession(
    proofs: Proofs, context: RoundContext, number: int, acts_on: bytes = CLOSE
) -> PossessionClaim:
    rng = seeded(f"possession {number}")
    secret = context.group.random_scalars(1, rng)[0]
    key = (context.group.generator * secret).to_bytes()
    claim = PossessionClaim(context, acts_on, party_number(number), key, b"")
    return replace(claim, proof=proofs.prove_possession(claim, secret, rng))


def shared_key(proofs: Proofs, context: RoundContext, number: int) -> SharedKeyClaim:
    group, rng = context.group, seeded(f"shared {number}")
    secrets = group.random_scalars(2, rng)
    own, other = group.generator * secrets[0], group.generator * secrets[1]
    claim = SharedKeyClaim(
        context,
        CLOSE,
        party_number(number),
        own.to_bytes(),
        other.to_bytes(),
        (other * secrets[0]).to_bytes(),
        b"",
    )
    return replace(claim, proof=proofs.prove_shared(claim, secrets[0], rng))


def _opened(context: RoundContext, values: SecretScalarVec, rng: Rng) -> Opening:
    return opening_of(context.key, values, context.group.random_scalars(1, rng)[0])


def _published(context: RoundContext, opening: Opening) -> bytes:
    return commit(context.key, opening.values, opening.blindings[0]).to_bytes()
