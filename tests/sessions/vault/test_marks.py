"""A vault that was put back from a copy is refused; one that crashed is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gopa.sessions.vault import (
    DirectoryVault,
    FileGuard,
    Secret,
    VaultBroken,
    VaultDamaged,
    VaultOutdated,
    VaultUnmarked,
)
from gopa.sessions.vault.guard import MemoryGuard
from gopa.sessions.vault.private_files import PrivateFiles
from tests.board.faults import How, Killed, Plan
from tests.sessions.vault.faults import StoppingFiles
from tests.sessions.vault.tools import SECRET_NAMES, SECRETS, opened

SEALED = pytest.mark.parametrize("secret", SECRETS, ids=SECRET_NAMES)
Act = Callable[[DirectoryVault], None]
State = tuple[bytes | None, tuple[bytes, ...]]


class Quick(PrivateFiles):
    """Files that are not synced: here only processes die."""

    def sync(self, handle: int) -> None:
        pass

    def sync_file(self, path: Path) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


class Stopping(StoppingFiles, Quick):
    """Quick files that stop at a chosen operation."""


class Disk:
    """A vault and its marks, each in a directory of its own."""

    def __init__(self, root: Path, secret: Secret | None = None) -> None:
        root.mkdir()
        self.vault, self.marks = root / "vault", root / "marks"
        self.secret = secret

    def open(self, files: PrivateFiles | None = None) -> DirectoryVault:
        made = files or Quick()
        return opened(self.vault, self.secret, made, FileGuard(self.marks, made))

    def acts(self, *acts: Act) -> State:
        """What the vault holds behind these acts, in a process of their own."""
        vault = self.open()
        try:
            for act in acts:
                act(vault)
            return vault.memory(), vault.journal()
        finally:
            vault.close()

    def copy(self, name: str) -> Path:
        """A backup of the vault, without its marks."""
        path = self.vault.with_name(name)
        shutil.copytree(self.vault, path)
        return path

    def restore(self, copy: Path) -> None:
        shutil.rmtree(self.vault)
        shutil.copytree(copy, self.vault)


def begin(vault: DirectoryVault) -> None:
    vault.begin(b"memory")


def begin_anew(vault: DirectoryVault) -> None:
    vault.begin(b"new memory")


def answer(vault: DirectoryVault) -> None:
    vault.append(b"asked", b"answered")


def answer_otherwise(vault: DirectoryVault) -> None:
    vault.append(b"asked otherwise", b"answered")


def hear(vault: DirectoryVault) -> None:
    vault.append(b"heard", leaves=False)


@SEALED
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [begin]),
        ([begin], [answer]),
        ([begin, hear, answer], [hear, answer]),
        ([begin, answer], [answer]),
        ([begin, answer], [begin_anew]),
        ([begin, answer], [hear, begin_anew, hear]),
        ([begin, hear], [answer, begin_anew, answer, begin]),
    ],
)
def test_an_old_copy_is_refused(
    before: list[Act], after: list[Act], secret: Secret | None, tmp_path: Path
) -> None:
    disk = Disk(tmp_path / "disk", secret)
    disk.acts(*before)
    old = disk.copy("old")
    newest_state = disk.acts(*after)
    newest = disk.copy("newest")
    disk.restore(old)
    for _ in range(2):  # a refusal changes nothing
        with pytest.raises(VaultOutdated):
            disk.open()
    disk.restore(newest)
    assert disk.acts() == newest_state
    disk.acts(answer)
    disk.restore(newest)
    with pytest.raises(VaultOutdated):
        disk.open()


@SEALED
def test_an_old_copy_that_was_put_over_a_newer_vault_destroys_nothing_of_it(
    secret: Secret | None, tmp_path: Path
) -> None:
    """The newest generation is no leftover of a crash, nor is the end of a journal."""
    disk = Disk(tmp_path / "disk", secret)
    disk.acts(begin, answer)
    old = disk.copy("old")
    newest_state = disk.acts(begin_anew, answer)
    current = (disk.vault / "current").read_bytes()
    shutil.copytree(old, disk.vault, dirs_exist_ok=True)
    with (disk.vault / "journal-1").open("ab") as journal:
        journal.write(bytes(3))  # a copy that was made while a record was written
    before = {path: path.read_bytes() for path in disk.vault.rglob("*") if path.is_file()}
    with pytest.raises(VaultOutdated):
        disk.open()
    assert before == {path: path.read_bytes() for path in disk.vault.rglob("*") if path.is_file()}
    (disk.vault / "current").write_bytes(current)
    assert disk.acts() == newest_state
    assert not (disk.vault / "journal-1").exists()


def test_a_copy_is_not_old_if_nothing_has_left_since(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    disk.acts(begin, answer)
    old = disk.copy("old")
    vault = disk.open()
    hear(vault)
    hear(vault)
    vault.close()
    shutil.rmtree(disk.vault)
    shutil.copytree(old, disk.vault)
    assert disk.acts() == (b"memory", (b"askedanswered",))


class CountedMarks(MemoryGuard):
    """A guard of somebody's own that is false as long as it is empty."""

    def __len__(self) -> int:
        return len(self._marks)


def test_an_empty_guard_is_a_guard(tmp_path: Path) -> None:
    guard = CountedMarks()
    assert not guard
    for act in (begin, answer):
        vault = opened(tmp_path / "vault", guard=guard)
        act(vault)
        vault.close()
        if act is begin:
            shutil.copytree(tmp_path / "vault", tmp_path / "old")
    with pytest.raises(VaultOutdated):
        opened(tmp_path / "old", guard=guard)


def test_of_two_copies_one_answers(tmp_path: Path) -> None:
    """Each is the newest when it is opened; the second one stops before anything leaves."""
    disk = Disk(tmp_path / "disk")
    disk.acts(begin)
    twin = disk.copy("twin")
    first = disk.open()
    second = opened(twin, guard=FileGuard(disk.marks))
    answer(first)
    for act in (answer_otherwise, begin_anew):
        with pytest.raises(VaultOutdated if act is answer_otherwise else VaultBroken):
            act(second)
    first.close()
    second.close()
    disk.restore(twin)
    with pytest.raises(VaultOutdated):
        disk.open()


def test_another_history_of_the_same_length_is_refused(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    disk.acts(begin)
    twin = disk.copy("twin")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(disk.marks, elsewhere)
    other = opened(twin, guard=FileGuard(elsewhere))
    answer_otherwise(other)
    other.close()
    disk.acts(answer)
    assert disk.acts()[1] == (b"askedanswered",)
    disk.restore(twin)
    with pytest.raises(VaultOutdated):
        disk.open()


def test_without_its_mark_no_vault_is_believed(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "disk")
    assert disk.acts() == (None, ())
    shutil.rmtree(disk.marks)
    assert disk.acts() == (None, ())  # it has never had anything to say
    kept = disk.acts(begin, answer)
    disk.marks.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(VaultUnmarked):
            disk.open()
    shutil.rmtree(disk.marks)
    moved = Disk(tmp_path / "another machine")
    shutil.copytree(disk.vault, moved.vault)
    shutil.copytree(tmp_path / "away", moved.marks)
    assert moved.acts() == kept
    (mark,) = moved.marks.glob("*.mark")
    mark.write_bytes(b"no mark")
    with pytest.raises(VaultDamaged):
        moved.open()


@SEALED
@pytest.mark.parametrize("how", ["kill", "error", "error-after"])
@pytest.mark.parametrize("act", [answer, hear, pytest.param(begin_anew, marks=pytest.mark.slow)])
def test_a_crash_anywhere_is_never_taken_for_a_copy(
    act: Act, how: How, secret: Secret | None, tmp_path: Path
) -> None:
    """Between any two operations on vault and mark; the copy from before is refused behind it."""
    states = set()
    for at in range(100):
        disk = Disk(tmp_path / f"{at}", secret)
        before = disk.acts(begin, answer)
        old, plan = disk.copy("old"), Plan(at=at, how=how)
        vault, left = disk.open(Stopping(plan)), False
        plan.armed = True
        try:
            act(vault)
            left = True
        except (Killed, VaultBroken):
            pass
        plan.armed, reached = False, len(plan.steps) > at
        vault.close()
        state = disk.acts()
        assert not left or state != before
        states.add(state)
        disk.acts(answer)  # goes on
        disk.restore(old)
        with pytest.raises(VaultOutdated):
            disk.open()
        if not reached:
            break
    assert len(states) == 2
    assert at > (5 if act is answer else 1)


@pytest.mark.parametrize("how", ["kill", "error"])
def test_a_crash_while_a_vault_is_made_leaves_one_that_can_be_used(
    how: How, tmp_path: Path
) -> None:
    for at in range(100):
        disk, plan = Disk(tmp_path / f"{at}"), Plan(at=at, how=how)
        plan.armed, made = True, list[DirectoryVault]()
        try:
            made.append(disk.open(Stopping(plan)))
            begin(made[0])
        except (Killed, VaultBroken):
            pass
        plan.armed = False
        for vault in made:
            vault.close()
        assert disk.acts() in {(None, ()), (b"memory", ())}
        assert disk.acts(begin, answer)[0] == b"memory"
        if len(plan.steps) <= at:
            return
    pytest.fail("it was never made")


@SEALED
def test_what_leaves_behind_a_crash_is_marked(secret: Secret | None, tmp_path: Path) -> None:
    """A record whose mark a crash kept back is marked when the vault is opened: it is sent then."""
    for at in range(20):
        disk = Disk(tmp_path / f"{at}", secret)
        disk.acts(begin)
        old, plan = disk.copy("old"), Plan(at=at, how="kill")
        vault = disk.open(Stopping(plan))
        plan.armed = True
        with pytest.raises(Killed):
            answer(vault)
        plan.armed = False
        vault.close()
        if plan.steps[at] == "rename":  # the record is there, its mark is not
            break
    assert disk.acts()[1] == (b"askedanswered",)
    disk.restore(old)
    with pytest.raises(VaultOutdated):
        disk.open()
