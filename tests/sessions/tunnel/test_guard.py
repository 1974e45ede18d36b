"""A guard keeps one mark for each place, whoever asks and whenever a process dies."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from gopa.sessions.tunnel import FileGuard, Guard, MemoryGuard, Unguarded
from gopa.sessions.vault import VaultBroken, VaultDamaged, VaultExposed, VaultInUse
from gopa.sessions.vault.guard import MARK, Mark, last_mark
from gopa.sessions.vault.private_files import Ownership, PrivateFiles
from tests.board.faults import Killed
from wire.errors import UsageError

PLACE = "ab" * 32


def mark(counter: int) -> bytes:
    return MARK.encode(Mark(1, counter, 0, bytes(32)))


def guards(root: Path) -> list[Guard]:
    return [MemoryGuard(), FileGuard(root / "guard")]


def test_a_mark_replaces_the_one_that_was_read(tmp_path: Path) -> None:
    for guard in guards(tmp_path):
        assert guard.last(PLACE) == b""
        assert guard.commit(PLACE, b"", mark(0))
        assert guard.commit(PLACE, mark(0), mark(1))
        for old in (b"", mark(0), mark(2)):
            assert not guard.commit(PLACE, old, mark(3))
        assert last_mark(guard, PLACE) == (mark(1), Mark(1, 1, 0, bytes(32)))
        assert guard.last("cd") == b""
    assert FileGuard(tmp_path / "guard").last(PLACE) == mark(1)
    nothing = Unguarded()
    assert nothing.commit(PLACE, mark(7), mark(3))
    assert nothing.last(PLACE) == b""


def test_other_places_are_no_names_of_files(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    for place in ("../ab", "", "AB", "a/b", "x" * 300):
        with pytest.raises(UsageError):
            guard.commit(place, b"", mark(0))
        with pytest.raises(UsageError):
            guard.last(place)


def test_a_guard_that_others_can_write_is_refused(tmp_path: Path) -> None:
    FileGuard(tmp_path / "guard")
    (tmp_path / "guard").chmod(0o777)
    with pytest.raises(VaultExposed):
        FileGuard(tmp_path / "guard")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "file").chmod(0o600)
    with pytest.raises(VaultBroken):
        FileGuard(tmp_path / "file").last(PLACE)


@pytest.mark.parametrize("data", [b"x", mark(0)[:-1], mark(0) + b"\0", bytes(2) + mark(0)[2:]])
def test_a_damaged_mark_is_no_fresh_start(data: bytes, tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    guard.commit(PLACE, b"", mark(0))
    (found,) = (tmp_path / "guard").glob("*.mark")
    assert last_mark(guard, PLACE)[1] is not None
    found.write_bytes(data)
    with pytest.raises(VaultDamaged):
        last_mark(guard, PLACE)


class Dying(PrivateFiles):
    """Dies at one call."""

    def __init__(self, at: int) -> None:
        self.left = at

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def create(self, path: Path) -> int:
        self._count()
        return super().create(path)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        self._count()
        return super().write(handle, data[:7])

    def sync(self, handle: int) -> None:
        self._count()
        super().sync(handle)

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self._count()
        super().sync_directory(path)


def test_whenever_it_dies_a_guard_knows_the_old_mark_or_the_new_one(tmp_path: Path) -> None:
    at, found = 0, set()
    while True:
        guard = FileGuard(tmp_path / f"{at}")
        assert guard.commit(PLACE, b"", mark(0))
        dying = FileGuard(tmp_path / f"{at}", Dying(at))
        try:
            assert dying.commit(PLACE, mark(0), mark(1))
            break
        except Killed:
            last = guard.last(PLACE)
            found.add(last)
            assert last in {mark(0), mark(1)}
            assert guard.commit(PLACE, last, mark(2))
        at += 1
    assert found == {mark(0), mark(1)}


def test_while_one_process_commits_another_waits(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    assert guard.commit(PLACE, b"", mark(0))
    owned = Ownership(tmp_path / "guard" / f"{PLACE}.lock")
    with pytest.raises(VaultInUse):
        guard.commit(PLACE, mark(0), mark(1))
    owned.release()
    assert guard.commit(PLACE, mark(0), mark(1))


def _race(root: str, number: int, won: multiprocessing.Queue[int]) -> None:
    guard = FileGuard(root)
    while True:
        try:
            if guard.commit(PLACE, mark(0), mark(number)):
                won.put(number)
        except VaultInUse:
            continue
        return


def test_of_two_processes_one_commits(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "guard")
    assert guard.commit(PLACE, b"", mark(0))
    context = multiprocessing.get_context("fork")
    won: multiprocessing.Queue[int] = context.Queue()
    racing = [
        context.Process(target=_race, args=(str(tmp_path / "guard"), number, won))
        for number in (1, 2)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join(20)
    assert guard.last(PLACE) == mark(won.get(timeout=5))
    assert won.empty()
