"""Does any file say from which host packages come? That is for whoever builds to choose."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from supply.crates import LOCK
from supply.findings import Finding, Report, Rule
from supply.registries import CRATES_SOURCE, HOSTS

NOT_OURS: Final = {"__pycache__", "build", "demo", "dist", "target"}
OUR_HIDDEN: Final = {".cargo", ".ci", ".github"}
HOST: Final = re.compile("|".join(map(re.escape, HOSTS)))

# What makes pip, uv or Cargo look elsewhere, in the files that steer them.
STEERING: Final = re.compile(
    r"^(requirements/.*|pyproject\.toml|uv\.toml|pip\.conf|setup\.cfg|Makefile|Dockerfile"
    r"|\.ci/.*|\.github/.*|(native/)?\.cargo/config(\.toml)?|native/Cargo\.toml)$"
)
REDIRECT: Final = re.compile(
    r"--(?:extra-)?index-url|--find-links|--trusted-host|--(?:default-)?index\b"
    r"|\b(?:PIP|UV)_[A-Z_]*(?:INDEX|FIND_LINKS|TRUSTED_HOST)[A-Z_]*"
    r"|\[\[?(?:tool\.uv\.)?(?:index|registr(?:y|ies)|source|patch)\b"
    r"|^\s*(?:-i|-f)\s"
)
CHOOSE: Final = "leave the choice to the settings of whoever builds"


def check(root: Path) -> Report:
    """Look for hosts of registries in every file, and for redirections where they would act."""
    files = list(_files(root))
    findings = [finding for path in files for finding in _file(root, path)]
    return Report(f"{len(files)} files", tuple(findings))


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if _ours(Path(folder) / name))
        yield from (Path(folder) / name for name in sorted(names))


def _ours(folder: Path) -> bool:
    if folder.name in OUR_HIDDEN:
        return True
    made = folder.name in NOT_OURS or folder.suffix == ".egg-info"
    return not (made or folder.name.startswith(".") or (folder / "pyvenv.cfg").exists())


def _file(root: Path, path: Path) -> Iterator[Finding]:
    name = path.relative_to(root).as_posix()
    try:
        text = path.read_text()
    except (UnicodeDecodeError, FileNotFoundError):
        return  # not text, or a temporary file of something else that runs
    if name == LOCK:
        text = text.replace(CRATES_SOURCE, "")
    for number, line in enumerate(text.splitlines(), 1):
        found = HOST.search(line) or (STEERING.match(name) and REDIRECT.search(line))
        if found:
            yield Finding(Rule.ADDRESS, f"{name}:{number}", found[0], CHOOSE)
