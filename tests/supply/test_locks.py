from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supply import locks
from supply.findings import Rule
from supply.pins import read_lock
from tests.supply.trees import ROOT, edit, extend, found

DEV, SOAK = "requirements/dev.txt", "requirements/soak.txt"
HASH = "--hash=sha256:" + 64 * "a"


def replaced(pattern: str, new: str, name: str = DEV) -> Callable[[Path], None]:
    return lambda tree: edit(tree, name, found(pattern, name), new)


def extended(text: str, name: str = DEV) -> Callable[[Path], None]:
    return lambda tree: extend(tree, name, text)


def removed(package: str, name: str = DEV) -> Callable[[Path], None]:
    return replaced(rf"^{package}==(?:.*\\\n)*.*\n(?:    #.*\n)*", "", name)


SPOILED: dict[str, tuple[Rule, Callable[[Path], None]]] = {
    "a bound instead of a version": (Rule.NOT_PINNED, replaced(r"^click==", "click>=")),
    "a wildcard": (Rule.NOT_PINNED, replaced(r"^click==[^ ]+", "click==8.*")),
    "an address": (Rule.NOT_PINNED, replaced(r"^click==", "click @ https://x.example/")),
    "an option": (Rule.NOT_PINNED, extended("--pre\n")),
    "a folder": (Rule.NOT_PINNED, extended("-e .\n")),
    "no hash": (Rule.NO_HASH, extended("extra==1\n")),
    "a weak hash": (Rule.BAD_HASH, extended("extra==1 --hash=md5:" + 32 * "a" + "\n")),
    "a short hash": (Rule.BAD_HASH, extended("extra==1 --hash=sha256:abcd\n")),
    "one weak hash of two": (Rule.BAD_HASH, extended(f"extra==1 {HASH} --hash=md5:00\n")),
    "no version": (Rule.UNEXPECTED, extended(f"extra==one {HASH}\n")),
    "an unknown marker": (Rule.UNEXPECTED, extended(f"extra==1 ; moon == 'full' {HASH}\n")),
    "two versions at once": (Rule.AMBIGUOUS, extended(f"click==8.1 {HASH}\n")),
    "a lock that nobody asks for": (Rule.NOT_LOCKED, extended("", "requirements/more.txt")),
    "a list that nobody locked": (Rule.NOT_LOCKED, extended("", "requirements/more.in")),
    "a dependency not locked": (Rule.NOT_LOCKED, removed("click")),
    "a dependency of an extra not locked": (Rule.NOT_LOCKED, removed("urllib3")),
    "a dependency of a build not locked": (Rule.NOT_LOCKED, removed("setuptools-rust")),
    "what the list names not locked": (Rule.NOT_LOCKED, removed("ruff")),
    "locked for some systems only": (
        Rule.NOT_LOCKED,
        replaced(r"^click==[^ ]+", "click==8.5.1 ; sys_platform == 'linux'"),
    ),
    "locked for some Pythons only": (Rule.NOT_LOCKED, removed("numpy")),
    "below the stated bound": (
        Rule.OUT_OF_BOUNDS,
        replaced(r"click>=[0-9.]+", "click>=99", "pyproject.toml"),
    ),
    "below the bound of an extra": (
        Rule.OUT_OF_BOUNDS,
        replaced(r"pynacl>=[0-9.]+", "pynacl>=99", "pyproject.toml"),
    ),
    "below the bound of an extra of an extra": (
        Rule.OUT_OF_BOUNDS,
        replaced(r"starlette>=[0-9.]+", "starlette>=99", "pyproject.toml"),
    ),
    "below the bound of a build": (
        Rule.OUT_OF_BOUNDS,
        replaced(r"setuptools>=[0-9.]+", "setuptools>=9999", "pyproject.toml"),
    ),
    "outside of the list's bound": (
        Rule.OUT_OF_BOUNDS,
        replaced(r"^attrs<24", "attrs<2", "requirements/dev.in"),
    ),
    "a dependency from an address": (
        Rule.FOREIGN_SOURCE,
        replaced(r"click>=[0-9.]+", "click @ https://x.example/click", "pyproject.toml"),
    ),
    "an option in a list": (Rule.UNEXPECTED, extended("-r other.in\n", "requirements/dev.in")),
    "files that undo each other": (Rule.DISAGREE, replaced(r"^attrs==", "attrs==1.", SOAK)),
}


def test_this_tree_is_locked() -> None:
    report = locks.check(ROOT)
    assert report.findings == ()
    assert sum(len(lock.pins) for lock in locks.lock_files(ROOT)) > 50


@pytest.mark.parametrize(("rule", "spoil"), SPOILED.values(), ids=SPOILED)
def test_what_is_not_locked_is_found(tree: Path, rule: Rule, spoil: Callable[[Path], None]) -> None:
    assert locks.check(tree).findings == ()
    spoil(tree)
    assert rule in {finding.rule for finding in locks.check(tree).findings}


def test_a_pin_keeps_its_hashes_marker_and_requirers(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(
        "# a comment\n"
        "Some_Name[fast]==1.0 ; sys_platform == 'win32' \\\n"
        f"    --hash=sha256:{64 * 'b'} \\\n"
        f"    {HASH}\n"
        "    # via\n    #   -r dev.in\n    #   above\n"
        f"other==2 {HASH}\n    # via some-name\n"
    )
    lock = read_lock(path)
    assert lock.findings == ()
    some, other = lock.pins
    assert (some.name, str(some.version), some.hashes) == ("some-name", "1.0", (64 * "a", 64 * "b"))
    assert (some.wanted_by, other.wanted_by) == (("-r", "above"), ("some-name",))
    assert not some.applies({"sys_platform": "linux"})
    assert some.applies({"sys_platform": "win32"})
    assert lock.pin_in("Some.Name", {"sys_platform": "win32"}) == some
