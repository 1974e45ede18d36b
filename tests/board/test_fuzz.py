"""Whatever bytes arrive, only typed errors leave a parser, and what parses has one spelling."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.archive import ArchiveReader, write_archive
from bulletin_board.client.forks import (
    FORK_EVIDENCE,
    UNPROVEN_PAIR,
    UnprovenPair,
    open_pair,
    verify_fork,
)
from bulletin_board.entry import SIGNED_ENTRY, Submission
from bulletin_board.note import Checkpoint, SignedNote, VerifierKey, open_checkpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt
from bulletin_board.tree import decode_bundle, decode_tile, encode_bundle, parse_path
from bulletin_board.witness.judging import AddCheckpoint, WitnessAnswer, read_request
from tests.board.tools import entry_bytes, log_key, memory_log, source_of, submission, trust
from wire.errors import ProtocolError

EXAMPLES = int(os.environ.get("GOPA_FUZZ_EXAMPLES", "50"))


def archive_bytes() -> bytes:
    out = BytesIO()
    write_archive(LogReader.open(source_of(FILES), trust()), out)
    return out.getvalue()


def read_archive(data: bytes) -> bytes:
    list(ArchiveReader(BytesIO(data), trust()).entries())
    return data


def witness_request(data: bytes) -> bytes:
    found = read_request(data, {log_key().name: log_key()})
    return data if isinstance(found, WitnessAnswer) else found.request.to_bytes()


LOG, FILES = memory_log(3)
CHECKPOINT = FILES["checkpoint"]
RECEIPT = LOG.receipt(1)
REQUEST = AddCheckpoint(2, tuple(LOG.consistency_proof(2)), CHECKPOINT).to_bytes()

Parser = Callable[[bytes], bytes | None]


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=300), st.data())
def test_entries_are_decoded_as_the_codec_says(body: bytes, data: st.DataObject) -> None:
    """Entries have a quick decoder of their own: it takes and refuses the same bytes."""
    raw = bytearray(entry_bytes(7, body=body))
    assert Submission.decode(bytes(raw)).signed == SIGNED_ENTRY.decode(bytes(raw))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(raw)[: data.draw(st.integers(0, len(raw)) | st.just(len(raw)))]
    changed += data.draw(st.just(b"") | st.binary(max_size=3))

    def found(decode: Callable[[bytes], object]) -> object:
        try:
            return decode(changed)
        except ProtocolError as error:
            return type(error), str(error), error.args

    assert found(lambda raw: Submission.decode(raw).signed) == found(SIGNED_ENTRY.decode)


PARSERS: dict[str, tuple[bytes, Parser]] = {
    "note": (CHECKPOINT, lambda d: SignedNote.parse(d).to_bytes()),
    "checkpoint": (CHECKPOINT, lambda d: open_checkpoint(d, log_key()).to_bytes()),
    "text": (
        SignedNote.parse(CHECKPOINT).text.encode(),
        lambda d: Checkpoint.from_text(d.decode("latin-1")).to_text().encode("latin-1"),
    ),
    "vkey": (
        str(log_key()).encode(),
        lambda d: str(VerifierKey.parse(d.decode("latin-1"))).encode("latin-1"),
    ),
    "entry": (submission(0).raw, lambda d: SIGNED_ENTRY.encode(Submission.decode(d).signed)),
    "bundle": (encode_bundle([b"a", b"bc"]), lambda d: encode_bundle(decode_bundle(d, 2))),
    "tile": (bytes(64), lambda d: b"".join(decode_tile(d, 2))),
    "receipt": (RECEIPT, lambda d: Receipt.parse(d).to_bytes()),
    "policy": (trust().to_bytes(), lambda d: (TrustPolicy.parse(d), None)[1]),
    "problem": (problem_body(Refused(RefusalReason.BUSY)), lambda d: (parse_problem(d), None)[1]),
    "request": (REQUEST, lambda d: AddCheckpoint.parse(d).to_bytes()),
    "witness": (REQUEST, witness_request),
    "fork": (
        bytes(8),
        lambda d: (verify_fork(d, log_key()), FORK_EVIDENCE.encode(FORK_EVIDENCE.decode(d)))[1],
    ),
    "unproven": (
        UNPROVEN_PAIR.encode(UnprovenPair(CHECKPOINT, CHECKPOINT, b"path")),
        lambda d: (open_pair(d, log_key()), UNPROVEN_PAIR.encode(UNPROVEN_PAIR.decode(d)))[1],
    ),
    "archive": (archive_bytes(), read_archive),
    "path": (
        b"tile/0/x001/000.p/7",
        lambda d: getattr(parse_path(d.decode("latin-1")), "path", d.decode("latin-1")).encode(
            "latin-1"
        ),
    ),
}


def check(name: str, data: bytes) -> None:
    _, parse = PARSERS[name]
    try:
        again = parse(data)
    except ProtocolError:
        return
    assert again is None or again == data


@pytest.mark.parametrize("name", PARSERS)
def test_the_seed_parses(name: str) -> None:
    seed, parse = PARSERS[name]
    if name != "fork":
        assert parse(seed) in (None, seed)


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_changed_bytes(name: str, data: st.DataObject) -> None:
    changed = bytearray(PARSERS[name][0])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed)))
        stop = min(len(changed), start + data.draw(st.integers(0, 8)))
        changed[start:stop] = data.draw(st.binary(max_size=8))
    check(name, bytes(changed))


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(name: str, data: bytes) -> None:
    check(name, data)


@pytest.mark.soak
@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=20_000, deadline=None)
@given(data=st.data())
def test_many_changed_bytes(name: str, data: st.DataObject) -> None:
    changed = bytearray(PARSERS[name][0])
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(changed)))
        changed[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    check(name, bytes(changed))
