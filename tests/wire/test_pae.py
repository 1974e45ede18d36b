"""The pre-authentication encoding: exact bytes, and no two inputs with the same ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import pre_auth_encoding
from wire.errors import UsageError

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
