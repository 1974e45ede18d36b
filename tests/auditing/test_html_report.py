"""The page of a report: well-formed, self-contained, safe to open, bounded."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from markupsafe import Markup

import gopa
from gopa.auditing.html.figures import ReportObject
from gopa.auditing.html.page import CONTENT_SECURITY_POLICY, page_of, render, to_html
from gopa.auditing.report import Status, Verdict
from tests.auditing.html_samples import (
    EMBEDDED,
    as_json,
    bare,
    by_kind,
    nesting,
    page,
    replaced,
    report,
    with_status,
    words,
)
from wire.errors import UsageError

HIDDEN = "\u202e\u200b\x00\x1b\ud800"
HOSTILE = "<script>alert(1)</script><img src=//x onerror=y>\"'&amp;]]>--><!--" + HIDDEN
MARK = "<script>alert(1)"


SAMPLES = {
    "plain": report(),
    "nobody-out": report(gone=0, faults=0),
    "vector": report(30, dimension=12),
    "long-vector": report(12, dimension=5000),
    "drawn": report(200, gone=15),
    "not-drawn": report(250),
    "many-rounds": report(rounds=40),
    "nothing": bare(Verdict.INTERNAL_ERROR),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_well_formed_and_refers_to_nothing_outside(name: str) -> None:
    text = to_html(as_json(SAMPLES[name]))
    ET.fromstring(text)  # noqa: S314 - our own output
    seen = nesting(text)
    assert not seen.open
    assert not seen.tags & {"script", "img", "iframe", "object", "embed", "form", "a", "base"}
    assert not {each for each in seen.attributes if each.startswith("on") or each == "style"}
    assert seen.targets
    assert all(target.startswith("#") or target == "data:," for target in seen.targets)
    assert "url(" not in text
    assert "@import" not in text
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'; ")
    assert text.index("Content-Security-Policy") < text.index("<style>")


@pytest.mark.parametrize("name", SAMPLES)
def test_references_inside_lead_somewhere_and_names_are_used_once(name: str) -> None:
    tree = page(SAMPLES[name])
    names = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(names) == len(set(names))
    for each in tree.iter():
        target = each.get("href", "")
        assert not target.startswith("#") or target[1:] in names
        for label in each.get("aria-labelledby", "").split():
            assert label in names


@pytest.mark.parametrize("name", SAMPLES)
def test_headings_go_down_by_one_and_tables_and_pictures_are_named(name: str) -> None:
    tree = page(SAMPLES[name])
    levels = [int(each.tag[1]) for each in tree.iter() if re.fullmatch("h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in tree.iter("table"):
        assert words(table[0])
        assert table[0].tag == "caption"
    for head in tree.iter("th"):
        assert head.get("scope") in {"row", "col", "rowgroup"}
    for picture in tree.iter("svg"):
        named = picture.get("role") == "img" and picture[0].tag == "title"
        assert named or picture.get("aria-hidden") == "true"


def texts_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a report stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts_of(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value[:2]):
            yield from texts_of(item, (*path, place))
    elif isinstance(value, str):
        yield path


@pytest.mark.slow
def test_no_text_of_a_report_becomes_markup() -> None:
    sample = as_json(report(6, gone=2))
    before = nesting(to_html(sample))
    paths = list(texts_of(sample))
    assert len(paths) > 70
    shown = 0
    for path in paths:
        text = to_html(replaced(sample, path, HOSTILE))
        after = nesting(text)
        assert MARK not in text, path
        assert text.encode(), path
        assert "onerror" not in after.attributes
        assert after.tags <= before.tags | {"path", "strong", "rect"}, path
        assert not set(text) & set(HIDDEN), path
        shown += "&lt;script&gt;alert(1)" in text
    assert shown > 50


Field = tuple[str, str]


def exchanged(value: Any, field: Field, new: str, here: Field = ("", "")) -> Any:
    """The view with other texts in one field of one of its classes, wherever it stands."""
    if isinstance(value, str):
        return new if here == field else value
    if isinstance(value, list | tuple):
        return type(value)(exchanged(item, field, new, here) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        return replace(
            value, **{key: exchanged(part, field, new, (name, key)) for key, part in parts.items()}
        )
    return value


def fields_with_text(value: Any, here: Field = ("", "")) -> set[Field]:
    """Classes of a view with their fields that hold texts."""
    if isinstance(value, str):
        return {here}
    if isinstance(value, list | tuple):
        return {field for item in value for field in fields_with_text(item, here)}
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        parts = [(each.name, getattr(value, each.name)) for each in fields(value)]
        return {field for key, part in parts for field in fields_with_text(part, (name, key))}
    return set()


UNDRAWN = replace(report(250, gone=40).rounds[0], edges=((0, 1),), opened=())
ABORTED = replace(report(6).rounds[0], outcome="abort", abort="organiser", vetoed=(1,))
VIEWS = (
    report(14, gone=4, dimension=12, faults=14, rounds=2),
    replace(report(), rounds=(UNDRAWN,), anchors=EMBEDDED, verdict=Verdict.INVALID),
    replace(with_status(report(6), "0.1", Status.FAIL), rounds=(ABORTED,)),
)
CHOICES = {("Fact", "kind"), ("ShownRound", "outcome")}
"""What decides how something is shown, and is not shown itself."""


@pytest.mark.slow
def test_no_text_of_a_view_becomes_markup() -> None:
    """Nobody who fills the view has to think of it: what stands there is text all the same."""
    tried, shown = set[Field](), set[Field]()
    for sample in VIEWS:
        view = page_of(ReportObject(as_json(replace(sample, checks=sample.checks[:3]))))
        clean = render(view)
        ET.fromstring(clean)  # noqa: S314 - our own output
        before = nesting(clean)
        for field in fields_with_text(view) - shown:
            text = render(exchanged(view, field, HOSTILE))
            ET.fromstring(text)  # noqa: S314 - our own output
            after = nesting(text)
            assert MARK not in text, field
            assert not set(text) & set(HIDDEN), field
            assert after.attributes <= before.attributes, field
            assert after.tags <= before.tags | {"rect"}, field
            tried.add(field)
            if "&lt;script&gt;alert(1)" in text:
                shown.add(field)
    assert len(tried) > 60
    assert tried - shown == CHOICES


def test_a_text_that_calls_itself_markup_is_escaped_too() -> None:
    sample = as_json(report())
    assert MARK not in to_html(sample)
    named = replaced(sample, ("session", "title"), Markup(HOSTILE))  # noqa: S704 - refused below
    assert MARK not in to_html(named)


def test_the_template_cannot_switch_escaping_off() -> None:
    template = (files("gopa.auditing.html") / "page.html").read_text(encoding="utf-8")
    assert "{{ page.tab_title }}" in template
    assert not re.search(r"\|\s*(safe|forceescape|xmlattr|tojson|urlize)\b", template)
    assert "autoescape" not in template


@pytest.mark.parametrize("field", ["title", "origin", "input"])
def test_names_are_cut_and_hidden_characters_are_spelled_out(field: str) -> None:
    sample = as_json(report())
    part = "session" if field == "title" else "log"
    name = "\u05d0\u202e\u200b\u2066" + "e" + "\u0301" * 50 + "x" * 10_000
    text = to_html(replaced(sample, (part, field), name))
    assert "\u05d0&lt;U+202E&gt;&lt;U+200B&gt;&lt;U+2066&gt;e" in text
    assert "\u0301" * 3 in text
    assert "\u0301" * 4 not in text
    assert "x" * 140 in text
    assert "x" * 200 not in text


@pytest.mark.slow
def test_the_size_is_bounded_and_what_is_cut_is_counted() -> None:
    large = report(10_000, gone=4_000, drawn=False, faults=4_000, rounds=3)
    text = to_html(as_json(large))
    assert len(text.encode()) < 3_000_000
    assert "3,600 more parties are in the JSON report." in text
    assert "3,700 more faults are in the JSON report." in text
    long = to_html(as_json(report(12, dimension=100_000)))
    assert len(long.encode()) < 1_000_000
    assert "99,000 more numbers are in the JSON report." in long


def test_numbers_that_nothing_counts_are_refused() -> None:
    sample = as_json(report())
    path = ("rounds", 0, "edge_count")
    to_html(replaced(sample, path, 2**64))
    for number in (2**64 + 1, 10**400, 10**5000):
        with pytest.raises(UsageError):
            to_html(replaced(sample, path, number))


def test_the_same_report_gives_the_same_bytes_also_after_json() -> None:
    sample = as_json(report(60, gone=7))
    again = json.loads(json.dumps(sample))
    assert to_html(sample) == to_html(again) == to_html(as_json(report(60, gone=7)))


@pytest.mark.parametrize(
    "path",
    [
        ("verdict",),
        ("checks", 0, "rules"),
        ("rounds", 0, "edges"),
        ("rounds", 0, "number"),
        ("log",),
        ("anchored",),
    ],
    ids=lambda path: "-".join(map(str, path)),
)
def test_something_else_than_a_report_is_refused(path: tuple[Any, ...]) -> None:
    sample = as_json(report())
    assert to_html(sample)
    with pytest.raises(UsageError):
        to_html(replaced(sample, path, 7.5))


def test_edges_outside_of_the_roll_are_refused() -> None:
    sample = as_json(report())
    assert to_html(replaced(sample, ("rounds", 0, "edges"), [[0, 9]]))
    with pytest.raises(UsageError):
        to_html(replaced(sample, ("rounds", 0, "edges"), [[0, 10]]))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_words_can_be_read(place: int) -> None:
    style = (files("gopa.auditing.html") / "page.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{([^}]*)\}", style)
    assert len(roots) == 2
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", roots[place]))
    used = set(re.findall(r"var\(--([a-z-]+)\)", style))
    assert used == set(colours)
    tones = ("good", "part", "open", "bad")
    on_page = [(ink, back) for ink in ("text", "soft", "blue", *tones) for back in ("page", "card")]
    on_tone = [(ink, f"{tone}-back") for tone in tones for ink in ("text", tone)]
    assert luminance("#ffffff") > 0.99
    for ink, back in on_page + on_tone:
        assert contrast(colours[ink], colours[back]) >= 4.5, (ink, back)


def test_the_page_says_when_with_what_and_of_which_file_it_was_made() -> None:
    sample = as_json(report())
    bare_page, dated = to_html(sample), to_html(sample, audited=date(2031, 5, 17))
    assert "2031-05-17" in dated
    assert "2031-05-17" not in bare_page
    for text in (bare_page, dated):
        (made,) = by_kind(ET.fromstring(text), "made")  # noqa: S314 - our own output
        assert gopa.__version__ in words(made)
        assert "demo/session.gopa" in words(made)
    assert dated == to_html(sample, audited=date(2031, 5, 17))
