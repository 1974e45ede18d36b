"""Takes drawn checks out of a copy of the tree and demands that a test notices.

Before them it tries `SWAPS`, always: sensitivities doubled, noise halved, a clock that takes turns.

`python -m tests.mutation.run [--count N] [--seed TEXT] [--nearest-only] [--again]` goes on where
it stopped: what was found stands in `.mutations.json`. With `--again` all are tried again, each
with the file of the test that noticed it last. Tests near the check run first, the whole suite
only if they pass. A test that fails has to pass again once the check is back: one that fails
anyway notices nothing. The run ends with 1 if nobody noticed one of the checks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.mutation.sites import ROOT, SWAPS, Site, Swap, all_sites, drawn, without
from tests.near import git, ranked

SEED: Final = "checks that are taken out, first draw"
COUNT: Final = 40
NOTES: Final = ROOT / ".mutations.json"
SECONDS: Final = 1800
"""A suite that takes longer hangs, and whoever waits for it notices that."""
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (tests/.+?)(?: - |$)", re.MULTILINE)
STATUS_OF_FAILURES: Final = (1, 2)
"""Tests failed, or could not be collected any more."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one check that was taken out."""

    caught: bool
    by: str
    near: bool
    whole: bool
    seconds: float


Suite = Callable[[Path, Sequence[str]], str | None]
"""Runs tests of a tree; says which one failed first, if any."""


def try_without(
    site: Site | Swap,
    tree: Path,
    suite: Suite,
    *,
    nearest_only: bool = False,
    noticed_by: str = "",
) -> Found:
    """Run tests of a tree that lacks one check, and put the check back.

    A file is named as a whole, never one of its tests: what is not drawn does not run.
    """
    file, started = tree / site.path, time.monotonic()
    source = file.read_text()
    file.write_text(without(source, site))
    nearest = ranked([site.path])
    last = noticed_by.partition("::")[0]
    try:
        near = (suite(tree, [last]) if (tree / last).is_file() else None) or suite(tree, nearest)
        far = None if near or nearest_only else suite(tree, ["tests"])
    finally:
        file.write_text(source)
    by, whole = near or far or "", not near and not nearest_only
    caught = bool(by)
    if caught and suite(tree, _again(by, nearest if near else ["tests"])):
        caught, by, whole = False, f"{by} fails with the check in place, too", False
    return Found(caught, by, bool(near), whole, round(time.monotonic() - started, 1))


def _again(failed: str, tests: Sequence[str]) -> Sequence[str]:
    return [failed] if "::" in failed else tests


def pytest_suite(tree: Path, tests: Sequence[str]) -> str | None:
    """Ask pytest, until the first failure."""
    options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "-m", "not soak"]
    options += ["--numprocesses", _workers()]
    command = [sys.executable, "-m", "pytest", *options, "--dist", "worksteal", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "a test that does not end"
    if done.returncode == 0:
        return None
    if done.returncode not in STATUS_OF_FAILURES:
        raise RuntimeError(f"pytest did not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    names = FAILED.findall(done.stdout)
    return names[0] if names else "the collection"


def _workers() -> str:
    return str(len(os.sched_getaffinity(0)) + 1)


def copy_of_tree(place: Path) -> Path:
    """The files that git knows, as they are now, and the native core."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    native = [file.relative_to(ROOT).as_posix() for file in ROOT.glob("commitments/_native*.so")]
    for name in (*listed, *native):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def noted(path: Path = NOTES) -> dict[str, Found]:
    """What earlier runs found."""
    if not path.exists():
        return {}
    return {name: Found(**found) for name, found in json.loads(path.read_text()).items()}


def note(found: dict[str, Found], path: Path = NOTES) -> None:
    """Remember it, all or nothing: whoever stops the run loses one check at most."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({name: asdict(each) for name, each in found.items()}, indent=1))
    fresh.replace(path)


def main() -> int:
    """Try what was not tried yet; say what nobody noticed."""
    asked = _arguments()
    sites: list[Site | Swap] = [*SWAPS, *drawn(all_sites(), asked.count, asked.seed)]
    found = noted()
    with tempfile.TemporaryDirectory(prefix="gopa-mutation-") as place:
        tree = copy_of_tree(Path(place))
        for at, site in enumerate(sites, 1):
            known = found.get(site.name)
            done = known and (known.caught or known.whole or asked.nearest_only)
            if not done or asked.again:
                found[site.name] = try_without(
                    site,
                    tree,
                    pytest_suite,
                    nearest_only=asked.nearest_only,
                    noticed_by=known.by if known else "",
                )
                note(found)
            said = found[site.name]
            verdict = f"noticed by {said.by}" if said.caught else f"NOBODY NOTICED {said.by}"
            print(f"{at:3} {site.name}\n    {verdict}, {said.seconds:.0f} s", flush=True)
    missed = [site for site in sites if not found[site.name].caught]
    print(
        f"tests noticed {len(sites) - len(missed)} of {len(sites)} checks that were gone or swapped"
    )
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--nearest-only", action="store_true", help="leave the whole suite out")
    parser.add_argument("--again", action="store_true", help="try also what was noticed before")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
