"""Damaged, cut and hostile transcripts: never VALID, never a crash."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest

from bulletin_board import ArchiveReader, Checkpoint, LogReader, Submission, sign_entry
from bulletin_board.archive import MAGIC, write_mirror
from bulletin_board.reader import DirectorySource
from gopa.auditing import Report, Verdict, audit
from gopa.auditing.report import Culprit, Status
from gopa.auditing.sources import OpenLog
from tests.auditing.logs import Log, archived, clean, ends, key_named, note_of, played
from tests.auditing.transcripts import anchors_of, liars_of, path_of
from tests.vectors.transcripts.worlds import SIGNED, World
from wire.errors import UsageError


def audited(data: bytes, tmp_path: Path, log: Log | None = None) -> Report:
    path = tmp_path / "log.gopa"
    path.write_bytes(data)
    return audit(path, anchors=(log or clean()).anchors)


def mirrored(tmp_path: Path) -> Path:
    path = tmp_path / "mirror.gopa"
    path.write_bytes(clean().archive())
    policy = clean().anchors.policy
    assert policy is not None
    with path.open("rb") as stream:
        write_mirror(ArchiveReader(stream, policy), tmp_path / "mirror")
    return tmp_path / "mirror"


def boundaries(data: bytes) -> list[int]:
    """Where the parts of an archive begin, and their lengths, and one byte beside."""
    found, at = {0, len(MAGIC)}, len(MAGIC)
    while at < len(data) - 32:
        size = int.from_bytes(data[at : at + 4])
        found |= {at, at + 4, at + 4 + size}
        at += 4 + size
    return sorted({each + shift for each in found for shift in (-1, 0, 1)} & set(range(len(data))))


def test_an_archive_cut_anywhere_is_not_valid(tmp_path: Path) -> None:
    data = clean().archive()
    assert audited(data, tmp_path).verdict is Verdict.VALID
    for size in boundaries(data):
        report = audited(data[:size], tmp_path)
        assert report.verdict is Verdict.INVALID, size
        assert report.rounds == ()
        assert {fault.culprit for fault in report.faults} == {Culprit.UNATTRIBUTABLE}


def test_a_log_cut_after_any_entry_is_not_valid(tmp_path: Path) -> None:
    """Also when its board signs the shorter log: the session has no end."""
    log = clean()
    assert audited(log.archive(), tmp_path).verdict is Verdict.VALID
    for size in range(len(log.entries)):
        entries = log.entries[:size]
        data = archived(entries, note_of(entries, log.signer), log.manifest.session)
        report = audited(data, tmp_path)
        assert report.verdict is Verdict.INCOMPLETE, size
        assert report.faults == ()


def test_a_log_without_one_entry_is_not_valid(tmp_path: Path) -> None:
    log = clean()
    for gone in range(len(log.entries)):
        entries = log.entries[:gone] + log.entries[gone + 1 :]
        data = archived(entries, note_of(entries, log.signer), log.manifest.session)
        report = audited(data, tmp_path)
        assert report.verdict not in {Verdict.VALID, Verdict.SIGNED_ONLY}, gone
        assert not [each for each in report.faults if each.culprit is Culprit.PARTY]


def test_directory_archive_and_open_log_lead_to_one_report(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    policy = clean().anchors.policy
    assert policy is not None

    reader = LogReader.open(DirectorySource(root), policy)
    reports = [
        audit(source, anchors=clean().anchors)
        for source in (root, tmp_path / "mirror.gopa", reader)
    ]
    texts = {each.to_json().replace(each.log.input.encode(), b"") for each in reports if each.log}
    assert len(texts) == 1
    assert {each.verdict for each in reports} == {Verdict.VALID}


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Static files on the loopback, as any web server has them."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_an_address_of_static_files_is_as_good_as_the_files(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    with served(root) as url:
        report = audit(url, anchors=clean().anchors)
        assert report.verdict is Verdict.VALID
        assert report.log is not None
        assert report.log.input == url
        (root / "tile" / "entries" / "000.p" / "32").unlink()
        report = audit(url, anchors=clean().anchors)
        assert report.verdict is not Verdict.VALID
        assert ends(report)["1.3"] is Status.MISSING
    report = audit(url, anchors=clean().anchors)
    assert report.verdict is Verdict.INCOMPLETE
    assert ends(report)["0.1"] is Status.MISSING


def test_a_stray_file_is_noticed(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    assert audit(root, anchors=clean().anchors).verdict is Verdict.VALID
    (root / "tile" / "extra").write_bytes(b"?")
    report = audit(root, anchors=clean().anchors)
    assert report.verdict is Verdict.INVALID
    assert ends(report)["1.4"] is Status.FAIL


@pytest.mark.parametrize("part", ["entries/000.p/32", "0/000.p/32"])
def test_a_file_that_is_missing_accuses_nobody(tmp_path: Path, part: str) -> None:
    root = mirrored(tmp_path)
    assert audit(root, anchors=clean().anchors).verdict is Verdict.VALID
    (root / "tile" / part).unlink()
    report = audit(root, anchors=clean().anchors)
    assert report.verdict is not Verdict.VALID
    assert ends(report)["1.3"] is Status.MISSING
    assert {fault.culprit for fault in report.faults} <= {Culprit.UNATTRIBUTABLE}


@pytest.mark.parametrize("part", ["entries/000.p/32", "0/000.p/32"])
def test_a_pipe_among_the_files_keeps_nobody_waiting(tmp_path: Path, part: str) -> None:
    root = mirrored(tmp_path)
    assert audit(root, anchors=clean().anchors).verdict is Verdict.VALID
    (root / "tile" / part).unlink()
    os.mkfifo(root / "tile" / part)
    report = audit(root, anchors=clean().anchors)
    assert report.verdict is not Verdict.VALID
    assert ends(report)["1.3"] is Status.MISSING


def test_a_damaged_tile_is_noticed(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    assert audit(root, anchors=clean().anchors).verdict is Verdict.VALID
    tile = root / "tile" / "0" / "000.p" / "32"
    data = bytearray(tile.read_bytes())
    data[5] ^= 1
    tile.write_bytes(data)
    report = audit(root, anchors=clean().anchors)
    assert ends(report)["1.3"] is Status.FAIL
    assert report.faults[0].rule == "05-F4"


def test_what_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    for source in (tmp_path / "nothing.gopa", tmp_path, "ftp://example.org"):
        with pytest.raises(UsageError) as failure:
            audit(source)
        assert failure.value.field == "source"


def test_a_reader_of_another_checkpoint_is_refused(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    policy = clean().anchors.policy
    assert policy is not None

    log = OpenLog(LogReader.open(DirectorySource(root), policy))
    assert list(log.bundles(log._reader.signed.checkpoint))
    with pytest.raises(UsageError):
        log.bundles(
            Checkpoint(
                "another",
                0,
                bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            )
        )


def test_later_versions_are_unsupported(tmp_path: Path) -> None:
    log = clean()
    assert audited(log.archive(), tmp_path).verdict is Verdict.VALID
    assert audited(log.archive(b"gopa-archive/v2\n"), tmp_path).code == 4
    newer = (2).to_bytes(2) + log.entries[4][2:]
    entries = (*log.entries[:4], newer, *log.entries[5:])
    data = archived(entries, note_of(entries, log.signer), log.manifest.session)
    report = audited(data, tmp_path)
    assert report.verdict is Verdict.UNSUPPORTED
    assert {each.status for each in report.checks} == {Status.SKIPPED}


def test_what_is_no_entry_convicts_the_board_that_signed_it(tmp_path: Path) -> None:
    log = clean()
    entries = (*log.entries, b"\x00\x01nonsense")
    data = archived(entries, note_of(entries, log.signer), log.manifest.session)
    report = audited(data, tmp_path)
    assert report.verdict is Verdict.INVALID
    assert [(each.check, each.culprit) for each in report.faults] == [("1.4", Culprit.BOARD)]
    assert report.rounds == ()


def test_a_third_entry_in_a_slot_convicts_the_board(tmp_path: Path) -> None:
    log, last = clean(), Submission.decode(clean().entries[-1]).entry
    more = [log.entry(kind=last.kind, seq=90, body=bytes([n])) for n in range(3)]
    entries = (*log.entries, *more)
    data = archived(entries, note_of(entries, log.signer), log.manifest.session)
    report = audited(data, tmp_path)
    assert [each.culprit for each in report.faults if each.check == "1.4"] == [Culprit.BOARD]


def test_entries_of_strangers_and_other_sessions_change_nothing(tmp_path: Path) -> None:
    log, key = clean(), key_named("stranger")
    other = played(SIGNED)

    stranger = Submission.decode(log.entries[3]).entry

    entries = (
        *log.entries,
        *other.entries,
        sign_entry(replace(stranger, author=key.public), key),
    )
    data = archived(entries, note_of(entries, log.signer), log.manifest.session)
    report = audited(data, tmp_path)
    assert report.verdict is Verdict.VALID
    assert report.rounds[0].sums == audited(log.archive(), tmp_path).rounds[0].sums
    assert [each.rule for each in report.remarks] == ["04-J1"]
    assert report.session is not None
    assert report.session.session == log.manifest.session


def two_sessions() -> tuple[Log, Log, bytes]:
    first, second = clean(), played(World(seed="another session"))
    assert first.signer.verifier != second.signer.verifier or first != second
    entries = (*first.entries, *second.entries)
    return first, second, archived(entries, note_of(entries, first.signer), bytes(32))


def test_several_sessions_have_to_be_named(tmp_path: Path) -> None:
    first, second, data = two_sessions()
    path = tmp_path / "log.gopa"
    path.write_bytes(data)

    keys = replace(first.anchors, manifest=None)
    assert audit(path, anchors=first.anchors).verdict is Verdict.VALID
    named = audit(path, anchors=keys, session=first.manifest.session)
    assert named.verdict is Verdict.INCOMPLETE  # for want of the manifest's hash
    assert ends(named)["0.3"] is Status.MISSING
    with pytest.raises(UsageError) as failure:
        audit(path, anchors=keys)
    assert failure.value.field == "session"
    for each in (first, second):
        assert each.manifest.session.hex() in failure.value.message


def test_a_receipt_and_a_saved_state_have_to_fit(tmp_path: Path) -> None:
    log, root = clean(), mirrored(tmp_path)
    policy = log.anchors.policy
    assert policy is not None

    receipt = LogReader.open(DirectorySource(root), policy).receipt(7).to_bytes()
    older = note_of(log.entries[:8], log.signer)
    report = audit(root, anchors=log.anchors, receipts=[receipt], since=older)
    assert report.verdict is Verdict.VALID
    assert ends(report)["1.5"] is Status.PASS
    forked = (*log.entries[:5], *log.entries[6:9])
    report = audit(root, anchors=log.anchors, since=note_of(forked, log.signer))
    assert report.verdict is Verdict.INVALID
    assert (report.faults[0].culprit, report.faults[0].proved) == (Culprit.BOARD, True)
    longer = note_of((*log.entries, log.entries[0]), log.signer)
    report = audit(root, anchors=log.anchors, since=longer)
    assert report.verdict is Verdict.INCOMPLETE
    assert ends(report)["1.5"] is Status.MISSING
    moved = receipt.replace(b"index 7", b"index 6")
    report = audit(root, anchors=log.anchors, receipts=[moved])
    assert ends(report)["1.5"] is Status.FAIL
    for options in ({"since": b"nonsense"}, {"receipts": [b"nonsense"]}):
        with pytest.raises(UsageError):
            audit(root, anchors=log.anchors, **options)


def test_a_whole_board_is_read_by_its_public_files(tmp_path: Path) -> None:
    root = mirrored(tmp_path)
    copy = tmp_path / "board"
    shutil.copytree(root, copy / "public")
    assert audit(copy, anchors=clean().anchors).verdict is Verdict.VALID


BASES: Final = (
    "accuse_falsely",
    "clean_full",
    "clean_signed",
    "commit_flipped_proof",
    "dropout_before_publish",
    "equivocation_commit",
    "recovery_of_two",
    "rollback_wrong_opening",
    "two_rounds_convict_is_barred",
)


ACCEPTED: Final = {Verdict.VALID, Verdict.SIGNED_ONLY}


IN_A_TEST: Final = 45


IN_A_SOAK: Final = 20_000


Change = Callable[[list[bytes], random.Random], list[bytes]]


def dropped(entries: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(entries))
    return entries[:at] + entries[at + 1 :]


def repeated(entries: list[bytes], rng: random.Random) -> list[bytes]:
    return [*entries, rng.choice(entries)]


def swapped(entries: list[bytes], rng: random.Random) -> list[bytes]:
    one, other = rng.sample(range(len(entries)), 2)
    moved = list(entries)
    moved[one], moved[other] = moved[other], moved[one]
    return moved


def cut(entries: list[bytes], rng: random.Random) -> list[bytes]:
    return entries[: rng.randrange(len(entries))]


def flipped_entry(entries: list[bytes], rng: random.Random) -> list[bytes]:
    at = rng.randrange(len(entries))
    return [*entries[:at], flipped(entries[at], rng), *entries[at + 1 :]]


def spliced(entries: list[bytes], rng: random.Random) -> list[bytes]:
    """An entry of another session of the same board."""
    other = rng.choice(clean().entries)
    at = rng.randrange(len(entries) + 1)
    return [*entries[:at], other, *entries[at:]]


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


CHANGES: Final[Sequence[Change]] = (dropped, repeated, swapped, cut, flipped_entry, spliced)


def meaning(report: Report) -> list[tuple[object, ...]]:
    """What a reader takes home."""
    return [(each.number, each.outcome, each.included, each.sums) for each in report.rounds]


class Damage:
    """Damages one transcript in many ways: the file, or the log, signed again by its board."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.name, self.path = name, tmp_path / "damaged.gopa"
        self.anchors = anchors_of(name)
        self.original = path_of(name).read_bytes()
        assert self.anchors.policy is not None
        with path_of(name).open("rb") as stream:
            reader = ArchiveReader(stream, self.anchors.policy)
            self.session, self.entries = reader.header.session, list(reader.entries())
        self.whole = audit(path_of(name), anchors=self.anchors)
        assert self.whole.verdict in ACCEPTED
        self.liars = liars_of(name)

    def data(self, rng: random.Random) -> tuple[bytes, bool]:
        """A damaged archive, and whether its board signed what it holds."""
        if rng.random() < 0.5:
            return flipped(self.original, rng), False
        entries = rng.choice(CHANGES)(self.entries, rng)
        # All transcripts stand in logs of one key.
        signer = clean().signer
        return archived(entries, note_of(entries, signer), self.session), True

    def check(self, rng: random.Random) -> Verdict:
        data, signed = self.data(rng)
        self.path.write_bytes(data)
        report = audit(self.path, anchors=self.anchors)
        if report.verdict in ACCEPTED:
            assert meaning(report) == meaning(self.whole)
        for fault in report.faults:
            if not signed:
                assert fault.culprit is Culprit.UNATTRIBUTABLE
            elif fault.culprit is Culprit.PARTY:
                assert fault.author.hex() in self.liars
        return report.verdict


def damaged(count: int, tmp_path: Path, seed: str) -> set[Verdict]:
    rng = random.Random(seed)
    bases = [Damage(name, tmp_path) for name in BASES]
    return {rng.choice(bases).check(rng) for _ in range(count)}


@pytest.mark.slow
def test_damage_changes_no_meaning_and_names_nobody_honest(tmp_path: Path) -> None:
    found = damaged(IN_A_TEST, tmp_path, "auditing: damage")
    assert {Verdict.INVALID, Verdict.INCOMPLETE} <= found


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_much_damage_changes_no_meaning(tmp_path: Path, part: int) -> None:
    found = damaged(IN_A_SOAK // 4, tmp_path, f"auditing: soak {part}")
    assert {Verdict.INVALID, Verdict.INCOMPLETE} <= found
