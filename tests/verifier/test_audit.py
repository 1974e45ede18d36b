"""`gopa audit` and the second verifier end with the same exit code."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import pytest

import gopa
from tests.auditing.negatives import board_named
from tests.verifier.answers import anchors_of, report
from tests.verifier.mutations import MUTATIONS, material
from tests.verifier.test_transcripts import NAMES, OUTSIDE, anchors_for, archive_of, stated
from wire.errors import UsageError

INSIDE: Final = [name for name in NAMES if name not in OUTSIDE]
SOME: Final = [*INSIDE[::60], "organiser_begins_again", "rows_too_long"]


def code_of(path: Path, archive: bytes, anchors: bytes, *, embedded: bool = False) -> int:
    path.write_bytes(archive)
    return gopa.audit(path, anchors=anchors, trust_embedded=embedded).code


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [SOME, pytest.param(INSIDE, marks=pytest.mark.soak)], ids=["some", "all"]
)
def test_on_transcripts(names: list[str], tmp_path: Path) -> None:
    seen = set()
    for name in names:
        archive, anchors = archive_of(name), anchors_for(name)
        code = report(archive, anchors)["code"]
        assert code_of(tmp_path / "session.gopa", archive, anchors) == code, name
        seen.add(code)
    assert seen >= {0, 1}


@pytest.mark.parametrize("name", ["clean_five", "clean_signed", "clean_witnessed"])
def test_with_some_of_the_anchors(name: str, tmp_path: Path) -> None:
    given, archive = stated(name)["anchors"], archive_of(name)
    whole = anchors_of(given["log"], given["manifest_sha256"])
    head, _, policy = whole.partition(b"\n")
    witnessed = anchors_of(given["log"], given["manifest_sha256"], given["policy"])
    seen = set()
    every = dict.fromkeys((b"", head + b"\n", policy, whole, witnessed))
    for anchors, embedded in product(every, (False, True)):
        code = report(archive, anchors, embedded=embedded)["code"]
        path = tmp_path / "session.gopa"
        assert code_of(path, archive, anchors, embedded=embedded) == code, (anchors, embedded)
        seen.add(code)
    assert len(seen) == (2 if name == "clean_signed" else 3)


@pytest.mark.parametrize(
    "tries", [len(MUTATIONS), pytest.param(220, marks=pytest.mark.soak)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", ["clean_full", "recovery_of_two"])
def test_on_changed_archives(name: str, tries: int, tmp_path: Path) -> None:
    given, source = material(name), random.Random(f"audit of {name}")
    seen = set()
    for number in range(tries):
        mutation = MUTATIONS[number % len(MUTATIONS)]
        changed = mutation(given, source)
        code = report(changed, given.anchors)["code"]
        other = code_of(tmp_path / "session.gopa", changed, given.anchors)
        assert other == code, (mutation.__name__, number)
        seen.add(code)
    assert 1 in seen


@pytest.mark.parametrize("anchored", [True, False], ids=["anchored", "not-anchored"])
def test_an_entry_of_another_version_in_a_log_that_does_not_hold(
    anchored: bool, tmp_path: Path
) -> None:
    given = material("clean_five")
    anchors = given.anchors if anchored else b""
    path = tmp_path / "session.gopa"
    assert code_of(path, given.archive, anchors) == (0 if anchored else 3)
    last = given.archive.rindex(given.entries[-1])
    damaged = bytearray(given.archive)
    damaged[last + 100] ^= 1
    assert report(bytes(damaged), anchors)["code"] == 1
    assert code_of(path, bytes(damaged), anchors) == 1
    damaged[last + 1] = 2
    assert report(bytes(damaged), anchors)["code"] == 4
    assert code_of(path, bytes(damaged), anchors) == 4


def test_without_anchors_a_log_that_contradicts_its_own_manifest_is_invalid(
    tmp_path: Path,
) -> None:
    given, path = material("clean_five"), tmp_path / "session.gopa"
    for embedded, code in ((False, 3), (True, 8)):
        assert report(given.archive, embedded=embedded)["code"] == code
        assert code_of(path, given.archive, b"", embedded=embedded) == code
    forger = replace(given, log=board_named("forger"))
    archive = forger.packed(list(given.entries))
    for embedded in (False, True):
        assert report(archive, embedded=embedded)["code"] == 1
        assert code_of(path, archive, b"", embedded=embedded) == 1


def test_a_whole_log_of_several_sessions(tmp_path: Path) -> None:
    first, second = material("clean_five"), material("recovery_of_two")
    path, nobody = tmp_path / "session.gopa", bytes(32)
    alone = first.packed(list(first.entries), nobody)
    policy = first.anchors.partition(b"\n")[2]
    for archive in (alone, first.packed([*first.entries, *second.entries], nobody)):
        assert report(archive, first.anchors)["code"] == 0
        assert code_of(path, archive, first.anchors) == 0
        later = b"manifest " + b"0" * 64 + b"\n" + policy
        assert report(archive, later)["code"] == 3
        assert code_of(path, archive, later) == 3
    assert report(alone, policy)["code"] == code_of(path, alone, policy) == 3
    with pytest.raises(SystemExit) as ended:
        report(archive, policy)
    assert ended.value.code
    with pytest.raises(UsageError):
        code_of(path, archive, policy)
