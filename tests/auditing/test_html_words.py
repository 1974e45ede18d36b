"""The page of a report says what the report says, in words."""

from __future__ import annotations

import json
import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gopa
from gopa.adversary.deeds import spoil_proof
from gopa.auditing.auditor import audit
from gopa.auditing.html.figures import chance, number_of, short, with_error
from gopa.auditing.html.page import style_sheet, to_html
from gopa.auditing.report import Report, Status, Verdict
from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Script
from gopa.support.wording import ABORTS, modes_of
from gopa.support.wording import exclusion_reason as reason
from tests.auditing.html_samples import (
    EMBEDDED,
    UNKNOWN,
    as_json,
    by_kind,
    fault,
    nesting,
    page,
    privacy_report,
    replaced,
    report,
    ring,
    round_report,
    with_status,
    words,
)
from tests.board.test_page import PHONE, Browser, browsing
from tests.lies import lying
from wire.errors import UsageError


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_words_a_symbol_and_its_code(verdict: Verdict) -> None:
    banner = by_kind(page(replace(report(), verdict=verdict)), "verdict")[0]
    assert f"{verdict.value} · exit code {verdict.code}" in words(banner)
    assert words(banner[1][0]) not in words(banner[1][2])
    assert [each.tag for each in banner.iter()].count("use") == 1


def test_verdicts_differ_in_symbol_where_they_differ_in_meaning() -> None:
    symbols = {}
    for verdict in Verdict:
        banner = by_kind(page(replace(report(), verdict=verdict)), "verdict")[0]
        symbols[verdict] = next(iter(banner.iter("use"))).get("href")
    assert symbols[Verdict.VALID] == symbols[Verdict.VALID_WITH_EXCLUSIONS]
    apart = {Verdict.VALID, Verdict.INVALID, Verdict.INCOMPLETE, Verdict.SIGNED_ONLY}
    assert len({symbols[verdict] for verdict in apart}) == len(apart)


def test_only_masks_between_parties_of_the_result_are_said_to_cancel() -> None:
    """In a ring where everybody masks with four on each side, eight masks lead to one that left."""
    counted = words(by_kind(page(report(10, gone=1)), "card")[1])
    assert "32 secret masks, which cancel" in counted
    unknown = words(by_kind(page(report(10, gone=1, drawn=False)), "card")[1])
    assert "cancel" not in unknown
    assert "40 secret masks" in unknown


def headline(whole: Report) -> str:
    return words(next(iter(by_kind(page(whole), "verdict")[0].iter("h2"))))


def test_keys_that_nobody_anchored_are_said_first() -> None:
    assert not by_kind(page(report()), "banner")
    embedded = replace(report(), anchors=EMBEDDED)
    assert "Self-consistent; keys not anchored." in words(by_kind(page(embedded), "banner")[0])
    assert headline(embedded) != headline(report())
    missing = replace(report(), anchors=UNKNOWN, verdict=Verdict.INCOMPLETE)
    banner = words(by_kind(page(missing), "banner")[0])
    assert "Keys not anchored." in banner
    assert "Self-consistent" not in banner
    failed = replace(embedded, verdict=Verdict.INVALID)
    assert "Self-consistent" not in words(by_kind(page(failed), "banner")[0])


def test_a_simulation_is_called_one() -> None:
    banners = by_kind(page(replace(report(), simulation=True)), "banner")
    assert [words(each) for each in banners if "Simulation." in words(each)]


@pytest.mark.parametrize("exact", [False, True])
def test_only_what_is_proved_of_vectors_is_claimed(*, exact: bool) -> None:
    made = report()
    assert made.session is not None
    session = replace(made.session, epsilon="none" if exact else "0.5")
    numbers, vectors = (
        words(page(replace(made, session=replace(session, path=path)))) for path in ("bits", "rows")
    )
    assert "Every input lies in the stated range" in numbers
    assert "inputs in range" in numbers
    assert "No vector is longer than stated" in vectors
    assert modes_of(exact=exact, in_rows=True)["full"] in vectors
    assert not [each for each in ("stated range", "stated law", "full: inputs") if each in vectors]
    assert ("nobody could aim it" in vectors) is not exact


def test_what_was_not_passed_stands_on_top() -> None:
    assert not by_kind(page(report()), "why")
    doubtful = with_status(with_status(report(), "0.3", Status.MISSING), "7.2", Status.FAIL)
    why = by_kind(page(replace(doubtful, verdict=Verdict.INVALID)), "why")[0]
    assert [words(each).split(":")[0] for each in why] == [
        "Check 7.2 failed",
        "Check 0.3 missing",
    ]


@pytest.mark.parametrize("status", Status)
def test_every_status_is_a_word_and_a_symbol(status: Status) -> None:
    tree = page(with_status(report(), "7.2", status))
    row = next(row for row in tree.iter("tr") if words(row).startswith("7.2"))
    assert words(row[2])
    assert [each.tag for each in row.iter()].count("use") == 1
    passed = next(row for row in tree.iter("tr") if words(row).startswith("7.1"))
    assert (words(row[2]) == words(passed[2])) == (status is Status.PASS)


def test_the_number_is_as_precise_as_its_error() -> None:
    figures = [words(each) for each in by_kind(page(report()), "figure")]
    assert figures == ["7.2 ± 0.88", "7 of 10 parties", "ε = 0.5 δ = 1"]


def test_a_number_that_is_not_confirmed_is_shown_with_the_doubt() -> None:
    for verdict in (Verdict.INVALID, Verdict.INCOMPLETE, Verdict.UNSUPPORTED):
        result = by_kind(page(replace(report(), verdict=verdict)), "card")[0]
        assert "Do not rely on it" in words(result) or "not confirmed" in words(result)
    assert "not confirmed" not in words(by_kind(page(report()), "card")[0])


def test_a_session_without_a_result_says_why() -> None:
    failed = replace(
        round_report(), outcome="abort", abort="too_few_left", sums=(), total=(), mean=(), stderr=()
    )
    card = by_kind(page(replace(report(), rounds=(failed,))), "card")[0]
    assert ABORTS["too_few_left"] in words(card)


@pytest.mark.parametrize("cause", RemovalCause)
@pytest.mark.parametrize("phase", Phase)
def test_every_exclusion_has_a_sentence(phase: Phase, cause: RemovalCause) -> None:
    said = reason(phase.name.lower(), cause.name.lower(), "04-K4")
    assert len(said.split()) > 2
    assert not said.startswith("was left out")


def test_faults_name_entries_rules_and_who() -> None:
    whole = replace(report(), faults=(fault(3), fault(4, handled=False)))
    first, second = by_kind(page(whole), "fault")
    assert "The organiser" in words(first)
    assert "doubt" in words(first)
    assert "04-K3" in words(second)
    assert fault(3).author.hex() in words(second)
    assert fault(3).entries[0].leaf.hex() in words(second)


def test_the_graph_tells_parties_and_edges_apart_by_shape() -> None:
    whole = report()
    found = whole.rounds[0]
    figure = next(each for each in page(whole).iter("figure") if by_kind(each, "inside"))
    drawing = figure[0]
    assert len(by_kind(drawing, "inside")) == len(found.included)
    assert {each.tag for each in by_kind(drawing, "inside")} == {"circle"}
    out = by_kind(drawing, "gone") + by_kind(drawing, "broke")
    assert len(out) == len(found.excluded)
    assert {each.tag for each in out} == {"rect"}
    assert len(by_kind(drawing, "cross")) == len(by_kind(drawing, "broke")) == 1
    lines = {kind: by_kind(drawing, kind)[0].get("d", "").count("M") for kind in ("edge", "opened")}
    assert lines["opened"] == len(found.opened)
    assert lines["edge"] + lines["opened"] == len(found.edges)


def test_a_large_graph_is_described_instead() -> None:
    tree = page(report(250))
    assert not by_kind(tree, "inside")
    assert [each for each in tree.iter("p") if "not drawn" in words(each)]


def test_the_auditors_names_stand_beside_keys_that_are_theirs_to_the_last_digit() -> None:
    whole = report(parties=10, gone=3)
    keys = whole.rounds[0].joined
    near = bytes([*keys[8][:-1], keys[8][-1] ^ 1])
    names = {keys[0]: "ada", keys[7]: "<b>ben</b>", near: "eve"}
    bare, named = (to_html(as_json(whole), each) for each in ({}, names))
    assert "ada" not in bare
    text = words(ET.fromstring(named))  # noqa: S314 - our own output
    assert f"<b>ben</b> {keys[7].hex()[:12]}" in text
    assert f"ada {keys[0].hex()}" in text
    assert "no log holds them" in text
    assert "eve" not in set(re.findall(r"\w+", text))
    drawn = {each.text for each in ET.fromstring(named).iter() if each.tag.endswith("title")}  # noqa: S314
    assert f"ada ({keys[0].hex()[:12]}…): in the result" in drawn


def test_a_real_session_is_shown_as_it_was(tmp_path: Path) -> None:
    script = Script().drop(2, before=Phase.PUBLISH).misbehave(3, lying("commit", spoil_proof()))
    result = gopa.average(
        [1.0] * 10, epsilon=4, delta=1e-6, corrupt=1, dropout=0.1, range=(0, 2), script=script
    )
    path = result.transcript.archive(tmp_path / "session.gopa")
    sample = as_json(audit(path, trust_embedded=True))
    tree = ET.fromstring(to_html(sample))  # noqa: S314 - our own output
    assert "exit code 8" in words(by_kind(tree, "verdict")[0])
    assert "Self-consistent" in words(by_kind(tree, "banner")[0])
    assert "Simulation." in words(by_kind(tree, "banner")[1])
    mean, error = words(by_kind(tree, "figure")[0]).split(" ± ")
    digit = 10.0 ** math.floor(math.log10(float(result.stderr)))  # the first one of the error
    assert abs(float(mean) - float(result.mean)) <= 0.501 * digit
    assert abs(float(error) / float(result.stderr) - 1) < 0.1
    assert words(by_kind(tree, "figure")[1]) == "8 of 10 parties"
    cheater = by_kind(tree, "fault")
    assert len(cheater) == 1
    assert "04-K3" in words(cheater[0])
    assert len(by_kind(tree, "inside")) == 8 + 1
    assert len(by_kind(tree, "broke")) == 1 + 1


def test_the_schema_s_names_are_all_known() -> None:
    path = Path(__file__).parents[2] / "docs" / "audit" / "report.schema.json"
    schema = json.loads(path.read_text())["$defs"]
    causes = schema["exclusion"]["properties"]["cause"]["enum"]
    assert "barred" in causes
    assert not [each for each in causes if reason("publish", each, "").startswith("was left out")]


@pytest.mark.parametrize(
    ("name", "label"),
    [("number 11", "11"), ("Maximilian", "Maximil…"), ("\u5c71" * 5, "\u5c71" * 3 + "…")],
)
def test_a_label_that_has_no_room_is_no_other_name(name: str, label: str) -> None:
    whole = report(12)
    (kept, *_) = whole.rounds[0].included
    assert f">{label}<" in to_html(as_json(whole), {kept: name})


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


EVIL = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>' + "W" * 300


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


def show(browser: Browser, whole: Report, directory: Path) -> None:
    path = directory / "report.html"
    path.write_text(to_html(as_json(whole)), encoding="utf-8")
    browser.open(path.as_uri())


def evil() -> Report:
    """Whoever could choose a text chose it with care."""
    whole = report(60, gone=7, dimension=12)
    assert whole.session is not None
    assert whole.log is not None
    return replace(
        whole,
        session=replace(whole.session, title=EVIL),
        log=replace(whole.log, origin=EVIL, input=EVIL, witnesses=(EVIL,)),
        faults=(replace(fault(), what=EVIL, expected=EVIL, got=EVIL),),
        limits=(EVIL,),
    )


@pytest.mark.slow
def test_the_style_holds_under_the_policy(browser: Browser, tmp_path: Path) -> None:
    show(browser, report(), tmp_path)
    style = "return getComputedStyle(document.querySelector('.verdict')).display"
    assert browser.run(style) == "flex"
    assert browser.run("return document.querySelectorAll('.legend ~ figcaption').length") == 1
    if os.environ.get("GOPA_SCREENSHOTS"):
        Path(os.environ["GOPA_SCREENSHOTS"]).write_bytes(browser.picture())


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE, {"width": 1200, "height": 900}], ids=["phone", "desk"])
def test_hostile_names_neither_run_nor_widen_the_page(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    browser.resize(size)
    show(browser, evil(), tmp_path)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("return window.broken") is None
    assert browser.run("return document.querySelectorAll('img, script').length") == 0
    assert EVIL[:150] in str(browser.run("return document.querySelector('h1').textContent"))
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.run(wide) is True


@pytest.mark.slow
def test_the_policy_stops_scripts_styles_and_requests(browser: Browser, tmp_path: Path) -> None:
    show(browser, report(), tmp_path)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
        "document.body.append(s);"
        "const t = document.createElement('style'); t.textContent = 'h1 { color: #123456 }';"
        "document.body.append(t);"
    )
    assert browser.run("return window.broken") is None
    colour = browser.run("return getComputedStyle(document.querySelector('h1')).color")
    assert colour != "rgb(18, 52, 86)"
    loaded = "return performance.getEntriesByType('resource').length"
    assert browser.run(loaded) == 0
