"""The page of the specification says what runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from gopa.auditing.checks import CHECKS, NEEDED, check_of
from gopa.auditing.evidence import EVIDENCE, MAGIC
from gopa.auditing.judging import SELF_CONTAINED
from gopa.auditing.report import FAMILIES, Verdict
from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.protocol.rules import RULES
from gopa.protocol.rules.table import UNSEEN
from wire.codec import describe

ROOT: Final = Path(__file__).parents[2]
SPEC: Final = (ROOT / "specs" / "11-audit.md").read_text()
SCHEMA: Final = ROOT / "docs" / "audit" / "report.schema.json"


def test_the_table_of_checks_is_the_one_that_runs() -> None:
    rows = re.findall(r"^\| (\d\.\d) \| (.*?) \| (.*?) \|$", SPEC, re.MULTILINE)
    expected = [
        (each.number, each.question, ", ".join(rule.removeprefix("04-") for rule in each.rules))
        for each in CHECKS
    ]
    assert rows == expected
    assert {check.family for check in CHECKS} == set(range(len(FAMILIES)))


def test_every_rule_that_a_log_can_show_belongs_to_one_check() -> None:
    cited = [rule for check in CHECKS for rule in check.rules if rule.startswith(("04-", "14-"))]
    assert len(cited) == len(set(cited))
    definitions = {"04-L1", "04-V2", "04-V3", "04-V5", "04-V6", "04-Z2"}
    assert set(RULES) - UNSEEN == set(cited)
    assert definitions <= set(cited)
    for rule in cited:
        assert rule in check_of(rule).rules


def test_rules_are_numbered_without_gaps() -> None:
    found = re.findall(r"\*\*\[([A-Z])(\d+)\]\*\*", SPEC)
    for letter in {each for each, _ in found}:
        numbers = [int(number) for each, number in found if each == letter]
        assert numbers == list(range(1, len(numbers) + 1)), letter


def test_evidence_is_printed_as_it_is_encoded() -> None:
    (printed,) = re.findall(r"^```tls evidence\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    assert printed == describe(EVIDENCE).rstrip("\n")
    assert len(MAGIC) == 17
    (listed,) = re.findall(r"by its content \((.*?)\)", " ".join(SPEC.split()))
    assert set(listed.split(", ")) == SELF_CONTAINED


def test_codes_are_those_of_the_page() -> None:
    assert sorted(verdict.code for verdict in Verdict) == [0, 1, 3, 4, 5, 6, 10]
    for verdict in Verdict:
        assert f"({verdict.code})" in SPEC or f" {verdict.code} " in SPEC


def test_nothing_is_valid_without_the_checks_that_the_page_names() -> None:
    listed = r"((?:\d\.\d(?:, | and ))*\d\.\d) have to pass for VALID"
    (named,) = re.findall(listed, " ".join(SPEC.split()))
    assert set(re.findall(r"\d\.\d", named)) == NEEDED


def test_the_schema_of_reports_has_every_reason_of_an_abort() -> None:
    schema = json.loads(SCHEMA.read_text())["$defs"]
    (found,) = (
        each["properties"]["abort"]
        for each in schema.values()
        if "abort" in each.get("properties", {})
    )
    assert found["enum"] == ["", *(reason.name.lower() for reason in AbortReason)]


def test_the_schema_of_reports_has_every_phase_of_parties() -> None:
    schema = json.loads(SCHEMA.read_text())["$defs"]
    phases = {each.name.lower() for each in Phase if each is not Phase.ORGANISER}
    assert set(schema["phase"]["enum"]) == phases
