"""Specification 08 and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from gopa.rounds.masks import self_masks as shares
from wire import domains

ROOT: Final = Path(__file__).resolve().parents[3]
SPEC: Final = (ROOT / "specs" / "08-masks.md").read_text()
LABELS: Final = [
    value.decode()
    for value in vars(domains).values()
    if isinstance(value, bytes) and value.startswith(b"gopa/v1/masks/")
]


def rules() -> list[int]:
    return [int(number) for number in re.findall(r"\*\*\[M(\d+)\]\*\*", SPEC)]


def test_rules_are_numbered_without_gaps() -> None:
    assert rules() == list(range(1, 29))


@pytest.mark.parametrize("label", LABELS)
def test_every_label_is_in_the_text(label: str) -> None:
    assert f"`{label}`" in SPEC


def test_the_text_has_no_other_label() -> None:
    assert sorted(set(re.findall(r"`(gopa/v1/masks/[a-z-]+)`", SPEC))) == sorted(LABELS)


def test_checks_cite_rules_that_exist() -> None:
    for check in (shares.SHARE_CHECK, shares.RECOVERY_CHECK):
        page, rule = check.split("-M")
        assert page == "08"
        assert int(rule) in rules()
