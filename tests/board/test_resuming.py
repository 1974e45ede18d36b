"""Opening a log from a snapshot, and not believing one; an index that says something else."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import sequencer as sequencer_module
from bulletin_board.admission import Anyone, RefusalReason, Refused, RosterAdmission
from bulletin_board.entry import Entry
from bulletin_board.fsck import fsck_directory
from bulletin_board.reader import MemorySource
from bulletin_board.recovery import boundary_edge
from bulletin_board.reindex import rebuild_index
from bulletin_board.sequencer import Accepted, Sequencer
from bulletin_board.snapshot import seal, unseal
from bulletin_board.storage import Inconsistent, IndexRow, InUse, StorageError
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.sqlite import Database, SqliteIndex
from bulletin_board.tree import TILE_WIDTH, RightEdge, leaf_hash
from tests.board.tools import (
    append,
    copy_of,
    filled_board,
    log_key,
    new_board,
    open_log,
    party,
    signer,
    submission,
    submissions,
    trust,
)
from wire.errors import InvalidSignature, ProtocolError

COUNT = 300


class Counting(Anyone):
    """Knows how many entries it was shown."""

    def __init__(self) -> None:
        super().__init__(10**9)
        self.seen = 0

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        super().observe(index, entry, evidence=evidence)
        self.seen += 1

    def save(self) -> bytes:
        return super().save()


def opened(place: BoardDirectory) -> tuple[Sequencer, Counting]:
    policy = Counting()
    return Sequencer(place.storage(), signer(), lambda: policy), policy


@pytest.fixture
def place(tmp_path: Path) -> BoardDirectory:
    """A log that was closed with a snapshot; two slots hold evidence."""
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(COUNT))
    log.append([submission(7, body=b"other"), submission(5, body=b"other")])
    log.close()
    return board


def test_only_what_is_new_is_read(place: BoardDirectory) -> None:
    log, policy = opened(place)
    assert policy.seen == 0
    assert log.census == {(submission(0).entry.session, 1): COUNT + 2}
    append(log, submissions(5, COUNT))
    kept = place.snapshot_path.read_bytes()
    log.close()
    place.snapshot_path.write_bytes(kept)  # as after a crash
    log, policy = opened(place)
    assert policy.seen == 5
    assert log.census == {(submission(0).entry.session, 1): COUNT + 7}
    log.close()
    assert opened(place)[1].seen == 0
    place.snapshot_path.unlink()
    assert opened(place)[1].seen == COUNT + 7


def test_a_long_run_keeps_snapshots_too(
    place: BoardDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequencer_module, "SNAPSHOT_ENTRIES", 10)
    log, _ = opened(place)
    append(log, submissions(25, COUNT), 4)
    crashed = copy_of(place, place.root.parent / "crashed")
    assert opened(crashed)[1].seen == 25 % 12
    log.close()


def test_what_the_policy_knew_is_known(tmp_path: Path) -> None:
    place = new_board(tmp_path / "log")

    def board() -> Sequencer:
        return Sequencer(
            place.storage(), signer(), lambda: RosterAdmission([party().public.data], 3)
        )

    log = board()
    append(log, submissions(2))
    log.close()
    log = board()
    outcomes = log.append(submissions(4))
    assert [isinstance(each, Accepted) for each in outcomes] == [True, True, True, False]
    assert isinstance(outcomes[3], Refused)
    assert outcomes[3].reason is RefusalReason.QUOTA
    log.close()


class WithARule(Anyone):
    """Has a rule of its own, and says nothing about what that has learnt."""


def test_what_a_policy_inherits_is_not_taken_for_what_it_knows(tmp_path: Path) -> None:
    place = new_board(tmp_path / "log")
    log = Sequencer(place.storage(), signer(), lambda: WithARule(10))
    append(log, submissions(3))
    log.close()
    assert not place.snapshot_path.exists()


def _flipped(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 1]) + data[201:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "short": lambda data: data[:63],
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "flipped": _flipped,
    "another seal": lambda data: seal(unseal(data, log_key()), signer("other.example")),
    "larger": lambda data: resealed(data, size=COUNT + 3),
    "smaller": lambda data: resealed(data, size=COUNT),
    "another root": lambda data: resealed(data, root=bytes(32)),
    "other rows": lambda data: resealed(data, rows=bytes(32)),
    "another policy": lambda data: resealed(data, policy=b"another"),
    "part of a state": lambda data: resealed(data, state=b"\0"),
    "a state of fewer": lambda data: resealed(data, state=b""),
    "part of a census": lambda data: resealed(data, census=b"\0"),
}


def resealed(data: bytes, **changes: object) -> bytes:
    return seal(replace(unseal(data, log_key()), **changes), signer())  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_snapshot_that_does_not_hold_is_not_used(
    place: BoardDirectory, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    good = place.snapshot_path.read_bytes()
    assert resealed(good) == good
    place.snapshot_path.write_bytes(damage(good))
    with caplog.at_level(logging.WARNING, "gopa.board"):
        log, policy = opened(place)
    mine = [each for each in caplog.records if each.thread == threading.get_ident()]
    assert [record.levelname for record in mine] == ["WARNING"]
    assert policy.seen == COUNT + 2
    assert log._resumed.policy is policy
    log.close()


def test_a_snapshot_of_another_log_is_not_used(place: BoardDirectory, tmp_path: Path) -> None:
    entries = [submission(n, body=b"other") for n in range(COUNT + 2)]
    other = filled_board(tmp_path / "other", entries)
    shutil.copyfile(other.snapshot_path, place.snapshot_path)
    assert opened(place)[1].seen == COUNT + 2


def test_a_snapshot_that_is_newer_than_the_log_is_not_used(
    place: BoardDirectory, tmp_path: Path
) -> None:
    longer = copy_of(place, tmp_path / "longer")
    log = open_log(longer)
    append(log, submissions(2, COUNT))
    log.close()
    shutil.copyfile(longer.snapshot_path, place.snapshot_path)
    log, policy = opened(place)
    assert policy.seen == COUNT + 2
    log.close()


def test_a_seal_is_worth_nothing_elsewhere(place: BoardDirectory) -> None:
    data = place.snapshot_path.read_bytes()
    assert unseal(data, log_key()).size == COUNT + 2
    with pytest.raises(InvalidSignature):
        unseal(data, signer("other.example").verifier)
    with pytest.raises(ProtocolError):
        unseal(data[-64:], log_key())


def test_without_room_for_a_snapshot_the_log_goes_on(
    place: BoardDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequencer_module, "SNAPSHOT_ENTRIES", 1)
    log, _ = opened(place)
    place.snapshot_path.unlink()
    place.snapshot_path.mkdir()
    append(log, submissions(2, COUNT))
    log.close()
    assert opened(place)[1].seen == COUNT + 4


def test_after_a_batch_that_failed_nothing_is_kept(place: BoardDirectory) -> None:
    """What the policy has observed may be in no log."""
    log, _ = opened(place)
    before = place.snapshot_path.read_bytes()
    append(log, submissions(2, COUNT))
    place.scratch.rmdir()
    with pytest.raises(StorageError):
        append(log, submissions(2, COUNT + 2))
    log.close()
    assert place.snapshot_path.read_bytes() == before
    place.scratch.mkdir(0o700)
    log, policy = opened(place)
    assert policy.seen == log.signed.size - COUNT - 2
    log.close()


# The index

CHANGES = {
    "seq": "UPDATE slots SET seq = seq + 1000 WHERE place = 40",
    "author": "UPDATE slots SET author = zeroblob(32) WHERE place = 40",
    "leaf": "UPDATE slots SET leaf = zeroblob(32) WHERE place = 40",
    "last": "UPDATE slots SET seq = seq + 1000 WHERE place = 299",
    "places": "UPDATE slots SET place = CASE place WHEN 40 THEN -1 ELSE place END",
    "copies": "UPDATE slots SET copy = 1 WHERE place = 40",
    "evidence": "UPDATE slots SET seq = 9999, copy = 0 WHERE place = 300",
    "missing": "DELETE FROM slots WHERE place = 40",
    "missing at the end": "DELETE FROM slots WHERE place = 301",
    "all": "DELETE FROM slots",
}


def change(place: BoardDirectory, statement: str) -> None:
    database = Database(place.index_path, ())
    database.execute(statement)
    database.close()


@pytest.mark.parametrize("snapshot", [True, False])
@pytest.mark.parametrize("name", CHANGES)
def test_an_index_with_changed_rows_is_noticed_and_rebuilt(
    place: BoardDirectory, name: str, snapshot: bool
) -> None:
    """Else an entry whose row has another slot now would be logged again."""
    open_log(place).close()
    if not snapshot:
        place.snapshot_path.unlink()
    change(place, CHANGES[name])
    with pytest.raises(Inconsistent):
        open_log(place)
    assert rebuild_index(place, signer()).size == COUNT + 2
    log = open_log(place)
    again = log.append(submissions(COUNT))
    assert [each.index for each in again if isinstance(each, Accepted)] == list(range(COUNT))
    assert not any(isinstance(each, Accepted) and each.fresh for each in again)
    for seq, evidence in ((5, COUNT + 1), (7, COUNT)):
        (refused,) = log.append([submission(seq, body=b"third")])
        assert isinstance(refused, Refused)
        assert (refused.first, refused.evidence) == (seq, evidence)
    append(log, submissions(3, COUNT))
    log.close()
    assert fsck_directory(place.public, trust()).size == COUNT + 5


def test_exchanged_copies_are_noticed(place: BoardDirectory) -> None:
    place.snapshot_path.unlink()
    for statement in (
        "UPDATE slots SET seq = 8888 WHERE place = 7",
        "UPDATE slots SET copy = 0 WHERE place = 300",
        "UPDATE slots SET seq = 7, copy = 1 WHERE place = 7",
    ):
        change(place, statement)
    with pytest.raises(Inconsistent):
        open_log(place)


def test_a_rebuilt_index_is_the_same(place: BoardDirectory) -> None:
    def rows() -> list[IndexRow]:
        index = SqliteIndex.open(place.index_path)
        found = list(index.rows(0))
        index.close()
        return found

    before = rows()
    rebuild_index(place, signer())
    assert rows() == before
    place.index_path.unlink()
    with pytest.raises(StorageError):
        place.storage()
    rebuild_index(place, signer())
    assert rows() == before
    assert opened(place)[1].seen == 0


def test_an_index_is_not_rebuilt_while_somebody_writes(place: BoardDirectory) -> None:
    with place.writing(), pytest.raises(InUse):
        rebuild_index(place, signer())
    assert rebuild_index(place, signer()).size == COUNT + 2


def test_an_index_is_not_rebuilt_from_less_than_the_log(place: BoardDirectory) -> None:
    """The rest may be staged in the index that is there, and nowhere else."""
    older = copy_of(place, place.root.parent / "older")
    log = open_log(place)
    append(log, submissions(2, COUNT))
    log.close()
    shutil.rmtree(place.public)
    shutil.copytree(older.public, place.public)
    before = place.index_path.read_bytes()
    with pytest.raises(Inconsistent):
        rebuild_index(place, signer())
    assert place.index_path.read_bytes() == before
    log = open_log(place)
    assert log.signed.size == COUNT + 4
    log.close()


MANY = 2 * TILE_WIDTH + 5


def test_the_edge_at_full_bundles_is_that_of_the_log() -> None:
    leaves = [leaf_hash(bytes([at % 251])) for at in range(MANY)]
    whole, short = RightEdge(), RightEdge()
    contents = whole.extend(iter(leaves)) + whole.partial()
    source = MemorySource({content.tile.path: content.data for content in contents})
    short.extend(iter(leaves[: 2 * TILE_WIDTH]))
    found = boundary_edge(source, 2 * TILE_WIDTH)
    assert (found.size, found.root()) == (2 * TILE_WIDTH, short.root())
    for size in (1, 2 * TILE_WIDTH + 1, MANY):
        with pytest.raises(Inconsistent, match="whole bundles"):
            boundary_edge(source, size)
