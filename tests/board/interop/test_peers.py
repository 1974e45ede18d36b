"""Logs, clients and witnesses that nobody here wrote, each with ours as the other side."""

from __future__ import annotations

import hashlib
import http
import http.server
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from bulletin_board.client.http import HttpTransport
from bulletin_board.client.reading import HttpSource
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey, cosign, encode_base64
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.sequencer import Accepted
from bulletin_board.storage import Overtaken
from bulletin_board.storage.directory import BoardDirectory, write_secret
from bulletin_board.tree import EMPTY_ROOT
from bulletin_board.witness.service import Witness, WitnessStore, build_witness_app
from tests.board.interop.programs import Programs, built, run, running
from tests.board.live import client, free_port, live_board, serving
from tests.board.test_barriers import BARRIER, Barriers
from tests.board.tools import (
    copy_of,
    entry_bytes,
    log_key,
    new_board,
    open_log,
    parts,
    signer,
    submissions,
)
from tests.board.waiting import until
from tests.randomness import seeded
from wire.secret import SecretBytes

THEIR_LOG = "tessera.example/log"
THEIR_WITNESS = "witness.example/lite"
OURS = "witness.example/ours"


@pytest.fixture(scope="module")
def programs() -> Programs:
    return built()


# Their log, our witness, our client


def policy_of(log: VerifierKey, witness: VerifierKey, url: str) -> bytes:
    lines = [f"log {log}", f"witness w {witness} {url}", "group g all w", "quorum g", ""]
    return "\n".join(lines).encode()


@contextmanager
def our_witness(memory: Path, log: VerifierKey) -> Iterator[str]:
    service = Witness(signer(OURS, KeyKind.WITNESS), [log], WitnessStore(memory))
    with serving(build_witness_app(service), free_port()) as url:
        yield url


@contextmanager
def files_of(root: Path) -> Iterator[str]:
    """A file server that knows nothing of logs."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Says nothing."""

    handler = partial(Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_tessera_publishes_what_our_witness_cosigned(programs: Programs, tmp_path: Path) -> None:
    """It takes a conflict only with the media type of the standard, as a whole."""
    theirs = signer(THEIR_LOG)
    ours = signer(OURS, KeyKind.WITNESS).verifier
    key, log, policy = tmp_path / "key", tmp_path / "log", tmp_path / "policy"
    write_secret(key, theirs.to_secret_text())
    entries = [f"entry {number}" for number in range(300)]

    def append(memory: str, some: list[str]) -> TrustPolicy:
        with our_witness(tmp_path / memory, theirs.verifier) as url:
            policy.write_bytes(policy_of(theirs.verifier, ours, url))
            done = run(programs.interop, "append", log, key, policy, *some)
        assert done.returncode == 0, done.stderr
        return TrustPolicy.parse(policy.read_bytes())

    append("one", entries[:20])
    append("one", entries[20:270])
    trusted = append("fresh", entries[270:])  # this one has to say that it holds nothing
    with files_of(log) as url:
        reader = LogReader.open(HttpSource(url, HttpTransport()), trusted)
        assert sorted(reader.entries()) == sorted(text.encode() for text in entries)
        reader.receipt(123)
        assert len(reader.consistency_proof(20)) > 0


# Our log, their witness, their clients


@dataclass(frozen=True)
class Lite:
    """A litewitness process."""

    url: str
    key: VerifierKey

    @property
    def policy(self) -> TrustPolicy:
        return TrustPolicy.parse(policy_of(log_key(), self.key, self.url))


@pytest.fixture
def lite(programs: Programs, tmp_path: Path) -> Iterator[Lite]:
    seed = seeded("litewitness")(32)
    key = NoteSigner(THEIR_WITNESS, KeyKind.WITNESS, SecretBytes(seed)).verifier
    memory, agent, port = tmp_path / "lite.db", tmp_path / "agent", free_port()
    _configure(memory, log_key())
    with running(programs.interop, "agent", agent, seed.hex()):
        assert until(agent.exists)
        with running(
            programs.litewitness,
            f"-name={THEIR_WITNESS}",
            f"-db={memory}",
            f"-ssh-agent={agent}",
            f"-listen=127.0.0.1:{port}",
            f"-key={hashlib.sha256(key.key.data).hexdigest()}",
        ):
            assert until(lambda: _answers(port))
            yield Lite(f"http://127.0.0.1:{port}", key)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _configure(memory: Path, log: VerifierKey) -> None:
    """What its own tool writes, which needs more modules than can be had everywhere."""
    with sqlite3.connect(memory) as database:
        database.execute(
            "CREATE TABLE log (origin TEXT PRIMARY KEY, tree_size INTEGER NOT NULL,"
            " tree_hash TEXT NOT NULL)"
        )
        database.execute(
            "CREATE TABLE key (origin TEXT NOT NULL, key TEXT NOT NULL,"
            " FOREIGN KEY(origin) REFERENCES log(origin))"
        )
        database.execute("INSERT INTO log VALUES (?, 0, ?)", (log.name, encode_base64(EMPTY_ROOT)))
        database.execute("INSERT INTO key VALUES (?, ?)", (log.name, str(log)))
    database.close()


@pytest.mark.slow
def test_litewitness_cosigns_our_log_and_torchwood_reads_it(
    programs: Programs, lite: Lite, tmp_path: Path
) -> None:
    trusted, place = lite.policy, BoardDirectory(tmp_path / "log")
    raws = [entry_bytes(seq, body=bytes(seq)) for seq in range(300)]
    barriers = [entry_bytes(seq, phase=BARRIER) for seq in range(3)]
    with live_board(place.root, policy=trusted, admission=Barriers) as url:
        for raw in raws[:2]:
            client(url).submit(raw)
        for raw in barriers[:2]:
            receipt = client(url, policy=trusted).submit(raw)
            trusted.check_quorum(receipt.signed)
    backup = copy_of(place, tmp_path / "backup")
    with live_board(place.root, policy=trusted, admission=Barriers) as url:
        author = client(url)
        for raw in raws[2:]:
            author.submit(raw)
        client(url, policy=trusted).submit(barriers[2])
        assert until(lambda: len(trusted.cosignatures(client(url).update())) == 1)
        found = run(programs.interop, "read", url, str(log_key()), str(lite.key))
        own = list(client(url, policy=trusted).reader().entries())
    assert found.returncode == 0, found.stderr
    digest = hashlib.sha256(b"".join(b"%d:%b" % (len(raw), raw) for raw in own)).hexdigest()
    assert own == [*raws[:2], *barriers[:2], *raws[2:], barriers[2]]
    assert found.stdout.splitlines()[-2:] == [f"size: {len(own)}", f"entries: {digest}"]
    with pytest.raises(Overtaken), live_board(backup.root, policy=trusted):
        pass


# Tiles of three levels need 65,536 entries: that takes a while to write.
SIZES = [(7_000, 4_444, 1_234), pytest.param(70_000, 44_444, 12_345, marks=pytest.mark.soak)]


def write_log(root: Path, size: int, older: int, chosen: int) -> None:
    """The log, an older checkpoint, a receipt, a consistency proof, a cosigned checkpoint."""
    board = new_board(root / "board")
    log = open_log(board)
    entries = submissions(size, size=120)
    for part in parts(entries[:older], 1_000):
        assert all(isinstance(outcome, Accepted) for outcome in log.append(part))
    (root / "older").write_bytes(log.signed.to_bytes())
    for part in parts(entries[older:], 1_000):
        assert all(isinstance(outcome, Accepted) for outcome in log.append(part))
    (root / "entry").write_bytes(entries[chosen].raw)
    (root / "receipt.tlog-proof").write_bytes(log.receipt(chosen))
    proof = log.consistency_proof(older)
    (root / "consistency").write_text("".join(f"{encode_base64(item)}\n" for item in proof))
    witness = signer("witness.example/1", KeyKind.WITNESS)
    line = cosign(log.signed.note.text, witness, 1_700_000_000)
    (root / "cosigned").write_bytes(log.signed.note.with_signatures([line]).to_bytes())
    log.close()
    (root / "public").symlink_to(board.public)


def check(program: Path, root: Path) -> subprocess.CompletedProcess[str]:
    witness = signer("witness.example/1", KeyKind.WITNESS).verifier
    return run(program, "check", root, str(log_key()), str(witness))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "older", "chosen"), SIZES)
def test_go_accepts_a_log_of_many_entries(
    tmp_path: Path, size: int, older: int, chosen: int
) -> None:
    program = built().interop
    write_log(tmp_path, size, older, chosen)
    done = check(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok:") == 15
    assert f"size: {size}" in done.stdout
    tile = tmp_path / "public" / "tile/0/010"
    tile.write_bytes(bytes(32) + tile.read_bytes()[32:])
    assert check(program, tmp_path).returncode == 1
