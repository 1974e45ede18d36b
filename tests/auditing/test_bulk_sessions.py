"""Sessions that the benchmarks make in bulk are sessions: the auditor finds nothing wrong."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Final

import pytest

from bench.audit import session_of
from bench.audit_session import made_session, write_session
from bulletin_board import Submission
from bulletin_board.archive import ArchiveParts
from bulletin_board.note import Checkpoint, SignedNote
from gopa.auditing import Verdict, audit
from gopa.cli import entry as room
from gopa.cli.entry import NoRoom, make_room
from gopa.contract.party import COMMIT
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from tests.auditing.transcripts import anchors_of, path_of
from tests.planning.samples import plan

PARTIES = 30


@pytest.fixture(scope="module")
def terms() -> Terms:
    return plan(n=PARTIES, epsilon=2, delta=1e-4, corrupt=0.1, dropout=0.05, mask="uniform").terms


@pytest.fixture(scope="module")
def path(terms: Terms, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bulk") / "cache" / "session.gopa"
    made_session(terms, path, seed=bytes(32), jobs=2)
    assert [each.name for each in path.parent.iterdir()] == ["session.gopa"]
    return path


def entries_of(path: Path) -> list[Submission]:
    with path.open("rb") as stream:
        parts = ArchiveParts(stream)
        checkpoint = Checkpoint.from_text(SignedNote.parse(parts.note).text)
        return [Submission.decode(raw) for raws in parts.bundles(checkpoint) for raw in raws]


@pytest.mark.slow
def test_everybody_is_in_and_nothing_is_wrong(path: Path, terms: Terms) -> None:
    report = audit(path, trust_embedded=True)
    assert report.verdict is Verdict.VALID
    assert report.simulation
    assert not report.faults
    assert not report.remarks
    (found,) = report.rounds
    assert len(found.included) == PARTIES
    inputs = sum(party % (terms.steps + 1) for party in range(PARTIES))
    deviation = (PARTIES * float(terms.noise.variance)) ** 0.5
    assert abs(found.sums[0] - inputs) <= 8 * deviation
    assert found.privacy is not None
    assert Decimal(found.privacy.claims[0].delta) <= terms.delta


@pytest.mark.slow
def test_workers_change_no_byte_of_the_report(path: Path) -> None:
    plain = audit(path, trust_embedded=True).to_json()
    assert audit(path, trust_embedded=True, jobs=2).to_json() == plain
    with ThreadPoolExecutor(2) as executor:
        assert audit(path, trust_embedded=True, executor=executor).to_json() == plain


@pytest.mark.slow
def test_every_proof_is_its_partys_own(path: Path) -> None:
    commits = [
        COMMIT.decode(each.entry.body)
        for each in entries_of(path)
        if each.entry.phase == Phase.COMMIT
    ]
    assert len(commits) == len({commit.proof for commit in commits}) == PARTIES
    assert len({commit.output for commit in commits}) == PARTIES


@pytest.mark.slow
def test_one_bit_of_one_proof_counts(path: Path, tmp_path: Path) -> None:
    data = bytearray(path.read_bytes())
    assert audit(path, trust_embedded=True).verdict is Verdict.VALID
    proof = COMMIT.decode(
        next(e.entry.body for e in entries_of(path) if e.entry.phase == Phase.COMMIT)
    ).proof
    data[data.index(proof) + 40] ^= 1
    other = tmp_path / "other.gopa"
    other.write_bytes(bytes(data))
    assert audit(other, trust_embedded=True).verdict is Verdict.INVALID


@pytest.mark.slow
def test_the_same_seed_makes_the_same_session(path: Path, terms: Terms) -> None:
    again, another = io.BytesIO(), io.BytesIO()
    write_session(terms, again, seed=bytes(32), jobs=1)
    assert again.getvalue() == path.read_bytes()
    write_session(terms, another, seed=b"\x01" * 32, jobs=1)
    assert another.getvalue() != again.getvalue()


def test_sessions_of_different_sizes_are_kept_apart() -> None:
    assert session_of(100) != session_of(1000)


GIVEN: Final = [64, 100, 120, 140, 200, 260, 300, 340, 380, 420]


"""Megabytes of address space, among them those with which a library ends, or never does."""


def audited(tmp_path: Path, megabytes: int) -> subprocess.CompletedProcess[bytes]:
    keys = tmp_path / "anchors.txt"
    keys.write_bytes(anchors_of("clean_five").to_bytes())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    session = path_of("clean_five")
    command = [sys.executable, "-m", "gopa", "audit", str(session), "--anchors", str(keys)]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, check=False, timeout=120)


@pytest.mark.slow
def test_with_enough_memory_there_is_a_verdict(tmp_path: Path) -> None:
    assert audited(tmp_path, 4_096).returncode == 0


@pytest.mark.thirds
@pytest.mark.parametrize("megabytes", GIVEN)
def test_too_little_memory_accuses_nobody(megabytes: int, tmp_path: Path) -> None:
    ended = audited(tmp_path, megabytes)
    assert ended.returncode in {0, 5}
    assert megabytes > 300 or ended.returncode == 5


def test_room_is_found_or_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    make_room()
    monkeypatch.setattr(room, "LEAST_ROOM", 2**60)
    with pytest.raises(NoRoom):
        make_room()
