"""Copies of what the checks read, to be spoiled in one place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = [
    "pyproject.toml",
    "gopa/version.py",
    "native/Cargo.toml",
    "native/Cargo.lock",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "requirements").iterdir())),
    "supply/accepted.toml",
    "supply/licences.toml",
    "supply/sbom.cdx.json",
]


def copy(where: Path) -> Path:
    for name in READ:
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, where / name)
    return where


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def found(pattern: str, name: str) -> str:
    """The first place of a file of the tree that looks like this."""
    match = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
    assert match is not None
    return match[0]


def extend(root: Path, name: str, text: str) -> None:
    with (root / name).open("a") as file:
        file.write(text)
