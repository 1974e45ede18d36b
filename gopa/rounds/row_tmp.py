"""TEMPORARY until challenges, claims and proofs of the other branch are there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from commitments import VectorPedersen
from commitments.tables import table_kernels
from gopa.masks import (
    EdgeContext,
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    unpack_words,
    word_type,
)
from gopa.masks.self_masks import self_key
from gopa.planning.equation_points import equation_points, losses_allowed
from gopa.rounds.context import RoundContext
from wire.domains import Domain, stream_domain
from wire.errors import GopaError, InvalidProof, MalformedMessage
from wire.secret import SecretBytes
from zkp.rows.lengths import LengthBounds, LengthStatement, verify_lengths
from zkp.rows.masking import MaskStatement, SignedPermutation, verify_masks
from zkp.rows.product_tests import ProductTests, decode_tests
from zkp.rows.sumcheck import vector_of


def framed(label: Domain, *fields: bytes) -> bytes:
    return len(label).to_bytes(1) + label + b"".join(fields)


def place(context: RoundContext) -> bytes:
    return context.session + context.round.to_bytes(2)


def coins(context: RoundContext, label: bytes, *fields: bytes) -> Any:
    domain = Domain(label)
    key = hashlib.sha256(framed(domain, *fields)).digest()
    return context.group.stream(SecretBytes(key), stream_domain(domain))


def input_tests(context: RoundContext, joint: bytes) -> ProductTests:
    return ProductTests.draw(
        context.shape, 2, coins(context, b"gopa/v1/beacon/input-tests", joint, place(context))
    )


def permutation(context: RoundContext, joint: bytes, party: bytes) -> SignedPermutation:
    stream = coins(context, b"gopa/v1/beacon/signed-permutation", joint, place(context), party)
    d = context.dimension
    return SignedPermutation(
        np.frombuffer(stream.permutation(d), np.uint32), stream.bytes(-(-d // 8))
    )


def carry_tests(context: RoundContext, leaf: bytes) -> ProductTests:
    return ProductTests.draw(
        context.shape, 1, coins(context, b"gopa/v1/protocol/carry-tests", place(context), leaf)
    )


def points(context: RoundContext, leaf: bytes, listed: int) -> Any:
    terms, shape, group = context.manifest.terms, context.shape, context.group
    t = equation_points(listed, losses_allowed(listed, terms.survivors, terms.late), shape.bits)
    data = hashlib.shake_128(
        framed(Domain(b"gopa/v1/protocol/equation-points"), place(context), leaf, t.to_bytes(2))
    ).digest(48 * t * shape.bits)
    scalars = group.reduce_scalars(data, 48)
    return tuple(scalars[i * shape.bits : (i + 1) * shape.bits] for i in range(t))


def _equation(context: RoundContext, words: Any, blinding: Any, z: Any) -> Any:
    group, kernels = context.group, table_kernels(context.group)
    words = words.astype(np.uint64) & np.uint64((1 << context.manifest.word_width) - 1)
    values = vector_of(
        group, *(kernels.equality(p, context.dimension).inner_words(words) for p in z)
    )
    point = VectorPedersen(group, len(z)).commit(values, blinding).points[0]
    return values, blinding, point.to_bytes()


def _hkdf(key: SecretBytes, leaf: bytes, info: bytes) -> SecretBytes:
    return SecretBytes(HKDF(SHA256(), 32, leaf, info).derive(key.reveal()))


def words_of(context: RoundContext) -> Any:
    return np.zeros(context.dimension, word_type(context.manifest.word_width))


def edge_equation(
    context: RoundContext, edge: EdgeContext, key: SecretBytes, leaf: bytes, z: Any
) -> Any:
    words = words_of(context)
    add_edge_words(words, key, 1, UniformMask(), group=context.group)
    new = _hkdf(key, leaf, b"gopa/v1/masks/equation-key" + edge.to_bytes())
    blinding = context.group.stream(
        new, stream_domain(Domain(b"gopa/v1/masks/edge-equation"))
    ).scalars(1)[0]
    return _equation(context, words, blinding, z)


def self_equation(
    context: RoundContext, own: SelfContext, seed: SecretBytes, leaf: bytes, z: Any
) -> Any:
    words = words_of(context)
    add_self_words(words, seed, own, 1, group=context.group)
    new = _hkdf(self_key(seed, own), leaf, b"gopa/v1/masks/equation-key" + own.to_bytes())
    blinding = context.group.stream(
        new, stream_domain(Domain(b"gopa/v1/masks/self-equation"))
    ).scalars(1)[0]
    return _equation(context, words, blinding, z)


@dataclass(frozen=True, slots=True)
class LengthClaim:
    context: RoundContext
    acts_on: bytes
    party: bytes
    joint: bytes
    inputs: bytes
    noise: bytes
    pads: bytes
    tests: bytes
    proof: bytes

    def transcript(self) -> Any:
        return self.context.transcript(
            Domain(b"gopa/v1/protocol/long-input"), self.acts_on, self.party
        )

    def statement(self) -> LengthStatement:
        context, shape, terms = self.context, self.context.shape, self.context.manifest.terms
        group = context.group
        return LengthStatement(
            group,
            shape,
            LengthBounds(terms.squared_norm, terms.noise_square, terms.spike),
            input_tests(context, self.joint),
            group.decode_points(self.inputs, shape.rows),
            group.decode_points(self.noise, shape.rows),
            group.decode_points(self.pads, shape.pad_rows),
            decode_tests(self.tests),
        )


@dataclass(frozen=True, slots=True)
class MaskClaim:
    context: RoundContext
    acts_on: bytes
    party: bytes
    joint: bytes
    listed: int
    words: bytes
    inputs: bytes
    noise: bytes
    carries: bytes
    pads: bytes
    neighbours: tuple[int, ...]
    signs: tuple[int, ...]
    edges: bytes
    own: bytes
    tests: bytes
    proof: bytes

    def transcript(self) -> Any:
        return self.context.transcript(
            Domain(b"gopa/v1/protocol/long-masks"), self.acts_on, self.party
        )

    def statement(self) -> MaskStatement:
        context, shape, group = self.context, self.context.shape, self.context.group
        width = context.manifest.word_width
        return MaskStatement(
            group=group,
            shape=shape,
            word_bits=width,
            permutation=permutation(context, self.joint, self.party),
            points=points(context, self.acts_on, self.listed),
            tests=carry_tests(context, self.acts_on),
            words=unpack_words(self.words, context.dimension, width).astype(np.uint64),
            words_hash=hashlib.sha256(self.words).digest(),
            inputs=group.decode_points(self.inputs, shape.rows),
            noise=group.decode_points(self.noise, shape.rows),
            carries=group.decode_points(self.carries, shape.rows),
            pads=group.decode_points(self.pads, shape.pad_rows),
            neighbours=self.neighbours,
            signs=self.signs,
            edges=group.decode_points(self.edges, len(self.signs)),
            own=group.decode_points(self.own, 1),
            answers=decode_tests(self.tests),
        )


def bad_lengths(claims: Any, rng: Any, executor: Any = None) -> frozenset[int]:
    return frozenset(n for n, c in enumerate(claims) if not _holds(verify_lengths, c))


def bad_masks(claims: Any, rng: Any, executor: Any = None) -> frozenset[int]:
    return frozenset(n for n, c in enumerate(claims) if not _holds(verify_masks, c))


def _holds(verify: Any, claim: Any) -> bool:
    try:
        verify(claim.statement(), claim.proof, claim.transcript())
    except (InvalidProof, MalformedMessage, GopaError):
        return False
    return True
