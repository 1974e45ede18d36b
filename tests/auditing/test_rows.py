"""Audits of sessions that prove vectors row by row, and the evidence that they leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gopa.auditing import Verdict
from gopa.auditing.auditor import options_of, run
from gopa.auditing.evidence import Evidence, Messages, Prefix
from gopa.auditing.judging import judge
from gopa.auditing.proving import evidence_of
from gopa.protocol.simulation import Script, Simulation
from gopa.protocol.simulation.script import Behaviour
from tests.lies.table import LIAR, LIES
from tests.protocol.simulation.row_worlds import (
    ROWS,
    shifted,
    simulate_rows,
    vectors_for,
)

ONCE = replace(ROWS, rounds=1)


def archive_of(simulation: Simulation, folder: Path) -> Path:
    path = folder / "session.gopa"
    with path.open("wb") as out:
        simulation.archive(out)
    return path


def lying(name: str) -> Behaviour:
    (only,) = LIES[name].does
    return only


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("lie", "rule", "form"),
    [
        (lying("row that hides nothing"), b"14-L3", Messages),
        (lying("one row less"), b"14-M1", Messages),
        (lying("another test"), b"14-P3", Messages),
        (lying("row of carries that hides nothing"), b"14-L3", Prefix),
        (lying("another word"), b"14-P6", Prefix),
        (shifted(3), b"14-K6", Prefix),
    ],
)
def test_a_lie_leaves_evidence_that_convicts(
    lie: Behaviour, rule: bytes, form: type, tmp_path: Path
) -> None:
    simulation = simulate_rows(ONCE, Script().misbehave(LIAR, lie))
    assert simulation.run_round(vectors_for(ONCE)).sums is not None
    path = archive_of(simulation, tmp_path)
    report, state = run(path, options_of(trust_embedded=True), None)
    assert report.verdict in {Verdict.VALID, Verdict.VALID_WITH_EXCLUSIONS}
    assert state is not None
    entries = list(simulation.log().entries())
    ((_, data),) = evidence_of(state, report.faults, lambda: entries)
    found = Evidence.parse(data)
    assert isinstance(found.shown, form)
    judged = judge(data)
    assert judged.convicts
    assert judged.rule == rule.decode()
    assert judged.author == simulation.parties[LIAR].author
    honest = replace(found.statement, author=simulation.parties[0].author)
    assert not judge(replace(found, statement=honest).to_bytes()).convicts
