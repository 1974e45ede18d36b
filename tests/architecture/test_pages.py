"""Files, classes, functions and commands that the pages for contributors name are there."""

from __future__ import annotations

from typing import Final

import pytest

from tests.architecture.floors import ROOT
from tests.architecture.names import wrong_names

PAGES: Final = ("docs/architecture.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_a_page_names_is_there(page: str) -> None:
    assert wrong_names((ROOT / page).read_text()) == []


@pytest.mark.parametrize("page", PAGES)
def test_the_readme_leads_there(page: str) -> None:
    assert f"]({page})" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("see `gopa/rules/table.py`", "see `gopa/rules/tables.py`"),
        ("a folder `gopa/rules/`", "a folder `gopa/ruling/`"),
        ("`gopa/rules/table.py` `RULES`", "`gopa/rules/table.py` `RULERS`"),
        (
            "`gopa/rules/publish.py` `PublishRules.demand`",
            "`gopa/rules/publish.py` `PublishRules.ask`",
        ),
        ("`gopa/party/joining.py` `join`", "`gopa/party/joining.py` `leave`"),
        (
            "`gopa/rules/publish.py` has `PublishRules`",
            "`gopa/rules/publish.py` has `UnmaskRules`",
        ),
        (
            "| who | `gopa/rules/retry.py` `Bars` |",
            "| `gopa/rules/retry.py` `Bars` | `gopa/rules/retry.py` `Due.bars` |",
        ),
        ("`make quick`", "`make slow`"),
        ("`python -m bench audit`", "`python -m benches audit`"),
        (
            "1. `gopa/rules/retry.py` `Bars`\n2. `gopa/rules/join.py` `JoinRules`",
            "1. `gopa/rules/retry.py` `Bars`\n2. `gopa/rules/join.py` and `Bars`",
        ),
    ],
)
def test_what_is_not_there_is_found(right: str, wrong: str) -> None:
    assert wrong_names(right) == []
    assert len(wrong_names(wrong)) == 1
