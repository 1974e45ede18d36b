"""The writer: slots, evidence, receipts, policies, and storages that contradict themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bulletin_board.admission import Anyone, Reason, Refused, Roster
from bulletin_board.entry import Entry, Submission
from bulletin_board.fsck import fsck, fsck_directory
from bulletin_board.proof import Receipt, verify_receipt
from bulletin_board.sequencer import Accepted, Outcome, Sequencer, first_checkpoint
from bulletin_board.storage import Inconsistent, InUse, LostLock, StorageError, memory_storage
from bulletin_board.storage.directory import BoardDirectory
from tests.board.tools import (
    anyone,
    append,
    copy_of,
    log_key,
    memory_log,
    must_accept,
    new_board,
    open_log,
    party,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from wire.errors import UsageError


def refusal(outcome: Outcome) -> Refused:
    assert isinstance(outcome, Refused)
    return outcome


def test_receipts_prove_what_they_say() -> None:
    log, _ = memory_log(300)
    entries = submissions(20, 300)
    for entry, accepted in zip(entries, append(log, entries), strict=True):
        found = verify_receipt(Receipt.parse(accepted.receipt), entry.raw, log_key())
        assert found.index == accepted.index
        assert found.signed.size == 320
        assert accepted.fresh


def test_the_same_bytes_again_have_the_same_index() -> None:
    log, files = memory_log(10)
    before = dict(files)
    again = append(log, [submissions(10)[3], submissions(10)[3]])
    assert [(accepted.index, accepted.fresh) for accepted in again] == [(3, False)] * 2
    assert files == before
    twice = submission(77)
    fresh = append(log, [twice, twice])
    assert [(accepted.index, accepted.fresh) for accepted in fresh] == [(10, True), (10, False)]


def test_the_first_conflict_is_kept_and_later_ones_are_refused() -> None:
    log, files = memory_log()
    conflicting = [submission(0, body=bytes([n])) for n in range(100)]
    outcomes = log.append(conflicting)
    assert must_accept(outcomes[0]).index == 0
    for outcome in outcomes[1:]:
        found = refusal(outcome)
        assert (found.reason, found.first, found.evidence) == (Reason.CONFLICT, 0, 1)
    assert log.signed.size == 2
    assert fsck(source_of(files), trust(), signatures=True).equivocations == 1
    assert refusal(log.append([submission(0, body=b"late")])[0]).evidence == 1
    assert [must_accept(o).index for o in log.append(conflicting[:1])] == [0]
    assert must_accept(log.append(conflicting[1:2])[0]).fresh is False
    assert log.signed.size == 2


def test_a_flood_of_conflicts_does_not_grow_the_log(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(20))
    log.append([submission(n, body=b"other") for n in range(20)])

    def used() -> int:
        return sum(p.stat().st_size for p in board.public.rglob("*") if p.is_file())

    before = used()
    for flood in range(20):
        log.append([submission(n % 20, body=bytes([flood, n])) for n in range(200)])
    assert log.signed.size == 40
    assert used() == before


def test_a_roster_and_its_quota() -> None:
    storage = memory_storage(first_checkpoint(signer()))
    log = Sequencer(storage, signer(), lambda: Roster([party(0).public.data], quota=3))
    outcomes = log.append([*submissions(4), submission(0, author=1)])
    assert [isinstance(outcome, Accepted) for outcome in outcomes] == [True] * 3 + [False] * 2
    assert refusal(outcomes[3]).reason is Reason.QUOTA
    assert refusal(outcomes[4]).reason is Reason.UNREGISTERED


class ClosesAfter(Anyone):
    """Phase 1 is open until an entry of phase 9 is in the log."""

    def __init__(self) -> None:
        super().__init__(10**9)
        self.closed = False

    def admit(self, entry: Entry) -> None:
        if self.closed and entry.phase == 1:
            raise Refused(Reason.PHASE)

    def observe(self, index: int, entry: Entry) -> None:
        super().observe(index, entry)
        self.closed |= entry.phase == 9


def test_a_post_after_the_close_in_the_same_batch_is_late(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = Sequencer(board.storage(), signer(), ClosesAfter)
    outcomes = log.append([submission(0), submission(0, phase=9), submission(1)])
    assert refusal(outcomes[2]).reason is Reason.PHASE
    log.close()
    log = Sequencer(board.storage(), signer(), ClosesAfter)  # rebuilt from the log
    assert refusal(log.append([submission(2)])[0]).reason is Reason.PHASE
    assert must_accept(log.append([submission(0)])[0]).fresh is False
    log.close()


def test_the_largest_entry_and_one_more_byte() -> None:
    log, files = memory_log()
    largest = submission(0, body=bytes(60_000))
    append(log, [largest])
    assert fsck(source_of(files), trust()).entry_bytes == len(largest.raw)
    with pytest.raises(UsageError):
        submission(1, body=bytes(60_001))


# Storages


def filled(root: Path, count: int) -> BoardDirectory:
    board = new_board(root)
    log = open_log(board)
    append(log, submissions(count))
    log.close()
    return board


def extended(board: BoardDirectory, root: Path, count: int = 7) -> BoardDirectory:
    longer = copy_of(board, root)
    log = open_log(longer)
    size = log.signed.size
    append(log, submissions(count, size))
    log.close()
    return longer


@pytest.mark.parametrize("part", ["index.sqlite", "lock.sqlite", "public"])
@pytest.mark.parametrize("size", [40, 256, 300])
def test_a_part_restored_from_a_backup_is_noticed(tmp_path: Path, part: str, size: int) -> None:
    older = filled(tmp_path / "older", size)
    newer = extended(older, tmp_path / "newer")
    copy = copy_of(newer, tmp_path / "same")
    open_log(copy).close()
    restored = copy_of(newer, tmp_path / "restored")
    target = restored.root / part
    if target.is_dir():
        shutil.rmtree(target)
        shutil.copytree(older.root / part, target)
        log = open_log(restored)  # the batch is still stored: the files are written again
        assert fsck_directory(restored.public, trust()).size == size + 7
        log.close()
    else:
        shutil.copy(older.root / part, target)
        with pytest.raises(Inconsistent):
            open_log(restored)
        assert fsck_directory(restored.public, trust()).size == size + 7


def test_public_files_older_than_the_stored_batches_are_noticed(tmp_path: Path) -> None:
    older = filled(tmp_path / "older", 40)
    newer = copy_of(older, tmp_path / "newer")
    log = open_log(newer)
    append(log, submissions(9_000, 40), 500)
    log.close()
    shutil.rmtree(newer.public)
    shutil.copytree(older.public, newer.public)
    with pytest.raises(Inconsistent):
        open_log(newer)


@pytest.mark.parametrize(
    "path",
    ["checkpoint", "tile/0/000", "tile/0/001.p/44", "tile/entries/001.p/44", "tile/1/000.p/1"],
)
def test_a_log_with_a_damaged_edge_is_repaired_or_refused(tmp_path: Path, path: str) -> None:
    """What the stored batches cover is written again; what they do not is refused."""
    board = filled(tmp_path / "log", 300)
    (board.public / path).write_bytes(b"damaged")
    try:
        log = open_log(board)
    except Inconsistent:
        return
    log.close()
    assert fsck_directory(board.public, trust()).size == 300


def test_a_public_checkpoint_of_another_log_is_refused(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 3)
    other = signer("other.example/log")
    (board.public / "checkpoint").write_bytes(first_checkpoint(other))
    with pytest.raises(Inconsistent):
        open_log(board)


def test_two_servers_on_one_machine(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 3)
    with board.writing(), pytest.raises(InUse), board.writing():
        pass
    with board.writing():
        open_log(board).close()


def test_a_writer_that_lost_the_lock_commits_nothing(tmp_path: Path) -> None:
    """Two servers that do not see each other's file lock: the epoch stops the older one."""
    board = filled(tmp_path / "log", 3)
    first, second = open_log(board), open_log(board)
    append(second, submissions(2, 3))
    with pytest.raises((LostLock, StorageError)):
        append(first, submissions(2, 5))
    append(second, submissions(1, 10))
    second.close()
    first.close()
    log = open_log(board)
    assert log.signed.size == 6
    assert fsck_directory(board.public, trust(), signatures=True).size == 6
    log.close()


def test_a_taken_over_batch_is_not_lost(tmp_path: Path) -> None:
    """The first writer stages, the second opens: the first can no longer commit."""
    board = filled(tmp_path / "log", 3)
    first = open_log(board)
    stage = first._storage.index.stage

    def stage_then_lose(start: int, entries: object) -> None:
        stage(start, entries)  # type: ignore[arg-type]
        open_log(board).close()

    first._storage.index.stage = stage_then_lose  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        append(first, submissions(2, 3))
    first.close()
    log = open_log(board)
    assert log.signed.size == 3
    append(log, submissions(2, 3))
    log.close()
    assert fsck_directory(board.public, trust()).size == 5


def test_a_read_only_directory_is_an_error_and_harms_nothing(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 3)
    log = open_log(board)
    scratch = board.root / "scratch"
    scratch.rmdir()
    with pytest.raises(StorageError):
        append(log, submissions(1, 3))
    log.close()
    scratch.mkdir()
    log = open_log(board)
    append(log, submissions(1, 3))
    log.close()
    assert fsck_directory(board.public, trust()).size == 4


def test_a_new_log_needs_a_new_place(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 1)
    with pytest.raises(UsageError):
        board.create(signer(), first_checkpoint(signer()))
    assert board.key_path.stat().st_mode & 0o777 == 0o600
    board.key_path.chmod(0o644)
    with pytest.raises(UsageError):
        board.signer()


def test_memory_and_directory_give_the_same_public_files(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 600)
    _, files = memory_log(600)
    found = {
        path.relative_to(board.public).as_posix(): path.read_bytes()
        for path in board.public.rglob("*")
        if path.is_file()
    }
    assert found == files


def test_a_batch_is_bounded() -> None:
    log = Sequencer(memory_storage(first_checkpoint(signer())), signer(), anyone)
    one = submission(0)
    with pytest.raises(UsageError):
        log.append([one] * 1_025)
    assert Submission.decode(one.raw) == one
