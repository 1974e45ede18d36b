"""Names of all numbers that benchmarks print at their smallest scale, as a file.

`python -m tests.architecture.benchmark_keys NAME ..` runs the named benchmarks, or all that can
run here, and writes what they print into that file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.__main__ import BENCHMARKS
from bench.measure import Scale
from wire.errors import BackendError

KEYS: Final = Path(__file__).with_name("benchmark_keys.json")
PEER: Final = "prio3_"
"""Begins the names of numbers of a program that is not always there."""


def recorded() -> dict[str, list[str]]:
    """The names of each benchmark."""
    found: dict[str, list[str]] = json.loads(KEYS.read_text())
    return found


def names(printed: object, place: str = "") -> Iterator[str]:
    """All keys of an object and of the objects in its lists, without those of the peer."""
    if isinstance(printed, dict):
        for key, value in printed.items():
            if not key.startswith(PEER):
                yield f"{place}{key}"
                yield from names(value, f"{place}{key}.")
    elif isinstance(printed, list):
        yield from dict.fromkeys(name for each in printed for name in names(each, place))


def main(asked: list[str]) -> None:
    """Write the file."""
    found = recorded() if KEYS.exists() else {}
    for name in asked or BENCHMARKS:
        try:
            found[name] = sorted(names(json.loads(json.dumps(BENCHMARKS[name](Scale.TINY)))))
        except BackendError as error:
            sys.stderr.write(f"{name}: {error}\n")
    KEYS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
