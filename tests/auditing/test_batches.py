"""Logs of many batches: who verifies signatures, and when, changes no byte of a report."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from bulletin_board import Submission
from gopa.auditing import Report, Verdict, audit, reading
from gopa.auditing.reading import MOST_BAD
from gopa.contract.manifest import session_id
from gopa.contract.phases import Kind, Phase
from tests.auditing.logs import Log, archived, clean, note_of

SMALL = 4
"""Entries in a batch; the log has seven batches of them and more."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", SMALL)
    monkeypatch.setattr(reading, "_TASK", 3)


@pytest.fixture(scope="module")
def executors() -> Iterator[list[Executor]]:
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        yield [threads, processes]


def path_to(entries: list[bytes], tmp_path: Path, log: Log | None = None) -> Path:
    log = log or clean()
    path = tmp_path / "log.gopa"
    path.write_bytes(archived(entries, note_of(entries, log.signer), log.manifest.session))
    return path


def audited(path: Path, executor: Executor | None = None) -> Report:
    return audit(path, anchors=clean().anchors, executor=executor)


def nonsense(number: int) -> bytes:
    """No entry, of the known version."""
    return b"\x00\x01 no entry %d" % number


def unsigned(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles of one entry, so that batches end where `BATCH` says."""
    take = reading.EntryReading.take

    def take_each(self: reading.EntryReading, raws: list[bytes]) -> None:
        for raw in raws:
            take(self, [raw])

    monkeypatch.setattr(reading.EntryReading, "take", take_each)


def bad_log() -> list[bytes]:
    """Wrong signatures, what is no entry and what is there twice, all over the log."""
    entries = list(clean().entries)
    for index in (3, 9, 10, 20):
        entries[index] = unsigned(entries[index])
    for index in (5, 6, 11, 21):
        entries.insert(index, nonsense(index))
    return [*entries, entries[2]]


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("ahead", [1, 2_000, 8 << 20])
def test_what_is_wrong_is_named_in_one_order(
    ahead: int, executors: list[Executor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = audited(path_to(list(clean().entries), tmp_path))
    assert good.verdict is Verdict.VALID
    path = path_to(bad_log(), tmp_path)
    plain = audited(path)
    assert plain.verdict is Verdict.INVALID
    assert {fault.rule for fault in plain.faults} == {"05-F6", "05-F7"}
    assert len(plain.faults) == 9
    monkeypatch.setattr(reading, "MOST_AHEAD", ahead)
    for executor in executors:
        assert audited(path, executor).to_json() == plain.to_json()


@pytest.mark.usefixtures("one_by_one")
def test_a_valid_log_of_many_batches(executors: list[Executor], tmp_path: Path) -> None:
    path = path_to(list(clean().entries), tmp_path)
    plain = audited(path)
    assert plain.verdict is Verdict.VALID
    assert len(clean().entries) > 6 * SMALL
    for executor in executors:
        assert audited(path, executor).to_json() == plain.to_json()


@pytest.mark.usefixtures("one_by_one")
def test_the_earlier_of_two_later_versions_is_named(
    executors: list[Executor], tmp_path: Path
) -> None:
    """A manifest that waits for its signature stands in front of the entry that ends the audit."""
    log, body = clean(), b"\x00\x09 a manifest of the future"
    place = {"phase": int(Phase.ORGANISER), "round": 0, "kind": int(Kind.MANIFEST)}
    future = log.entry(session=session_id(body), body=body, **place)
    behind = [b"\x00\x07" + raw[2:] for raw in log.entries]
    entries = [future, *log.entries[:SMALL], *behind]
    path = path_to(entries, tmp_path)
    plain = audit(path, trust_embedded=True, session=session_id(body))
    assert plain.verdict is Verdict.UNSUPPORTED
    assert "manifest of version 9" in plain.summary
    for executor in executors:
        found = audit(path, trust_embedded=True, session=session_id(body), executor=executor)
        assert found.to_json() == plain.to_json()


def test_a_log_of_nonsense_takes_no_memory(executors: list[Executor], tmp_path: Path) -> None:
    more = 500
    entries = [nonsense(number) for number in range(MOST_BAD + more)]
    path = path_to([*clean().entries, *entries], tmp_path)
    for executor in (None, executors[0]):
        report = audited(path, executor)
        assert report.verdict is Verdict.INVALID
        assert sum(fault.rule == "05-F6" for fault in report.faults) == MOST_BAD
        assert [remark.count for remark in report.remarks] == [more]


def test_a_batch_holds_no_more_bad_entries_than_are_named() -> None:
    batch = reading.Batch()
    for index in range(MOST_BAD + 7):
        batch.note(reading.BadEntry("1.4", "05-F6", index, bytes(32), "no entry"))
    assert [each.index for each in batch.bad] == list(range(MOST_BAD))
    assert batch.bad_count == MOST_BAD + 7


def test_wrong_signatures_are_found_in_any_task(executors: list[Executor]) -> None:
    raws = list(clean().entries)
    wrong = {0, 2, 3, 13, len(raws) - 1}
    for index in wrong:
        raws[index] = unsigned(raws[index])
    batch = reading.Batch()
    for index, raw in enumerate(raws):
        batch.add(index, Submission.decode(raw))
    assert batch.wrong() == wrong
    for executor in executors:
        batch.send(executor)
        assert batch.wrong() == wrong
        batch._answers.clear()
    assert batch.size == sum(map(len, raws))
