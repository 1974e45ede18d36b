"""Domain labels, the encoding before authentication, and specification 00."""

from __future__ import annotations

import ast
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.codec.formats import SAMPLE, SAMPLE_VALUE
from wire import domains, ed25519, errors
from wire.codec import describe
from wire.domains import ENTRY_PAYLOAD_TYPE, Domain, stream_domain
from wire.ed25519 import pre_auth_encoding
from wire.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["wire", "commitments", "zkp", "bulletin_board", "gopa"]
SHAPE = re.compile(rb"gopa/v1/[a-z-]+/[a-z0-9-]+")
LABELS = {name: Domain(value) for name, value in vars(domains).items() if isinstance(value, bytes)}


def test_the_labels_used_so_far_are_here() -> None:
    assert {"TRANSCRIPT", "BATCH_WEIGHTS", "PROVER_NONCES", "GENERATORS", "TEST_STREAMS"} <= set(
        LABELS
    )


def test_labels_have_one_shape() -> None:
    assert LABELS
    assert [name for name in LABELS if not name.isupper()] == []
    assert [label for label in LABELS.values() if not SHAPE.fullmatch(label)] == []


def collisions(labels: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(a, b) for a, b in permutations(labels, 2) if b.startswith(a)]


def test_no_label_is_a_prefix_of_another() -> None:
    assert collisions([b"gopa/v1/a/x", b"gopa/v1/a/xy"])
    assert collisions([b"gopa/v1/a/x", b"gopa/v1/a/x"])
    assert collisions(list(LABELS.values())) == []


def test_stream_domains_are_distinct_and_fit_a_nonce() -> None:
    short = {stream_domain(label) for label in LABELS.values()}
    assert len(short) == len(LABELS)
    assert {len(nonce) for nonce in short} == {domains.STREAM_DOMAIN_SIZE}


def label_literals(source: str) -> list[bytes]:
    literals = (
        node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)
    )
    return [value for value in literals if isinstance(value, bytes) and value.startswith(b"gopa/")]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_label_is_written_elsewhere(package: str) -> None:
    assert label_literals('x = b"gopa/v1/zkp/own"') == [b"gopa/v1/zkp/own"]
    written = {path: label_literals(path.read_text()) for path in (ROOT / package).rglob("*.py")}
    assert bool(written.pop(Path(domains.__file__), None)) == (package == "wire")
    assert {path: found for path, found in written.items() if found} == {}
    assert written


VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


@pytest.mark.parametrize(
    ("payload_type", "payload", "encoding"),
    [
        ("t", b"", b"DSSEv1 1 t 0 "),
        ("a/b", b"x y z", b"DSSEv1 3 a/b 5 x y z"),
        ("a/b", b"\x00\xff\n", b"DSSEv1 3 a/b 3 \x00\xff\n"),
        ("t" * 255, bytes(1234), b"DSSEv1 255 " + b"t" * 255 + b" 1234 " + bytes(1234)),
    ],
)
def test_known_encodings(payload_type: str, payload: bytes, encoding: bytes) -> None:
    assert pre_auth_encoding(payload_type, payload) == encoding


def take_sized(data: bytes) -> tuple[bytes, bytes]:
    size, rest = data.split(b" ", 1)
    return rest[: int(size)], rest[int(size) :]


@given(st.text(VISIBLE, min_size=1, max_size=40), st.binary(max_size=60))
def test_type_and_payload_can_be_read_back(payload_type: str, payload: bytes) -> None:
    version, rest = pre_auth_encoding(payload_type, payload).split(b" ", 1)
    first, rest = take_sized(rest)
    assert rest[:1] == b" "
    second, rest = take_sized(rest[1:])
    assert (version, first, second, rest) == (b"DSSEv1", payload_type.encode(), payload, b"")


def test_no_payload_imitates_another_type() -> None:
    encodings = {
        pre_auth_encoding("a", b"bc"),
        pre_auth_encoding("ab", b"c"),
        pre_auth_encoding("a", b"bc 1 c"),
        pre_auth_encoding("a", pre_auth_encoding("ab", b"c")),
    }
    assert len(encodings) == 4


@pytest.mark.parametrize(
    "payload_type",
    ["", "t" * 256, "a b", "a\n", "a\0", "a\x7f", "\N{KELVIN SIGN}", "é", b"bytes", None, 5, ["a"]],
)
def test_types_that_are_refused(payload_type: Any) -> None:
    pre_auth_encoding(VISIBLE, b"")
    with pytest.raises(UsageError):
        pre_auth_encoding(payload_type, b"")


@pytest.mark.parametrize("payload", ["text", bytearray(b"b"), memoryview(b"m"), None, 5])
def test_payloads_that_are_refused(payload: Any) -> None:
    pre_auth_encoding("t", b"")
    with pytest.raises(UsageError):
        pre_auth_encoding("t", payload)


def test_the_payload_type_of_entries_can_be_used() -> None:
    assert ENTRY_PAYLOAD_TYPE.encode() in pre_auth_encoding(ENTRY_PAYLOAD_TYPE, b"")


SPEC = (Path(__file__).resolve().parents[2] / "specs" / "00-wire.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_printed_format_is_the_one_that_runs() -> None:
    assert block("tls") == describe(SAMPLE)


def test_the_printed_bytes_are_the_encoding() -> None:
    assert bytes.fromhex(block("hex")) == SAMPLE.encode(SAMPLE_VALUE)


@pytest.mark.parametrize("letter", "CEPDX")
def test_rules_are_numbered_without_gaps(letter: str) -> None:
    numbers = [int(number) for number in re.findall(rf"\*\*\[{letter}(\d+)\]\*\*", SPEC)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


def test_every_error_is_explained() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    names = {cls.__name__ for cls in classes if issubclass(cls, errors.GopaError)}
    assert names - {"GopaError"} == set(re.findall(r"^\| `(\w+)` \|", SPEC, re.MULTILINE))


def test_constants() -> None:
    assert f"L = 2^252 + {ed25519._ORDER - 2**252}" in SPEC
    assert f"first {domains.STREAM_DOMAIN_SIZE} bytes of its SHA-256" in SPEC
