"""The transcripts of the specification lead to the stated verdicts, everywhere the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import lru_cache
from typing import Final

import pytest

from bulletin_board import ArchiveReader
from commitments.group import Group
from gopa.auditing import audit
from gopa.auditing.auditor import options_of, run
from gopa.auditing.evidence import Evidence, Messages, TwoEntries
from gopa.auditing.judging import SELF_CONTAINED, judge
from gopa.auditing.proving import evidence_of
from gopa.auditing.reading import LogState
from gopa.auditing.report import Culprit, Report, Status
from gopa.rounds.toolkit import Toolkit
from tests.auditing.logs import ends
from tests.auditing.schema import problems
from tests.auditing.transcripts import NAMES, anchors_of, code_of, liars_of, path_of, stated
from tests.group.backends import installed_groups

BY_NAME: Final = pytest.mark.parametrize("name", NAMES, scope="module")
"""With this scope all tests of one name follow each other: they share a report."""

SAMPLE: Final = (
    "clean_full",
    "commit_flipped_proof",
    "organiser_wrong_sum",
    "recovery_of_two",
    "weighted_not_proved",
)


@lru_cache(maxsize=4)
def told(name: str) -> tuple[Report, LogState]:
    """What an audit without any option says, and what it has read; neither changes."""
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    return report, state


def audited(name: str, group: Group | None = None, executor: Executor | None = None) -> Report:
    toolkit = None if group is None else Toolkit(group=group)
    return audit(path_of(name), anchors=anchors_of(name), toolkit=toolkit, executor=executor)


@BY_NAME
def test_the_verdict_is_the_stated_one(name: str) -> None:
    report, _ = told(name)
    expected = stated(name)["expected"]
    assert report.verdict.value == expected["verdict"]
    assert report.code == code_of(expected)
    assert report.anchored
    assert report.simulation == (report.session is not None)
    found = {(f.rule, tuple(e.index for e in f.entries), f.proved) for f in report.faults}
    assert found == {(f["rule"], tuple(f["entries"]), f["proved"]) for f in expected["faults"]}


@BY_NAME
def test_nobody_honest_is_named(name: str) -> None:
    liars, (report, _) = liars_of(name), told(name)
    for fault in report.faults:
        assert fault.proved == bool(fault.author)
        assert (fault.culprit is Culprit.UNATTRIBUTABLE) != fault.proved
        assert not fault.author or fault.author.hex() in liars
        assert all(each.leaf for each in fault.entries)


@pytest.mark.thirds
@BY_NAME
def test_the_report_conforms_to_its_schema(name: str) -> None:
    data = told(name)[0].to_json()
    assert data.endswith(b"\n")
    assert problems(json.loads(data)) == []


def test_the_schema_notices_what_does_not_conform() -> None:
    good = json.loads(audited("clean_full").to_json())
    assert problems(good) == []
    changes: list[dict[str, object]] = [
        {"code": 2},
        {"verdict": "FINE"},
        {"anchored": 1},
        {"rounds": [{}]},
        {"log": []},
        {"limits": [1]},
    ]
    for change in changes:
        assert problems(good | change)
    assert problems({**good, "more": 1})
    assert problems(dict(reversed(good.items())))


@pytest.mark.thirds
@BY_NAME
def test_every_proved_fault_has_evidence_that_convicts(name: str) -> None:
    anchors = anchors_of(name)
    report, state = told(name)
    assert anchors.policy is not None
    with path_of(name).open("rb") as stream:
        entries = list(ArchiveReader(stream, anchors.policy).entries())
    proved = [fault for fault in report.faults if fault.proved]
    found = [data for _, data in evidence_of(state, report.faults, lambda: entries)]
    assert len(found) == len(proved)
    for fault, data in zip(proved, found, strict=True):
        judgement = judge(data, policy=anchors.policy)
        assert judgement.convicts
        assert (judgement.author, judgement.rule) == (fault.author, fault.rule)
        assert judgement.session == state.reading.choice.chosen
        shown = Evidence.parse(data).shown
        if fault.rule == "04-E3":
            assert isinstance(shown, TwoEntries)
            assert judgement.culprit is None
            continue
        assert judgement.culprit is fault.culprit
        if fault.rule in SELF_CONTAINED - {"04-S4"}:
            assert isinstance(shown, Messages)
            assert len(data) < sum(map(len, entries))


@pytest.fixture(scope="module")
def executors() -> Iterator[list[Executor]]:
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        yield [threads, processes]


@pytest.mark.parametrize("name", SAMPLE)
def test_workers_and_backends_change_no_byte(name: str, executors: list[Executor]) -> None:
    plain = audited(name).to_json()
    assert [audited(name, executor=each).to_json() for each in executors] == [plain, plain]
    for group in installed_groups():
        assert audited(name, group).to_json() == plain


def test_jobs_change_no_byte() -> None:
    name = "commit_flipped_proof"
    one, two = (audit(path_of(name), anchors=anchors_of(name), jobs=jobs) for jobs in (1, 2))
    assert one.to_json() == two.to_json()


def test_strict_says_that_somebody_is_missing() -> None:
    name = "dropout_before_publish"
    report = audit(path_of(name), anchors=anchors_of(name), strict=True)
    assert report.code == 10
    assert audited(name).code == 0
    clean = audit(path_of("clean_full"), anchors=anchors_of("clean_full"), strict=True)
    assert clean.code == 0


@pytest.mark.parametrize(
    ("name", "causes"),
    [("organiser_two_closes_in_one_slot", []), ("two_rounds_convict_is_barred", ["barred"])],
)
def test_only_who_posted_is_excluded_because_it_is_barred(name: str, causes: list[str]) -> None:
    """Whoever sits a round out and says nothing in it was left out of nothing."""
    expected, report = stated(name)["expected"]["rounds"][1], audited(name)
    excluded = report.rounds[1].excluded
    assert [each.author.hex() for each in excluded] == [
        row["author"] for row in expected["removed"]
    ]
    barred = [each for each in excluded if each.author.hex() in expected["barred"]]
    assert expected["barred"]
    assert [each.cause for each in barred] == causes


def test_signed_mode_says_what_is_not_proved() -> None:
    report = audited("clean_signed")
    assert report.code == 6
    assert ends(report)["6.2"] is Status.SKIPPED
    assert "NOT proved" in report.summary
    assert any("NOT proved" in line for line in report.limits)


def test_estimates_are_those_of_the_sums() -> None:
    report = audited("clean_full")
    found, session = report.rounds[0], report.session
    assert session is not None
    count = len(found.included)
    total = count * float(session.low) + found.sums[0] / session.steps
    assert float(found.total[0]) == pytest.approx(total)
    assert float(found.mean[0]) == pytest.approx(total / count)
    assert 0 < float(found.stderr[0]) < 1
