"""Specification 05, its vectors and the code say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bulletin_board.archive import HEADER
from bulletin_board.client.forks import FORK_EVIDENCE, verify_fork
from bulletin_board.entry import (
    LARGEST_ENTRY,
    SIGNED_ENTRY,
    Entry,
    Submission,
    sign_entry,
    verify_entry,
)
from bulletin_board.fsck import fsck
from bulletin_board.note import VerifierKey, open_checkpoint
from bulletin_board.proof import Receipt, verify_receipt
from bulletin_board.tree import leaf_hash, verify_consistency
from tests.board.board_vectors import records
from tests.board.tools import entry_bytes, memory_log, party, source_of, submission, trust
from wire.codec import describe
from wire.errors import InvalidSignature, MalformedMessage, ProtocolError, UsageError

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
