"""What `help` says: examples that run, and nothing that only a machine reads."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import gopa
from tests.gopa.test_public_api import MODULES

NAMES = dir(gopa)
SHOWN = ("audit", "average", "histogram", "plan", "sum", "variance")
"""Functions that users begin with: each has an example."""

PLAIN: pydoc.TextDoc = vars(pydoc)["plaintext"]
RAW = re.compile(r"\\x[0-9a-f]{2}|[0-9a-f]{32}")
"""Bytes and keys, as a repr spells them."""


def finder_of(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return [each for each in found if each.examples]


EXAMPLES = {
    each.name: each
    for module in MODULES
    if ">>> " in Path(importlib.util.find_spec(module).origin).read_text()  # type: ignore[union-attr, arg-type]
    for each in finder_of(module)
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_do_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = EXAMPLES[name]
    example.globs = {"gopa": gopa}
    said: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert found.attempted
    assert not found.failed, "".join(said)


def test_an_example_that_is_wrong_is_found() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(wrong, out=lambda _: None).failed == 1


@pytest.mark.parametrize("name", SHOWN)
def test_who_begins_finds_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(gopa, name)) or "")


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_no_raw_keys(name: str) -> None:
    text = pydoc.render_doc(getattr(gopa, name), renderer=PLAIN)
    assert len(text) > 100
    assert RAW.search(text) is None, RAW.search(text)


def test_raw_keys_would_be_found() -> None:
    def ask(key: bytes = bytes(range(200, 232))) -> bytes:
        return key

    assert RAW.search(pydoc.render_doc(ask, renderer=PLAIN))
