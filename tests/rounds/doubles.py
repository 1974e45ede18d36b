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

from commitments import Opening, VectorPedersen
from commitments.group import Point, SecretScalar
from commitments.tables import table_kernels
from gopa.rounds.context import commit
from gopa.rounds.proofs import LengthClaim, MaskClaim, NoiseClaim, PossessionClaim, SharedKeyClaim
from gopa.rounds.rows.statements import length_statement, mask_statement
from gopa.rounds.statements import noise_coins
from wire.errors import UsageError
from wire.randomness import Rng
from zkp.noise import NoiseSeed
from zkp.rows.length_prover import HiddenLengths
from zkp.rows.mask_prover import HiddenMasks
from zkp.rows.product_tests import encode_tests, hidden_tests
from zkp.rows.rows import HiddenPads, HiddenRows
from zkp.rows.shape import TESTS

AnyClaim: TypeAlias = PossessionClaim | NoiseClaim | SharedKeyClaim | LengthClaim | MaskClaim


class ProofDoubles:
    """`gopa.rounds.proofs.Proofs` by hashes. Sizes are those of real possessions only."""

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        _require(claim.context.group.generator * secret, claim.key)
        return 2 * _tag(claim)

    def prove_noise(
        self,
        claim: NoiseClaim,
        seed: NoiseSeed | None,
        given: Opening,
        output: Opening,
        rng: Rng,
    ) -> tuple[bytes, bytes]:
        _require_noise(claim, seed, given, output)
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

    def prove_lengths(self, claim: LengthClaim, hidden: HiddenLengths, rng: Rng) -> bytes:
        _require_lengths(claim, hidden)
        return _tag(claim)

    def prove_masks(self, claim: MaskClaim, hidden: HiddenMasks, rng: Rng) -> bytes:
        _require_masks(claim, hidden)
        return _tag(claim)

    def _bad(
        self, claims: Sequence[AnyClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        return _wrong([each.proof == self._proof_of(each) for each in claims])

    @staticmethod
    def _proof_of(claim: AnyClaim) -> bytes:
        return _tag(claim) * (2 if isinstance(claim, PossessionClaim) else 1)

    bad_possessions = bad_shared = bad_lengths = bad_masks = _bad


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
    elif isinstance(claim, LengthClaim):
        rows = (claim.input, claim.noise, claim.pads)
        own = [claim.joint, *map(b"".join, rows), claim.tests]
    elif isinstance(claim, MaskClaim):
        posted = (claim.input, claim.noise, claim.carries, claim.pads, claim.edges)
        places = repr((claim.listed, claim.neighbours, claim.signs)).encode()
        own = [claim.joint, claim.value, *map(b"".join, posted), claim.self_mask, places]
        own.append(claim.tests)
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
    claim: NoiseClaim, seed: NoiseSeed | None, given: Opening, output: Opening
) -> None:
    context = claim.context
    exact = context.manifest.terms.exact
    posts = [(given, claim.given)] if exact else [(given, claim.given), (output, claim.output)]
    for opening, posted in posts:
        _require(commit(context.key, opening.values, opening.blindings[0]).points[0], posted)
    if seed is None:
        noise = output.values - given.values
        if not exact or claim.seed or claim.output or any(noise.reveal().ints()):
            raise UsageError("without noise the output is the input")
    else:
        if seed.posted != claim.seed:
            raise UsageError("the witness does not satisfy the claim")
        noise = seed.noise(noise_coins(context, claim.joint, claim.party))
    if any((output.values - given.values - noise).reveal().ints()):
        raise UsageError("the output is not the input plus the noise")
    if max(given.values.reveal().ints()) > context.manifest.terms.steps:
        raise UsageError("the input is out of range")


def _require_lengths(claim: LengthClaim, hidden: HiddenLengths) -> None:
    statement = length_statement(claim)
    group, pads, bounds = statement.group, hidden.pads.values[:TESTS], statement.bounds
    for rows, posted in (
        (hidden.inputs, claim.input),
        (hidden.noise, claim.noise),
        (hidden.pads, claim.pads),
    ):
        _require_rows(rows, posted)
    x, a = (rows.values for rows in (hidden.inputs, hidden.noise))
    tests = statement.tests
    sums = tests.sums([tests.column_sums(group, each) for each in (x, a)])
    if encode_tests(hidden_tests(group, sums, pads)) != statement.answers:
        raise UsageError("the tests are others")
    noise = a.tolist()
    short = sum(each**2 for each in x.tolist()) <= bounds.squared_norm
    short &= sum(each**2 for each in noise) <= bounds.noise_square
    if not short or sum(each**8 for each in noise) > bounds.spike**8:
        raise UsageError("the vector or its noise is too long")


def _require_masks(claim: MaskClaim, hidden: HiddenMasks) -> None:
    statement = mask_statement(claim)
    group, tests, dimension = statement.group, statement.tests, statement.shape.dimension
    for rows, posted in (
        (hidden.inputs, claim.input),
        (hidden.noise, claim.noise),
        (hidden.carries, claim.carries),
        (hidden.pads, claim.pads),
    ):
        _require_rows(rows, posted)
    sums = tests.sums([tests.column_sums(group, hidden.carries.values)])
    if encode_tests(hidden_tests(group, sums, hidden.pads.values[:TESTS])) != statement.answers:
        raise UsageError("the tests are others")
    total = statement.own[0]
    for sign, edge in zip(statement.signs, statement.edges, strict=True):
        total = total + edge * group.scalar(sign % group.order)
    key = VectorPedersen(group, len(statement.points))
    _require(key.commit(hidden.masks, hidden.blinding).points[0], total.to_bytes())
    moved = statement.permutation.applied(hidden.noise.values)
    left = (hidden.inputs.values + moved)[:dimension]
    carries, kernels = hidden.carries.values[:dimension], table_kernels(group)
    shift = group.scalar(1 << statement.word_bits)
    for number, z in enumerate(statement.points):
        mask = hidden.masks[number]
        at = kernels.equality(z, dimension)
        made = at.inner(kernels.of_integers(left)) + mask
        made = made - at.inner(kernels.of_integers(carries)) * shift
        if int((made - at.inner_words(statement.words)).reveal()):
            raise UsageError("the words are made of something else")


def _require_rows(rows: HiddenRows | HiddenPads, posted: tuple[bytes, ...]) -> None:
    if rows.points.to_bytes() != b"".join(posted):
        raise UsageError("the rows are others")
