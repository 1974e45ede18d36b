from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supply import crates
from supply.findings import Rule
from supply.registries import CRATES_SOURCE
from tests.supply.trees import ROOT, edit, extend, found

RAYON = found(r'^rayon = ".*"$', crates.MANIFEST)
OWN = found(r'^version = ".*"$', crates.MANIFEST)
ANOTHER_EITHER = f"""
[[package]]
name = "either"
version = "0.0.1"
source = "{CRATES_SOURCE}"
checksum = "{64 * "0"}"
"""


def in_lock(old: str, new: str) -> Callable[[Path], None]:
    return lambda tree: edit(tree, crates.LOCK, old, new)


def in_manifest(old: str, new: str) -> Callable[[Path], None]:
    return lambda tree: edit(tree, crates.MANIFEST, old, new)


def asked(wish: str) -> Callable[[Path], None]:
    return in_manifest(RAYON, f"rayon = {wish}")


SPOILED: dict[str, tuple[Rule, Callable[[Path], None]]] = {
    "a repository": (Rule.FOREIGN_SOURCE, in_lock(CRATES_SOURCE, "git+https://x.example/y#1")),
    "another registry": (Rule.FOREIGN_SOURCE, in_lock(CRATES_SOURCE, "registry+https://x.example")),
    "a folder": (Rule.FOREIGN_SOURCE, in_lock(f'source = "{CRATES_SOURCE}"\n', "")),
    "no checksum": (Rule.NO_CHECKSUM, in_lock("checksum = ", "unchecked = ")),
    "a short checksum": (Rule.NO_CHECKSUM, in_lock('checksum = "', 'checksum = "z')),
    "a dependency that is gone": (Rule.NOT_LOCKED, in_lock(' "crossbeam-epoch",', ' "gone",')),
    "a dependency that could be two": (
        Rule.NOT_LOCKED,
        lambda tree: extend(tree, crates.LOCK, ANOTHER_EITHER),
    ),
    "our own crate in another version": (
        Rule.NOT_LOCKED,
        in_manifest(OWN, 'version = "99.0.0"'),
    ),
    "asked for and not locked": (
        Rule.NOT_LOCKED,
        in_manifest("[dependencies]", '[dependencies]\nserde = "1"'),
    ),
    "asked for on one target and not locked": (
        Rule.NOT_LOCKED,
        in_manifest("[lib]", '[target."cfg(unix)".dependencies]\nserde = "1"\n[lib]'),
    ),
    "locked and not asked for": (Rule.STALE, in_manifest("rayon = ", "# rayon = ")),
    "newer than locked": (Rule.OUT_OF_BOUNDS, asked('"1.999"')),
    "older than locked": (Rule.OUT_OF_BOUNDS, asked('"0.9"')),
    "exactly another": (Rule.OUT_OF_BOUNDS, asked('"=1.0.0"')),
    "any": (Rule.UNEXPECTED, asked('"*"')),
    "no version": (Rule.UNEXPECTED, asked("{ features = [] }")),
    "from a folder": (Rule.FOREIGN_SOURCE, asked('{ version = "1", path = "../rayon" }')),
    "from a repository": (Rule.FOREIGN_SOURCE, asked('{ version = "1", git = "https://x" }')),
    "from another registry": (Rule.FOREIGN_SOURCE, asked('{ version = "1", registry = "x" }')),
    "patched": (
        Rule.FOREIGN_SOURCE,
        lambda tree: extend(tree, crates.MANIFEST, '[patch.x]\nrayon = { path = "x" }\n'),
    ),
}


def test_this_tree_is_locked() -> None:
    report = crates.check(ROOT)
    assert report.findings == ()
    assert len(crates.read_crates(ROOT)) > 20


@pytest.mark.parametrize(("rule", "spoil"), SPOILED.values(), ids=SPOILED)
def test_what_is_not_locked_is_found(tree: Path, rule: Rule, spoil: Callable[[Path], None]) -> None:
    assert crates.check(tree).findings == ()
    spoil(tree)
    assert rule in {finding.rule for finding in crates.check(tree).findings}
