"""`gopa board` from the shell."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bulletin_board.admission import Refused
from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.entry import Submission
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.sequencer import Sequencer
from bulletin_board.server.public_files import live_directory
from bulletin_board.storage import StorageError
from bulletin_board.storage.directory import BoardDirectory
from gopa.cli.board import board
from gopa.cli.board_serve import AdmissionOptions, BoardDoors, read_keys
from gopa.cli.options import reporting, witness_signer
from gopa.protocol.admission.policy import ProtocolAdmission
from gopa.protocol.admission.view import Sessions
from tests.board.board_vectors import records
from tests.board.live import client, live_board
from tests.board.tools import (
    anyone,
    append,
    entry_bytes,
    log_key,
    party,
    signer,
    submission,
    submissions,
)
from wire.errors import UsageError


def gopa(*arguments: str | Path) -> Result:
    return CliRunner().invoke(board, [str(argument) for argument in arguments])


def facts(*arguments: str | Path) -> dict[str, object]:
    result = gopa(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    facts("init", tmp_path / "log", "--origin", "board.example/cli")
    add(tmp_path / "log", submissions(300))
    return tmp_path / "log"


def add(place: Path, entries: list[Submission]) -> None:
    directory = BoardDirectory(place)
    log = Sequencer(directory.storage(), directory.signer(), anyone)
    append(log, entries)
    log.close()


def key_of(place: Path) -> VerifierKey:
    signer = BoardDirectory(place).signer()
    assert isinstance(signer, NoteSigner)
    return signer.verifier


def test_init_makes_a_log_once(tmp_path: Path) -> None:
    made = facts("init", tmp_path / "log", "--origin", "board.example/x")
    VerifierKey.parse(str(made["log"]))
    again = gopa("init", tmp_path / "log", "--origin", "board.example/x")
    assert isinstance(again.exception, UsageError)


def test_fsck(place: Path) -> None:
    report = facts("fsck", place, "--signatures")
    assert (report["size"], report["signatures"]) == (300, 300)
    assert gopa("fsck", place).exit_code == 0
    tile = place / "public/tile/0/000"
    tile.write_bytes(tile.read_bytes()[:-1] + b"x")
    damaged = gopa("fsck", place)
    assert damaged.exit_code == 1
    assert "05-F4" in damaged.stderr


def test_fsck_of_a_mirror_needs_a_key(place: Path) -> None:
    assert isinstance(gopa("fsck", place / "public").exception, UsageError)
    assert facts("fsck", place / "public", "--log", str(key_of(place)))["size"] == 300


def test_export_and_import(place: Path, tmp_path: Path) -> None:
    archive, mirror = tmp_path / "log.gopa", tmp_path / "mirror"
    key = str(key_of(place))
    assert facts("export", place, archive)["size"] == 300
    assert facts("fsck", archive, "--log", key, "--signatures")["signatures"] == 300
    assert facts("import", archive, mirror, "--log", key)["size"] == 300
    assert facts("fsck", mirror, "--log", key)["size"] == 300
    again = tmp_path / "again.gopa"
    facts("export", mirror, again, "--log", key)
    assert again.read_bytes() == archive.read_bytes()
    other = gopa("import", archive, tmp_path / "other", "--log", str(log_key()))
    assert other.exit_code == 1
    bad = gopa("export", place, archive, "--session", "12")
    assert isinstance(bad.exception, UsageError)


def test_proof_and_tail(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "entry.tlog-proof"
    facts("proof", place, "42", "--out", out)
    receipt = Receipt.parse(out.read_bytes())
    verify_receipt(receipt, submissions(1, 42)[0].raw, key_of(place))
    assert gopa("proof", place, "42").output == out.read_text()
    found = facts("proof", place, "42")
    assert (found["index"], found["size"], found["proof"]) == (42, 300, out.read_text())
    lines = gopa("tail", place, "--start", "290", "--json").output.splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(290, 300))
    header, line = gopa("tail", place, "--start", "299").output.splitlines()
    assert header.split()[0] == "index"
    assert [line[header.index(name) :].split()[0] for name in ("index", "seq")] == ["299", "299"]
    assert line.endswith(submissions(1, 299)[0].leaf.hex()[:16])


def test_who_follows_sees_every_entry_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    naps = 0

    def later(_: float) -> None:
        nonlocal naps
        naps += 1
        if naps == 3:
            raise KeyboardInterrupt
        add(place, submissions(2, 298 + 2 * naps))

    monkeypatch.setattr("gopa.cli.board.time", SimpleNamespace(sleep=later))
    once = gopa("tail", place, "--start", "298", "--json").stdout.splitlines()
    assert [json.loads(line)["index"] for line in once] == [298, 299]
    lines = gopa("tail", place, "--start", "298", "--follow", "--json").stdout.splitlines()
    assert [json.loads(line)["index"] for line in lines] == list(range(298, 304))


def test_reading_a_directory_that_grows(place: Path) -> None:
    """The partial files of the reader's checkpoint are gone; newer ones begin with them."""
    source = live_directory(place / "public")
    reader = LogReader.open(source, TrustPolicy.single_log(key_of(place)))
    add(place, submissions(400, 300))
    assert not (place / "public/tile/entries/001.p/44").exists()
    assert list(reader.entries()) == [item.raw for item in submissions(300)]
    assert list(LogReader(source, reader.signed).entries(280)) == [
        item.raw for item in submissions(20, 280)
    ]


def test_over_http(tmp_path: Path) -> None:
    with live_board(tmp_path / "log") as url:
        for number in range(3):
            client(url).submit(entry_bytes(number))
        state = tmp_path / "state"
        tail = gopa("tail", url, "--log", str(log_key()), "--state", state, "--json")
        assert len(tail.output.splitlines()) == 3
        assert list(state.glob("*/checkpoint"))
        archive = tmp_path / "log.gopa"
        assert facts("export", url, archive, "--log", str(log_key()))["size"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", "{new}", "--origin", "my board"),
        ("fsck", "{new}"),
        ("fsck", "{log}", "--policy", "{new}"),
        ("fsck", "{log}", "--policy", "{junk}"),
        ("fsck", "{log}", "--log", "{witness}"),
        ("export", "{log}", "{new}/archive"),
        ("import", "{log}", "{new}", "--log", "{key}"),
        ("proof", "{log}", "300"),
        ("export", "{log}", "{new}", "--session", "no hex"),
        ("export", "http://127.0.0.1:9", "{new}"),
        ("fsck", "{new}", "--log", "{key}"),
        ("fsck", "http://127.0.0.1:9", "--log", "{key}"),
        ("serve", "{log}", "--roster", "{new}"),
        ("serve", "{log}", "--roster", "{empty}"),
        ("serve", "{log}", "--sessions", "--organisers", "{empty}"),
        ("serve", "{log}", "--anyone", "--organisers", "{roster}"),
        ("serve", "{log}", "--anyone", "--tls-cert", "{junk}"),
        ("serve", "{log}", "--anyone", "--tls-cert", "{junk}", "--tls-key", "{junk}"),
        ("serve", "{log}", "--anyone", "--lock", "{new}"),
        ("witness", "{new}", "--log", "{key}"),
        ("witness", "{new}", "--log", "{key}", "--name", "my witness"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(
    place: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    junk, empty = tmp_path / "junk", tmp_path / "empty"
    roster = tmp_path / "roster"
    junk.write_text("abcd\n")
    empty.write_text("")
    roster.write_text(f"{party(1).public.data.hex()}\n")
    assert read_keys(roster)
    names = {"log": place, "new": tmp_path / "new", "junk": junk, "empty": empty, "roster": roster}
    keys = {"key": key_of(place), "witness": signer("w.example", KeyKind.WITNESS).verifier}
    result = gopa(*(argument.format(**names, **keys) for argument in arguments))
    assert isinstance(result.exception, UsageError | StorageError)
    assert str(result.exception)
    assert not (tmp_path / "new").exists()


def test_evidence_says_what_it_proves(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("fork", "unproven", "agreeing", "junk")}
    fork = FORK_EVIDENCE.decode(bytes.fromhex(str(records()["fork"])))
    agreeing = ForkEvidence(fork.newer, fork.newer, ())
    files["fork"].write_bytes(FORK_EVIDENCE.encode(fork))
    files["unproven"].write_bytes(bytes.fromhex(str(records()["unproven"])))
    files["agreeing"].write_bytes(FORK_EVIDENCE.encode(agreeing))
    files["junk"].write_bytes(b"junk")
    found = facts("evidence", files["fork"], "--log", str(log_key()))
    assert str(found["proves"]).startswith("the log has forked")
    assert str(found["older"]).startswith("3 entries")
    found = facts("evidence", files["unproven"], "--log", str(log_key()))
    assert str(found["proves"]).startswith("nothing but")
    for name in ("agreeing", "junk"):
        assert gopa("evidence", files[name], "--log", str(log_key())).exit_code == 1
    other = signer("other.example/log").verifier
    for name in ("fork", "unproven"):
        assert gopa("evidence", files[name], "--log", str(other)).exit_code == 1


def doors(**chosen: Any) -> BoardDoors:
    nothing = {"sessions": False, "organisers": None, "roster": None, "anyone": False, "quota": 5}
    room = {"most_sessions": 10, "most_pending": 10}
    return BoardDoors(AdmissionOptions(**(nothing | room | chosen)))


def test_a_roster_of_authors_lets_in_whom_it_names(tmp_path: Path) -> None:
    path = tmp_path / "roster"
    own, other = party(1).public.data, party(2).public.data
    path.write_text(f"# authors\n\n{own.hex()}  # the first\n{other.hex()}\n")
    assert read_keys(path) == [own, other]
    door = doors(roster=path)
    assert door.view is None
    for number, known in ((1, True), (2, True), (3, False)):
        entry = submission(0, author=number).entry
        doors(anyone=True).policy().admit(entry)
        with nullcontext() if known else pytest.raises(Refused):
            door.policy().admit(entry)


def test_a_board_for_sessions_reads_them_for_its_page(tmp_path: Path) -> None:
    path = tmp_path / "organisers"
    path.write_text(party(1).public.data.hex() + "\n")
    for organisers in (None, path):
        door = doors(sessions=True, organisers=organisers)
        assert isinstance(door.view, Sessions)
        assert isinstance(door.policy(), ProtocolAdmission)
    for wrong in (
        {"anyone": True, "organisers": path},
        {"sessions": True, "anyone": True},
        {"sessions": True, "roster": path},
        {"sessions": True, "organisers": tmp_path / "nowhere"},
        {},
    ):
        with pytest.raises(UsageError):
            doors(**wrong)


def test_a_witness_keeps_its_key(tmp_path: Path) -> None:
    place = tmp_path / "witness"
    made = witness_signer(place, "w.example")
    for name in (None, "w.example"):
        assert witness_signer(place, name).verifier == made.verifier
    with pytest.raises(UsageError):
        witness_signer(tmp_path / "other", None)


def test_a_reader_that_goes_away_is_no_wrong_usage() -> None:
    with pytest.raises(UsageError), reporting():
        raise FileNotFoundError(2, "gone", "log")
    with pytest.raises(BrokenPipeError), reporting():
        raise BrokenPipeError(32, "gone")


def test_an_index_that_is_lost_is_rebuilt(place: Path) -> None:
    board = BoardDirectory(place)
    found = facts("reindex", place)
    board.index_path.unlink()
    assert gopa("fsck", place).exit_code == 0
    with pytest.raises(StorageError):
        board.storage()
    assert facts("reindex", place) == found
    storage = board.storage()
    assert storage.index.size() == found["size"]
    storage.close()
