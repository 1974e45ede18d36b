"""`python -m tests.learning.determinism`: a seed is a run, wherever users run it.

Builds the wheel and installs it, with what `requirements/user.txt` pins, into two fresh
environments. In each the runs of `tests.learning.runs` give equal bytes in a new process, a
forked and a spawned one, with one thread of the linear algebra library and with two; and where
that library is told to run as on another processor, equal integers and models to nine digits.
`--wheel FILE` takes one that is built already. Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.installing import CORE_IN_A_HURRY, ROOT, plain_environment, run

RUNS: Final = (
    "tests/__init__.py",
    "tests/learning/__init__.py",
    "tests/learning/runs.py",
    "examples/__init__.py",
    "examples/averaging.py",
)
CORES: Final = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX")
"""Oldest first; the last ones are left out where the processor has not what they need."""
FLAGS: Final = {"Sandybridge": "avx", "Haswell": "avx2", "SkylakeX": "avx512f"}
DIGITS: Final = 1e-9
_WHERE: Final = "import gopa, numpy; print(gopa.__file__, numpy.__version__)"


def built(place: Path) -> Path:
    """The wheel of this tree."""
    how = ("--wheel", "--no-isolation", "--outdir")
    command: list[str | Path] = [sys.executable, "-m", "build", *how, place, ROOT]
    run(command, ROOT, {**os.environ, **CORE_IN_A_HURRY})
    (wheel,) = place.glob("*.whl")
    return wheel


def environment(place: Path, wheel: Path) -> Path:
    """A new environment with the wheel and what is pinned for it; its interpreter."""
    offline = {name: value for name, value in os.environ.items() if name == "PIP_FIND_LINKS"}
    plain = {**plain_environment(), **offline}
    run([sys.executable, "-m", "venv", place], place.parent, plain)
    python = place / "bin" / "python"
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    pinned = ROOT / "requirements" / "user.txt"
    run([*install, "--require-hashes", "--requirement", pinned], place, plain)
    run([*install, "--no-deps", wheel], place, plain)
    return python


def copied(place: Path) -> Path:
    """A folder with the runs and nothing else of this tree: the packages are the installed ones."""
    for name in RUNS:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    return place


def asked(python: Path, place: Path, *arguments: str, **variables: str) -> Any:
    """What the runs say in this environment."""
    command: list[str | Path] = [python, "-m", "tests.learning.runs", *arguments]
    return json.loads(run(command, place, {**plain_environment(), **variables}).stdout)


def threads(count: int) -> Mapping[str, str]:
    """So many threads of the linear algebra library."""
    return {"OPENBLAS_NUM_THREADS": str(count), "OMP_NUM_THREADS": str(count)}


def cores() -> Iterator[str]:
    """The processors that this one can pass for."""
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    return (core for core in CORES if core not in FLAGS or FLAGS[core] in flags)


def say(line: str) -> None:
    """One line, as soon as it is known."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def agree(here: Mapping[str, Any], there: Mapping[str, Any]) -> tuple[bool, float]:
    """Whether the integers are equal, and by how much models differ at most."""
    one, other = (np.array(each["models"]) for each in (here, there))
    differ = np.abs(one - other) / np.maximum(1, np.abs(one))
    return here["integers"] == there["integers"], float(differ.max())


def main() -> int:
    """Compare everything, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="one that is built already")
    given = parser.parse_args().wheel
    with tempfile.TemporaryDirectory(prefix="gopa-determinism-") as folder:
        place = Path(folder)
        wheel = built(place) if given is None else given.resolve()
        pythons = [environment(place / name, wheel) for name in ("first", "second")]
        runs = copied(place / "runs")
        found = [_same_bytes(pythons, runs), *(_other_core(pythons[0], runs, c) for c in cores())]
    say("all equal" if all(found) else "DIFFERENT")
    return 0 if all(found) else 1


def _same_bytes(pythons: list[Path], runs: Path) -> bool:
    told: list[list[str]] = []
    for python in pythons:
        where = run([python, "-c", _WHERE], runs, plain_environment()).stdout.strip()
        say(f"installed: {where}")
        if not where.startswith(str(python.parent.parent.resolve())):
            raise SystemExit(f"not what was installed: {where}")
        for count in (1, 2):
            told += asked(python, runs, **threads(count))
    digests = {tuple(each) for each in told}
    say(f"outcomes: {len(told[0])}, in {len(told)} processes, {len(digests)} kinds of bytes")
    return len(digests) == 1


def _other_core(python: Path, runs: Path, core: str) -> bool:
    equal, most = agree(
        asked(python, runs, "--facts"), asked(python, runs, "--facts", OPENBLAS_CORETYPE=core)
    )
    say(f"{core}: integers {'equal' if equal else 'DIFFERENT'}, models to {most:.1e}")
    return equal and most <= DIGITS


if __name__ == "__main__":
    sys.exit(main())
