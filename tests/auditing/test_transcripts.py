"""The transcripts of the specification lead to the stated verdicts, everywhere the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pytest

from bulletin_board import ArchiveReader
from commitments.group import Group
from gopa.auditing import Verdict, audit
from gopa.auditing.auditor import options_of, run
from gopa.auditing.composing import veto
from gopa.auditing.described import warning_of
from gopa.auditing.evidence import Evidence, Messages, Prefix, TwoEntries
from gopa.auditing.html.page import to_html
from gopa.auditing.judging import SELF_CONTAINED, judge
from gopa.auditing.proving import evidence_of
from gopa.auditing.reading import LogState
from gopa.auditing.report import Culprit, Report, Status, to_json_bytes
from gopa.cli.audit_screen import details_screen, screen
from gopa.contract.terms import coin_choices
from gopa.protocol.simulation import Script, Simulation
from gopa.protocol.simulation.script import Behaviour
from gopa.rounds.toolkit import Toolkit
from tests.auditing.html_samples import as_json, page, report, words
from tests.auditing.logs import ends
from tests.auditing.schema import problems
from tests.auditing.transcripts import NAMES, anchors_of, code_of, liars_of, path_of, stated
from tests.group.backends import installed_groups
from tests.lies.table import LIAR, LIES
from tests.protocol.simulation.row_worlds import (
    ROWS,
    shifted,
    simulate_rows,
    vectors_for,
)
from tests.vectors.transcripts.worlds import PLAIN

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


VETOED = (
    "abort_cut_off_a_seed",
    "abort_cut_off_a_confirmation",
    "abort_cut_off_before_recovery",
    "abort_for_no_reason_of_a_confirmed_round",
)


NOT_VETOED = ("abort_not_unmasked_and_retry", "abort_cut_off_a_wrong_seed", "abort_cut_off_a_value")


def audited_vetoes(name: str) -> Report:
    return audit(path_of(name), anchors=anchors_of(name))


@pytest.mark.parametrize("name", VETOED + NOT_VETOED)
def test_a_veto_is_said_first_and_only_a_veto(name: str) -> None:
    report = audited_vetoes(name)
    assert report.verdict is Verdict.VALID
    first, *others = report.rounds
    assert list(first.vetoed) == stated(name)["expected"]["rounds"][0]["veto"]
    assert bool(first.vetoed) is (name in VETOED)
    said = veto(first)
    assert bool(said) is (name in VETOED)
    assert said in report.summary
    assert not any(map(veto, others))
    assert said in screen(report).splitlines()[0]
    data = json.loads(to_json_bytes(report))
    assert problems(data) == []
    assert data["rounds"][0]["vetoed"] == list(first.vetoed)
    page = to_html(data)
    assert page.count("was vetoed by its organiser.") == (name in VETOED)


@pytest.mark.parametrize("name", VETOED)
def test_the_remarks_name_the_organiser_and_whom_it_cut_off(name: str) -> None:
    report, file = audited_vetoes(name), stated(name)
    remarks = {(each.rule, each.author.hex()) for each in report.remarks}
    assert ("04-X7", file["organiser"]) in remarks
    cut_off = {author for rule, author in remarks if rule == "04-C6"}
    assert cut_off <= set(file["parties"])
    assert bool(cut_off) is name.startswith("abort_cut_off")


def test_whoever_was_cut_off_is_no_longer_said_to_have_been_silent() -> None:
    (gone,) = audited_vetoes("dropout_cut_off_nonce").rounds[0].excluded
    assert (gone.cause, gone.rule) == ("absent", "04-C6")
    assert gone.entry is not None


def test_a_report_says_among_how_many_coins_liars_choose() -> None:
    """Three attempts, four parties, of whom one colludes and one may be lost."""
    report = audited_vetoes("clean_full")
    assert report.session is not None
    terms = PLAIN.terms
    assert (terms.attempts, terms.parties, terms.corrupt, terms.loss) == (3, 4, 1, 1)
    assert math.isclose(float(report.session.coin_choices), math.log2(3 * 5))
    assert math.isclose(float(report.session.coin_choices_alone), math.log2(3 * 2))
    assert coin_choices(terms).helped == 15
    assert problems(json.loads(to_json_bytes(report))) == []
    assert "2^3.90689" in details_screen(report)
    assert "2^3.90689" in to_html(json.loads(to_json_bytes(report)))
    assert audited_vetoes("clean_test_coins").session.coin_choices == ""  # type: ignore[union-attr]


NOISY = "mostly noise"


def with_error(error: str, dimension: int = 1) -> Report:
    """A session on a range from 0 to 12."""
    whole = report(dimension=dimension)
    (found,) = whole.rounds
    return replace(whole, rounds=(replace(found, stderr=(error,) * dimension),))


@pytest.mark.parametrize("dimension", [1, 12])
def test_an_error_above_a_quarter_of_the_range_is_warned_of(dimension: int) -> None:
    clear, noisy = with_error("3", dimension), with_error("3.2", dimension)
    assert NOISY not in screen(clear)
    assert NOISY not in to_html(as_json(clear))
    (session, (found,)) = (noisy.session, noisy.rounds)
    assert session is not None
    said = warning_of(session, found.stderr)
    assert "with 10 parties" in said
    assert "3.2" in said
    assert "from 0 to 12" in said
    assert " would do" in said
    assert said in " ".join(screen(noisy).split())
    assert said[1:] in words(page(noisy))


@pytest.mark.parametrize("error", ["", "nan", "-1", "inf", "a lot", "1e999", "9" * 5000])
def test_what_is_no_number_is_no_reason_to_fail(error: str) -> None:
    assert screen(with_error("3"))
    to_html(as_json(with_error(error)))


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "much"},
        {"epsilon": "-1"},
        {"delta": "2"},
        {"low": "12", "high": "0"},
        {"parties": -5},
        {"parties": 10**9, "fewest": 10**8},
        {"corrupt": 10**9},
        {"dimension": 0},
    ],
    ids=str,
)
def test_terms_that_nobody_could_have_planned_are_no_reason_to_fail(
    changes: dict[str, Any],
) -> None:
    whole = with_error("30")
    assert whole.session is not None
    to_html(as_json(replace(whole, session=replace(whole.session, **changes))))
