"""`python -m tests.names_and_words`: class names exist once, and docstrings name the thing.

Two classes with one name make a reader open two files to find out which one is meant. The first
line of a docstring is read without the signature: for a class it is the noun ("The judge of one
phase."), for a function what it returns or does. `make lint` fails where it is not so.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("bulletin_board", "commitments", "gopa", "wire", "zkp")

VERBS: Final = frozenset(
    """Adds Applies Asks Carries Collects Computes Describes Encodes Gives Hands Holds Is Judges
    Keeps Knows Lets Makes Posts Reads Refuses Reports Runs Says Sends Serves Shows Takes Tells
    Writes
    """.split()  # noqa: SIM905 - a list would be a line each
)
"""A class is a thing: its docstring does not begin with what it does."""

OPENINGS: Final = ("As ", "For each ", "For every ", "Of ", "Those ")
"""A first line of a function that begins so needs the signature to be understood."""

FEWEST_WORDS: Final = 3

Documented: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_classes(source: str) -> list[str]:
    """The public classes that a module defines at its top level."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def duplicates(root: Path) -> Mapping[str, list[str]]:
    """Names of public classes in more than one place below `root`, with their files."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in _files(root):
        for name in public_classes(file.read_text()):
            places[name].append(file.relative_to(root).as_posix())
    return {name: files for name, files in sorted(places.items()) if len(files) > 1}


def unclear(source: str) -> Iterator[str]:
    """The names in a module whose docstring does not name the thing, each with the reason."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            reason = _fault(node, public=node in tree.body and not node.name.startswith("_"))
            if reason:
                yield f"{node.name} in line {node.lineno}: {reason}"


def _fault(node: Documented, *, public: bool) -> str:
    text = ast.get_docstring(node)
    if text is None:
        needed = public and isinstance(node, ast.ClassDef)
        return "a public class needs a docstring" if needed else ""
    first = text.splitlines()[0]
    if isinstance(node, ast.ClassDef):
        return "begin with the noun" if first.split()[0] in VERBS else ""
    if first.startswith(OPENINGS):
        return "begin with what it returns or does"
    short = len(first.split()) < FEWEST_WORDS and "`" not in first
    return "too short to be read without the signature" if short else ""


def _files(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((root / package).rglob("*.py"))


def main() -> int:
    """Print every name that exists twice, and every docstring that is unclear; 1 for any."""
    lines = [f"class {name} stands in {', '.join(at)}" for name, at in duplicates(ROOT).items()]
    for file in _files(ROOT):
        lines += (f"{file.relative_to(ROOT)}: {each}" for each in unclear(file.read_text()))
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
