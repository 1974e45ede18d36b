"""Finds the checks of a source file and writes the file without one of them.

A check is an `if` without `else` that raises or names a numbered rule, or a call whose result
nobody takes and whose name demands something, such as `require_agreement(..)`.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("gopa/protocol/rules", "zkp", "bulletin_board")
RULE: Final = re.compile(r"\d\d-[A-Z]\d+")
CALLS: Final = re.compile(r"_?(require|demand|check|verify|refuse|ensure)(_|$)")


@dataclass(frozen=True, order=True)
class Site:
    """One check: where it stands, and the line that it is taken out of."""

    path: str
    line: int
    column: int
    text: str

    @property
    def name(self) -> str:
        """What a run remembers it by."""
        return f"{self.path}:{self.line}:{self.column} {self.text}"


@dataclass(frozen=True, order=True)
class Swap:
    """One expression that stands once in its file, and what is put in its place."""

    path: str
    old: str
    new: str
    about: str

    @property
    def name(self) -> str:
        """What a run remembers it by."""
        return f"{self.path} {self.about}"


SWAPS: Final = (
    Swap(
        "gopa/learning/clipping.py",
        "bound * slack / np.maximum",
        "2 * bound * slack / np.maximum",
        "sensitivity doubled: what is clipped moves by twice what is charged",
    ),
    Swap(
        "gopa/learning/privacy.py",
        '"gaussian": Loss.gaussian',
        '"gaussian": lambda sigma, moved: Loss.gaussian(sigma, moved / 2)',
        "sensitivity doubled: a charge knows half of it",
    ),
    Swap(
        "gopa/noise/laws.py",
        "RoundedGaussian(deviation).lower",
        "RoundedGaussian(max(1, deviation // 2)).lower",
        "noise halved: normal",
    ),
    Swap(
        "gopa/noise/laws.py",
        "top, weight = scale, 1",
        "top, weight = max(scale / 2, Fraction(1, 32)), 1",
        "noise halved: Laplace",
    ),
    Swap(
        "gopa/accounting/gaussian.py",
        "        return least\n",
        "        return least / 2\n",
        "noise halved: what is calibrated",
    ),
    Swap(
        "gopa/learning/clocks.py",
        "return draws.below(len(self._choices), count)",
        "return np.arange(count) % len(self._choices)",
        "a clock made round-robin",
    ),
)
"""What makes a run tell more than it says, or a theorem speak of another one: tried each time."""


def all_sites(root: Path = ROOT, packages: Sequence[str] = PACKAGES) -> list[Site]:
    """Every check of these packages, in order."""
    files = sorted(file for package in packages for file in (root / package).rglob("*.py"))
    return [site for file in files for site in sites_in(file, root)]


def sites_in(file: Path, root: Path = ROOT) -> list[Site]:
    """The checks of one file."""
    source = file.read_text()
    lines, path = source.splitlines(), file.relative_to(root).as_posix()
    nodes = _checks(ast.parse(source))
    return [
        Site(path, node.lineno, node.col_offset, lines[node.lineno - 1].strip()) for node in nodes
    ]


def drawn(sites: Sequence[Site], count: int, seed: str) -> list[Site]:
    """So many of them; packages have a share each, whatever their sizes."""
    rng = random.Random(seed)
    shares = [
        rng.sample(found, len(found))
        for package in PACKAGES
        if (found := [site for site in sites if site.path.startswith(f"{package}/")])
    ]
    dealt = (
        share[at] for at in range(max(map(len, shares))) for share in shares if at < len(share)
    )
    return [site for site, _ in zip(dealt, range(count), strict=False)]


def without(source: str, site: Site | Swap) -> str:
    """The file as if the check had been forgotten: it never finds anything; or with the swap."""
    if isinstance(site, Swap):
        if source.count(site.old) != 1:
            raise ValueError(f"{site.path} has not one place that says: {site.old}")
        return source.replace(site.old, site.new)
    (node,) = [
        node
        for node in _checks(ast.parse(source))
        if (node.lineno, node.col_offset) == (site.line, site.column)
    ]
    lines = source.splitlines(keepends=True)
    gone, put = (node.test, "False") if isinstance(node, ast.If) else (node, "pass")
    assert gone.end_lineno is not None
    assert gone.end_col_offset is not None
    first = _offset(lines, gone.lineno, gone.col_offset)
    last = _offset(lines, gone.end_lineno, gone.end_col_offset)
    data = source.encode()
    return (data[:first] + put.encode() + data[last:]).decode()


def _offset(lines: Sequence[str], line: int, column: int) -> int:
    return sum(len(each.encode()) for each in lines[: line - 1]) + column


def _checks(tree: ast.AST) -> Iterator[ast.If | ast.Expr]:
    for node in ast.walk(tree):
        if (isinstance(node, ast.If) and not node.orelse and _finds(node.body)) or (
            isinstance(node, ast.Expr) and _demands(node.value)
        ):
            yield node


def _finds(body: Sequence[ast.stmt]) -> bool:
    if isinstance(body[-1], ast.Raise):
        return True
    constants = (
        node.value for each in body for node in ast.walk(each) if isinstance(node, ast.Constant)
    )
    return any(isinstance(value, str) and RULE.fullmatch(value) for value in constants)


def _demands(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return bool(CALLS.match(name))
