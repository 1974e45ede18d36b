"""Decides what of the suite runs by default, and in which order.

A test with the marker `thirds` has many parameters of one kind: a drawn third of them runs by
default, and `make soak` runs the others; `thirds(9)` draws a ninth. If one of the parameters is
called `part`, a third of the parts is drawn for whatever the others say. Where the reference
backend is asked for, a third is drawn of every test with parameters: other tests compare its
arithmetic with the native one. Nothing is drawn where tests are asked for by name, with `::` or
`-k`: all of them run, those with the marker `slow` too, which wait otherwise for `make test-slow`.
Of random examples a fifth is tried by default.

A run begins with what took long when durations were written down, so that no worker is left with a
long test at the end. Tests with the same marker `together(NAME)` stay with one worker, because each
worker that runs one of them starts processes for all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

SEED: Final = "which third runs by default, first draw"
ALL_EXAMPLES: Final = "GOPA_ALL_EXAMPLES"
"""The variable with which `make soak` asks for all random examples."""
ON_REFERENCE: Final = os.environ.get("GOPA_BACKEND") == "reference"

DURATIONS: Final = Path(__file__).parent / "durations.json"
SLOW: Final = 1.0
"""Seconds from which a test is worth a line in the file."""

Item = TypeVar("Item")


def drawn_third(tests: Iterable[tuple[Hashable, str]], parts: int = 3) -> set[str]:
    """The tests that run by default: of every kind a third, or one in `parts`, and one at least.

    The order of hashes decides, so that a new case moves few others.
    """
    cases: defaultdict[Hashable, list[str]] = defaultdict(list)
    for kind, test in tests:
        cases[kind].append(test)
    return {each for found in cases.values() for each in _share(found, parts)}


def examples(number: int) -> int:
    """How many random examples a test tries: so many in `make soak`, a fifth by default."""
    return number if os.environ.get(ALL_EXAMPLES) else -(-number // 5)


def _share(cases: Sequence[str], parts: int) -> list[str]:
    return sorted(cases, key=_rank)[: -(-len(cases) // parts)]


def _rank(test: str) -> bytes:
    return hashlib.sha256(f"{SEED}\0{test}".encode()).digest()


@dataclass(frozen=True, slots=True)
class Planned(Generic[Item]):
    """A test with its name, and the name of those that stay with the same worker; "" for none."""

    name: str
    item: Item
    together: str = ""


def in_order(
    tests: Sequence[Planned[Item]], durations: Mapping[str, float], workers: int
) -> list[Item]:
    """The slow ones, dealt out to the heads of the equal parts that the workers begin with."""
    units: defaultdict[str, list[Planned[Item]]] = defaultdict(list)
    for each in tests:
        if each.together or each.name in durations:
            units[each.together or each.name].append(each)
    seconds = {
        key: sum(durations.get(each.name, 0.0) for each in unit) for key, unit in units.items()
    }
    heads: list[list[Item]] = [[] for _ in range(workers)]
    load = [0.0] * workers
    for key in sorted(units, key=lambda key: seconds[key], reverse=True):
        least = load.index(min(load))
        heads[least] += [each.item for each in units[key]]
        load[least] += seconds[key]
    rest = [each.item for each in tests if not each.together and each.name not in durations]
    size, parts, start = -(-len(tests) // workers), list[Item](), 0
    for number, head in enumerate(heads):
        stop = start + max(0, size - len(head)) if number < workers - 1 else len(rest)
        parts += head + rest[start:stop]
        start = stop
    return parts


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that slow tests took, and whole files."""

    tests: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, float] = field(default_factory=dict)


def recorded(path: Path = DURATIONS) -> Durations:
    """What was written down last; nothing is known without a file."""
    return Durations(**json.loads(path.read_text())) if path.exists() else Durations()


def record(seconds: Mapping[str, float], path: Path = DURATIONS) -> None:
    """Write down the slow tests and all files, the slowest first."""
    files: defaultdict[str, float] = defaultdict(float)
    for test, taken in seconds.items():
        files[test.partition("::")[0]] += taken
    slow = {test: taken for test, taken in seconds.items() if taken >= SLOW}
    found = {"tests": _rounded(slow), "files": _rounded(files)}
    path.write_text(json.dumps(found, indent=1) + "\n")


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    slowest_first = sorted(seconds.items(), key=lambda each: (-each[1], each[0]))
    return {name: round(taken, 1) for name, taken in slowest_first}
