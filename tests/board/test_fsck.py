"""fsck accepts a log and nothing that differs from it by a bit."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from bulletin_board import reader as verified_module
from bulletin_board.archive import ArchiveParts, ArchiveReader, write_archive, write_mirror
from bulletin_board.entry import Submission, sign_entry
from bulletin_board.fsck import fsck, fsck_directory
from bulletin_board.note import Checkpoint, SignatureLine, SignedNote, sign_note
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt
from bulletin_board.tree import (
    RightEdge,
    bundle_at,
    decode_bundle,
    encode_bundle,
    leaf_hash,
    tile_at,
)
from tests.board.tools import (
    append,
    memory_log,
    new_board,
    open_log,
    party,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from tests.board.waiting import LONG
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, ProtocolError, UsageError


def small_log(tmp_path: Path, count: int = 5) -> Path:
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(count), 2)
    log.close()
    return board.public


def accepts(root: Path) -> None:
    fsck_directory(root, trust(), signatures=True)


def rejects(root: Path) -> None:
    with pytest.raises(ProtocolError):
        accepts(root)


def test_a_log_is_accepted(tmp_path: Path) -> None:
    report = fsck_directory(small_log(tmp_path, 300), trust(), signatures=True)
    assert (report.size, report.tiles, report.bundles, report.signatures) == (300, 3, 2, 300)


def test_an_empty_log_is_accepted(tmp_path: Path) -> None:
    accepts(new_board(tmp_path / "log").public)


def test_extra_entries_at_the_end_of_a_bundle(tmp_path: Path) -> None:
    root = small_log(tmp_path)
    accepts(root)
    path = root / bundle_at(0, 5).path
    path.write_bytes(path.read_bytes() + encode_bundle([submission(9).raw]))
    rejects(root)


@pytest.mark.parametrize(
    "extra",
    ["tile/0/001", "tile/0/000", "tile/0/000.p/4", "tile/1/000.p/1", "notes.txt", "tile/.hidden"],
)
def test_unreferenced_files(tmp_path: Path, extra: str) -> None:
    root = small_log(tmp_path)
    accepts(root)
    (root / extra).parent.mkdir(exist_ok=True, parents=True)
    (root / extra).write_bytes((root / "tile/0/000.p/5").read_bytes()[: 4 * 32])
    rejects(root)


def test_unreferenced_directories_and_links(tmp_path: Path) -> None:
    root = small_log(tmp_path)
    (root / "tile/9").mkdir()
    rejects(root)
    (root / "tile/9").rmdir()
    accepts(root)
    (root / "tile/9").symlink_to(root / "tile/0")
    rejects(root)


@pytest.mark.parametrize("path", ["checkpoint", "tile/0/000.p/5", "tile/entries/000.p/5"])
def test_a_missing_file_and_links_and_pipes_in_its_place(tmp_path: Path, path: str) -> None:
    root = small_log(tmp_path)
    accepts(root)
    (root / path).rename(tmp_path / "elsewhere")
    rejects(root)
    (root / path).symlink_to(tmp_path / "elsewhere")
    rejects(root)
    (root / path).unlink()
    if path != "checkpoint":
        os.mkfifo(root / path)
        rejects(root)


def log_of(*raws: bytes) -> dict[str, bytes]:
    """The files of a log whose signer put these bytes into it, whatever they are."""
    edge = RightEdge()
    edge.extend(map(leaf_hash, raws))
    files = {content.tile.path: content.data for content in edge.partial()}
    files[bundle_at(0, len(raws)).path] = encode_bundle(raws)
    text = Checkpoint(signer().verifier.name, len(raws), edge.root()).to_text()
    return files | {"checkpoint": sign_note(text, signer()).to_bytes()}


def test_a_repeated_entry_convicts_the_board_and_not_its_author() -> None:
    one, other, third = (submission(0, body=body).raw for body in (b"1", b"2", b"3"))
    assert fsck(source_of(log_of(one, other)), trust(), signatures=True).equivocations == 1
    for raws in ((one, one), (one, other, one), (one, other, other), (one, other, third)):
        with pytest.raises(InvalidProof) as caught:
            fsck(source_of(log_of(*raws)), trust())
        assert caught.value.check == "05-F6"


def signed(text: str) -> bytes:
    return sign_note(text, signer()).to_bytes()


def twice_signed(note: SignedNote) -> bytes:
    """With a second line of the same key, which is no signature."""
    line = note.signatures[0]
    return note.with_signatures([SignatureLine(line.name, line.key_id, bytes(64))]).to_bytes()


def of_a_prefix(_: SignedNote) -> bytes:
    """A smaller checkpoint, over the files of the larger log."""
    edge = RightEdge()
    edge.extend([each.leaf for each in submissions(3)])
    return signed(Checkpoint(signer().verifier.name, 3, edge.root()).to_text())


CHECKPOINTS: dict[str, Callable[[SignedNote], bytes]] = {
    "a size with leading zeros": lambda note: signed(note.text.replace("\n5\n", "\n0005\n")),
    "a huge size": lambda note: signed(note.text.replace("\n5\n", f"\n{2**62}\n")),
    "an extension line": lambda note: signed(note.text + "extension\n"),
    "a second bad signature": twice_signed,
    "a signed prefix": of_a_prefix,
}


@pytest.mark.parametrize("change", CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_other_checkpoints(tmp_path: Path, change: Callable[[SignedNote], bytes]) -> None:
    """The log itself signs the size: whoever checks makes no list of what should be there."""
    root = small_log(tmp_path)
    accepts(root)
    path = root / "checkpoint"
    path.write_bytes(change(SignedNote.parse(path.read_bytes())))
    started = time.monotonic()
    rejects(root)
    assert time.monotonic() - started < LONG


def test_a_directory_that_cannot_be_listed_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it holds would count as absent."""
    root = small_log(tmp_path)
    accepts(root)
    scan = os.scandir

    def refuse(path: Path | str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "entries":
            raise PermissionError(13, "refused", str(path))
        return scan(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        rejects(root)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("part", range(6))
def test_every_single_bit_flip_of_a_small_log(tmp_path: Path, part: int) -> None:
    root = small_log(tmp_path, 3)
    accepts(root)
    survivors = []
    flips = 0
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        data = path.read_bytes()
        for position in range(part, 8 * len(data), 6):
            flipped = bytearray(data)
            flipped[position // 8] ^= 1 << position % 8
            path.write_bytes(flipped)
            flips += 1
            try:
                accepts(root)
            except ProtocolError:
                continue
            survivors.append((path.name, position))
        path.write_bytes(data)
    accepts(root)
    assert flips > 8_000 // 6
    assert survivors == []


def test_entries_that_only_a_dishonest_log_would_hold() -> None:
    good = [s.raw for s in submissions(3)]
    fsck(source_of(log_of(*good)), trust(), signatures=True)
    with pytest.raises(MalformedMessage):
        fsck(source_of(log_of(*good, b"junk")), trust())
    unsigned = good[0][:-1] + bytes([good[0][-1] ^ 1])
    with pytest.raises(InvalidSignature) as caught:
        fsck(source_of(log_of(unsigned)), trust(), signatures=True)
    assert caught.value.check == "05-F7"


# Archives


def archived(tmp_path: Path, count: int) -> Path:
    _, files = memory_log(count)
    path = tmp_path / "log.gopa"
    with path.open("wb") as out:
        write_archive(LogReader.open(source_of(files), trust()), out)
    return path


def read_all(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        return list(ArchiveReader(stream, trust()).entries())


@pytest.mark.parametrize("count", [0, 1, 256, 700])
def test_an_archive_holds_the_log(tmp_path: Path, count: int) -> None:
    path = archived(tmp_path, count)
    assert read_all(path) == [s.raw for s in submissions(count)]
    (tmp_path / "again").mkdir()
    assert archived(tmp_path / "again", count).read_bytes() == path.read_bytes()
    with path.open("rb") as stream:
        write_mirror(ArchiveReader(stream, trust()), tmp_path / "mirror")
    assert fsck_directory(tmp_path / "mirror", trust(), signatures=True).size == count
    with path.open("rb") as stream, pytest.raises(UsageError):
        write_mirror(ArchiveReader(stream, trust()), tmp_path)


@pytest.mark.thirds
@pytest.mark.parametrize("part", range(3))
def test_every_byte_of_an_archive_counts(tmp_path: Path, part: int) -> None:
    path = archived(tmp_path, 2)
    data = path.read_bytes()
    read_all(path)
    for position in range(part, len(data), 3):
        path.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        with pytest.raises(ProtocolError):
            read_all(path)
    for cut in range(7 * part, len(data), 21):
        path.write_bytes(data[:cut])
        with pytest.raises(ProtocolError):
            read_all(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(MalformedMessage):
        read_all(path)


class Endless(BytesIO):
    """An archive that goes on with zeros; counts what is read of it."""

    taken = 0

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        found = super().read(size)
        self.taken += size
        return found + bytes(size - len(found))


@pytest.mark.parametrize("part", ["header", "checkpoint", "bundle"])
def test_a_huge_length_costs_nothing(tmp_path: Path, part: str) -> None:
    data = archived(tmp_path, 1).read_bytes()
    list(ArchiveReader(BytesIO(data), trust()).entries())
    start = 16
    for _ in range(("header", "checkpoint", "bundle").index(part)):
        start += 4 + int.from_bytes(data[start : start + 4])
    stream = Endless(data[:start] + (20_000_000).to_bytes(4))
    with pytest.raises(MalformedMessage):
        list(ArchiveReader(stream, trust()).entries())
    assert stream.taken < 10_000


def test_a_mirror_goes_into_a_new_or_empty_directory(tmp_path: Path) -> None:
    path = archived(tmp_path, 5)
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with path.open("rb") as stream:
            write_mirror(ArchiveReader(stream, trust()), tmp_path / name)
        assert fsck_directory(tmp_path / name, trust()).size == 5
    with path.open("rb") as stream, pytest.raises(UsageError):
        write_mirror(ArchiveReader(stream, trust()), tmp_path / "new")


def test_a_partial_mirror_is_no_log(tmp_path: Path) -> None:
    path = archived(tmp_path, 700)
    path.write_bytes(path.read_bytes()[:-40])
    with path.open("rb") as stream, pytest.raises(ProtocolError):
        write_mirror(ArchiveReader(stream, trust()), tmp_path / "mirror")
    rejects(tmp_path / "mirror")


def test_a_reader_verifies_what_it_hands_out() -> None:
    log, files = memory_log(600)
    reader = LogReader.open(source_of(files), trust())
    assert list(reader.entries(250, 520)) == [s.raw for s in submissions(270, 250)]
    assert reader.leaf(599) == submissions(1, 599)[0].leaf
    for path in list(files):
        damaged = dict(files)
        damaged[path] = damaged[path][:-1] + bytes([damaged[path][-1] ^ 1])
        with pytest.raises(ProtocolError):
            list(LogReader.open(source_of(damaged), trust()).entries())
    log.close()
    with pytest.raises(UsageError):
        list(reader.entries(5, 601))
    assert Submission.decode(sign_entry(submission(1).entry, party())).leaf == submission(1).leaf


@pytest.mark.parametrize("index", [5, 300, 520, 599])
def test_a_tile_that_agrees_with_its_forged_bundle_is_refused(index: int) -> None:
    _, files = memory_log(600)
    assert list(LogReader.open(source_of(files), trust()).entries(index, index + 1))
    number, offset = divmod(index, 256)
    bundle, tile = bundle_at(number, 600), tile_at(0, number, 600)
    entries = decode_bundle(files[bundle.path], bundle.width)
    entries[offset] = submission(index, body=b"forged").raw
    forged = dict(files)
    forged[bundle.path] = encode_bundle(entries)
    forged[tile.path] = b"".join(map(leaf_hash, entries))
    with pytest.raises(InvalidProof) as caught:
        list(LogReader.open(source_of(forged), trust()).entries(index, index + 1))
    assert caught.value.check == "05-L2"
    with pytest.raises(InvalidProof):
        fsck(source_of(forged), trust())


def test_an_archive_with_forged_entries_and_the_right_digest(tmp_path: Path) -> None:
    data = archived(tmp_path, 3).read_bytes()
    raws = [item.raw for item in submissions(3)]

    def rebuilt(old: bytes, new: bytes) -> BytesIO:
        assert data.count(old) == 1
        content = data[:-32].replace(old, new)
        return BytesIO(content + hashlib.sha256(content).digest())

    assert list(ArchiveReader(rebuilt(raws[1], raws[1]), trust()).entries()) == raws
    flipped = raws[1][:-1] + bytes([raws[1][-1] ^ 1])
    with pytest.raises(InvalidProof) as caught:
        list(ArchiveReader(rebuilt(raws[1], flipped), trust()).entries())
    assert caught.value.check == "05-A3"
    origin = signer().verifier.name.encode()
    header = (len(origin)).to_bytes(2) + origin
    with pytest.raises(MalformedMessage):
        ArchiveReader(rebuilt(header, header[:-1] + b"x"), trust())
    checkpoint = ArchiveReader(rebuilt(header, header), trust()).signed.checkpoint
    assert list(ArchiveParts(rebuilt(header, header)).bundles(checkpoint)) == [raws]
    with pytest.raises(MalformedMessage) as named:
        list(ArchiveParts(rebuilt(header, header[:-1] + b"x")).bundles(checkpoint))
    assert named.value.field == "header"


def test_a_reader_hands_out_ranges_and_keeps_few_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified_module, "_CACHED_TILES", 2)
    _, files = memory_log(1_500)
    reader = LogReader.open(source_of(files), trust())
    assert [list(reader.entries(n, n)) for n in (0, 3, 1_500)] == [[], [], []]
    assert list(reader.entries(255, 257)) == [item.raw for item in submissions(2, 255)]
    assert sum(1 for _ in reader.entries()) == 1_500
    assert len(reader._tiles._full) == 2
    for start, stop in ((-1, 3), (3, 2), (0, 1_501)):
        with pytest.raises(UsageError):
            list(reader.entries(start, stop))


def test_a_receipt_is_bounded() -> None:
    log, _ = memory_log(3)
    receipt = log.receipt(1)
    most = receipt + b"x" * (131_072 - len(receipt))
    assert Receipt.parse(most).index == 1
    with pytest.raises(MalformedMessage):
        Receipt.parse(most + b"x")


def test_every_entry_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(memory_log(300)[1])
    hashed: list[bytes] = []

    def counting(entry: bytes) -> bytes:
        hashed.append(entry)
        return leaf_hash(entry)

    monkeypatch.setattr("bulletin_board.entry.leaf_hash", counting)
    monkeypatch.setattr("bulletin_board.fsck.leaf_hash", counting)
    assert fsck(source, trust()).size == 300
    assert len(hashed) == 300
