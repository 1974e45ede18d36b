"""The proofs of every real session.

04-J3, 04-K3, 04-K6 and 04-A2; 14-E1 and 14-E8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from commitments import Opening
from commitments.group import Group, SecretScalar
from gopa.contract.parameters import OpenAdmission
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import (
    LengthClaim,
    MaskClaim,
    NoiseClaim,
    PossessionClaim,
    SharedKeyClaim,
)
from gopa.rounds.rows.statements import length_statement, mask_statement, require_rows_path
from gopa.rounds.statements import (
    noise_coins,
    possession_statement,
    require_provable,
    shared_key_statement,
    weighing_statement,
)
from wire.domains import (
    EXACT_INPUT,
    INPUT_AND_NOISE,
    POSSESSION,
    ROW_INPUT,
    ROW_MASKS,
    SHARED_KEY,
    WEIGHING,
    Domain,
)
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng
from zkp import (
    ProofClaim,
    Transcript,
    prove_last_largest,
    sigma,
)
from zkp.batch import Verifiable, verify_items
from zkp.equations import Equation
from zkp.noise import NoiseSeed, PostedNoise
from zkp.rows.length_prover import HiddenLengths, prove_lengths
from zkp.rows.mask_prover import HiddenMasks, prove_masks
from zkp.sigma.proof import relation_equations


class RealProofs:
    """Proofs in zero knowledge, checked in batches; see `gopa.rounds.proofs.Proofs`.

    Every transcript is bound to session, round, the close acted on, the party and what
    the proof is for, so no proof serves another of any of them. A claim that cannot be
    true is a bad claim, whatever error it raises: a stranger's bytes stop no check of
    the others. With a pool of processes, claims travel to the workers.
    """

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        """Make `proof`, in 64 bytes; the claim comes with it empty."""
        relation = possession_statement(claim.context, claim.key)
        known = sigma.witness(claim.context.group, secret)
        return sigma.prove(relation, known, _transcript(claim, POSSESSION), rng=rng)

    def bad_possessions(
        self, claims: Sequence[PossessionClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose author does not know the secret of its key."""
        return _bad(_possession, claims, rng, executor)

    def prove_noise(
        self,
        claim: NoiseClaim,
        seed: NoiseSeed | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        """Make `proof` and `weighing`; the claim comes with both empty."""
        law, transcript = claim.context.manifest.terms.noise, _noise_transcript(claim)
        proof = law.prove(_posted_noise(claim), seed, given, output, transcript, rng=rng)
        return proof, _weigh(claim, given, rng)

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose output is not an input in range plus its noise."""
        for context in {id(claim.context): claim.context for claim in claims}.values():
            require_provable(context)
        bad = _bad(_noise, claims, rng, executor)
        weighed = [i for i, each in enumerate(claims) if each.context.manifest.weighted]
        unfounded = _bad(_weighing, [claims[i] for i in weighed], rng, executor)
        superfluous = {
            i
            for i, each in enumerate(claims)
            if each.weighing and not each.context.manifest.weighted
        }
        return bad | {weighed[i] for i in unfounded} | superfluous

    def prove_shared(self, claim: SharedKeyClaim, secret: SecretScalar, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""
        relation = shared_key_statement(claim.context, claim.own, claim.other, claim.shared)
        known = sigma.witness(claim.context.group, secret)
        return sigma.prove(relation, known, _transcript(claim, SHARED_KEY), rng=rng)

    def bad_shared(
        self, claims: Sequence[SharedKeyClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose key is not the one both share."""
        return _bad(_shared, claims, rng, executor)

    def prove_lengths(self, claim: LengthClaim, hidden: HiddenLengths, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""
        statement = length_statement(claim)
        return prove_lengths(statement, hidden, _transcript(claim, ROW_INPUT), rng=rng)

    def bad_lengths(
        self, claims: Sequence[LengthClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose vector or noise is too long, or has other tests."""
        _require_rows(claims)
        return _bad(_lengths, claims, rng, executor)

    def prove_masks(self, claim: MaskClaim, hidden: HiddenMasks, rng: Rng) -> bytes:
        """Make `proof`; the claim comes with it empty."""
        statement = mask_statement(claim)
        return prove_masks(statement, hidden, _transcript(claim, ROW_MASKS), rng=rng)

    def bad_masks(
        self, claims: Sequence[MaskClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        """The positions of the claims whose words are made of something else."""
        _require_rows(claims)
        return _bad(_masks, claims, rng, executor)


_AnyClaim = TypeVar(
    "_AnyClaim", PossessionClaim, NoiseClaim, SharedKeyClaim, LengthClaim, MaskClaim
)


def _for_workers(claims: Iterable[_AnyClaim]) -> Iterator[_AnyClaim]:
    """The same claims without the roster, which would travel with every task.

    No statement depends on it, nor on the number of attempts, which open admission would
    have charged all; transcripts are bound to the session's id, which the context has apart
    from the manifest.
    """
    whole: RoundContext | None = None
    light: RoundContext | None = None
    for claim in claims:
        if light is None or claim.context is not whole:
            whole = claim.context
            everybody = OpenAdmission(whole.manifest.terms.parties)
            once = replace(whole.manifest.terms, charged=0, attempts=1)
            light = replace(
                whole, manifest=replace(whole.manifest, admission=everybody, terms=once)
            )
        yield replace(claim, context=light)


def _bad(
    load: Callable[[_AnyClaim], ProofClaim],
    claims: Sequence[_AnyClaim],
    rng: Rng,
    executor: Executor | None,
) -> frozenset[int]:
    items = claims if executor is None else _for_workers(claims)
    try:
        verify_items(partial(_from_stranger, load), items, rng=rng, executor=executor)
    except InvalidProof as error:
        return frozenset(error.culprits)
    return frozenset()


def _from_stranger(load: Callable[[_AnyClaim], ProofClaim], claim: _AnyClaim) -> ProofClaim:
    with _blaming_the_prover():
        made = load(claim)
    return replace(made, statement=_FromStranger(made.statement))


@contextmanager
def _blaming_the_prover() -> Iterator[None]:
    """Bytes of a stranger that make a call wrong are a wrong claim."""
    try:
        yield
    except UsageError as error:
        raise MalformedMessage(f"no honest claim: {error.message}", error.field) from error


def _weigh(claim: NoiseClaim, given: Opening, rng: Rng) -> bytes:
    if not claim.context.manifest.weighted:
        return b""
    statement = weighing_statement(claim.context, claim.given)
    return prove_last_largest(statement, given, _transcript(claim, WEIGHING), rng=rng)


def _transcript(
    claim: PossessionClaim | NoiseClaim | SharedKeyClaim | LengthClaim | MaskClaim, purpose: Domain
) -> Transcript:
    return claim.context.transcript(purpose, claim.acts_on, claim.party)


def _noise_transcript(claim: NoiseClaim) -> Transcript:
    """What is proved without noise has a name of its own, and is never the proof of another."""
    exact = claim.context.manifest.terms.exact
    return _transcript(claim, EXACT_INPUT if exact else INPUT_AND_NOISE)


def _posted_noise(claim: NoiseClaim) -> PostedNoise:
    """What `proof` of a commit is about: C_x, with C_y or A and D_u where there is noise."""
    context = claim.context
    coins = noise_coins(context, claim.joint, claim.party)
    return PostedNoise(context.noise_setting, coins, claim.given, claim.seed, claim.output)


@dataclass(frozen=True, slots=True)
class _Relation:
    """A Sigma proof in batchable form, for batches of any proofs."""

    relation: sigma.LinearRelation

    @property
    def group(self) -> Group:
        return self.relation.group

    def equations(self, proof: bytes, transcript: Transcript, /) -> tuple[Equation, ...]:
        return relation_equations(self.relation, proof, transcript)


@dataclass(frozen=True, slots=True)
class _FromStranger:
    """A statement that a stranger chose."""

    statement: Verifiable

    @property
    def group(self) -> Group:
        return self.statement.group

    def equations(self, proof: bytes, transcript: Transcript, /) -> tuple[Equation, ...]:
        with _blaming_the_prover():
            return self.statement.equations(proof, transcript)


def _possession(claim: PossessionClaim) -> ProofClaim:
    relation = possession_statement(claim.context, claim.key)
    return ProofClaim(_Relation(relation), claim.proof, _transcript(claim, POSSESSION))


def _noise(claim: NoiseClaim) -> ProofClaim:
    statement = claim.context.manifest.terms.noise.statement(_posted_noise(claim))
    return ProofClaim(statement, claim.proof, _noise_transcript(claim))


def _weighing(claim: NoiseClaim) -> ProofClaim:
    statement = weighing_statement(claim.context, claim.given)
    return ProofClaim(statement, claim.weighing, _transcript(claim, WEIGHING))


def _lengths(claim: LengthClaim) -> ProofClaim:
    return ProofClaim(length_statement(claim), claim.proof, _transcript(claim, ROW_INPUT))


def _masks(claim: MaskClaim) -> ProofClaim:
    return ProofClaim(mask_statement(claim), claim.proof, _transcript(claim, ROW_MASKS))


def _require_rows(claims: Sequence[LengthClaim | MaskClaim]) -> None:
    for context in {id(claim.context): claim.context for claim in claims}.values():
        require_rows_path(context)


def _shared(claim: SharedKeyClaim) -> ProofClaim:
    relation = shared_key_statement(claim.context, claim.own, claim.other, claim.shared)
    return ProofClaim(_Relation(relation), claim.proof, _transcript(claim, SHARED_KEY))
