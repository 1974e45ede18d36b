"""Names the test files near what changed: `python -m tests.near [BASE]` prints them.

Nearest are changed tests, then tests that are called like a changed module or import it, then
the others of its folder. As many are named as fit into the seconds that were recorded for them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests import pace

ROOT: Final = Path(__file__).resolve().parents[1]
BUDGET: Final = 60.0
"""Seconds of one worker; two of them and the collection stay below a minute with it."""
ALWAYS: Final = ("tests/test_repository.py",)

FOLDERS: Final = {
    "bulletin_board": ("board",),
    "commitments": ("commitments", "group"),
    "native": ("group", "commitments", "twoparty"),
    "gopa/protocol/organiser": ("protocol/simulation",),
    "gopa/plugins": ("gopa",),
    "pytest_gopa.py": ("adversary",),
    "specs/verifier": ("verifier",),
    "specs/vectors": ("vectors",),
    "docs/security.md": ("adversary/attacks",),
    "docs/architecture.md": ("architecture",),
    "CONTRIBUTING.md": ("architecture",),
    "bench": ("architecture",),
}
"""Where the tests of a part are that has no folder of its own name in tests/."""


ELSEWHERE: Final = ("tests/plugins/", "tests/torch/")
"""Tests that run in environments of their own."""


def ranked(changed: Iterable[str]) -> list[str]:
    """Every test file that has to do with these files, the nearest first."""
    ranks: defaultdict[str, int] = defaultdict(lambda: 4)
    for path in changed:
        near = (_itself(path), _namesakes(path), _users(path), _folder(path))
        for rank, found in enumerate(near):
            for test in found:
                ranks[test] = min(ranks[test], rank)
    return sorted(ranks, key=lambda test: (ranks[test], test))


def within(tests: Sequence[str], budget: float = BUDGET) -> list[str]:
    """As many of them as fit, in order; one that does not fit leaves room for those behind it."""
    seconds, left, chosen = pace.recorded().files, budget, []
    for test in tests:
        if seconds.get(test, 1.0) <= left:
            left -= seconds.get(test, 1.0)
            chosen.append(test)
    return chosen


def _itself(path: str) -> list[str]:
    return [path] if _is_test(path) and (ROOT / path).exists() else []


def _namesakes(path: str) -> list[str]:
    """Tests that are called like a module, or like the folder that it stands in."""
    folder, _, name = path.rpartition("/")
    names = (f"/test_{name}", f"/test_{folder.rpartition('/')[2]}.py")
    return [test for test in _folder(path) if test.endswith(names)]


def _users(path: str) -> list[str]:
    module = _module(path)
    return [test for test in _test_files() if module in _imports(test)]


def _folder(path: str) -> list[str]:
    tests = [f"tests/{each}/" for each in _names(path) if (ROOT / "tests" / each).is_dir()]
    return [test for test in _test_files() if test.startswith(tuple(tests))] if tests else []


def _names(path: str) -> tuple[str, ...]:
    for start, names in FOLDERS.items():
        if path == start or path.startswith(f"{start}/"):
            return names
    parts = path.split("/")[:-1]
    rooms = parts[:1]
    if rooms and rooms[0] in {"gopa", "tests"}:
        rooms = parts[1:] or rooms
    while rooms and not (ROOT / "tests").joinpath(*rooms).is_dir():
        rooms.pop()
    return ("/".join(rooms),) if rooms else ()


def _module(path: str) -> str | None:
    if not path.endswith(".py") or _is_test(path):
        return None
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_test(path: str) -> bool:
    named = path.startswith("tests/") and path.rpartition("/")[2].startswith("test_")
    return named and not path.startswith(ELSEWHERE)


@cache
def _test_files() -> tuple[str, ...]:
    found = (each.relative_to(ROOT).as_posix() for each in (ROOT / "tests").rglob("test_*.py"))
    return tuple(sorted(each for each in found if not each.startswith(ELSEWHERE)))


@cache
def _imports(test: str) -> frozenset[str]:
    """Modules that a file imports, and names that may be modules."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / test).read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return frozenset(found)


def changed_since(base: str) -> list[str]:
    """Files that differ from a commit, and those that git does not know yet."""
    asked = (
        ("diff", "--name-only", base),
        ("ls-files", "--others", "--exclude-standard"),
    )
    return sorted({line for words in asked for line in git(*words)})


def git(*words: str) -> list[str]:
    """The lines that a command of git prints about this tree."""
    command = ["/usr/bin/env", "git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> None:
    """Print the test files near what changed since a commit, HEAD if none is named."""
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    tests = within(ranked(changed_since(base)))
    print(*(tests or ALWAYS))


if __name__ == "__main__":
    main()
