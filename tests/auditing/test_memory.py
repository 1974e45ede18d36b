"""What an audit holds in memory for each party of a session, counted and not timed."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from bench.audit_session import made_session
from commitments.group import SecretScalar
from gopa.auditing.auditor import options_of, read_log
from gopa.auditing.reading import LogState
from gopa.auditing.sources import open_transcript
from gopa.rounds.proofs import NoiseClaim, PossessionClaim
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.toolkit import Toolkit
from tests import verified
from tests.auditing.logs import archived, clean, note_of
from tests.planning.samples import plan
from wire import ed25519
from wire.randomness import Rng

FEW, MANY = 100, 300
PROOF = 1_000
MOST = 6_000
"""Bytes for each party; objects in place of packed bytes take twice as much."""

MOST_FOR_AN_ENTRY = 350
"""Bytes for each tiny entry, whatever it says; its leaf hash is kept three times."""


class Unproved(RealProofs):
    """Proofs as long as real ones, which nobody checks: they take long, and no memory."""

    def prove_possession(self, claim: PossessionClaim, secret: SecretScalar, rng: Rng) -> bytes:
        del claim, secret, rng
        return bytes(64)

    def prove_noise(self, claim: NoiseClaim, *rest: object) -> tuple[bytes, bytes]:
        del rest
        return claim.party * (PROOF // 32), b""

    def bad_possessions(
        self, claims: Sequence[PossessionClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        del rng, executor
        return frozenset(at for at, claim in enumerate(claims) if len(claim.proof) != 64)

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        del rng, executor
        return frozenset(at for at, claim in enumerate(claims) if not claim.proof)


def session_of(parties: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / f"{parties}.gopa"
    """All have about as many neighbours in every session, whatever the planner likes best."""
    planned = plan(n=parties, epsilon=2, delta=1e-4, corrupt=0.1, dropout=0.05, mask="uniform")
    chances = Decimal("0.001"), Decimal("0.5")
    terms = replace(planned.terms, k=14, loss=6, beta=chances[0], delta=chances[1])
    monkeypatch.setattr("bench.audit_parties.RealProofs", Unproved)
    made_session(terms, path, seed=bytes(32), jobs=2)
    return path


def counted(path: Path) -> tuple[LogState, int]:
    """What was read, and the most that Python objects took while it was read and judged."""
    options = options_of(trust_embedded=True, toolkit=Toolkit(proofs=Unproved()))
    gc.collect()
    tracemalloc.start()
    try:
        with ExitStack() as opened:
            state = read_log(open_transcript(path, opened), options, None)
        state.reading.check.findings()
        return state, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_of(path: Path) -> int:
    """Of a session with everybody in its result."""
    state, peak = counted(path)
    found = state.reading.check.findings()
    assert found.complete
    assert not found.faults
    assert found.rounds[0].final == tuple(range(len(found.rounds[0].roll)))
    return peak


@pytest.fixture(autouse=True)
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that are full with either of two sizes take the same with both."""
    monkeypatch.setattr("gopa.auditing.reading.BATCH", 64)
    monkeypatch.setattr("gopa.protocol.rules.mailbox.BATCH", 32)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the suite remembers of signatures is no part of an audit."""
    monkeypatch.setattr(ed25519, "verify", verified.check)


@pytest.mark.slow
def test_memory_for_each_party_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (session_of(parties, tmp_path, monkeypatch) for parties in (FEW, MANY))
    peak_of(few)  # modules and tables that are made once
    growth = (peak_of(many) - peak_of(few)) / (MANY - FEW)
    assert growth < MOST


def peak_of_entries(count: int, path: Path) -> int:
    """Of a session behind which there are so many entries that say nothing."""
    log = clean()
    more = [log.entry(round=2, seq=each) for each in range(count)]
    entries = (*log.entries, *more)
    path.write_bytes(archived(entries, note_of(entries, log.signer), log.manifest.session))
    state, peak = counted(path)
    assert state.ended
    assert state.reading.size == len(entries)
    return peak


@pytest.mark.slow
def test_memory_for_each_tiny_entry_is_bounded(tmp_path: Path) -> None:
    few, many = 500, 2_000
    path = tmp_path / "log.gopa"
    peak_of_entries(few, path)
    growth = (peak_of_entries(many, path) - peak_of_entries(few, path)) / (many - few)
    assert growth < MOST_FOR_AN_ENTRY
