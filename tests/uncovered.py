"""`python -m tests.uncovered coverage.json`: what no test reaches, and why.

`make coverage` measures. Each package has to reach both goals, and every function of which
something is not reached stands in `uncovered.toml` with a reason. A reason that nothing needs
any more is named and no failure: some lines are reached or not as threads happen to run.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

REASONS: Final = Path(__file__).with_name("uncovered.toml")
PACKAGES: Final = ("bulletin_board", "commitments", "gopa", "zkp")
LINES: Final = 0.95
BRANCHES: Final = 0.88


@dataclass(frozen=True, slots=True)
class Share:
    """How many there are of something, and how many of them were reached."""

    reached: int
    of: int

    @property
    def value(self) -> float:
        return self.reached / self.of if self.of else 1.0

    def __add__(self, other: Share) -> Share:
        return Share(self.reached + other.reached, self.of + other.of)

    def __str__(self) -> str:
        return f"{self.value:7.2%} of {self.of:5}"


@dataclass(frozen=True, slots=True)
class Gap:
    """A function of which some lines or branches are not reached; "" is the module itself."""

    path: str
    function: str
    lines: tuple[int, ...]
    branches: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        return f"{self.path}::{self.function}" if self.function else self.path

    def __str__(self) -> str:
        jumps = ", ".join(f"{start}->{end}" for start, end in self.branches)
        lines = ", ".join(map(str, self.lines))
        return f"{self.name}: lines {lines or 'all'} branches {jumps or 'all'}"


def shares(measured: Mapping[str, Any]) -> dict[str, tuple[Share, Share]]:
    """Lines and branches of each package."""
    found = {package: (Share(0, 0), Share(0, 0)) for package in PACKAGES}
    for path, file in measured["files"].items():
        package = Path(path).parts[0]
        if package in found:
            counts = file["summary"]
            lines, branches = found[package]
            found[package] = (
                lines + Share(counts["covered_lines"], counts["num_statements"]),
                branches + Share(counts["covered_branches"], counts["num_branches"]),
            )
    return found


def gaps(measured: Mapping[str, Any]) -> Iterator[Gap]:
    """All that was not reached, in the order of the files."""
    for path, file in sorted(measured["files"].items()):
        if Path(path).parts[0] not in PACKAGES:
            continue
        for name, region in file["functions"].items():
            lines = tuple(region["missing_lines"])
            branches = tuple((start, end) for start, end in region["missing_branches"])
            if lines or branches:
                yield Gap(Path(path).as_posix(), name, lines, branches)


def reasons(text: str) -> dict[str, str]:
    """Why something is not reached, by what: a file, or `file::function`."""
    return {where: each["why"] for each in tomllib.loads(text)["reason"] for where in each["where"]}


def verdict(measured: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """What is wrong: packages below a goal, and gaps without a reason."""
    wrong = [
        f"{package}: {lines} lines, {branches} branches; goals {LINES:.0%} and {BRANCHES:.0%}"
        for package, (lines, branches) in shares(measured).items()
        if lines.value < LINES or branches.value < BRANCHES
    ]
    return wrong + [
        f"no reason: {gap}"
        for gap in gaps(measured)
        if gap.name not in known and gap.path not in known
    ]


def main(path: str) -> int:
    """The table, and 1 if something is wrong."""
    measured = json.loads(Path(path).read_text())
    known = reasons(REASONS.read_text())
    for package, (lines, branches) in shares(measured).items():
        sys.stdout.write(f"{package:16} {lines} lines {branches} branches\n")
    found = list(gaps(measured))
    needed = {gap.name for gap in found} | {gap.path for gap in found}
    for where in sorted(set(known) - needed):
        sys.stdout.write(f"reached now: {where}\n")
    wrong = verdict(measured, known)
    for line in wrong:
        sys.stdout.write(line + "\n")
    sys.stdout.write(f"{len(found)} functions with gaps, {len(wrong)} findings\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
