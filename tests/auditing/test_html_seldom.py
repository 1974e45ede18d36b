"""Pages of reports that are seldom so: numbers that are none, rounds without much to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gopa.auditing.html.figures import chance, number_of, short, with_error
from gopa.auditing.html.page import style_sheet, to_html
from gopa.auditing.report import Report
from gopa.support.wording import exclusion_reason as reason
from tests.auditing.html_reading import by_kind, nesting, page, replaced, words
from tests.auditing.html_samples import as_json, fault, privacy_report, report, ring
from wire.errors import UsageError


def with_round(**changed: Any) -> Report:
    whole = report()
    return replace(whole, rounds=(replace(whole.rounds[0], **changed),))


def cards(whole: Report) -> list[str]:
    return [words(each) for each in by_kind(page(whole), "card")]


def test_what_is_no_number_that_can_be_written_out_is_shown_as_it_is() -> None:
    assert number_of("7.5") is not None
    for text in ("many", "NaN", "Infinity", "1e999999", "7" * 65):
        assert number_of(text) is None
        assert short(text) == text
        assert with_error(text, "1") == (text, "1")
    assert with_error("7.1875", "0.875") == ("7.2", "0.88")
    for text in ("12345678901234567", "0.0000012345678"):
        assert len(short(text)) < len(text)
        assert float(short(text)) == pytest.approx(float(text), rel=1e-5)
    wide = ("1e25", "1e-25")  # so many digits are no help
    assert with_error(*wide) == (short(wide[0]), short(wide[1]))


def test_a_chance_is_said_in_words() -> None:
    assert chance("0.001") == "one in 1,000"
    assert float((chance("0.75") or "").removesuffix(" %")) == 75
    assert chance("0") == "no chance"
    assert chance("1") is None
    assert chance("likely") is None


def test_a_result_without_means_is_no_number() -> None:
    assert "too little for a mean" not in cards(report())[0]
    assert "too little for a mean" in cards(with_round(mean=(), stderr=()))[0]


def test_an_error_is_shown_only_where_there_is_one() -> None:
    assert "±" in cards(report())[0]
    assert "±" not in cards(with_round(stderr=()))[0]
    several = report(rounds=2)
    rows = [words(row) for row in page(several).iter("tr")]
    assert sum(row[:1] in {"1", "2"} and "7.2 ± 0.88" in row for row in rows) == 2
    bare = replace(several, rounds=tuple(replace(each, stderr=()) for each in several.rounds))
    rows = [words(row) for row in page(bare).iter("tr")]
    assert sum(row[:1] in {"1", "2"} and row[1:].startswith("7.1875") for row in rows) == 2
    vectors = page(report(rounds=2, dimension=5))
    assert sum("5 numbers" in words(row) for row in vectors.iter("tr")) == 2
    nothing = tuple(replace(each, mean=(), stderr=()) for each in several.rounds)
    rows = [words(row) for row in page(replace(several, rounds=nothing)).iter("tr")]
    assert sum("no mean" in row for row in rows) == 2


def bars(whole: Report) -> int:
    return len([each for each in page(whole).iter("svg") if by_kind(each, "whisker")])


def test_values_are_drawn_where_they_can_be() -> None:
    whole = report(dimension=3)
    assert bars(whole) == 1
    for mean in (("many", "1", "2"), ("0", "0", "0")):
        row = replace(whole.rounds[0], mean=mean, stderr=("0", "0", "0"))
        assert bars(replace(whole, rounds=(row,))) == 0


def test_a_graph_that_is_not_drawn_is_told_by_its_degrees() -> None:
    """Not every party has as many neighbours as the others."""
    uneven = ring(250, 4)[:-3]
    whole = report(250)
    (before,) = whole.rounds
    for edges, sticks in ((before.edges, 0), (uneven, 3)):
        found = replace(before, edges=edges, edge_count=len(edges), opened=())
        tree = page(replace(whole, rounds=(found,)))
        assert len(by_kind(tree, "stick")) == sticks
    (highest,) = [words(each) for each in by_kind(tree, "axis") if "highest" in words(each)]
    tall = max(sum(party in pair for pair in uneven) for party in range(250))
    full = sum(sum(party in pair for pair in uneven) == tall for party in range(250))
    assert f"{full} parties" in highest


def test_a_round_that_nobody_joined_is_a_page_too() -> None:
    assert by_kind(page(report()), "keys")
    nobody: dict[str, Any] = {"joined": (), "included": (), "excluded": (), "lists": ()}
    nobody |= {"edges": (), "edge_count": 0, "opened": (), "privacy": None, "mean": ()}
    ended = with_round(**nobody, stderr=(), sums=(), total=(), outcome="abort", abort="organiser")
    tree = page(ended)
    assert not by_kind(tree, "keys")
    assert not [each for each in tree.iter("figure") if by_kind(each, "edge")]
    assert not nesting(to_html(as_json(ended))).open
    unknown = page(replace(ended, session=None))
    assert [by_kind(each, "bar") != [] for each in (page(report()), unknown)] == [True, False]


def test_what_was_kept_back_is_counted() -> None:
    assert "coins kept back" not in words(page(report()))
    assert "coins kept back" in words(page(with_round(withheld=2)))


def test_privacy_that_is_not_established_is_said() -> None:
    promised, nothing, broken = (
        cards(whole)[2]
        for whole in (
            report(),
            with_round(privacy=None),
            with_round(
                privacy=replace(
                    privacy_report(),
                    claims=tuple(replace(each, delta="1") for each in privacy_report().claims),
                )
            ),
        )
    )
    assert "one in" in promised
    assert "Nothing that could be told apart" in nothing
    assert "No promise" in broken
    assert "No promise" not in promised


def test_a_fault_of_a_board_has_neither_author_nor_entries() -> None:
    whole = replace(report(), faults=(fault(), replace(fault(), author=b"", entries=())))
    named, nameless = by_kind(page(whole), "fault")
    rows = [[words(each) for each in found.iter("dt")] for found in (named, nameless)]
    assert rows == [["expected", "found", "author", "entries"], ["expected", "found"]]


@pytest.mark.parametrize("rule", ["04-A1", "04-A2", "04-A5"])
def test_who_accuses_falsely_is_not_called_the_one_that_was_accused(rule: str) -> None:
    assert reason("accuse", "convicted", rule) != reason("accuse", "convicted", "04-A3")


def test_a_result_without_a_session_is_counted_all_the_same() -> None:
    assert "The mean over 7 parties." not in cards(report())[0]
    assert "The mean over 7 parties." in cards(replace(report(), session=None))[0]


def test_fields_that_are_missing_or_misshapen_are_refused() -> None:
    sample = as_json(report())
    assert to_html(sample)
    with pytest.raises(UsageError):
        to_html({name: each for name, each in sample.items() if name != "checks"})
    for wrong in ([[0, 1, 2]], [7], [[0]]):
        with pytest.raises(UsageError):
            to_html(replaced(sample, ("rounds", 0, "edges"), wrong))


def test_only_what_needs_no_escaping_is_put_in_verbatim() -> None:
    assert f"<style>{style_sheet('a > b { c: d }')}</style>" == "<style>a > b { c: d }</style>"
    for wrong in ("</style>", "a&b"):
        with pytest.raises(ValueError):  # noqa: PT011 - never by its text
            style_sheet(wrong)
