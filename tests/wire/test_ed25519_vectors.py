"""One accept set: every external vector, through every path that verifies a signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import nacl.bindings
import nacl.exceptions
import pytest
from cryptography import exceptions
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.external import vectors
from tests.wire import edwards
from wire.ed25519 import PublicKey, SignatureClaim, verify, verify_many
from wire.errors import InvalidSignature, MalformedMessage


class Vector(NamedTuple):
    id: int
    key: bytes
    message: bytes
    signature: bytes


class AcceptSet(NamedTuple):
    size: int
    digest: str
    """SHA-256 of the accepted ids, in decimal, joined by commas."""


def cctv() -> list[Vector]:
    listed = json.loads(vectors("ed25519/cctv.json").read_text())
    return [
        Vector(v["number"], bytes.fromhex(v["key"]), v["msg"].encode(), bytes.fromhex(v["sig"]))
        for v in listed
    ]


def wycheproof() -> list[Vector]:
    groups = json.loads(vectors("ed25519/wycheproof.json").read_text())["testGroups"]
    return [
        Vector(
            case["tcId"],
            bytes.fromhex(group["publicKey"]["pk"]),
            bytes.fromhex(case["msg"]),
            bytes.fromhex(case["sig"]),
        )
        for group in groups
        for case in group["tests"]
    ]


def by_verify(vector: Vector) -> bool:
    try:
        verify(PublicKey(vector.key), vector.message, vector.signature)
    except (MalformedMessage, InvalidSignature):
        return False
    return True


def by_cryptography_alone(vector: Vector) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(vector.key)
        key.verify(vector.signature, vector.message)
    except exceptions.InvalidSignature:
        return False
    return True


def by_pynacl_alone(vector: Vector) -> bool:
    if len(vector.signature) != 64:
        return False
    try:
        nacl.bindings.crypto_sign_open(vector.signature + vector.message, vector.key)
    except nacl.exceptions.BadSignatureError:
        return False
    return True


def passes_the_checks_before_the_library(vector: Vector) -> bool:
    try:
        verify(PublicKey(vector.key), vector.message, vector.signature)
    except MalformedMessage:
        return False
    except InvalidSignature as error:
        return error.check == "00-E8"
    return True


def by_pynacl_after_the_checks(vector: Vector) -> bool:
    return passes_the_checks_before_the_library(vector) and by_pynacl_alone(vector)


def by_oracle(vector: Vector) -> bool:
    return edwards.accepts(vector.key, vector.message, vector.signature)


def by_batches(listed: list[Vector], workers: int) -> list[int]:
    """Keys that are no keys fall out first; then one call for all the others."""
    items: dict[int, SignatureClaim] = {}
    for vector in listed:
        try:
            items[vector.id] = SignatureClaim(
                PublicKey(vector.key), vector.message, vector.signature
            )
        except MalformedMessage:
            continue
    ids = list(items)
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        with pytest.raises(InvalidSignature) as caught:
            verify_many(items.values(), pool if workers else None)
        accepted = [i for n, i in enumerate(ids) if n not in caught.value.culprits]
        verify_many((items[i] for i in accepted), pool if workers else None)
    return accepted


SETS = {
    "cctv": (
        cctv,
        914,
        AcceptSet(43, "36521713b91ca5d28544f38cd646b5494f5911399bfe4635a8bf2f2a88f13bcf"),
    ),
    "wycheproof": (
        wycheproof,
        151,
        AcceptSet(88, "943247c35454b68b8e9dfc27a2be013200e204b9bacf3cc47a95a6bc15fd4fd1"),
    ),
}
PATHS = [by_verify, by_pynacl_after_the_checks, pytest.param(by_oracle, marks=pytest.mark.soak)]


def summary(accepted: list[int]) -> AcceptSet:
    joined = ",".join(map(str, accepted))
    return AcceptSet(len(accepted), hashlib.sha256(joined.encode()).hexdigest())


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("path", PATHS)
def test_every_single_path_accepts_the_same_set(name: str, path: Callable[[Vector], bool]) -> None:
    load, total, expected = SETS[name]
    listed = load()
    assert len(listed) == total
    assert summary([vector.id for vector in listed if path(vector)]) == expected


@pytest.mark.parametrize("name", SETS)
def test_the_oracle_accepts_the_same_of_some(name: str) -> None:
    load, _, _ = SETS[name]
    listed = load()[::15]
    accepted = [by_verify(vector) for vector in listed]
    assert [by_oracle(vector) for vector in listed] == accepted
    assert set(accepted) == {True, False}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_accept_the_same_set(name: str, workers: int) -> None:
    load, _, expected = SETS[name]
    assert summary(by_batches(load(), workers)) == expected


def test_the_valid_and_invalid_marks_of_wycheproof_are_met() -> None:
    groups = json.loads(vectors("ed25519/wycheproof.json").read_text())["testGroups"]
    valid = [c["tcId"] for group in groups for c in group["tests"] if c["result"] == "valid"]
    assert [vector.id for vector in wycheproof() if by_verify(vector)] == valid


def test_without_the_checks_the_libraries_disagree() -> None:
    """Why the checks exist: two auditors with two libraries would see two logs."""
    disputed = [v for v in cctv() if by_cryptography_alone(v) != by_pynacl_alone(v)]
    assert len(disputed) == 165
    assert not any(map(by_verify, disputed))
