"""Specification 05, its vectors and the code say the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.archive import HEADER, ArchiveReader, write_archive
from bulletin_board.client.forks import (
    FORK_EVIDENCE,
    UNPROVEN_PAIR,
    UnprovenPair,
    open_pair,
    verify_fork,
)
from bulletin_board.entry import (
    LARGEST_ENTRY,
    SIGNED_ENTRY,
    Entry,
    Submission,
    sign_entry,
    verify_entry,
)
from bulletin_board.fsck import fsck
from bulletin_board.note import Checkpoint, SignedNote, VerifierKey, open_checkpoint, parse_decimal
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.tree import (
    decode_bundle,
    decode_tile,
    encode_bundle,
    leaf_hash,
    parse_path,
    truncate_bundle,
    verify_consistency,
)
from bulletin_board.witness.judging import AddCheckpoint, WitnessAnswer, read_request
from tests.board.board_vectors import records
from tests.board.tools import (
    entry_bytes,
    log_key,
    memory_log,
    party,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from wire.codec import describe
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, ProtocolError, UsageError

SPECS = Path(__file__).resolve().parents[2] / "specs"
SPEC = (SPECS / "05-bulletin-board.md").read_text()
VECTORS = json.loads((SPECS / "vectors" / "board.json").read_text())
CODE = Path(__file__).resolve().parents[2] / "bulletin_board"


def block(name: str) -> str:
    (found,) = re.findall(rf"^```tls {name}\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_printed_formats_are_those_that_run() -> None:
    assert block("entry") == describe(SIGNED_ENTRY)
    assert block("header") == describe(HEADER)
    assert block("fork") == describe(FORK_EVIDENCE)
    assert block("unproven") == describe(UNPROVEN_PAIR)


def test_every_cited_rule_is_in_the_specification() -> None:
    cited = set()
    for path in CODE.rglob("*.py"):
        cited |= set(re.findall(r"05-([A-Z]\d+)", path.read_text()))
    assert len(cited) > 12
    assert cited <= set(re.findall(r"\*\*\[([A-Z]\d+)\]\*\*", SPEC))


def test_the_vectors_are_up_to_date() -> None:
    assert records() == VECTORS


def test_the_vectors_verify() -> None:
    log = VerifierKey.parse(VECTORS["log"])
    files = {path: bytes.fromhex(data) for path, data in VECTORS["files"].items()}
    fsck(source_of(files), trust(), signatures=True)
    signed = open_checkpoint(files["checkpoint"], log)
    entries = [bytes.fromhex(raw) for raw in VECTORS["entries"]]
    for raw, leaf, text in zip(entries, VECTORS["leaves"], VECTORS["receipts"], strict=True):
        assert leaf_hash(raw).hex() == leaf
        verify_receipt(Receipt.parse(text.encode()), raw, log)
    roots = [open_checkpoint(memory_log(n)[1]["checkpoint"], log).root for n in range(1, 8)]
    for older, proof in VECTORS["consistency"].items():
        hashes = [bytes.fromhex(item) for item in proof]
        verify_consistency(int(older), 7, hashes, roots[int(older) - 1], signed.root)
    verify_fork(bytes.fromhex(VECTORS["fork"]), log)
    older, newer = open_pair(bytes.fromhex(VECTORS["unproven"]), log)
    assert (older.size, newer.size) == (3, 7)


@pytest.mark.parametrize("name", VECTORS["rejected_checkpoints"])
def test_rejected_checkpoints(name: str) -> None:
    log = VerifierKey.parse(VECTORS["log"])
    open_checkpoint(bytes.fromhex(VECTORS["files"]["checkpoint"]), log)
    with pytest.raises(ProtocolError):
        open_checkpoint(VECTORS["rejected_checkpoints"][name].encode(), log)


# Entries


def test_an_entry_round_trips() -> None:
    raw = entry_bytes(3, body=b"body")
    found = Submission.decode(raw)
    verify_entry(found)
    assert SIGNED_ENTRY.encode(found.signed) == raw
    assert found.entry.slot == (found.entry.session, party().public.data, 1, 0, 3)


def test_every_bit_of_an_entry_counts() -> None:
    raw = entry_bytes(3, body=b"b")
    verify_entry(Submission.decode(raw))
    for position in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises((MalformedMessage, InvalidSignature)):
            verify_entry(Submission.decode(bytes(flipped)))


@pytest.mark.parametrize("change", [lambda d: d + b"\0", lambda d: d[:-1], lambda d: d[:0]])
def test_one_byte_more_or_less(change: object) -> None:
    assert callable(change)
    raw = entry_bytes(0)
    Submission.decode(raw)
    with pytest.raises(MalformedMessage):
        Submission.decode(change(raw))


def test_an_entry_of_another_role_or_author_is_refused() -> None:
    found = Submission.decode(entry_bytes(0))
    with pytest.raises(UsageError):
        sign_entry(found.entry, party(1))
    naked = party().sign(found.raw[:-64])
    with pytest.raises(InvalidSignature):
        verify_entry(Submission.decode(found.raw[:-64] + naked))


def test_values_that_no_entry_has() -> None:
    entry = submission(0).entry
    values = {name: getattr(entry, name) for name in Entry.__slots__}
    for name, bad in (("version", 2), ("chunk", 1), ("chunks", 0)):
        with pytest.raises(UsageError):
            Entry(**(values | {name: bad}))
    small_order = bytes(32)
    raw = submission(0).raw.replace(party().public.data, small_order)
    with pytest.raises(MalformedMessage):
        Submission.decode(raw)
    assert LARGEST_ENTRY == 60_216


# Receipts, bundles, tiles


def test_a_receipt_has_one_form() -> None:
    log, _ = memory_log(5)
    good = log.receipt(3)
    assert Receipt.parse(good).to_bytes() == good
    head, _, checkpoint = good.partition(b"\n\n")
    header, index, *proof = head.split(b"\n")
    most = Receipt(0, (bytes(32),) * 63, b"checkpoint")
    assert Receipt.parse(most.to_bytes()) == most
    for lines in (
        [b"c2sp.org/tlog-proof@v2", index, *proof],
        [header],
        [header, *proof],
        [header, b"index 03", *proof],
        [header, b"extra AAAA", index, *proof],
        [header, index, b"extra AAAA", *proof],
        [header, index, proof[0][:-4], *proof[1:]],
        [header, index, *[proof[0]] * 64],
        [header, index + b"\xff", *proof],
    ):
        with pytest.raises(MalformedMessage):
            Receipt.parse(b"\n".join(lines) + b"\n\n" + checkpoint)
    with pytest.raises(MalformedMessage):
        Receipt.parse(head + b"\n" + checkpoint.replace(b"\n\n", b"\n"))


def test_a_receipt_is_about_one_entry_at_one_place() -> None:
    log, _ = memory_log(5)
    receipt = Receipt.parse(log.receipt(3))
    key, raw = trust().log.key, submissions(1, 3)[0].raw
    assert verify_receipt(receipt, raw, key).index == 3
    for bad in (replace(receipt, index=2), replace(receipt, proof=receipt.proof[::-1])):
        with pytest.raises(InvalidProof):
            verify_receipt(bad, raw, key)
    with pytest.raises(InvalidProof):
        verify_receipt(receipt, submissions(1, 2)[0].raw, key)
    with pytest.raises(InvalidSignature):
        verify_receipt(receipt, raw, signer("other.example/log").verifier)


def test_a_bundle_has_exactly_its_entries() -> None:
    good = encode_bundle([b"ab", b"", b"c"])
    assert decode_bundle(good, 3) == [b"ab", b"", b"c"]
    assert decode_bundle(encode_bundle([bytes(65_535)]), 1) == [bytes(65_535)]
    for data, width in ((good, 2), (good, 4), (good[:-1], 3), (good + b"\0", 3), (good[:1], 1)):
        with pytest.raises(MalformedMessage):
            decode_bundle(data, width)
    with pytest.raises(UsageError):
        encode_bundle([bytes(65_536)])
    assert truncate_bundle(good, 2) == encode_bundle([b"ab", b""])
    assert truncate_bundle(good, 3) == good
    for short in (good[:-1], good[:3]):
        with pytest.raises(MalformedMessage):
            truncate_bundle(short, 3)


def test_a_tile_has_exactly_its_hashes() -> None:
    assert decode_tile(bytes(64), 2) == (bytes(32), bytes(32))
    for data in (bytes(63), bytes(65), bytes(32), bytes(96), b""):
        with pytest.raises(MalformedMessage):
            decode_tile(data, 2)


def test_numbers_below_two_to_the_63() -> None:
    assert parse_decimal(str(2**63 - 1), "x") == 2**63 - 1
    assert parse_decimal("0", "x") == 0
    for bad in (str(2**63), "9" * 19, "1" * 20, "-1", "", " 1", "1 ", "\u0661", "1_0"):
        with pytest.raises(MalformedMessage):
            parse_decimal(bad, "x")


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


def check_changed(name: str, data: st.DataObject) -> None:
    changed = bytearray(PARSERS[name][0])
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(changed)))
        changed[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    check(name, bytes(changed))


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_changed_bytes(name: str, data: st.DataObject) -> None:
    check_changed(name, data)


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
    check_changed(name, data)
