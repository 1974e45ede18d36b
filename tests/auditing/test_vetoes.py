"""A veto of the organiser comes first in every form of a report; choices of coins are in it."""

from __future__ import annotations

import json
import math

import pytest

from gopa.auditing import Report, Verdict, audit
from gopa.auditing.composing import veto
from gopa.auditing.html.page import to_html
from gopa.auditing.report import to_json_bytes
from gopa.cli.audit_screen import details_screen, screen
from gopa.contract.terms import coin_choices
from tests.auditing.schema import problems
from tests.auditing.transcripts import anchors_of, path_of, stated
from tests.vectors.transcripts.worlds import PLAIN

VETOED = (
    "abort_cut_off_a_seed",
    "abort_cut_off_a_confirmation",
    "abort_cut_off_before_recovery",
    "abort_for_no_reason_of_a_confirmed_round",
)
NOT_VETOED = ("abort_not_unmasked_and_retry", "abort_cut_off_a_wrong_seed", "abort_cut_off_a_value")


def audited(name: str) -> Report:
    return audit(path_of(name), anchors=anchors_of(name))


@pytest.mark.parametrize("name", VETOED + NOT_VETOED)
def test_a_veto_is_said_first_and_only_a_veto(name: str) -> None:
    report = audited(name)
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
    report, file = audited(name), stated(name)
    remarks = {(each.rule, each.author.hex()) for each in report.remarks}
    assert ("04-X7", file["organiser"]) in remarks
    cut_off = {author for rule, author in remarks if rule == "04-C6"}
    assert cut_off <= set(file["parties"])
    assert bool(cut_off) is name.startswith("abort_cut_off")


def test_whoever_was_cut_off_is_no_longer_said_to_have_been_silent() -> None:
    (gone,) = audited("dropout_cut_off_nonce").rounds[0].excluded
    assert (gone.cause, gone.rule) == ("absent", "04-C6")
    assert gone.entry is not None


def test_a_report_says_among_how_many_coins_liars_choose() -> None:
    """Three attempts, four parties, of whom one colludes and one may be lost."""
    report = audited("clean_full")
    assert report.session is not None
    terms = PLAIN.terms
    assert (terms.attempts, terms.parties, terms.corrupt, terms.loss) == (3, 4, 1, 1)
    assert math.isclose(float(report.session.coin_choices), math.log2(3 * 5))
    assert math.isclose(float(report.session.coin_choices_alone), math.log2(3 * 2))
    assert coin_choices(terms).helped == 15
    assert problems(json.loads(to_json_bytes(report))) == []
    assert "2^3.90689" in details_screen(report)
    assert "2^3.90689" in to_html(json.loads(to_json_bytes(report)))
    assert audited("clean_test_coins").session.coin_choices == ""  # type: ignore[union-attr]
