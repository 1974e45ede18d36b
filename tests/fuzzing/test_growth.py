"""The time that foreign text takes grows with its length, whatever somebody puts into it.

Each parser reads hostile texts of 10 kB, 100 kB and 1 MB, with its own bounds on bytes lifted.
Ten times the bytes take ten times the time where it grows evenly, and a hundred times where
it grows with the square.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from bulletin_board import Submission, admission
from bulletin_board import note as signed
from bulletin_board import policy as policy_module
from bulletin_board.archive import ArchiveReader, write_archive
from bulletin_board.client.forks import (
    FORK_EVIDENCE,
    UNPROVEN_PAIR,
    ForkEvidence,
    UnprovenPair,
    open_pair,
)
from bulletin_board.compression import gzipped, takes_gzip, without_encoding
from bulletin_board.lookup import LOOKUP_ANSWER, MOST_FOUND, FoundEntry, LookupAnswer
from bulletin_board.note import open_checkpoint
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt
from bulletin_board.witness import judging as request
from bulletin_board.witness.judging import AddCheckpoint
from gopa.auditing import options
from gopa.auditing.evidence import (
    EVIDENCE,
    MOST_ENTRIES,
    Evidence,
    FaultStatement,
    Messages,
    Placed,
)
from gopa.cli.board_serve import read_keys
from gopa.cli.session_create import read_answers
from gopa.contract.beacon import chain_info
from gopa.sessions import ticket as ticket_module
from gopa.sessions.organising import beacons
from gopa.sessions.organising.beacons import DrandFile
from tests.board.tools import entry_bytes, log_key, memory_log, source_of, trust
from tests.fuzzing.test_texts import FILES, INVITATION, KEY, TEXTS, Parser
from wire.errors import GopaError
from wire.strict_json import MOST_DIGITS, read_json

SIZES: Final = (10_000, 100_000, 1_000_000)
FACTOR: Final = 30
"""For ten times the bytes. The true one is 10, or 100."""
FLOOR: Final = 0.01
"""Seconds below which times are noise."""
MOST_AT_FIRST: Final = 0.25
"""Seconds for 10 kB: what grows with the square is given up before it takes minutes."""

LIFTED: Final = (
    (signed, "LARGEST_NOTE"),
    (policy_module, "LARGEST_POLICY"),
    (admission, "LARGEST_PROBLEM"),
    (request, "LARGEST_REQUEST"),
    (ticket_module, "LARGEST_TICKET"),
    (options, "LARGEST_ANCHORS"),
    (chain_info, "LARGEST_INFO"),
    (beacons, "LARGEST_ANSWER"),
)
"""Bounds in bytes, behind which a parser would look at nothing."""

FILLERS: Final[dict[str, bytes]] = {
    "escaped quotes": b'\\"',
    "backslashes": b"\\",
    "quotes": b'"',
    "strings": b'"a",',
    "members": b'"a":1,',
    "nesting": b"[",
    "nested objects": b'{"a":',
    "shallow": b"[],",
    "closing": b"]}",
    "digits": b"1",
    "zeros": b"0",
    "lines": b"\n",
    "lines of windows": b"a\r\n",
    "blanks and tabs": b" \t",
    "words": b"a ",
    "comments": b"#\n",
    "signatures": b"\xe2\x80\x94 a AAAAAAAA\n",
    "plus signs": b"+",
    "base64": b"AAAA",
    "no text": b"\xff",
}


@pytest.fixture(autouse=True)
def _lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in LIFTED:
        assert isinstance(getattr(module, name), int)
        monkeypatch.setattr(module, name, 2**30)


def hostile(seed: bytes, filler: bytes, size: int) -> Iterator[bytes]:
    """Something endless alone, in the middle of a text, and in its last word."""
    fill = filler * (size // len(filler))
    half = len(seed) // 2
    yield fill
    yield seed[:half] + fill + seed[half:]
    yield seed.rstrip(b'"}]\n') + fill


def seconds(parse: Parser, data: bytes) -> float:
    """Processor time of this thread, without that of collecting what other tests left behind."""
    gc.disable()
    try:
        started = time.thread_time()
        with contextlib.suppress(GopaError, ValueError):
            parse(data)
        return time.thread_time() - started
    finally:
        gc.enable()


def require_even_growth(parse: Parser, texts: Callable[[int], Iterator[bytes]]) -> None:
    """Fails at the first size at which the time has grown too much."""
    known: list[float] = []
    for size in SIZES:
        times = [seconds(parse, data) for data in texts(size)]
        bounds = [FACTOR * max(each, FLOOR) for each in known] or [MOST_AT_FIRST] * len(times)
        assert all(after < bound for after, bound in zip(times, bounds, strict=True)), times
        known = times


def receipt() -> bytes:
    log, _ = memory_log(5)
    return log.receipt(3)


def checkpoint() -> bytes:
    return receipt().partition(b"\n\n")[2]


READ_DIRECTLY: Final[dict[str, tuple[bytes, Parser]]] = {
    "JSON": (b'{"a": [1, "b", {"c": null}]}', read_json),
    "checkpoint": (checkpoint(), lambda data: open_checkpoint(data, log_key())),
    "checkpoint with a quorum": (checkpoint(), lambda data: trust().open(data)),
    "receipt": (receipt(), Receipt.parse),
    "request of a witness": (AddCheckpoint(0, (), checkpoint()).to_bytes(), AddCheckpoint.parse),
    "accepted encodings": (b"identity, gzip;q=1", lambda data: takes_gzip(data.decode("latin-1"))),
}


@pytest.mark.thirds(9)
@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("name", [*TEXTS, *READ_DIRECTLY])
def test_texts(name: str, filler: str) -> None:
    seed, parse = {**TEXTS, **READ_DIRECTLY}[name]
    parse(seed)
    require_even_growth(parse, lambda size: hostile(seed, FILLERS[filler], size))


def enrolments(path: Path) -> object:
    invitations = path.with_name("own-invitations")
    invitations.touch(0o600)
    invitations.write_text(INVITATION.reveal())
    return read_answers(invitations, path)


FILES_OF_STRANGERS: Final[dict[str, tuple[bytes, Callable[[Path], object]]]] = {
    "roster.txt": FILES["roster.txt"],
    "keys.txt": (f"{KEY.data.hex()} # a key\n".encode(), read_keys),
    "enrolments.txt": (f"{INVITATION.enrol(KEY.data)}\n".encode(), enrolments),
    "rounds.json": (
        b'{"round": 7, "signature": "abab"}\n',
        lambda path: asyncio.run(DrandFile(path).value(7)),
    ),
}


@pytest.mark.thirds(9)
@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("name", FILES_OF_STRANGERS)
def test_files(name: str, filler: str, tmp_path: Path) -> None:
    seed, read = FILES_OF_STRANGERS[name]
    path = tmp_path / name
    path.touch(0o600)

    def parse(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    parse(seed)
    require_even_growth(parse, lambda size: hostile(seed, FILLERS[filler], size))


def archive(count: int) -> bytes:
    log, files = memory_log(count)
    out = io.BytesIO()
    write_archive(LogReader(source_of(files), log.signed), out)
    return out.getvalue()


def read_archive(data: bytes) -> object:
    return list(ArchiveReader(io.BytesIO(data), trust()).entries())


ENCODED: Final[dict[str, tuple[bytes, Parser]]] = {
    "archive": (archive(5), read_archive),
    "evidence of a fork": (
        FORK_EVIDENCE.encode(ForkEvidence(checkpoint(), checkpoint(), (bytes(32),) * 63)),
        FORK_EVIDENCE.decode,
    ),
    "unproven pair": (
        UNPROVEN_PAIR.encode(UnprovenPair(checkpoint(), checkpoint(), b"x" * 9)),
        lambda data: open_pair(data, log_key()),
    ),
    "entry": (entry_bytes(0, body=bytes(60_000)), Submission.decode),
    "gzip": (gzipped(bytes(1_000)), lambda data: without_encoding(data, "gzip", 10**7)),
}


@pytest.mark.parametrize("filler", ["zeros", "no text", "backslashes", "digits"])
@pytest.mark.parametrize("name", ENCODED)
def test_what_is_encoded(name: str, filler: str) -> None:
    seed, parse = ENCODED[name]
    parse(seed)
    require_even_growth(parse, lambda size: hostile(seed, FILLERS[filler], size))


def answer_of(size: int) -> bytes:
    """An answer to a lookup, of as many entries as fit."""
    count = min(MOST_FOUND, size // 100)
    found = tuple(FoundEntry(index, b"x" * (size // count // 2)) for index in range(count))
    proof = (bytes(32),) * min(16_128, size // 64)
    return LOOKUP_ANSWER.encode(LookupAnswer(0, found, proof))


def evidence_of(size: int) -> bytes:
    """Evidence with as many messages of one byte as fit."""
    rows = tuple(Placed(index, b"x") for index in range(min(MOST_ENTRIES, size // 11)))
    return EVIDENCE.encode(Evidence(FaultStatement(bytes(32), b"04-J3", 1), Messages(rows)))


@pytest.mark.parametrize(
    ("parse", "of"),
    [(LOOKUP_ANSWER.decode, answer_of), (EVIDENCE.decode, evidence_of)],
    ids=["answer", "evidence"],
)
def test_many_small_parts(parse: Parser, of: Callable[[int], bytes]) -> None:
    parse(of(1_000))
    require_even_growth(parse, lambda size: iter([of(size), of(size) + b"x", of(size)[:-1]]))


@pytest.mark.parametrize("count", [300])
def test_archives_of_many_entries(count: int) -> None:
    """Ten times the entries take about ten times the time."""
    small, large = archive(count), archive(10 * count)
    assert len(read_archive(large)) == 10 * count  # type: ignore[arg-type]
    assert seconds(read_archive, large) < FACTOR * max(seconds(read_archive, small), FLOOR)


def test_numbers_have_an_end() -> None:
    assert read_json(b"9" * MOST_DIGITS) == 10**MOST_DIGITS - 1
    for data in (b"9" * (MOST_DIGITS + 1), b"[-" + b"9" * (MOST_DIGITS + 1) + b"]"):
        with pytest.raises(ValueError, match=r"digits"):
            read_json(data)
