"""What the standard asks of a witness, also for logs that are not ours."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import urllib3

from bulletin_board.note import (
    KeyKind,
    SignatureLine,
    SignedNote,
    VerifierKey,
    cosignature_time,
    encode_base64,
    sign_note,
    verify_note,
)
from bulletin_board.policy import TrustPolicy
from bulletin_board.tree import EMPTY_ROOT, leaf_hash
from bulletin_board.witness.judging import AddCheckpoint
from tests.board.live import LiveWitness, live_witness, witnessed
from tests.board.tools import ORIGIN, log_key, memory_log, signer
from wire.errors import InvalidProof, MalformedMessage

EXTENSION = "an extension line\n"


@dataclass(frozen=True)
class Said:
    status: int
    headers: list[str]
    body: bytes


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[LiveWitness]:
    with live_witness(tmp_path, 1) as found:
        yield found


def checkpoint(size: int, root: bytes, more: str = "") -> bytes:
    text = f"{ORIGIN}\n{size}\n{encode_base64(root)}\n{more}"
    return sign_note(text, signer()).to_bytes()


def add(witness: LiveWitness, old: int, note: bytes) -> Said:
    body = AddCheckpoint(old, (), note).to_bytes()
    answer = urllib3.request("POST", f"{witness.url}/add-checkpoint", body=body, retries=False)
    return Said(answer.status, answer.headers.getlist("Content-Type"), answer.data)


def shown(witness: LiveWitness, path: str) -> tuple[int, str]:
    answer = urllib3.request("GET", f"{witness.url}/{path}", retries=False)
    return answer.status, answer.data.decode()


def test_a_witness_says_how_far_it_is_and_whether_it_can_go_on(witness: LiveWitness) -> None:
    """Its operator is told of a full disk before the board's is."""
    _, files = memory_log(5)
    figures = "gopa_witness_cosigned_entries"
    assert shown(witness, "healthz") == (200, f"ok\nlog {ORIGIN} is cosigned up to 0 entries\n")
    assert add(witness, 0, files["checkpoint"]).status == 200
    assert add(witness, 0, files["checkpoint"]).status == 409
    assert shown(witness, "healthz") == (200, f"ok\nlog {ORIGIN} is cosigned up to 5 entries\n")
    status, page = shown(witness, "metrics")
    assert status == 200
    assert f'{figures}{{log="{ORIGIN}"}} 5' in page
    counts = 'gopa_witness_requests_total{outcome="%s"} %d'
    for outcome, count in (("cosigned", 1), ("refused", 1), ("failed", 0)):
        assert counts % (outcome, count) in page
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        assert add(witness, 5, files["checkpoint"]).status == 503
        status, said = shown(witness, "healthz")
        assert (status, said.startswith("ok")) == (503, False)
        assert "gopa_witness_healthy 0" in shown(witness, "metrics")[1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert shown(witness, "healthz")[0] == 200  # nobody has to ask for a cosignature first
    assert "gopa_witness_healthy 1" in shown(witness, "metrics")[1]


def test_a_conflict_has_exactly_the_media_type_of_a_size(witness: LiveWitness) -> None:
    """Clients compare it as a whole: a charset behind it is another type to them."""
    _, files = memory_log(5)
    good = add(witness, 0, files["checkpoint"])
    assert (good.status, good.headers) == (200, ["text/plain; charset=utf-8"])
    again = add(witness, 0, files["checkpoint"])
    assert again == Said(409, ["text/x.tlog.size"], b"5\n")


def test_another_root_at_the_same_size_is_no_hint_to_ask_again(witness: LiveWitness) -> None:
    one = leaf_hash(b"one")
    assert add(witness, 0, checkpoint(1, one)).status == 200
    assert add(witness, 1, checkpoint(1, one)).status == 200
    other = add(witness, 1, checkpoint(1, leaf_hash(b"two")))
    assert (other.status, other.body) == (409, b"1\n")
    assert other.headers != ["text/x.tlog.size"]


def test_an_empty_log_has_one_root(witness: LiveWitness) -> None:
    wrong = add(witness, 0, checkpoint(0, leaf_hash(b"")))
    assert wrong.status == 422
    assert add(witness, 0, checkpoint(0, EMPTY_ROOT)).status == 200
    assert add(witness, 0, checkpoint(1, leaf_hash(b""))).status == 200


def test_extension_lines_are_cosigned_and_not_read(witness: LiveWitness) -> None:
    one, two = checkpoint(1, leaf_hash(b"one"), EXTENSION), checkpoint(1, leaf_hash(b"one"))
    done = add(witness, 0, one)
    assert done.status == 200
    key = signer("witness.example/1", KeyKind.WITNESS).verifier
    assert len(verify_note(SignedNote.parse(one + done.body), [key])) == 1
    assert add(witness, 0, one) == Said(409, ["text/x.tlog.size"], b"1\n")
    assert add(witness, 1, two).status == 200
    assert add(witness, 1, checkpoint(1, leaf_hash(b"one"), f"{EXTENSION}\n")).status == 400


def test_a_board_has_no_extension_lines() -> None:
    trusted = TrustPolicy.single_log(log_key())
    assert trusted.open(checkpoint(1, leaf_hash(b"one"))).size == 1
    with pytest.raises(MalformedMessage):
        trusted.open(checkpoint(1, leaf_hash(b"one"), EXTENSION))


def test_keys_of_ml_dsa_are_refused_by_name() -> None:
    known = log_key()
    assert VerifierKey.parse(str(known)) == known
    text = f"w.example+01234567+{encode_base64(bytes([6]) + bytes(1_312))}"
    with pytest.raises(MalformedMessage) as caught:
        VerifierKey.parse(text)
    assert caught.value.field == "ML-DSA-44 vkey"


def test_cosignatures_of_ml_dsa_are_lines_of_strangers(witness: LiveWitness) -> None:
    """A witness may have two keys under one name and sign with both: the other one counts."""
    note = checkpoint(1, leaf_hash(b"one"))
    line = add(witness, 0, note).body
    other = SignatureLine("witness.example/1", b"\x12\x34\x56\x78", bytes(8) + bytes(2_420))
    trusted = witnessed(1, witness)
    for lines in (line, line + str(other).encode(), str(other).encode() + line):
        signed = trusted.open(note + lines)
        assert len(trusted.cosignatures(signed)) == 1
        assert trusted.cosignatures(signed)[0].time == cosignature_time(
            SignedNote.parse(note + line).signatures[1].signature
        )
    with pytest.raises(InvalidProof):
        trusted.open(note + str(other).encode())
