"""`python -m tests.class_names`: a public class name exists once in the packages.

Two classes with one name make a reader open two files to find out which one is meant, and
searches answer twice. `make lint` fails where a name stands in more than one module.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("bulletin_board", "commitments", "gopa", "wire", "zkp")


def public_classes(source: str) -> list[str]:
    """The public classes that a module defines at its top level: they begin a line."""
    return re.findall(r"^class ([A-Za-z]\w*)", source, re.MULTILINE)


def duplicates(root: Path) -> Mapping[str, list[str]]:
    """Names of public classes in more than one place below `root`, with their files."""
    places: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            for name in public_classes(file.read_text()):
                places[name].append(file.relative_to(root).as_posix())
    return {name: files for name, files in sorted(places.items()) if len(files) > 1}


def main() -> int:
    """Print every name that exists twice; 1 if there is one."""
    found = duplicates(ROOT)
    for name, files in found.items():
        sys.stderr.write(f"class {name} stands in {', '.join(files)}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
