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
        ("see `gopa/protocol/rules/table.py`", "see `gopa/protocol/rules/tables.py`"),
        ("a folder `gopa/protocol/rules/`", "a folder `gopa/ruling/`"),
        ("`gopa/protocol/rules/table.py` `RULES`", "`gopa/protocol/rules/table.py` `RULERS`"),
        (
            "`gopa/protocol/rules/publish.py` `PublishRules.demand`",
            "`gopa/protocol/rules/publish.py` `PublishRules.ask`",
        ),
        ("`gopa/protocol/party/joining.py` `join`", "`gopa/protocol/party/joining.py` `leave`"),
        (
            "`gopa/protocol/rules/publish.py` has `PublishRules`",
            "`gopa/protocol/rules/publish.py` has `UnmaskRules`",
        ),
        (
            "| who | `gopa/protocol/rules/closes.py` `Bars` |",
            "| `gopa/protocol/rules/closes.py` `Bars` | `gopa/protocol/rules/closes.py` `Due.on` |",
        ),
        ("`make quick`", "`make slow`"),
        ("`python -m bench audit`", "`python -m benches audit`"),
        (
            "1. `gopa/protocol/rules/closes.py` `Bars`\n2. `gopa/protocol/rules/join.py`",
            "1. `gopa/protocol/rules/closes.py` `Bars`\n2. `gopa/protocol/rules/join.py` `Bars`",
        ),
    ],
)
def test_what_is_not_there_is_found(right: str, wrong: str) -> None:
    assert wrong_names(right) == []
    assert len(wrong_names(wrong)) == 1
