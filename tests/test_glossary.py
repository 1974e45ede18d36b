"""Every term of the glossary is defined in a sentence or two, at a rule that exists and uses it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
SPECS = sorted((ROOT / "specs").glob("[0-9][0-9]-*.md"))
LONGEST = 240


class Term(NamedTuple):
    name: str
    meaning: str
    cited: str
    page: str


ENTRY = re.compile(r"- \*\*([^*]+)\*\*: (.+\.) \[(\d\d[^\]]*)\]\((\.\./specs/[^)]+)\)")
LINES = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("-")]
TERMS = [Term(*match.groups()) for line in LINES if (match := ENTRY.fullmatch(line))]

REQUIRED = (
    "party, peer, roll, cut, leaf, close, edge, coins, nonce, mask, self-mask, seed, share, "
    "recovery, rollback, phase, round, attempt, logical round, organiser, board, log, checkpoint, "
    "witness, cosignature, quorum, slot, entry, ticket, roster, manifest, terms, plan, veto, "
    "culprit, barred, struck"
)


def test_every_line_is_an_entry() -> None:
    assert len(TERMS) == len(LINES) > 80


def test_the_words_that_newcomers_meet_first_are_there() -> None:
    assert set(REQUIRED.split(", ")) <= {term.name for term in TERMS}


def test_terms_stand_once_and_in_order() -> None:
    names = [term.name for term in TERMS]
    assert names == sorted(set(names))


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_meaning_is_a_sentence_or_two(term: Term) -> None:
    assert len(term.meaning) <= LONGEST
    assert len(re.findall(r"[.;!?](?=\s|$)", term.meaning)) <= 2


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_the_cited_text_exists_and_uses_the_term(term: Term) -> None:
    page = GLOSSARY.parent / term.page
    assert page.name.startswith(term.cited[:2])
    stem = term.name.split()[0].split("-")[0].lower()[:6]
    assert stem in cited_text(page.read_text(), term.cited[2:]).lower()


def cited_text(page: str, where: str) -> str:
    """What a page says in one rule or section; all of it where the citation names the page."""
    if not where:
        return page
    section = re.fullmatch(r", section (\d+)", where)
    if section:
        begin, end = rf"^## {section[1]}\. ", r"^## "
    else:
        begin, end = rf"\*\*\[{re.escape(where.removeprefix('-'))}\]\*\*", r"\*\*\[|^## "
    found = re.search(begin, page, re.MULTILINE)
    assert found, where
    rest = page[found.end() :]
    stop = re.search(end, rest, re.MULTILINE)
    return page[found.start() : found.end()] + (rest[: stop.start()] if stop else rest)


def test_a_citation_of_a_missing_rule_is_noticed() -> None:
    page = "## 1. One\n- **[A1]** a cut\n- **[A2]** a close\n## 2. Two\nend\n"
    assert "cut" in cited_text(page, "-A1")
    assert "close" not in cited_text(page, "-A1")
    assert "close" in cited_text(page, ", section 1")
    for missing in ("-A3", ", section 3"):
        with pytest.raises(AssertionError):
            cited_text(page, missing)


@pytest.mark.parametrize("page", [ROOT / "README.md", *SPECS], ids=lambda page: page.name)
def test_readers_find_the_glossary(page: Path) -> None:
    assert re.search(r"\]\((\.\./)?docs/glossary\.md\)", page.read_text())
