"""A vault keeps what it was given, for one process, readable by its owner only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gopa.sessions.vault import (
    DirectoryVault,
    MemoryVault,
    Secret,
    Vault,
    VaultBroken,
    VaultDamaged,
    VaultError,
    VaultExposed,
    VaultInUse,
)
from gopa.sessions.vault.frames import (
    HEADER_SIZE,
    PLACE,
    SEAL,
    Checksummed,
    File,
    RecordPlace,
    _check,
    frame,
)
from gopa.sessions.vault.guard import MARK, Mark
from tests.board.faults import Plan
from tests.sessions.vault.faults import StoppingFiles
from tests.sessions.vault.tools import LOG, SECRET_NAMES, SECRETS, opened
from wire.domains import VAULT_MARK
from wire.errors import UsageError

SEALED = pytest.mark.parametrize("secret", SECRETS, ids=SECRET_NAMES)


def filled(path: Path, secret: Secret | None = None) -> None:
    vault = opened(path, secret)
    vault.begin(b"first memory")
    vault.append(b"one")
    vault.append(b"t", b"w", b"o")
    vault.append()
    vault.close()


def look_into(path: Path, secret: Secret | None = None) -> None:
    vault = opened(path, secret)
    try:
        vault.memory()
    finally:
        vault.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda _: MemoryVault(),
        lambda path: opened(path / "v"),
        lambda p: opened(p / "v", SECRETS[1]),
    ],
    ids=["in memory", "plain", "sealed"],
)
def test_what_was_given_comes_back(make: Callable[[Path], Vault], tmp_path: Path) -> None:
    vault = make(tmp_path)
    assert isinstance(vault, Vault)
    assert (vault.memory(), vault.journal()) == (None, ())
    with pytest.raises(UsageError):
        vault.append(b"before any memory")
    vault.begin(b"first")
    vault.append(b"one")
    vault.append(b"t", b"wo")
    assert (vault.memory(), vault.journal()) == (b"first", (b"one", b"two"))
    vault.begin(b"")
    assert (vault.memory(), vault.journal()) == (b"", ())
    vault.board.store(b"checkpoint")
    assert vault.board.load() == b"checkpoint"
    vault.close()
    with pytest.raises(VaultError):
        vault.append(b"closed")
    with pytest.raises(VaultError):
        vault.memory()


def test_closing_again_lets_nothing_else_go(tmp_path: Path) -> None:
    """The number of the file that was closed may be another file's by now."""
    first = opened(tmp_path / "vault")
    first.close()
    second = opened(tmp_path / "vault")
    first.close()
    with pytest.raises(VaultInUse):
        opened(tmp_path / "vault")
    second.begin(b"memory")
    second.close()
    opened(tmp_path / "vault").close()


def test_generation_is_a_number_that_was_given_out(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path)
    whole = (path / "current").read_bytes()
    place = RecordPlace(SEAL.decode((path / "seal").read_bytes()).vault, File.CURRENT, 0, 0)
    empty = hashlib.sha256(VAULT_MARK + place.vault).digest()
    before = MARK.encode(Mark(1, 0, 0, empty))
    assert whole == frame(Checksummed(), place, (1).to_bytes(8) + before)
    for content in (bytes(8) + before, (1).to_bytes(8), b"\1", b"", whole + b"\1"):
        (path / "current").write_bytes(frame(Checksummed(), place, content))
        with pytest.raises(VaultDamaged):
            opened(path)
    (path / "current").write_bytes(whole)
    look_into(path)


@SEALED
def test_it_outlives_its_process(secret: Secret | None, tmp_path: Path) -> None:
    filled(tmp_path / "vault", secret)
    vault = opened(tmp_path / "vault", secret)
    assert vault.memory() == b"first memory"
    assert vault.journal() == (b"one", b"two", b"")
    vault.append(b"four")
    vault.board.keep_evidence(b"a fork")
    vault.close()
    vault = opened(tmp_path / "vault", secret)
    assert vault.journal() == (b"one", b"two", b"", b"four")
    assert vault.board.kept_evidence() == b"a fork"
    vault.begin(b"second")
    vault.close()
    vault = opened(tmp_path / "vault", secret)
    assert (vault.memory(), vault.journal()) == (b"second", ())
    vault.close()


def test_copy_in_memory_goes_its_own_way() -> None:
    vault = MemoryVault()
    vault.begin(b"memory")
    vault.append(b"one")
    vault.board.store(b"checkpoint")
    vault.board.keep_unproven(b"pair")
    twin = vault.copy()
    vault.append(b"two")
    vault.board.clear_unproven()
    vault.begin(b"later")
    vault.close()
    assert (twin.memory(), twin.journal()) == (b"memory", (b"one",))
    assert (twin.board.load(), twin.board.unproven()) == (b"checkpoint", b"pair")
    assert twin.board.pairs == [b"pair"]


def test_everything_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    before = os.umask(0)
    try:
        filled(path)
        vault = opened(path)
        vault.board.store(b"checkpoint")
        vault.board.keep_evidence(b"fork")
        vault.board.keep_unproven(b"pair")
        vault.close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o700
    inside = list(path.rglob("*"))
    assert len([each for each in inside if each.is_file()]) >= 8
    for each in inside:
        assert each.stat().st_mode & 0o777 == (0o700 if each.is_dir() else 0o600), each


@pytest.mark.parametrize("name", ["", "seal", "current", "memory-1", "journal-1", "board", "note"])
@pytest.mark.parametrize("mode", [0o040, 0o004, 0o010])
def test_wider_permissions_are_refused_and_stay(name: str, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path)
    (path / "note").touch(0o600)
    opened(path).close()
    target = path / name
    wide = target.stat().st_mode | mode
    target.chmod(wide)
    with pytest.raises(VaultExposed):
        opened(path)
    assert target.stat().st_mode == wide


def test_link_to_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path)
    (path / "memory-1").rename(tmp_path / "elsewhere")
    (path / "memory-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultExposed):
        opened(path)


def in_another_process(path: Path) -> int:
    """What comes of opening it there: 0, or 7 if the vault is in use."""
    child = os.fork()
    if not child:
        code = 1
        try:
            opened(path).close()
            code = 0
        except VaultInUse:
            code = 7
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_two_processes_do_not_share_it(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    assert in_another_process(path) == 0
    vault = opened(path)
    assert in_another_process(path) == 7
    with pytest.raises(VaultInUse):
        opened(path)
    vault.begin(b"still mine")
    assert vault.memory() == b"still mine"
    vault.close()
    assert in_another_process(path) == 0


def test_a_vault_that_cannot_be_opened_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path)
    data = (path / "current").read_bytes()
    (path / "current").write_bytes(data[:-1])
    with pytest.raises(VaultDamaged):
        opened(path)
    (path / "current").write_bytes(data)
    opened(path).close()


@SEALED
def test_every_cut_of_the_journal_leaves_whole_records(
    secret: Secret | None, tmp_path: Path
) -> None:
    path = tmp_path / "vault"
    filled(path, secret)
    journal = path / "journal-1"
    whole, seen = journal.read_bytes(), set()
    for size in range(len(whole) + 1):
        journal.write_bytes(whole[:size])
        vault = opened(path, secret)
        records = vault.journal()
        assert records == (b"one", b"two", b"")[: len(records)]
        seen.add(len(records))
        vault.append(b"after")
        assert vault.journal() == (*records, b"after")
        vault.close()
    assert seen == {0, 1, 2, 3}


@SEALED
@pytest.mark.parametrize("zeros", [8, 100, 5000])
def test_a_tail_of_zeros_is_cut_off(secret: Secret | None, zeros: int, tmp_path: Path) -> None:
    """So file systems leave a file that was made longer and not filled."""
    path = tmp_path / "vault"
    filled(path, secret)
    journal = path / "journal-1"
    whole = journal.read_bytes()
    journal.write_bytes(whole + bytes(zeros))
    vault = opened(path, secret)
    assert vault.journal() == (b"one", b"two", b"")
    vault.close()
    assert journal.read_bytes() == whole
    journal.write_bytes(whole[:-10] + bytes(10))
    vault = opened(path, secret)
    assert vault.journal() == (b"one", b"two")
    vault.close()


@SEALED
@pytest.mark.parametrize("name", ["current", "memory-1", "journal-1"])
def test_a_changed_byte_is_refused(secret: Secret | None, name: str, tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path, secret)
    whole = (path / name).read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 0x20
        (path / name).write_bytes(changed)
        with pytest.raises(VaultDamaged):
            look_into(path, secret)
    (path / name).write_bytes(whole)
    opened(path, secret).close()


@SEALED
def test_records_in_other_places_are_refused(secret: Secret | None, tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path, secret)
    journal = path / "journal-1"
    whole = journal.read_bytes()
    vault = opened(path, secret)
    ends = [found.end for found in vault._records()]
    vault.close()
    one, two, three = whole[: ends[0]], whole[ends[0] : ends[1]], whole[ends[1] :]
    for moved in (two + one + three, two + three, one + one, one + three, one + two + three + one):
        journal.write_bytes(moved)
        with pytest.raises(VaultDamaged):
            opened(path, secret)
    journal.write_bytes(whole)
    opened(path, secret).close()


@SEALED
def test_payload_in_another_place_is_refused(secret: Secret | None, tmp_path: Path) -> None:
    """Whoever moves a record makes the check of its length anew; what is sealed knows better."""
    path = tmp_path / "vault"
    filled(path, secret)
    journal = path / "journal-1"
    whole = journal.read_bytes()
    vault = opened(path, secret)
    ends = [found.end for found in vault._records()]
    encoded = [PLACE.encode(vault._place(File.JOURNAL, 1, number)) for number in range(4)]
    vault.close()
    first = whole[: ends[0]]

    def framed(number: int) -> bytes:
        length = first[:4]
        return length + _check(encoded[number], length) + first[HEADER_SIZE:]

    assert framed(0) == first
    for moved in (first + framed(1), whole + framed(3)):
        journal.write_bytes(moved)
        with pytest.raises(VaultDamaged):
            opened(path, secret)
    journal.write_bytes(whole)
    opened(path, secret).close()


@SEALED
def test_files_of_another_generation_or_vault_are_refused(
    secret: Secret | None, tmp_path: Path
) -> None:
    path, other = tmp_path / "vault", tmp_path / "other"
    filled(path, secret)
    vault = DirectoryVault(other, LOG, rng=lambda n: b"\x33" * n, secret=secret)
    vault.begin(b"first memory")
    vault.close()
    for name in ("current", "memory-1"):
        whole = (path / name).read_bytes()
        (path / name).write_bytes((other / name).read_bytes())
        with pytest.raises(VaultDamaged):
            look_into(path, secret)
        (path / name).write_bytes(whole)
    old = (path / "memory-1").read_bytes()
    vault = opened(path, secret)
    vault.begin(b"second")
    vault.close()
    new = (path / "memory-2").read_bytes()
    (path / "memory-2").write_bytes(old)
    with pytest.raises(VaultDamaged):
        opened(path, secret)
    (path / "memory-2").write_bytes(new)
    vault = opened(path, secret)
    assert vault.memory() == b"second"
    vault.close()


@pytest.mark.parametrize("name", ["seal", "memory-1", "journal-1"])
def test_a_missing_file_is_not_made_anew(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vault"
    filled(path)
    (path / name).rename(tmp_path / "away")
    with pytest.raises(VaultDamaged):
        look_into(path)
    (tmp_path / "away").rename(path / name)
    opened(path).close()


def test_old_generation_is_gone_from_the_directory(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    vault = opened(path)
    vault.begin(b"old memory")
    vault.append(b"old record")
    held = [(path / "memory-1").open("rb"), (path / "journal-1").open("rb")]
    assert held[0].read().count(b"old memory") == 1
    vault.begin(b"new memory")
    vault.close()
    names = {each.name for each in path.iterdir()}
    assert names == {"seal", "lock", "board", "current", "memory-2", "journal-2"}
    for file in held:  # who still has the files open finds zeros
        file.seek(0)
        data = file.read()
        assert len(data) > 10
        assert not any(data)
        file.close()


def test_a_vault_that_failed_refuses_everything(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    plan = Plan(at=1, how="error")
    vault = opened(path, files=StoppingFiles(plan))
    vault.begin(b"memory")
    vault.append(b"one")
    plan.armed = True
    with pytest.raises(VaultBroken):
        vault.append(b"two")
    for act in (vault.journal, vault.memory, lambda: vault.append(b"three")):
        with pytest.raises(VaultBroken):
            act()
    vault.close()
    vault = opened(path)
    assert vault.journal() == (b"one",)
    vault.close()
