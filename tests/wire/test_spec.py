"""Specification 00 and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.wire.codec.formats import SAMPLE, SAMPLE_VALUE
from wire import domains, ed25519, errors
from wire.codec import describe

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
