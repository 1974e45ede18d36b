"""Evidence is made of a bounded part of the log at a time, and of all that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bulletin_board import ArchiveReader, Submission
from gopa.auditing import proving
from gopa.auditing.auditor import options_of, run
from gopa.auditing.proving import Excerpts, Kept, evidence_of
from tests.auditing.transcripts import NAMES, anchors_of, path_of

LIMIT = 1_000


def read_of(name: str) -> list[bytes]:
    policy = anchors_of(name).policy
    assert policy is not None
    with path_of(name).open("rb") as stream:
        return list(ArchiveReader(stream, policy).entries())


@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES[::4])
def test_one_fault_at_a_time_gives_the_same_files(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    entries = read_of(name)
    expected = list(evidence_of(state, report.faults, lambda: entries))
    monkeypatch.setattr(proving, "GROUP_BYTES", 0)
    assert list(evidence_of(state, report.faults, lambda: entries)) == expected


def test_no_more_is_kept_than_a_file_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "LARGEST_EVIDENCE", LIMIT)
    kept = Kept()
    for index in range(0, 40, 2):
        kept.add(index, bytes(LIMIT // 4))
    assert [each.index for each in kept.until(7) or ()] == [0, 2, 4, 6]
    assert [each.index for each in kept.until(3) or ()] == [0, 2]
    assert kept.until(8) is None
    assert len(kept.placed) == 4


def test_nothing_behind_what_was_left_out_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap in the middle would be evidence with something missing."""
    monkeypatch.setattr(proving, "LARGEST_EVIDENCE", LIMIT)
    kept = Kept()
    kept.add(0, bytes(LIMIT))
    kept.add(1, b"x")
    kept.add(2, b"")
    assert [each.index for each in kept.placed] == [0]
    assert kept.until(2) is None
    monkeypatch.setattr(proving, "MOST_ENTRIES", 1)
    kept = Kept()
    kept.add(0, b"x")
    kept.add(1, b"x")
    assert kept.until(0) is not None
    assert kept.until(1) is None


@pytest.mark.parametrize(("bound", "groups"), [(proving.GROUP_BYTES, 1), (0, 2)])
def test_a_log_is_read_once_for_many_faults_and_again_where_too_much_would_be_held(
    bound: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "GROUP_BYTES", bound)
    name = "commit_flipped_proof"
    report, state = run(path_of(name), options_of(anchors=anchors_of(name)), None)
    assert state is not None
    assert state.manifest is not None
    entries = read_of(name)
    first = next(fault for fault in report.faults if proving.stands_alone(fault))
    authors = {Submission.decode(raw).entry.author.data for raw in entries}
    other = min(authors - {first.author, state.manifest.organiser})
    faults = [first] * 50 + [replace(first, author=other)] * 50
    readings = 0

    def read() -> Iterator[bytes]:
        nonlocal readings
        readings += 1
        return iter(entries)

    session = Submission.decode(entries[0]).entry.session
    found = list(Excerpts(session, state.manifest.organiser, read).groups(faults))
    assert len(found) == groups
    assert readings == groups + 1
    assert [fault for group, _ in found for fault in group] == faults
    held = [sum(len(each.placed) for each in excerpt.values()) for _, excerpt in found]
    assert all(0 < each <= len(entries) for each in held)


def test_without_faults_nothing_is_read() -> None:
    def read() -> list[bytes]:
        raise AssertionError("the log is read")

    assert list(Excerpts(bytes(32), b"", read).groups([])) == []
