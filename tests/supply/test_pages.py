from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from supply.__main__ import parser
from tests.supply.trees import ROOT

COMMAND = re.compile(r"python -m supply ([^`#\n]*)")
PAGES = [ROOT / "SECURITY.md", ROOT / "docs/adr/0010-supply-chain.md", ROOT / "Makefile"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages_exist(page: Path) -> None:
    commands = [re.sub(r"\$\(.*\)", "", line) for line in COMMAND.findall(page.read_text())]
    assert commands
    for command in commands:
        assert parser().parse_args(shlex.split(command)).command


def test_targets_on_the_security_page_exist() -> None:
    named = set(re.findall(r"make ([a-z]+)", (ROOT / "SECURITY.md").read_text()))
    assert "supply" in named
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named <= set(targets)
