"""Other users of the machine can read what is served, and neither read nor stop the rest."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulletin_board.archive import ArchiveReader, write_archive, write_mirror
from bulletin_board.reader import DirectorySource, LogReader
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.witness.service import WitnessStore
from gopa.cli.options import check_certificate, own_key, witness_signer
from tests.board.certificates import write_certificate
from tests.board.tools import append, new_board, open_log, submissions, trust
from wire.errors import UsageError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")

UMASKS = [0o000, 0o022, 0o077]

LOCKER = """
import fcntl, os, sys
os.setgid(65534); os.setuid(65534)
try:
    handle = open(sys.argv[1], "rb")
    fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 120)
except PermissionError:
    sys.exit(13)
"""
"""A stranger takes the lock on the byte that every writer of the database needs."""


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(root: Path) -> set[tuple[bool, int]]:
    """Kinds and modes of everything in a directory, and of itself."""
    return {(path.is_dir(), mode(path)) for path in [root, *root.rglob("*")]}


def filled(root: Path) -> BoardDirectory:
    """A log that is open: SQLite has all its files there."""
    place = new_board(root)
    log = open_log(place)
    append(log, submissions(300))
    return place


@pytest.mark.usefixtures("umask")
def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    place = filled(tmp_path / "log")
    with place.writing():
        assert mode(place.root) == 0o755
        assert modes(place.public) == {(True, 0o755), (False, 0o644)}
        assert modes(place.state) == {(True, 0o700), (False, 0o600)}
    names = {path.name for path in place.state.iterdir()}
    assert {"index.sqlite-wal", "lock.sqlite-shm", "key", "writer.lock"} <= names


@pytest.mark.usefixtures("umask")
def test_a_lock_elsewhere_and_a_witness_are_private_too(tmp_path: Path) -> None:
    place = BoardDirectory(tmp_path / "log", tmp_path / "disk" / "lock.sqlite")
    other = new_board(tmp_path / "other")
    place.create(other.signer(), (other.public / "checkpoint").read_bytes())
    open_log(place).close()
    assert modes(place.lock_path.parent) == {(True, 0o700), (False, 0o600)}
    witness_signer(tmp_path / "witness", "w.example")
    store = WitnessStore(tmp_path / "witness" / "witness.sqlite")
    assert modes(tmp_path / "witness") == {(True, 0o700), (False, 0o600)}
    store.close()


@pytest.mark.usefixtures("umask")
def test_a_mirror_is_for_everybody(tmp_path: Path) -> None:
    place = filled(tmp_path / "log")
    archive = tmp_path / "archive"
    with archive.open("wb") as out:
        write_archive(LogReader.open(DirectorySource(place.public), trust()), out)
    with archive.open("rb") as stream:
        write_mirror(ArchiveReader(stream, trust()), tmp_path / "mirror")
    assert modes(tmp_path / "mirror") == {(True, 0o755), (False, 0o644)}


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root becomes somebody else")
def test_a_stranger_cannot_lock_the_databases(tmp_path: Path) -> None:
    """The same stranger can lock a database that it can read: the test would notice."""
    place = filled(tmp_path / "log")
    tmp_path.chmod(0o755)
    for path in (place.index_path, place.lock_path):
        assert _locker(path) == 13
    readable = tmp_path / "readable"
    readable.write_bytes(bytes(200))
    readable.chmod(0o644)
    assert _locker(readable) == 0
    assert _locker(place.public / "checkpoint") == 0


def _locker(path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", LOCKER, str(path)], check=False)
    return done.returncode


WIDER = {
    "state": 0o750,
    "state/key": 0o640,
    "state/index.sqlite": 0o644,
    "state/lock.sqlite": 0o604,
    ".": 0o777,
}


@pytest.mark.parametrize("part", WIDER)
def test_what_others_may_use_is_refused(tmp_path: Path, part: str) -> None:
    place = filled(tmp_path / "log")
    _used(place)
    (place.root / part).chmod(WIDER[part])
    with pytest.raises(UsageError):
        _used(place)


def _used(place: BoardDirectory) -> None:
    place.signer()
    open_log(place).close()


def test_a_lock_where_everybody_writes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    place = BoardDirectory(tmp_path / "log", tmp_path / "disk" / "lock.sqlite")
    other = new_board(tmp_path / "other")
    place.create(other.signer(), (other.public / "checkpoint").read_bytes())
    open_log(place).close()
    (tmp_path / "disk").chmod(0o1777)
    with pytest.raises(UsageError):
        open_log(place)


@pytest.mark.parametrize("part", ["key", "index.sqlite"])
def test_a_directory_with_everything_in_it_is_refused(tmp_path: Path, part: str) -> None:
    place = filled(tmp_path / "log")
    open_log(place).close()
    (place.state / part).rename(place.root / part)
    with pytest.raises(UsageError):
        place.signer()
    with pytest.raises(UsageError):
        open_log(place)
    (place.root / part).rename(place.state / part)
    open_log(place).close()


def test_a_witness_whose_directory_others_may_use_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "witness"
    made = witness_signer(place, "w.example")
    assert witness_signer(place, None).verifier == made.verifier
    place.chmod(0o755)
    with pytest.raises(UsageError):
        witness_signer(place, None)


def test_a_key_of_tls_that_others_can_read_is_refused(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    write_certificate(certificate, key)
    check_certificate(certificate, key)
    for wider in (0o640, 0o604):
        key.chmod(wider)
        with pytest.raises(UsageError):
            check_certificate(certificate, key)


def test_somebody_elses_board_has_no_key_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(tmp_path / "log")
    assert own_key(str(place.root)) == str(trust().log.key)

    def forbidden(_: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert own_key(str(place.root)) is None
