"""All randomness of a step follows from the round secret and what the party was told ([R1])."""

from __future__ import annotations

import hashlib

import pytest

from gopa.sessions import stepped_party
from gopa.sessions.stepped_party import START, StepRng, extend
from gopa.support.version import VERSION
from wire.errors import UsageError
from wire.secret import SecretBytes

SECRET = SecretBytes(b"\x07" * 32)
SIZES = [1, 32, 0, 64, 1000, 5000, 7, 100_000]


def stream(secret: SecretBytes, chain: bytes, sizes: list[int]) -> list[bytes]:
    made = StepRng()
    made.begin(secret, chain)
    return [made(size) for size in sizes]


def test_it_is_the_stream_of_the_specification() -> None:
    chain = hashlib.sha256(hashlib.sha256(bytes(32) + b"first").digest() + b"second").digest()
    assert extend(extend(START, [b"fir", b"st"]), [b"second"]) == chain
    version = VERSION.encode()
    seed = b"gopa/v1/sessions/chance" + b"\x07" * 32 + bytes([len(version)]) + version + chain
    whole = hashlib.shake_256(seed).digest(sum(SIZES))
    parts = stream(SECRET, chain, SIZES)
    assert [len(part) for part in parts] == SIZES
    assert b"".join(parts) == whole


def test_secret_chain_and_version_all_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    one = stream(SECRET, START, [32])
    assert stream(SECRET, START, [32]) == one
    assert stream(SecretBytes(b"\x08" * 32), START, [32]) != one
    assert stream(SECRET, extend(START, []), [32]) != one
    monkeypatch.setattr(stepped_party, "VERSION", VERSION + "0")
    assert stream(SECRET, START, [32]) != one


def test_there_is_none_between_steps() -> None:
    made = StepRng()
    with pytest.raises(UsageError):
        made(1)
    made.begin(SECRET, START)
    first = made(16)
    made.end()
    with pytest.raises(UsageError):
        made(1)
    made.begin(SECRET, START)
    assert made(16) == first
    assert repr(made) == "<StepRng: secret>"
