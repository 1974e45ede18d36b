"""Every page of the specifications says which modules carry it out, by paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLANNED = {"14-long-vectors.md"}
CARRIED_OUT = [
    page for page in sorted((ROOT / "specs").glob("[0-9][0-9]-*.md")) if page.name not in PLANNED
]
PARAGRAPH = re.compile(r"^Carried out by .*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def modules(page: Path) -> list[str]:
    """The paths in the paragraph that a page begins with."""
    named = PARAGRAPH.search(page.read_text().partition("\n## ")[0])
    assert named, page.name
    return re.findall(r"`([^`]+)`", named[0])


def test_the_pages_are_numbered() -> None:
    numbers = [*range(14), *range(15, 24)]
    assert [page.name[:2] for page in CARRIED_OUT] == [f"{n:02}" for n in numbers]


@pytest.mark.parametrize("page", CARRIED_OUT, ids=lambda page: page.name)
def test_modules_that_carry_a_page_out_exist(page: Path) -> None:
    paths = modules(page)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", CARRIED_OUT, ids=lambda page: page.name)
def test_a_page_begins_with_what_it_is_about(page: Path) -> None:
    title, blank, opening = page.read_text().split("\n", 2)
    assert title.startswith(f"# {page.name[:2]} ")
    assert not blank
    assert "eeded by" in opening.partition("\n\n")[0] or "needs" in opening.partition("\n\n")[0]


def test_packages_of_the_protocol_belong_to_a_page() -> None:
    named = {path for page in CARRIED_OUT for path in modules(page)}
    packages = ["zkp/bits", "bulletin_board/tree"]
    packages += [f"gopa/{name}" for name in ("contract", "planning", "auditing", "sessions")]
    packages += [f"gopa/protocol/{name}" for name in ("party", "rules", "organiser")]
    packages += ["gopa/contract/beacon", "gopa/rounds/masks"]
    assert set(packages) <= named
