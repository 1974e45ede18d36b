"""Storages that contradict themselves, come from backups or have two writers."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from bulletin_board import sequencer as sequencer_module
from bulletin_board.entry import Submission
from bulletin_board.fsck import fsck_directory
from bulletin_board.note import KeyKind
from bulletin_board.sequencer import Sequencer, first_checkpoint
from bulletin_board.storage import (
    EntryLocation,
    Inconsistent,
    Index,
    InUse,
    Lock,
    LostLock,
    StagedBatch,
    StagedEntry,
    StorageError,
    memory_storage,
)
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.memory import MemoryIndex, MemoryLock
from bulletin_board.storage.sqlite import SqliteIndex, SqliteLock
from tests.board.tools import (
    anyone,
    append,
    copy_of,
    filled_board,
    memory_log,
    new_board,
    open_log,
    signer,
    submission,
    submissions,
    trust,
)
from wire.errors import ProtocolError, UsageError


def filled(root: Path, count: int) -> BoardDirectory:
    return filled_board(root, submissions(count))


def of_another_history(root: Path, count: int) -> BoardDirectory:
    return filled_board(root, [submission(n, body=b"other") for n in range(count)])


def reopens(board: BoardDirectory, size: int) -> None:
    """The log is opened as it was, takes two more entries, and holds."""
    log = open_log(board)
    assert log.signed.size == size
    append(log, submissions(2, size))
    log.close()
    assert fsck_directory(board.public, trust(), signatures=True).size == size + 2


def extended(board: BoardDirectory, root: Path, count: int = 7) -> BoardDirectory:
    longer = copy_of(board, root)
    log = open_log(longer)
    size = log.signed.size
    append(log, submissions(count, size))
    log.close()
    return longer


@pytest.mark.parametrize("part", ["state/index.sqlite", "state/lock.sqlite", "public"])
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


def backup(source: Path, target: Path) -> None:
    """What a database holds now, although a server has it open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("public_too", [True, False])
def test_a_lock_from_a_backup_of_the_same_run_forgets_nothing(
    tmp_path: Path, batches: int, public_too: bool
) -> None:
    """Its epoch tells nothing: no server was started between the backup and the loss."""
    board = filled(tmp_path / "log", 3)
    log = open_log(board)
    append(log, submissions(2, 3))
    backup(board.lock_path, tmp_path / "lock")
    shutil.copytree(board.public, tmp_path / "public")
    append(log, submissions(2 * batches, 5), 2)
    log.close()
    shutil.copyfile(tmp_path / "lock", board.lock_path)
    if public_too:
        shutil.rmtree(board.public)
        shutil.copytree(tmp_path / "public", board.public)
    if public_too and batches == 1:
        open_log(board).close()  # as after a crash before the commit: nobody can tell
        return
    with pytest.raises(Inconsistent):
        open_log(board)
    index = board.storage().index
    assert index.size() == 5 + 2 * batches
    assert len(index.staged(5)) == batches
    index.close()


def test_nothing_of_another_history_is_written_where_the_checkpoint_is_lost(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 40)
    other = of_another_history(tmp_path / "other", 40)
    shutil.copy(other.index_path, board.index_path)
    tile = (board.public / "tile/0/000.p/40").read_bytes()
    (board.public / "checkpoint").unlink()
    with pytest.raises(Inconsistent):
        open_log(board)
    assert (board.public / "tile/0/000.p/40").read_bytes() == tile


def test_an_index_from_a_backup_is_noticed_although_nothing_is_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its slots are missing: entries in them could be repeated, or contradicted."""
    monkeypatch.setattr(sequencer_module, "SYNC_ENTRIES", 1)
    older = filled(tmp_path / "older", 256)
    newer = copy_of(older, tmp_path / "newer")
    log = open_log(newer)
    append(log, submissions(256, 256), 128)
    assert log._storage.index.staged() == ()
    log.close()
    open_log(newer).close()
    shutil.copy(older.index_path, newer.index_path)
    with pytest.raises(Inconsistent):
        open_log(newer)


@pytest.mark.slow
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
    with pytest.raises(LostLock):
        append(first, submissions(2, 3))
    assert (second._storage.index.size(), second._storage.index.staged(3)) == (3, ())
    append(second, submissions(2, 3))
    with pytest.raises(LostLock):
        append(first, submissions(2, 5))
    with pytest.raises(LostLock):
        first.check()
    second.check()
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

    def stage_then_lose(start: int, entries: Sequence[StagedEntry], epoch: int) -> None:
        stage(start, entries, epoch)
        open_log(board).close()

    first._storage.index.stage = stage_then_lose  # type: ignore[method-assign]
    with pytest.raises(LostLock):
        append(first, submissions(2, 3))
    first.close()
    reopens(board, 3)


def test_a_read_only_directory_is_an_error_and_harms_nothing(tmp_path: Path) -> None:
    board = filled(tmp_path / "log", 3)
    log = open_log(board)
    scratch = board.scratch
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
    with pytest.raises(UsageError):
        BoardDirectory(tmp_path / "other", board.lock_path).create(
            signer(), first_checkpoint(signer())
        )
    witness = signer("witness.example/1", KeyKind.WITNESS)
    with pytest.raises(UsageError):
        BoardDirectory(tmp_path / "third").create(witness, first_checkpoint(signer()))
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "third").exists()
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


@pytest.mark.parametrize("damage", ["older", "gone", "edge"])
def test_an_idle_log_notices_that_its_public_files_changed(tmp_path: Path, damage: str) -> None:
    board = filled(tmp_path / "log", 300)
    log = open_log(board)
    log.check()
    if damage == "older":
        (board.public / "checkpoint").write_bytes(first_checkpoint(signer()))
    elif damage == "gone":
        (board.public / "checkpoint").unlink()
    else:
        (board.public / "tile/0/001.p/44").write_bytes(bytes(44 * 32))
    with pytest.raises((Inconsistent, ProtocolError)):
        log.check()
    log.close()
    if damage == "older":
        with pytest.raises(Inconsistent):
            open_log(board)
    else:
        open_log(board).close()
        assert fsck_directory(board.public, trust()).size == 300


def test_a_log_whose_lock_is_elsewhere_says_so(tmp_path: Path) -> None:
    board = BoardDirectory(tmp_path / "log", tmp_path / "other" / "lock.sqlite")
    board.create(signer(), first_checkpoint(signer()))
    open_log(board).close()
    with pytest.raises(StorageError):
        BoardDirectory(tmp_path / "log").storage()


@pytest.mark.parametrize("part", ["state/index.sqlite", "public"])
def test_a_directory_without_a_part_is_no_log(tmp_path: Path, part: str) -> None:
    """And nothing is made in its place: it would be an empty one."""
    board = filled(tmp_path / "log", 1)
    board.storage().close()
    (board.root / part).rename(tmp_path / "away")
    with pytest.raises(StorageError):
        board.storage()
    assert not (board.root / part).exists()


def test_a_memory_knows_its_writer_too() -> None:
    storage = memory_storage(first_checkpoint(signer()))
    first = Sequencer(storage, signer(), anyone)
    append(first, submissions(1))
    stage = storage.index.stage

    def stage_after_another(*_: object) -> NoReturn:
        storage.lock.fence()
        raise StorageError("the newer writer has taken the place")

    storage.index.stage = stage_after_another  # type: ignore[assignment, method-assign]
    with pytest.raises(LostLock):
        append(first, submissions(1, 1))
    storage.index.stage = stage  # type: ignore[method-assign]
    assert Sequencer(storage, signer(), anyone).signed.size == 1


def test_a_broken_disk_is_no_other_writer(tmp_path: Path) -> None:
    """Where the lock cannot be read either, nothing says that somebody has taken over."""
    board = filled(tmp_path / "log", 1)
    log = open_log(board)

    def fail(*_: object) -> NoReturn:
        raise StorageError("the disk is broken")

    log._storage.index.stage = fail  # type: ignore[assignment, method-assign]
    log._storage.lock.epoch = fail  # type: ignore[method-assign]
    with pytest.raises(StorageError) as caught:
        append(log, submissions(1, 1))
    assert not isinstance(caught.value, LostLock)
    log.close()
    assert open_log(board).signed.size == 1


def test_a_whole_bundle_that_was_damaged_later_is_noticed(tmp_path: Path) -> None:
    """It is stored nowhere else, so it is not repaired, and nothing is built on it."""
    board = filled(tmp_path / "log", 300)
    open_log(board).close()
    board.snapshot_path.unlink()
    path = board.public / "tile/entries/000"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Inconsistent):
        open_log(board)
    path.write_bytes(data)
    open_log(board).close()


@pytest.mark.parametrize("count", [40, 256, 300])
def test_an_index_of_another_history_changes_nothing(tmp_path: Path, count: int) -> None:
    """Its batches do not lead to the lock's root, so nothing of them is written."""
    board = filled(tmp_path / "log", count)
    other = of_another_history(tmp_path / "other", count)
    shutil.copy(other.index_path, board.index_path)
    with pytest.raises(Inconsistent):
        open_log(board)
    assert fsck_directory(board.public, trust(), signatures=True).size == count


def test_an_index_that_is_several_batches_ahead_forgets_nothing(tmp_path: Path) -> None:
    """Lock and public files come from a backup: the batches above them were committed."""
    older = filled(tmp_path / "older", 40)
    once = extended(older, tmp_path / "once")
    newer = extended(once, tmp_path / "newer")
    for part in ("state/lock.sqlite", "public"):
        target = newer.root / part
        if target.is_dir():
            shutil.rmtree(target)
            shutil.copytree(older.root / part, target)
        else:
            shutil.copy(older.root / part, target)
    with pytest.raises(Inconsistent):
        open_log(newer)
    index = newer.storage().index
    assert index.size() == 54
    index.close()


def _damaged(batch: StagedBatch) -> tuple[StagedBatch, ...]:
    first, *others = batch.entries
    return (batch._replace(entries=(first[:-1] + b"\0", *others)),)


STAGED: dict[str, Callable[[StagedBatch], tuple[StagedBatch, ...]]] = {
    "damaged": _damaged,
    "twice": lambda batch: (batch, batch),
    "elsewhere": lambda batch: (batch._replace(start=batch.start + 1),),
    "none": lambda _: (),
}


@pytest.mark.parametrize("change", STAGED.values(), ids=STAGED)
def test_another_batch_in_the_storage_is_never_signed(
    tmp_path: Path, change: Callable[[StagedBatch], tuple[StagedBatch, ...]]
) -> None:
    board = filled(tmp_path / "log", 3)
    log = open_log(board)
    staged = log._storage.index.staged

    def other(start: int = 0) -> tuple[StagedBatch, ...]:
        (batch,) = staged(start)
        return change(batch)

    log._storage.index.staged = other  # type: ignore[method-assign]
    with pytest.raises(Inconsistent):
        append(log, submissions(2, 3))
    log.close()
    reopens(board, 3)


def memory_lock(root: Path) -> tuple[Lock, Lock]:
    del root
    lock = MemoryLock(b"first")
    return lock, lock


def sqlite_lock(root: Path) -> tuple[Lock, Lock]:
    one = SqliteLock.open(root / "lock.sqlite")
    one.create(b"first")
    return one, SqliteLock.open(root / "lock.sqlite")


@pytest.mark.parametrize("make", [memory_lock, sqlite_lock])
def test_the_lock_compares_before_it_swaps(
    tmp_path: Path, make: Callable[[Path], tuple[Lock, Lock]]
) -> None:
    ours, theirs = make(tmp_path)
    held = ours.swap(ours.fence(), b"second")
    ours.check(held)
    for stale in (held._replace(checkpoint=b"first"), held._replace(epoch=held.epoch - 1)):
        with pytest.raises(LostLock):
            ours.swap(stale, b"third")
    assert theirs.fence().checkpoint == b"second"
    with pytest.raises(LostLock):
        ours.swap(held, b"third")
    with pytest.raises(LostLock):
        ours.check(held)
    assert theirs.fence().checkpoint == b"second"
    ours.close()
    theirs.close()


def memory_index(root: Path) -> Index:
    del root
    return MemoryIndex()


def sqlite_index(root: Path) -> Index:
    return SqliteIndex.open(root / "index.sqlite")


def staged(*entries: Submission, copy: int = 0) -> list[StagedEntry]:
    return [StagedEntry(item.entry.slot, copy, item.leaf, item.raw) for item in entries]


@pytest.mark.parametrize("make", [memory_index, sqlite_index])
def test_an_index_keeps_its_promises(tmp_path: Path, make: Callable[[Path], Index]) -> None:
    index, items = make(tmp_path), submissions(9)
    slot = items[0].entry.slot
    assert (index.size(), index.places(slot), index.staged()) == (0, (), ())
    index.stage(0, staged(*items[:3]), 1)
    index.stage(3, staged(*items[3:5]), 1)
    assert index.places(slot) == (EntryLocation(0, items[0].leaf),)
    assert [(batch.start, batch.end) for batch in index.staged()] == [(0, 3), (3, 5)]
    assert [batch.start for batch in index.staged(1)] == [3]
    assert index.staged(3)[0].entries == (items[3].raw, items[4].raw)

    for start, taken in (
        (5, items[2:3]),
        (5, [items[5], items[5]]),
        (3, items[5:6]),
        (4, items[5:6]),
    ):
        with pytest.raises(StorageError):  # a slot, a slot twice, the places of another batch
            index.stage(start, staged(*taken), 1)
        assert index.size() == 5
        assert index.places(items[5].entry.slot) == ()
    conflicting = submission(0, body=b"other")
    index.stage(5, staged(conflicting, copy=1), 1)
    assert [place.index for place in index.places(slot)] == [0, 5]

    index.drop(4)
    assert [batch.start for batch in index.staged()] == [3, 5]
    index.drop(5)
    assert [batch.start for batch in index.staged()] == [5]
    assert index.size() == 6
    index.close()


@pytest.mark.parametrize("make", [memory_index, sqlite_index])
def test_what_is_staged_gives_way_to_newer_epochs_only(
    tmp_path: Path, make: Callable[[Path], Index]
) -> None:
    index, items = make(tmp_path), submissions(9)
    index.stage(0, staged(*items[:3]), 4)
    index.stage(3, staged(*items[3:5]), 4)
    for epoch in (3, 4):
        index.discard(3, epoch)
        assert index.size() == 5
    index.discard(3, 5)
    assert (index.size(), index.places(items[3].entry.slot)) == (3, ())
    assert [batch.start for batch in index.staged()] == [0]
    index.stage(3, staged(items[7]), 5)
    with pytest.raises(StorageError):
        index.stage(3, staged(items[8]), 4)
    assert index.places(items[7].entry.slot) == (EntryLocation(3, items[7].leaf),)
    index.stage(3, staged(*items[3:5]), 6)
    assert index.places(items[7].entry.slot) == ()
    assert index.size() == 5
    index.close()


@pytest.mark.parametrize(
    ("part", "statement", "error"),
    [
        ("index", "DELETE FROM slots WHERE place = 1", Inconsistent),
        ("index", "DELETE FROM slots WHERE place = 0", Inconsistent),
        ("index", "UPDATE slots SET leaf = 'text'", StorageError),
        ("index", "UPDATE slots SET leaf = zeroblob(31)", Inconsistent),
        ("index", "UPDATE slots SET place = 77 WHERE place = 2", Inconsistent),
        ("index", "UPDATE staging SET bundle = 'text'", StorageError),
        ("index", "UPDATE staging SET width = 2", Inconsistent),
        ("index", "UPDATE staging SET bundle = x'0005'", Inconsistent),
        ("index", "UPDATE staging SET start = 1", Inconsistent),
        ("index", "DELETE FROM staging WHERE start = 1", Inconsistent),  # between two others
        ("lock", "DELETE FROM lock", StorageError),
        ("lock", "UPDATE lock SET checkpoint = 'text'", StorageError),
        ("lock", "UPDATE lock SET epoch = 0.5", StorageError),
        ("lock", "UPDATE lock SET checkpoint = x'00'", Inconsistent),
    ],
)
def test_a_damaged_database_is_refused(
    tmp_path: Path, part: str, statement: str, error: type[StorageError]
) -> None:
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(3), batch=1 if statement.startswith("DELETE FROM staging") else 3)
    log.close()
    open_log(board).close()
    with closing(sqlite3.connect(board.state / f"{part}.sqlite")) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        assert database.execute(statement).rowcount > 0
        database.commit()
    with pytest.raises(error):
        append(open_log(board), submissions(1))
    assert fsck_directory(board.public, trust()).size == 3
