"""`python -m tests.budget`: how large every room is, and whether that is more than it may be.

A room is a folder of modules, without the rooms inside it. The table beside this file
says how many files, lines, floors and public names it may have, and how many options a plan
may have. Whoever needs more changes the table in the same commit and says why in its message;
`python -m tests.budget --write` takes over what there is, with lines rounded up to a hundred.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError
from pathlib import Path
from typing import Final

from tests.architecture.floors import PACKAGES, ROOT, floors

TABLE: Final = Path(__file__).with_suffix(".json")
BESIDE: Final = ("bench", "examples", "native/src", "specs/verifier", "tests")
"""Rooms whose lines and files count, and nothing else."""

TARGET: Final = "gopa/planning/target.py"
_STEP: Final = 100

Sizes = dict[str, int]


def measured(root: Path = ROOT) -> dict[str, Sizes]:
    """The sizes of all rooms below `root`, and the options of a plan."""
    found: dict[str, Sizes] = {}
    for room, files in _rooms(root).items():
        texts = {_module(file, root): file.read_text() for file in files}
        found[room] = {
            "files": len(files),
            "lines": sum(len(text.splitlines()) for text in texts.values()),
            "floors": _floors(texts),
            "names": _names(texts.get(room, "")),
        }
    for room in BESIDE:
        files = sorted([*(root / room).rglob("*.py"), *(root / room).rglob("*.rs")])
        lines = sum(len(file.read_text().splitlines()) for file in files)
        found[room] = {"files": len(files), "lines": lines}
    found["gopa.plan"] = {"options": _options((root / TARGET).read_text())}
    return found


def exceeded(found: Mapping[str, Sizes], allowed: Mapping[str, Sizes]) -> Iterator[str]:
    """What has grown past the table; a room that is new has no budget yet."""
    for room, sizes in sorted(found.items()):
        if room not in allowed:
            yield f"{room} is new: give it a budget"
            continue
        for what, size in sizes.items():
            most = allowed[room].get(what, 0)
            if size > most:
                yield f"{room} has {size} {what}, and may have {most}"
    yield from (f"{room} is gone: take it off" for room in sorted(allowed.keys() - found.keys()))


def table(found: Mapping[str, Sizes]) -> dict[str, Sizes]:
    """The budget with which everything fits, and lines have a little room."""
    return {
        room: {
            what: -(-size // _STEP) * _STEP if what == "lines" else size
            for what, size in sizes.items()
        }
        for room, sizes in sorted(found.items())
    }


def _rooms(root: Path) -> dict[str, list[Path]]:
    rooms: dict[str, list[Path]] = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            room = ".".join(file.parent.relative_to(root).parts)
            rooms.setdefault(room, []).append(file)
    return rooms


def _module(file: Path, root: Path) -> str:
    dotted = ".".join(file.relative_to(root).with_suffix("").parts)
    return dotted.removesuffix(".__init__")


def _floors(texts: Mapping[str, str]) -> int:
    """How many modules of a room stand on top of each other; imports within functions count."""
    found = {name: frozenset(_inside(text, texts) - {name}) for name, text in texts.items()}
    try:
        return len(floors(found))
    except CycleError:
        return len(texts)  # parts that import each other are read all at once


def _inside(text: str, texts: Mapping[str, str]) -> set[str]:
    taken = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            named = (f"{node.module}.{each.name}" for each in node.names)
            taken |= {name if name in texts else node.module for name in named}
    return taken & texts.keys()


def _names(text: str) -> int:
    """How many names a package hands out."""
    for node in ast.parse(text).body:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.List) and "__all__" in ast.unparse(node):
            return len(value.elts)
    return 0


def _options(text: str) -> int:
    """How many keywords `gopa.plan` takes, the number of parties with them."""
    records = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and "TypedDict" in map(ast.unparse, node.bases)
    ]
    return 1 + sum(isinstance(each, ast.AnnAssign) for record in records for each in record.body)


def main(arguments: list[str]) -> int:
    """Print the sizes, and what is too large; 1 if anything is."""
    found = measured()
    if arguments == ["--write"]:
        TABLE.write_text(json.dumps(table(found), indent=1) + "\n")
    allowed: dict[str, Sizes] = json.loads(TABLE.read_text())
    rows = (
        f"{room:<36}" + "  ".join(f"{size:>6} {what}" for what, size in sizes.items())
        for room, sizes in sorted(found.items())
    )
    sys.stdout.write("\n".join(rows) + "\n")
    grown = list(exceeded(found, allowed))
    if grown:
        sys.stderr.write("\n".join([*grown, "see the budget in CONTRIBUTING.md"]) + "\n")
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
