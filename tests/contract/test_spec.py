"""Specification 04, its vectors and the code say the same."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from gopa.contract.bodies import BODIES, BODIES_OF_ROWS, bodies_of
from gopa.contract.manifest import MANIFEST, Path, session_id
from gopa.contract.phases import Kind, Phase
from tests.contract.messages_vectors import records
from wire.codec import Codec, enumeration, u8
from wire.errors import MalformedMessage

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = (ROOT / "specs" / "04-protocol.md").read_text()
LONG = (ROOT / "specs" / "14-long-vectors.md").read_text()
VECTORS = json.loads((ROOT / "specs" / "vectors" / "messages.json").read_text())
ELSEWHERE = {
    "03-privacy.md": {"GaussianTable", "NoNoise", "WeightRun", "WeightedBits"},
    "09-beacon.md": {"Scheme", "DrandChain"},
}


def printed() -> list[str]:
    """Every definition in the text, in order."""
    texts = f"{SPEC}\n{LONG}"
    blocks = re.findall(r"^```tls \w+\n(.*?)\n```$", texts, re.MULTILINE | re.DOTALL)
    return [definition for block in blocks for definition in block.split("\n\n")]


def running() -> dict[str, str]:
    """Every definition in the code."""
    found: dict[str, str] = {}
    bodies = [*BODIES.values(), *BODIES_OF_ROWS.values()]
    codecs: list[Codec[Any]] = [enumeration(Kind, u8), enumeration(Phase, u8), *bodies]
    for codec in codecs:
        for name, text in codec.definitions():
            assert found.setdefault(name, text) == text
    return found


def test_the_printed_formats_are_those_that_run() -> None:
    expected = running()
    for page, names in ELSEWHERE.items():
        text = (ROOT / "specs" / page).read_text()
        for name in names:
            assert f"}} {name};" in text
            del expected[name]
    assert sorted(printed()) == sorted(expected.values())


def rules() -> list[str]:
    return re.findall(r"\*\*\[([A-Z]\d+)\]\*\*", SPEC)


def test_rules_are_numbered_without_gaps() -> None:
    found = rules()
    assert len(set(found)) == len(found) > 60
    for letter in {rule[0] for rule in found}:
        numbers = sorted(int(rule[1:]) for rule in found if rule[0] == letter)
        assert numbers == list(range(1, len(numbers) + 1)), letter


def test_every_cited_rule_is_in_the_specification() -> None:
    cited = set()
    for path in (ROOT / "gopa").rglob("*.py"):
        cited |= set(re.findall(r"\b04-([A-Z]\d+)", path.read_text()))
    for path in (ROOT / "gopa" / "contract").glob("*.py"):
        cited |= set(re.findall(r"\[([A-Z]\d+)\]", path.read_text()))
    assert {"S2", "E1"} <= cited
    assert cited <= set(rules())


def test_the_vectors_are_up_to_date() -> None:
    assert records() == VECTORS


def codec_of(record: dict[str, str]) -> Codec[Any]:
    return bodies_of(Path[record.get("path", "bits").upper()])[Kind[record["kind"].upper()]]


@pytest.mark.parametrize("record", VECTORS["messages"], ids=lambda record: record["name"])
def test_published_messages_decode(record: dict[str, str]) -> None:
    codec, body = codec_of(record), bytes.fromhex(record["body"])
    assert codec.encode(codec.decode(body)) == body
    if record["kind"] == "manifest":
        session = VECTORS["sessions"][record["name"]]
        assert session_id(body).hex() == session
        assert MANIFEST.decode(body).session.hex() == session


@pytest.mark.parametrize("record", VECTORS["refused"], ids=lambda record: record["name"])
def test_published_damage_is_refused(record: dict[str, str]) -> None:
    (base,) = (each for each in VECTORS["messages"] if each["name"] == record["base"])
    codec = codec_of(record)
    codec.decode(bytes.fromhex(base["body"]))
    with pytest.raises(MalformedMessage):
        codec.decode(bytes.fromhex(record["body"]))
