"""One batch for everything: ranges, vectors, both noises; small chunks; every culprit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from commitments.group import Group
from tests.randomness import seeded
from tests.zkp import (
    gaussian_noise_vectors,
    range_vectors,
    vector_range_vectors,
    weighted_noise_vectors,
)
from tests.zkp.proof_vectors import Case, transcript
from wire.errors import InvalidProof, ProtocolError
from zkp.batch import ProofClaim, verify_batch
from zkp.noise.gaussian_table import verify_gaussian_noise
from zkp.noise.weighted_bits import verify_weighted_noise
from zkp.range import verify_range, verify_vector_range

SOURCES: dict[Any, Callable[..., None]] = {
    range_vectors: verify_range,
    vector_range_vectors: verify_vector_range,
    gaussian_noise_vectors: verify_gaussian_noise,
    weighted_noise_vectors: verify_weighted_noise,
}


@lru_cache
def accepted(group: Group) -> tuple[Case[Any], ...]:
    """Every valid case of every kind, checked by itself."""
    found: list[Case[Any]] = []
    for source, verify in SOURCES.items():
        valid = [made for made in source.cases(group) if made.base is None]
        for made in valid:
            verify(made.statement, made.proof, transcript(made.context))
        found += valid
    return tuple(found)


def claim(made: Case[Any]) -> ProofClaim:
    return ProofClaim(made.statement, made.proof, transcript(made.context))


def culprits(cases: list[Case[Any]]) -> tuple[int, ...]:
    try:
        verify_batch(map(claim, cases), rng=seeded(1))
    except InvalidProof as error:
        return error.culprits
    return ()


@pytest.mark.parametrize("chunk", [1, 1 << 11, 1 << 18])
def test_all_kinds_hold_together(group: Group, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zkp.batch._MOST_SCALARS", chunk)
    cases = list(accepted(group))
    assert len(cases) >= 20
    assert culprits(cases) == ()
    bad = {1, 7, len(cases) // 2, len(cases) - 1}
    changed = [
        replace(made, context=b"another party") if place in bad else made
        for place, made in enumerate(cases)
    ]
    assert culprits(changed) == tuple(sorted(bad))
    changed[3] = replace(cases[3], proof=cases[3].proof[:-1])
    changed[8] = replace(cases[8], proof=b"\xff" * len(cases[8].proof))
    assert culprits(changed) == tuple(sorted(bad | {3, 8}))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__.split(".")[-1])
def test_a_batch_refuses_what_is_refused_alone(group: Group, source: Any) -> None:
    """All published cases in one batch: the culprits are those with an error."""
    cases = list(source.cases(group))
    alone = []
    for place, made in enumerate(cases):
        try:
            SOURCES[source](made.statement, made.proof, transcript(made.context))
        except ProtocolError:
            alone.append(place)
    assert 0 < len(alone) < len(cases)
    assert culprits(cases) == tuple(alone)
