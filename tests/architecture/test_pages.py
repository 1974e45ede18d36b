"""Files, classes, functions and commands that the pages for contributors name are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.floors import ROOT

_CODE: Final = re.compile(r"`([^`\n]+)`")


_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:md|toml|py)")


_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


_PROUD: Final = re.compile(r"[A-Z]\w*[a-z]\w*(?:\.\w+)*|[A-Z_]{4,}")


"""Spelt as only classes, their methods and constants are."""


_BESIDE: Final = re.compile(r"`([^`\n]+)`(?= `([^`\n]+)`)")


_MAKE: Final = re.compile(r"(?:`|^)make ([a-z-]+)", re.MULTILINE)


_RUN: Final = re.compile(r"python -m ([\w.]+)")


_TARGET: Final = re.compile(r"^([a-z-]+):", re.MULTILINE)


_TOOLS: Final = frozenset({"pytest"})


def wrong_names(text: str, root: Path = ROOT) -> list[str]:
    """What a page names that is not there.

    A name that stands right behind a file has to be defined in it; other names of classes and
    constants in one of the files of the same paragraph, list item or cell.
    """
    found = [wrong for block in blocks(text) for wrong in _wrong_in(block, root)]
    targets = _TARGET.findall((root / "Makefile").read_text())
    found += [f"make {each}" for each in _MAKE.findall(text) if each not in targets]
    found += [
        f"python -m {each}"
        for each in _RUN.findall(text)
        if each not in _TOOLS and not _is_module(root, each)
    ]
    return found


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and cells of tables."""
    for block in re.split(r"\n\s*\n|\n(?=\d+\. |\* |\|)", text):
        yield from block.split(" | ") if block.startswith("|") else [block]


def _wrong_in(block: str, root: Path) -> Iterator[str]:
    codes = [each[1] for each in _CODE.finditer(block)]
    paths = [each for each in codes if _PATH.fullmatch(each)]
    yield from (each for each in paths if not (root / each).exists())
    beside = [(path, name) for path, name in _BESIDE.findall(block) if path in paths]
    for path, name in beside:
        if _NAME.fullmatch(name) and not _defines(root / path, name):
            yield f"{path} {name}"
    there = {name for _, name in beside}
    for name in (each for each in codes if paths and _PROUD.fullmatch(each)):
        if name not in there and not any(_defines(root / path, name) for path in paths):
            yield name


def _defines(file: Path, name: str) -> bool:
    return file.suffix == ".py" and file.is_file() and name in _defined(file)


@cache
def _defined(file: Path) -> frozenset[str]:
    """Functions, classes, methods and constants of a module, methods with and without class."""
    found = set[str]()
    for node in ast.parse(file.read_text()).body:
        found |= set(_named_by(node))
        if isinstance(node, ast.ClassDef):
            inner = {name for each in node.body for name in _named_by(each)}
            found |= inner | {f"{node.name}.{name}" for name in inner}
    return frozenset(found)


def _named_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.Assign):
        yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _is_module(root: Path, module: str) -> bool:
    place = root / module.replace(".", "/")
    return place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()


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
