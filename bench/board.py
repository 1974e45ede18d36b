"""The board: durable appends over HTTP and in process, reading, opening, fsck, memory."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.measure import Numbers, Scale, require, wall_and_cpu
from bench.randomness import seeded
from bulletin_board.admission import Anyone
from bulletin_board.entry import ENTRY, VERSION, Entry, Submission, sign_entry
from bulletin_board.fsck import fsck_directory
from bulletin_board.note import KeyKind, NoteSigner, SignedCheckpoint, open_checkpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import DirectorySource, LogReader
from bulletin_board.receipt import Receipt
from bulletin_board.sequencer import Accepted, Sequencer, first_checkpoint
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.tree import TILE_WIDTH, Bundle, decode_bundle, leaf_hash, verify_inclusion
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

CLIENTS = 64
ENTRY_BYTES = 1_500
LOCAL_BATCH = 512
BUNDLES_READ = 640
_AUTHORS = 1_000

_SERVE = "from gopa.cli.board import board; board()"


def run(scale: Scale) -> Numbers:
    """All numbers of the board; `full` signs every entry of the big log, and opens a bigger one."""
    posts, local = scale.of(2 * CLIENTS, 10_000, 10_000), scale.of(600, 100_000, 100_000)
    reopened = scale.of((600,), (10**5,), (10**5, 10**6))
    signed = scale.of(300, 20_000, local)
    with tempfile.TemporaryDirectory(prefix="bench-board-") as scratch:
        numbers = _http(Path(scratch) / "http", posts)
        numbers |= _local(Path(scratch) / "local", local, signed)
        numbers |= _opening(Path(scratch) / "opening", reopened)
    return {
        "bench": "board",
        "unit": "wall seconds on all cores",
        "clients": CLIENTS,
        "entry_bytes": ENTRY_BYTES,
        "http_entries": posts,
        "local_batch": LOCAL_BATCH,
        "inputs": "all distinct"
        if signed == local
        else f"HTTP: all distinct; local: {signed} signed, the others carry a stale signature",
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    } | numbers


def _entries(author: int, count: int) -> list[bytes]:
    key = SigningKey.generate(seeded(author))
    overhead = len(_signed(key, 0, b""))
    body = bytes(ENTRY_BYTES - overhead)
    return [_signed(key, seq, body) for seq in range(count)]


def _signed(key: SigningKey, seq: int, body: bytes) -> bytes:
    zeros = bytes(32)
    entry = Entry(VERSION, zeros, 1, 1, 0, 0, 1, key.public, seq, zeros, 0, zeros, body)
    return sign_entry(entry, key)


# HTTP


def _http(root: Path, posts: int) -> Numbers:
    signer = _new_board(root)
    loads = [_entries(number, posts // CLIENTS) for number in range(CLIENTS)]
    with _server(root) as (port, pid):
        started = time.perf_counter()
        seconds = asyncio.run(_load(port, loads, signer))
        elapsed = time.perf_counter() - started
        numbers = _reading(port, pid, root / "public", sum(map(len, loads)))
        memory = _peak_memory(pid)
    policy = TrustPolicy.single_log(signer.verifier)
    report = fsck_directory(root / "public", policy)
    total = sum(map(len, loads))
    require(report.size == total, "entries after the load")
    seconds.sort()
    return numbers | {
        "append_per_s": round(total / elapsed),
        "p50_ms": round(1000 * seconds[len(seconds) // 2], 1),
        "p99_ms": round(1000 * seconds[len(seconds) * 99 // 100], 1),
        "server_peak_rss_mb": memory,
    }


def _reading(port: int, pid: int, public: Path, total: int) -> Numbers:
    """What a bundle costs the server's processor: for one reader, and for many at once."""
    whole = [Bundle(number, TILE_WIDTH) for number in range(total // TILE_WIDTH)]
    bundles = whole or [Bundle(0, total)]
    size = (public / bundles[0].path).stat().st_size
    numbers: Numbers = {"bundle_bytes": size}
    for readers in (1, CLIENTS):
        used, started = _processor_seconds(pid), time.perf_counter()
        asyncio.run(_read_all(port, readers, bundles, size))
        elapsed, count = time.perf_counter() - started, BUNDLES_READ // readers * readers
        used = _processor_seconds(pid) - used
        numbers |= {
            f"bundle_cpu_ms_{readers}_readers": round(1_000 * used / count, 2),
            f"bundles_per_s_{readers}_readers": round(count / elapsed),
        }
    return numbers


async def _read_all(port: int, readers: int, bundles: list[Bundle], size: int) -> None:
    each = BUNDLES_READ // readers
    chosen = [[bundles[(n + i) % len(bundles)] for i in range(each)] for n in range(readers)]
    await asyncio.gather(*(_reader(port, some, size) for some in chosen))


async def _reader(port: int, bundles: list[Bundle], size: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    for bundle in bundles:
        writer.write(f"GET /{bundle.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        require(head.startswith(b"HTTP/1.1 200"), f"an answer: {head[:60]!r}")
        data = await reader.readexactly(size)
        require(len(decode_bundle(data, bundle.width)) == bundle.width, "a bundle")
    writer.close()


def _processor_seconds(pid: int) -> float:
    """User and system time of a process, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _new_board(root: Path) -> NoteSigner:
    signer = NoteSigner("board.example/bench", KeyKind.LOG, SecretBytes(seeded(999)(32)))
    BoardDirectory(root).create(signer, first_checkpoint(signer))
    return signer


@contextmanager
def _server(root: Path) -> Iterator[tuple[int, int]]:
    """Port and process of a server; it says where it listens as soon as it does."""
    command = [sys.executable, "-c", _SERVE, "serve", str(root), "--anyone", "--port=0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 - our own server
    assert server.stdout is not None
    try:
        said = json.loads(server.stdout.readline())
        yield urlsplit(said["listening"]).port or 0, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        server.stdout.close()


async def _load(port: int, loads: list[list[bytes]], signer: NoteSigner) -> list[float]:
    known: dict[bytes, SignedCheckpoint] = {}
    results = await asyncio.gather(*(_client(port, load, signer, known) for load in loads))
    return [seconds for result in results for seconds in result]


async def _client(
    port: int, load: list[bytes], signer: NoteSigner, known: dict[bytes, SignedCheckpoint]
) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"POST /v1/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: {ENTRY_PAYLOAD_TYPE}\r\n"
        f"Content-Length: {len(load[0])}\r\n\r\n"
    ).encode()
    seconds = []
    for entry in load:
        started = time.perf_counter()
        writer.write(head + entry)
        answer = await reader.readuntil(b"\r\n\r\n")
        require(answer.startswith(b"HTTP/1.1 201"), f"an answer: {answer[:60]!r}")
        size = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        receipt = await reader.readexactly(size)
        seconds.append(time.perf_counter() - started)
        _check_receipt(receipt, entry, signer, known)
    writer.close()
    return seconds


def _check_receipt(
    data: bytes, entry: bytes, signer: NoteSigner, known: dict[bytes, SignedCheckpoint]
) -> None:
    """Every inclusion proof is checked; the signature of each checkpoint once."""
    receipt = Receipt.parse(data)
    if receipt.checkpoint not in known:
        known[receipt.checkpoint] = open_checkpoint(receipt.checkpoint, signer.verifier)
    signed = known[receipt.checkpoint]
    verify_inclusion(receipt.index, signed.size, leaf_hash(entry), receipt.proof, signed.root)


def _peak_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024
    return 0


# Opening


def _opening(root: Path, counts: tuple[int, ...]) -> Numbers:
    """Seconds of the processor to open a log: from its beginning, and from a snapshot."""
    numbers: Numbers = {}
    for count in counts:
        place = _long_log(root / str(count), count)
        signer = place.signer()
        place.snapshot_path.unlink()
        numbers[f"open_{count}_from_the_beginning_s"] = _opened(place, signer)
        numbers[f"open_{count}_from_a_snapshot_s"] = _opened(place, signer)
    return numbers


def _long_log(root: Path, count: int) -> BoardDirectory:
    """Small entries of many authors, whose signatures nobody looks at here."""
    signer = _new_board(root)
    place = BoardDirectory(root)
    keys = [SigningKey.generate(seeded(number)) for number in range(_AUTHORS)]
    sequencer = Sequencer(place.storage(), signer, lambda: Anyone(10**9))
    zeros = bytes(32)
    for first in range(0, count, LOCAL_BATCH):
        batch = []
        for number in range(first, min(count, first + LOCAL_BATCH)):
            key = keys[number % _AUTHORS].public
            seq = number // _AUTHORS
            entry = Entry(VERSION, zeros, 1, 1, 0, 0, 1, key, seq, zeros, 0, zeros, b"")
            batch.append(Submission.decode(ENTRY.encode(entry) + bytes(64)))
        outcomes = sequencer.append(batch)
        require(all(isinstance(outcome, Accepted) for outcome in outcomes), "an append")
    sequencer.close()
    return place


def _opened(place: BoardDirectory, signer: NoteSigner) -> float:
    started = time.process_time()
    Sequencer(place.storage(), signer, lambda: Anyone(10**9)).close()
    return round(time.process_time() - started, 2)


# In process


def _local(root: Path, count: int, signed: int) -> Numbers:
    signer = _new_board(root)
    submissions = _submissions(count, signed)
    place = BoardDirectory(root)
    sequencer = Sequencer(place.storage(), signer, lambda: Anyone(10**9))
    started = time.perf_counter()
    for first in range(0, count, LOCAL_BATCH):
        outcomes = sequencer.append(submissions[first : first + LOCAL_BATCH])
        require(all(isinstance(outcome, Accepted) for outcome in outcomes), "an append")
    append = time.perf_counter() - started
    sequencer.close()
    policy = TrustPolicy.single_log(signer.verifier)
    report, fsck, fsck_cpu = wall_and_cpu(lambda: fsck_directory(root / "public", policy))
    require(report.size == count, "fsck")
    reader = LogReader.open(DirectorySource(root / "public"), policy)
    started = time.perf_counter()
    read = sum(1 for _ in reader.entries())
    reading = time.perf_counter() - started
    require(read == count, "reading")
    return {
        "append_local_per_s": round(count / append),
        "read_entries_per_s": round(read / reading),
        "fsck_s": round(fsck, 2),
        "fsck_cpu_s": round(fsck_cpu, 2),
        "fsck_entries": count,
        "fsync_ms": _fsync_ms(root),
    }


def _submissions(count: int, signed: int) -> list[Submission]:
    """Distinct entries; after the first ones they carry a stale signature, which nothing checks."""
    key = SigningKey.generate(seeded(0))
    body = bytes(ENTRY_BYTES - len(_signed(key, 0, b"")))
    stale = _signed(key, 0, body)[-64:]
    zeros = bytes(32)
    submissions = []
    for seq in range(count):
        if seq < signed:
            raw = _signed(key, seq, body)
        else:
            entry = Entry(VERSION, zeros, 1, 1, 0, 0, 1, key.public, seq, zeros, 0, zeros, body)
            raw = ENTRY.encode(entry) + stale
        submissions.append(Submission.decode(raw))
    return submissions


def _fsync_ms(root: Path) -> float:
    """What one durable write costs on this disk now: the numbers above hang on it."""
    path = root / "probe"
    started = time.perf_counter()
    for _ in range(20):
        with path.open("ab") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    return round((time.perf_counter() - started) * 50, 2)
