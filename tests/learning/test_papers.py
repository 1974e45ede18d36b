"""The table of the papers says what is there: modules, tests, commands, rules and numbers."""

from __future__ import annotations

import ast
import importlib
import re
from typing import Final

import pytest

from bench.__main__ import BENCHMARKS
from tests.learning.papers import PAPERS, ROOT, Said, page, quoted

ROWS: Final = {
    f"{paper}, {row.item}, {row.what}": row for paper, (_, rows) in PAPERS.items() for row in rows
}

PRINTED: Final = {
    "thesis": """algorithm 2.1 2.2 2.3 2.4 3.1 3.2 3.3 4.1 4.2 4.3 4.4 4.5, theorem 2.1 2.2 3.1 3.2
3.3 3.4 3.5 3.6 3.7 4.1 4.2 4.3 4.4 4.5 4.6, proposition 2.1 2.2 2.3 4.1, corollary 3.1 4.1, figure
2.1 2.2 3.1 3.2 3.3 3.4 3.5 3.6 3.7 4.1, table 2.1 4.1""",
    "personalised": "theorem 1 2, proposition 1 2, lemma 1 2 3, figure 1 2 3 4",
    "gade": "algorithm 0 1 2 3 4, theorem 1 2, lemma 1 2 3 4 5, figure 1",
    "jin": "algorithm 1 2, theorem 1 2 3 4, lemma 1 2 3 4, table I II, figure 1 2 3 4",
}
"""What each paper numbers, read from it."""


def items(text: str) -> set[tuple[str, str]]:
    """Kinds and numbers in words such as "theorem 4.1, corollaries 1, 2"."""
    found = set()
    kind = ""
    for word in re.findall(r"[a-z]+|[\d.]+|I+", text.replace("remark", "")):
        if word[0].isdigit() or word[0] == "I":
            found.add((kind.removesuffix("s"), word.strip(".")))
        else:
            kind = word
    return found


def test_the_page_is_what_the_table_says() -> None:
    assert (ROOT / "docs/learning/papers.md").read_text() == "\n".join(page())


@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_that_a_paper_numbers_is_missing(paper: str) -> None:
    listed = [row.item for row in PAPERS[paper][1]]
    assert items(PRINTED[paper]) <= {each for item in listed for each in items(item)}


@pytest.mark.parametrize("name", ROWS)
def test_what_a_line_names_is_there(name: str) -> None:
    row = ROWS[name]
    module, _, thing = row.where.partition(":")
    outside = module.startswith(("gopa", "bench"))
    assert hasattr(importlib.import_module(module if outside else f"gopa.learning.{module}"), thing)
    file, _, function = row.test.partition("::")
    path = ROOT / (file if file.startswith("tests/") else f"tests/learning/{file}")
    defined = {getattr(each, "name", "") for each in ast.parse(path.read_text()).body}
    assert path.name.startswith("test_")
    assert function.startswith("test_")
    assert function in defined
    if row.rule:
        (spec,) = (ROOT / "specs").glob(f"{row.rule[:2]}-*.md")
        assert f"**[{row.rule[3:]}]" in spec.read_text()


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.command])
def test_its_command_is_taken(name: str) -> None:
    """By the parser of the example, which knows its figures."""
    program, *figure = ROWS[name].command.split()
    if program == "bench":
        assert set(figure) <= set(BENCHMARKS)
        return
    example = importlib.import_module(f"examples.{program}")
    assert bool(figure) == hasattr(example, "figures")
    if figure:
        taken = example.figures.command().make_context(program, [*figure])
        assert taken.params["figure"] == figure[0]


def test_numbers_are_those_of_their_pages_or_there_are_none() -> None:
    """A row that is gone, or words that stand there twice, end the command that makes the page."""
    assert quoted(Said("network", "epsilon | 10")).startswith("epsilon 10: a trusted curator .9")
    assert quoted(Said("rows", "loss without a ridge | coin, epsilon 1")).startswith("coin, eps")
    assert quoted(Said("two", "A group of 16")).endswith("less noise.")
    for words in ("epsilon | 11", "never said", "coin, epsilon 1", "the"):
        with pytest.raises(ValueError, match="times on"):
            quoted(Said("rows", words))
