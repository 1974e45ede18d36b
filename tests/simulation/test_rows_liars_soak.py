"""Twenty parties with long vectors: one lies about its length, one about its noise, one leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.vectors import plan_of, vector_for
from commitments import ristretto255
from gopa.auditing import Verdict, audit
from gopa.messages.phases import Phase
from gopa.simulation import Script
from tests.simulation.row_worlds import SaysInstead, simulate_rows, sum_in_the_open
from tests.simulation.worlds import culprits

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
    script = script.misbehave(LONG, SaysInstead(Phase.JOIN, longer("input")))
    script = script.misbehave(NOISY, SaysInstead(Phase.JOIN, longer("noise")))
    begun = time.process_time()
    simulation = simulate_rows(terms, script)
    vectors = [vector_for(terms, party) for party in range(terms.parties)]
    record = simulation.run_round(vectors)
    spent = time.process_time() - begun
    assert set(record.included) == set(range(terms.parties)) - {LONG, NOISY, GONE}
    assert record.sums == sum_in_the_open(simulation, record, vectors)
    assert culprits(simulation, record) == {LONG: {"14-P3"}, NOISY: {"14-P3"}}
    log = tmp_path / "log.gopa"
    with log.open("wb") as out:
        simulation.archive(out)
    begun = time.process_time()
    report = audit(log, trust_embedded=True)
    audited = time.process_time() - begun
    sys.stdout.write(f"{dimension}: {spent:.1f} s of a round, {audited:.1f} s of an audit\n")
    status = Path("/proc/self/status").read_text().splitlines()
    sys.stdout.writelines(f"{line}\n" for line in status if line.startswith("VmHWM"))
    assert report.verdict is Verdict.VALID
