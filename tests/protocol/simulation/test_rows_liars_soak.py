"""Twenty parties with long vectors: one lies about its length, one about its noise, one leaves.

Both verifiers name both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.vectors import plan_of, vector_for
from commitments import ristretto255
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from tests.lies import says
from tests.protocol.simulation.row_worlds import simulate_rows, sum_in_the_open
from tests.protocol.simulation.worlds import culprits
from tests.verifier.answers import PROGRAM, answer_of, first
from tests.verifier.test_sessions import archive_of

LONG, NOISY, GONE = 3, 8, 12
"""Who lies about its input, who about its noise, and who leaves behind publish."""


def doubled(rows: Sequence[bytes]) -> tuple[bytes, ...]:
    """Commitments to rows that are twice as long: what is proved afterwards is not so."""
    group = ristretto255()
    points = group.decode_points(b"".join(rows), len(rows))
    data = (points + points).to_bytes()
    return tuple(data[at : at + 32] for at in range(0, len(data), 32))


def longer(name: str) -> Callable[[Any], Any]:
    """A join in which these rows are doubled."""
    return lambda join: replace(join, **{name: doubled(getattr(join, name))})


@pytest.mark.soak
@pytest.mark.parametrize("dimension", [1_000, 100_000])
def test_liars_are_named_and_the_sum_is_that_of_the_others(dimension: int, tmp_path: Path) -> None:
    terms = plan_of(dimension).terms
    script = Script().drop(GONE, before=Phase.PROVE)
    script = script.misbehave(LONG, says(Phase.JOIN, longer("input")))
    script = script.misbehave(NOISY, says(Phase.JOIN, longer("noise")))
    begun = time.process_time()
    simulation = simulate_rows(terms, script)
    vectors = [vector_for(terms, party) for party in range(terms.parties)]
    record = simulation.run_round(vectors)
    spent = time.process_time() - begun
    assert set(record.included) == set(range(terms.parties)) - {LONG, NOISY, GONE}
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    assert culprits(simulation, record) == {LONG: {"14-P3"}, NOISY: {"14-P3"}}
    own = peak("self")
    archive, anchors = archive_of(simulation)
    log, given = tmp_path / "log.gopa", tmp_path / "anchors"
    log.write_bytes(archive)
    given.write_bytes(anchors)
    assert first(archive, anchors).verdict == "VALID"
    audited, report = run("-m", "gopa", "audit", str(log), "--anchors", str(given), "--json")
    assert report["verdict"] == "VALID"
    checked, report = run(str(PROGRAM / "verify.py"), str(log), "--anchors", str(given))
    assert answer_of(report) == first(archive, anchors)
    names = [simulation.parties[party].author.hex() for party in (LONG, NOISY)]
    assert {(each["author"], each["rule"]) for each in report["faults"]} == {
        (name, "14-P3") for name in names
    }
    sys.stdout.write(f"{dimension}: a round {spent:.1f} s, {own} MB\n")
    sys.stdout.write(f"audit {audited}, second verifier {checked}, log {len(archive)} bytes\n")


def peak(process: str | int) -> int:
    """The most memory that a process has had so far, in MB; 0 where it is over."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    found = next((line for line in lines if line.startswith("VmHWM")), "VmHWM: 0")
    return int(found.split()[1]) // 1000


def run(*arguments: str) -> tuple[str, Any]:
    """What a program costs, in a process of its own, and the report that it prints."""
    before, memory = os.times(), 0
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([sys.executable, *arguments], stdout=out)
        while process.poll() is None:
            memory = max(memory, peak(process.pid))
            time.sleep(0.05)
        out.seek(0)
        found = json.loads(out.read())
    assert process.returncode == 0
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return f"{spent:.1f} s, {memory} MB", found
