from __future__ import annotations

import re
from email.message import Message
from pathlib import Path

import pytest
from packaging.licenses import InvalidLicenseExpression

from supply import licences, stated
from supply.findings import Rule
from supply.licence_record import RECORD, read_record
from supply.spdx import allowed, canonical
from supply.stated import Stated
from tests.supply.trees import ROOT, edit, extend


def nothing(name: str, version: str) -> Stated | None:
    assert name
    assert version
    return None


def test_everything_locked_may_be_used() -> None:
    report = licences.check(ROOT)
    assert report.findings == ()
    assert len(report.unseen) < len(licences.check(ROOT, nothing, nothing).unseen)


def test_what_is_not_here_is_named() -> None:
    report = licences.check(ROOT, nothing, nothing)
    record = read_record(ROOT)
    assert report.findings == ()
    assert {entry.split(" ")[0] for entry in report.unseen} == {*record.python, *record.crates}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('click = "BSD-3-Clause"\n', "", Rule.UNKNOWN_LICENCE),
        ('rayon = "MIT OR Apache-2.0"\n', "", Rule.UNKNOWN_LICENCE),
        ('click = "BSD-3-Clause"', 'click = "as you like"', Rule.UNKNOWN_LICENCE),
        ('click = "BSD-3-Clause"', 'click = "GPL-3.0-only"', Rule.FORBIDDEN_LICENCE),
        ('rayon = "MIT OR Apache-2.0"', 'rayon = "MPL-2.0"', Rule.FORBIDDEN_LICENCE),
        ('click = "BSD-3-Clause"', 'clack = "BSD-3-Clause"', Rule.STALE),
    ],
)
def test_the_record_is_held_against_the_locks(tree: Path, old: str, new: str, rule: Rule) -> None:
    assert licences.check(tree, nothing, nothing).findings == ()
    edit(tree, RECORD, old, new)
    assert rule in {finding.rule for finding in licences.check(tree, nothing, nothing).findings}


def one(package: str, says: Stated) -> stated.Reader:
    return lambda name, _: says if name == package else None


@pytest.mark.parametrize(
    ("package", "says", "rules"),
    [
        ("click", Stated("BSD-3-Clause", ""), set()),
        ("click", Stated("MIT", ""), {Rule.OTHER_LICENCE}),
        ("click", Stated(None, ""), {Rule.UNKNOWN_LICENCE}),
        ("click", Stated(None, "BSD License"), {Rule.UNKNOWN_LICENCE}),
        ("grimp", Stated(None, "BSD 2-Clause License; BSD License"), set()),
        ("grimp", Stated(None, "Something new"), {Rule.UNKNOWN_LICENCE}),
    ],
    ids=str,
)
def test_what_is_here_is_held_against_the_record(
    package: str, says: Stated, rules: set[Rule]
) -> None:
    report = licences.check(ROOT, one(package, says), nothing)
    assert {finding.rule for finding in report.findings} == rules
    assert not any(entry.startswith(f"{package} ") for entry in report.unseen)


def test_a_crate_is_held_against_the_record() -> None:
    report = licences.check(ROOT, nothing, one("rayon", Stated("MIT", "MIT")))
    assert {finding.rule for finding in report.findings} == {Rule.OTHER_LICENCE}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"License-Expression": "mit or apache-2.0"}, Stated("MIT OR Apache-2.0", "")),
        ({"License": "MIT"}, Stated("MIT", "MIT")),
        ({"License": "BSD"}, Stated(None, "BSD")),
        ({"License": "First\nsecond"}, Stated(None, "First")),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, Stated(None, "MIT License")),
        ({"Classifier": "Typing :: Typed"}, Stated(None, "")),
        ({}, Stated(None, "")),
    ],
    ids=str,
)
def test_metadata_is_read(fields: dict[str, str], expected: Stated) -> None:
    message = Message()
    for name, value in fields.items():
        message[name] = value
    assert stated.read_metadata(message) == expected


def test_only_the_locked_version_is_read() -> None:
    version = pytest.__version__
    assert stated.installed("pytest", version) == Stated("MIT", "")
    assert stated.installed("pytest", "0.0.1") is None
    assert stated.installed("no-such-package-here", "1.0") is None


def test_manifests_of_crates_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    assert stated.unpacked("some", "1.0.0") is None
    folder = tmp_path / "registry/src/index/some-1.0.0"
    folder.mkdir(parents=True)
    extend(folder, "Cargo.toml", '[package]\nname = "some"\nlicense = "MIT/Apache-2.0"\n')
    assert stated.unpacked("some", "1.0.0") == Stated("MIT OR Apache-2.0", "MIT/Apache-2.0")
    assert stated.unpacked("some", "1.0.1") is None


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("mit", True),
        ("ISC", False),
        ("MIT OR ISC", True),
        ("ISC OR MIT", True),
        ("MIT AND ISC", False),
        ("MIT AND Zlib", True),
        ("ISC OR MIT AND Zlib", True),
        ("(ISC OR MIT) AND Zlib", True),
        ("(ISC OR MIT) AND ISC", False),
        ("MIT AND (ISC OR (Zlib AND MIT))", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0", False),
        ("Apache-2.0 WITH Swift-exception", False),
        ("ISC OR Apache-2.0 WITH LLVM-exception", True),
        ("MIT/ISC", True),
    ],
)
def test_expressions_are_weighed(expression: str, fine: bool) -> None:
    assert allowed(expression, {"MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"}) == fine


@pytest.mark.parametrize(
    "text", ["", "BSD", "MIT OR", "OR MIT", "(MIT", "Apache 2.0", "NOASSERTION"]
)
def test_other_words_are_no_expressions(text: str) -> None:
    with pytest.raises(InvalidLicenseExpression):
        canonical(text)


def test_every_allowed_licence_has_a_reason() -> None:
    record = read_record(ROOT)
    for reasons in (record.allowed_python, record.allowed_crates):
        assert reasons
        assert all(len(reason.split()) >= 3 for reason in reasons.values())


def test_no_allowance_outlives_its_package() -> None:
    record = read_record(ROOT)
    for allow_list, known in (
        (record.allowed_python, record.python),
        (record.allowed_crates, record.crates),
    ):
        stated_anywhere = " ".join(known.values()).replace("(", "").replace(")", "")
        terms = re.split(r" (?:AND|OR) | (?!WITH|LLVM)", stated_anywhere)
        assert allow_list.keys() <= set(terms)
    assert record.words.keys() <= record.python.keys()
