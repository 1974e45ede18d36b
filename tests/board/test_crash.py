"""A writer that fails at any step of an append loses nothing that it acknowledged."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulletin_board import sequencer as sequencer_module
from bulletin_board.entry import Submission
from bulletin_board.fsck import FsckReport, fsck_directory
from bulletin_board.reindex import rebuild_index
from bulletin_board.sequencer import Sequencer
from bulletin_board.storage import StorageError
from bulletin_board.storage.directory import BoardDirectory
from tests.board.faults import FaultyFiles, How, Killed, Plan, PowerLossFiles, faulty_storage
from tests.board.tools import append, copy_of, filled_board, open_log, signer, submissions, trust

BEFORE = 250
"""An append of twelve more completes a bundle and a tile, and starts new ones."""

BATCHES = (submissions(12, BEFORE), submissions(3, BEFORE + 12))


@pytest.fixture(scope="module")
def template(scratch: Path) -> BoardDirectory:
    return filled_board(scratch / "template", submissions(BEFORE))


@pytest.fixture(autouse=True)
def sync_at_every_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequencer_module, "SYNC_ENTRIES", 1)
    monkeypatch.setattr(sequencer_module, "SNAPSHOT_ENTRIES", 1)


def attempt(log: Sequencer, plan: Plan) -> list[Submission]:
    """Append both batches until something fails; returns what was acknowledged."""
    acknowledged = []
    plan.armed = True
    try:
        for batch in BATCHES:
            append(log, batch)
            acknowledged += batch
    except (StorageError, Killed):
        pass
    finally:
        plan.armed = False
    return acknowledged


def fsck(board: BoardDirectory) -> FsckReport:
    return fsck_directory(board.public, trust(), signatures=False)


def check_after(board: BoardDirectory, acknowledged: list[Submission]) -> None:
    """Open again: clean, everything acknowledged is there, posting again adds nothing twice."""
    log = open_log(board)
    fsck(board)
    before = log.signed.size
    again = [accepted for batch in BATCHES for accepted in append(log, batch)]
    kept = {accepted.index for accepted in again if not accepted.fresh}
    assert kept >= set(range(BEFORE, BEFORE + len(acknowledged)))
    assert before == BEFORE + len(kept)
    assert [accepted.index for accepted in again] == list(range(BEFORE, BEFORE + 15))
    log.close()
    assert fsck(board).size == BEFORE + 15


def steps_of_an_append(template: BoardDirectory, root: Path) -> list[str]:
    plan = Plan()
    log = open_log(template, faulty_storage(copy_of(template, root), plan))
    assert len(attempt(log, plan)) == 15
    log.close()
    return plan.steps


PARTS = 9
in_parts = pytest.mark.parametrize("part", range(PARTS))


def cases(
    template: BoardDirectory, tmp_path: Path, part: int
) -> Iterator[tuple[int, BoardDirectory]]:
    """Every ninth step, and a board to fail at it."""
    count = len(steps_of_an_append(template, tmp_path / "dry"))
    for at in range(part, count, PARTS):
        yield at, copy_of(template, tmp_path / str(at))


def test_an_append_has_many_steps(template: BoardDirectory, tmp_path: Path) -> None:
    steps = steps_of_an_append(template, tmp_path / "log")
    expected = {"BEGIN", "COMMIT", "INSERT", "UPDATE", "create", "write", "rename", "unlink"}
    assert expected | {"mkdir", "rmdir", "sync file", "sync directory", "DELETE"} <= set(steps)
    assert steps.count("snapshot") == 2
    assert len(steps) > 60


@pytest.mark.slow
@pytest.mark.thirds(9)
@in_parts
@pytest.mark.parametrize("how", ["kill", "error", "error-after"])
def test_a_fault_at_every_step(
    template: BoardDirectory, tmp_path: Path, how: How, part: int
) -> None:
    failures = 0
    for at, board in cases(template, tmp_path, part):
        plan = Plan(at, how)
        storage = faulty_storage(board, plan)
        acknowledged = attempt(open_log(board, storage), plan)
        failures += len(acknowledged) < 15
        plan.dead = False
        storage.close()
        check_after(board, acknowledged)
    assert failures > 60 // PARTS


@pytest.mark.thirds(9)
@in_parts
def test_a_full_disk_at_every_write(template: BoardDirectory, tmp_path: Path, part: int) -> None:
    for at, board in cases(template, tmp_path, part):
        if at % 4:
            continue
        plan = Plan(at, "error", errno.ENOSPC)
        storage = faulty_storage(board, plan)
        acknowledged = attempt(open_log(board, storage), plan)
        storage.close()
        check_after(board, acknowledged)


@pytest.mark.slow
@pytest.mark.thirds(9)
@in_parts
@pytest.mark.parametrize("empty", [False, True])
def test_a_loss_of_power_at_every_step(
    template: BoardDirectory, tmp_path: Path, empty: bool, part: int
) -> None:
    """Files that were not synced are gone, old again, or without content."""
    for at, board in cases(template, tmp_path, part):
        plan = Plan(at, "kill")
        files = PowerLossFiles(plan)
        storage = faulty_storage(board, plan, files)
        acknowledged = attempt(open_log(board, storage), plan)
        plan.dead = False
        storage.close()
        files.lose_power(empty=empty)
        check_after(board, acknowledged)


@pytest.mark.thirds(9)
@in_parts
@pytest.mark.parametrize("how", ["kill", "error"])
def test_a_fault_at_every_step_of_opening(
    template: BoardDirectory, tmp_path: Path, how: How, part: int
) -> None:
    """An append that was killed after its commit is finished by whoever opens the log next."""
    killed = _killed_after_commit(template, tmp_path / "killed")
    dry = Plan(armed=True)
    storage = faulty_storage(copy_of(killed, tmp_path / "dry"), dry)
    open_log(killed, storage).close()
    assert len(dry.steps) > 20
    for at in range(part, len(dry.steps), PARTS):
        board = copy_of(killed, tmp_path / str(at))
        plan = Plan(at, how, armed=True)
        try:
            storage = faulty_storage(board, plan)
            open_log(board, storage).close()
        except (StorageError, Killed):
            plan.dead = plan.armed = False
            storage.close()
        check_after(board, list(BATCHES[0]))


def _killed_after_commit(template: BoardDirectory, root: Path) -> BoardDirectory:
    board = copy_of(template, root)
    steps = steps_of_an_append(template, root.parent / "count")
    update = steps.index("UPDATE")
    plan = Plan(steps.index("create", update), "kill")
    storage = faulty_storage(board, plan, FaultyFiles(plan))
    assert attempt(open_log(board, storage), plan) == []
    plan.dead = False
    storage.close()
    return board


@pytest.mark.parametrize("empty", [False, True])
def test_a_loss_of_power_after_opening(
    template: BoardDirectory, tmp_path: Path, empty: bool
) -> None:
    """What opening has written again is durable before the stored batches are forgotten."""
    board = _killed_after_commit(template, tmp_path / "killed")
    plan = Plan()
    files = PowerLossFiles(plan)
    open_log(board, faulty_storage(board, plan, files)).close()
    files.lose_power(empty=empty)
    check_after(board, list(BATCHES[0]))


@pytest.mark.thirds(9)
@in_parts
@pytest.mark.parametrize("how", ["kill", "error"])
def test_a_fault_at_every_step_of_reindexing(
    template: BoardDirectory, tmp_path: Path, how: How, part: int
) -> None:
    """It leaves the old index, or none, and may be run again."""
    dry = Plan(armed=True)
    rebuild_index(copy_of(template, tmp_path / "dry"), signer(), FaultyFiles(dry))
    assert {"sync file", "sync directory", "rename"} <= set(dry.steps)
    for at in range(part, len(dry.steps), PARTS):
        board = copy_of(template, tmp_path / f"{how}-{at}")
        with pytest.raises((Killed, OSError)):
            rebuild_index(board, signer(), FaultyFiles(Plan(at, how, armed=True)))
        assert rebuild_index(board, signer()).size == BEFORE
        check_after(board, [])
