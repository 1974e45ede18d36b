"""Specifications, glossary and changelog name what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from bulletin_board import archive, entry
from gopa.aggregation import result
from gopa.auditing import evidence, report
from gopa.contract import manifest
from gopa.learning import ledger
from gopa.sessions import contribution, ticket
from gopa.sessions.parties import memory
from gopa.sessions.tunnel import messages, packing, state
from gopa.sessions.vault import frames

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
    opening = " ".join(opening.partition("\n\n")[0].split())
    assert "eeded by" in opening or "needs" in opening


def test_packages_of_the_protocol_belong_to_a_page() -> None:
    named = {path for page in CARRIED_OUT for path in modules(page)}
    packages = ["zkp/bits", "bulletin_board/tree"]
    packages += [f"gopa/{name}" for name in ("contract", "planning", "auditing", "sessions")]
    packages += [f"gopa/protocol/{name}" for name in ("party", "rules", "organiser")]
    packages += ["gopa/contract/beacon", "gopa/rounds/masks"]
    assert set(packages) <= named


GLOSSARY = ROOT / "docs" / "glossary.md"


SPECS = sorted((ROOT / "specs").glob("[0-9][0-9]-*.md"))


LONGEST = 240


class Term(NamedTuple):
    name: str
    meaning: str
    cited: str
    page: str


ENTRY = re.compile(r"- \*\*([^*]+)\*\*: (.+\.) \[(\d\d[^\]]*)\]\((\.\./specs/[^)]+)\)")


LINES = [
    line for line in GLOSSARY.read_text().replace("\n  ", " ").splitlines() if line.startswith("-")
]


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


def test_a_meaning_is_a_sentence_or_two() -> None:
    for term in TERMS:
        assert len(term.meaning) <= LONGEST, term.name
        assert len(re.findall(r"[.;!?](?=\s|$)", term.meaning)) <= 2, term.name


def test_the_cited_text_exists_and_uses_the_term() -> None:
    for term in TERMS:
        page = GLOSSARY.parent / term.page
        assert page.name.startswith(term.cited[:2]), term.name
        stem = term.name.split()[0].split("-")[0].lower()[:6]
        assert stem in cited_text(page.read_text(), term.cited[2:]).lower(), term.name


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


DEFINED = re.compile(r"\*\*\[([A-Z]+\d+[a-z]?)\]\*\*")
BARE = re.compile(r"(?:(?<![\w*\]-])\[|\brules? )([A-Z]+\d+[a-z]?)\b")
RULES = {page: set(DEFINED.findall(page.read_text())) for page in SPECS}
TEXTS = [
    path
    for top in ("*.md", "specs", "docs", "gopa", "wire", "commitments", "zkp", "bulletin_board")
    for path in (ROOT.glob(top) if "*" in top else (ROOT / top).rglob("*.*"))
    if path.suffix in {".md", ".py", ".pyi"} and path.name != "CHANGELOG.md"
]


def without_page(path: Path, text: str) -> set[str]:
    """Rules that a text names without their page, which is its own only on a page of `specs/`."""
    every = set().union(*RULES.values())
    return (set(BARE.findall(text)) & every) - RULES.get(path, set())


def test_rules_carry_their_page() -> None:
    assert len(TEXTS) > 400
    assert {
        str(path): rules for path in TEXTS if (rules := without_page(path, path.read_text()))
    } == {}
    page = next(page for page in SPECS if page.name.startswith("04"))
    assert without_page(page, "as [K3] says, and 03-V35") == set()
    assert without_page(ROOT / "README.md", "as [K3] says, rule K2 and 04-K1") == {"K3", "K2"}


FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
PROSE = [path for path in TEXTS if path.suffix == ".md"]
COLUMNS = 100


def too_wide(text: str) -> list[str]:
    """Lines of prose beyond the margin; tables, headings, pictures and programs may be wider."""
    lines = FENCED.sub("", text).splitlines()
    return [
        line
        for line in lines
        if len(line) > COLUMNS and not line.startswith(("|", "#", "![", "    "))
    ]


def test_prose_is_wrapped() -> None:
    wide = {page: too_wide(page.read_text()) for page in PROSE}
    assert {page: lines for page, lines in wide.items() if lines} == {}


def test_a_line_that_is_too_wide_is_found() -> None:
    wide = "word " * 21
    assert too_wide(f"short\n| {wide} |\n```\n{wide}\n```\n") == []
    assert too_wide(f"short\n{wide}\n") == [wide]


ROW = re.compile(r"^\| ([^|]+) \| `?([^|`]+)`? \| [^|]+\|$", re.MULTILINE)


TABLE = dict(ROW.findall((ROOT / "CHANGELOG.md").read_text()))


WRITTEN = {
    "entry of the log": str(entry.VERSION),
    "manifest": str(manifest.VERSION),
    "ticket": str(ticket.VERSION),
    "archive (`.gopa`)": archive.MAGIC.decode().strip(),
    "file of evidence": evidence.MAGIC.decode().strip(),
    "report as JSON": report.FORMAT,
    "result as JSON": result.FORMAT,
    "contribution as JSON": contribution.FORMAT,
    "ledger of privacy": ledger.FORMAT,
    "seal of a vault": str(frames.VERSION),
    "memory of a party": str(memory.VERSION),
    "request and reply of a party that is called": str(messages.VERSION),
    "the same, packed": str(packing.PACKED_VERSION),
    "state of a party that is called": state.FORMAT.decode().strip(),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_versions_of_formats(what: str) -> None:
    assert TABLE[what] == WRITTEN[what]


def test_no_other_format_is_named() -> None:
    assert set(TABLE) - {"what"} == set(WRITTEN)
