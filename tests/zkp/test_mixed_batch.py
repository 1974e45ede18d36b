"""One batch for everything: ranges, vectors, both noises; small chunks; every culprit."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from commitments.group import Group
from tests.randomness import seeded
from tests.zkp.proof_vectors import Case, transcript
from tests.zkp.test_proof_vectors import FILES
from wire.errors import InvalidProof, ProtocolError
from zkp.batch import ProofClaim, verify_batch


@lru_cache
def accepted(group: Group) -> tuple[Case[Any], ...]:
    """Every valid case of every kind, checked by itself."""
    found: list[Case[Any]] = []
    for source, verify in FILES.values():
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


@pytest.mark.parametrize("name", FILES)
def test_a_batch_refuses_what_is_refused_alone(group: Group, name: str) -> None:
    """All published cases in one batch: the culprits are those with an error."""
    source, verify = FILES[name]
    cases = list(source.cases(group))
    alone = []
    for place, made in enumerate(cases):
        try:
            verify(made.statement, made.proof, transcript(made.context))
        except ProtocolError:
            alone.append(place)
    assert 0 < len(alone) < len(cases)
    assert culprits(cases) == tuple(alone)
