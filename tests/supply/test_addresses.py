from __future__ import annotations

from pathlib import Path

import pytest

from supply import addresses
from supply.crates import LOCK
from supply.findings import Rule
from supply.registries import CRATES_SOURCE, HOSTS
from tests.supply.trees import ROOT, extend

SPOILED = {
    **{f"host {host} in text": ("notes.md", f"see https://files.{host}/x\n") for host in HOSTS},
    "host in the lock of the crates": (LOCK, f"# {HOSTS[2]}\n"),
    "index in a lock": ("requirements/dev.txt", "--index-url https://x.example\n"),
    "more indexes in a list": ("requirements/dev.in", "--extra-index-url https://x.example\n"),
    "links in a lock": ("requirements/dev.txt", "--find-links wheels\n"),
    "short option in a list": ("requirements/dev.in", "-i https://x.example\n"),
    "index of uv": ("pyproject.toml", '[[tool.uv.index]]\nurl = "https://x.example"\n'),
    "variable in the Makefile": ("Makefile", "export PIP_INDEX_URL = https://x.example\n"),
    "trust in a script": (".ci/run", "pip install --trusted-host x.example y\n"),
    "registry of Cargo": (".cargo/config.toml", '[registries.x]\nindex = "https://x.example"\n'),
    "source of Cargo": (".cargo/config.toml", "[source.vendored]\n"),
}


def test_this_tree_names_no_registry() -> None:
    assert addresses.check(ROOT).findings == ()


@pytest.mark.parametrize(("name", "text"), SPOILED.values(), ids=SPOILED)
def test_addresses_are_found(tree: Path, name: str, text: str) -> None:
    assert addresses.check(tree).findings == ()
    (tree / name).parent.mkdir(exist_ok=True)
    extend(tree, name, text)
    assert {finding.rule for finding in addresses.check(tree).findings} == {Rule.ADDRESS}


def test_the_lock_of_the_crates_may_say_what_cargo_writes(tree: Path) -> None:
    assert CRATES_SOURCE in (tree / LOCK).read_text()
    assert addresses.check(tree).findings == ()
    extend(tree, "notes.md", CRATES_SOURCE)
    assert len(addresses.check(tree).findings) == 1


@pytest.mark.parametrize("folder", ["target", ".venv", "x.egg-info", "mine"])
def test_what_is_made_by_tools_is_not_ours(tree: Path, folder: str) -> None:
    (tree / folder).mkdir()
    extend(tree, f"{folder}/x.txt", HOSTS[0])
    ours = folder == "mine"
    assert bool(addresses.check(tree).findings) == ours
    extend(tree, f"{folder}/pyvenv.cfg", "")
    assert addresses.check(tree).findings == ()
