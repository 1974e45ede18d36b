"""Every message has one encoding, and nothing else decodes to it."""

from __future__ import annotations

import json
import pathlib
import re
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.contract.bodies import BODIES, BODIES_OF_ROWS, bodies_of, widest_body
from gopa.contract.manifest import MANIFEST, Path, session_id
from gopa.contract.organiser import (
    CLOSE,
    RESULT,
    Close,
    Coins,
    Members,
    Roll,
    pack_members,
    unpack_members,
)
from gopa.contract.party import COMMIT, OPENING, PUBLISH
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.contract.rows import PROVE, ROW_JOIN, ROW_PUBLISH
from tests.contract.messages_vectors import records
from tests.contract.samples import MESSAGES, ROLL, ROW_MESSAGES, h, manifests
from tests.pace import examples
from wire.codec import Codec, RecordCodec, enumeration, u8
from wire.codec.scalars import Boolean, Enumeration, Integer, Select
from wire.codec.sequences import Fixed, Opaque, VectorCodec
from wire.errors import MalformedMessage, UsageError

SAMPLES: dict[str, tuple[Codec[Any], Any]] = {
    **{name: (BODIES[kind], message) for name, (kind, message) in MESSAGES.items()},
    **{name: (BODIES_OF_ROWS[kind], message) for name, (kind, message) in ROW_MESSAGES.items()},
    **{f"manifest {name}": (BODIES[Kind.MANIFEST], each) for name, each in manifests().items()},
}


samples = pytest.mark.parametrize("name", SAMPLES)


def test_every_kind_has_a_codec_and_a_sample() -> None:
    assert set(BODIES) == set(Kind)
    assert {kind for kind, _ in MESSAGES.values()} | {Kind.MANIFEST} == set(Kind)
    of_organiser = {Kind.MANIFEST, Kind.OPEN, Kind.CLOSE, Kind.RESULT, Kind.ABORT}
    assert set(KIND_IN.values()) | of_organiser == set(Kind)
    assert set(KIND_IN) | {Phase.ORGANISER} == set(Phase)


@samples
def test_round_trips(name: str) -> None:
    codec, message = SAMPLES[name]
    data = codec.encode(message)
    assert codec.decode(data) == message
    assert codec.min_size <= len(data) <= codec.max_size


@samples
def test_one_byte_more_or_less(name: str) -> None:
    codec, message = SAMPLES[name]
    data = codec.encode(message)
    assert codec.decode(data) == message
    for changed in (data[:-1], data[1:], data + b"\0", b"\0" + data, b"", data + data):
        with pytest.raises(MalformedMessage):
            codec.decode(changed)


@samples
def test_every_prefix_is_refused(name: str) -> None:
    codec, message = SAMPLES[name]
    data = codec.encode(message)
    assert codec.decode(data) == message
    for length in range(len(data)):
        with pytest.raises(MalformedMessage):
            codec.decode(data[:length])


@pytest.mark.thirds
@samples
def test_every_bit_counts(name: str) -> None:
    """A flipped bit is refused, or it is another message with exactly this encoding."""
    codec, message = SAMPLES[name]
    data = codec.encode(message)
    refused = 0
    for bit in range(0, 8 * len(data), 7 if name.startswith("manifest") else 1):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            found = codec.decode(bytes(flipped))
        except MalformedMessage:
            refused += 1
            continue
        assert found != message
        assert codec.encode(found) == bytes(flipped)
    fixed_length = codec.min_size == codec.max_size and not name.startswith("manifest")
    assert refused > 0 or fixed_length


def values_of(codec: Codec[Any]) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one for each kind
    """Random values of a codec, of a length that a test can afford."""
    match codec:
        case Integer():
            return st.integers(codec._low, codec._high)
        case Boolean():
            return st.booleans()
        case Enumeration():
            return st.sampled_from(codec.members)
        case Fixed():
            drawn = min(codec._size, 64)  # nothing looks at single bytes of a long field
            rest = bytes(codec._size - drawn)
            return st.binary(min_size=drawn, max_size=drawn).map(lambda data: data + rest)
        case Opaque():
            most = min(codec._maximum, codec._minimum + 70)
            return st.binary(min_size=codec._minimum, max_size=most)
        case VectorCodec():
            least = codec._minimum
            items = st.lists(values_of(codec._item), min_size=least, max_size=least + 3)
            return items.map(tuple)
        case Select():
            return st.one_of([record_values(case.body) for case in codec._cases])
        case RecordCodec():
            return record_values(codec)
    raise AssertionError(type(codec))


def record_values(codec: Any) -> st.SearchStrategy[Any]:
    fields = {name: values_of(inner) for name, inner in codec.codecs.items()}
    if codec.cls is Close:
        fields["phase"] = st.sampled_from(sorted(set(Phase) - {Phase.ORGANISER, Phase.ACCUSE}))
        return st.fixed_dictionaries(fields).filter(_closes).map(lambda given: Close(**given))
    return st.builds(codec.cls, **fields)


def _closes(given: dict[str, Any]) -> bool:
    wanted = {Phase.JOIN: Roll, Phase.COINS: Coins}.get(given["phase"], Members)
    return type(given["content"]) is wanted


LONG = {name: BODIES_OF_ROWS[kind] for name, (kind, _) in ROW_MESSAGES.items()}


PLAIN = {kind.name.lower(): BODIES[kind] for kind in Kind if kind is not Kind.MANIFEST} | LONG


@pytest.mark.parametrize("name", PLAIN)
def test_any_message_round_trips(name: str) -> None:
    codec = PLAIN[name]

    @given(values_of(codec))
    @settings(max_examples=examples(60), deadline=None)
    def run(message: Any) -> None:
        data = codec.encode(message)
        assert codec.decode(data) == message
        assert codec.encode(codec.decode(data)) == data

    run()


@pytest.mark.parametrize("name", PLAIN)
def test_any_bytes_decode_to_what_encodes_to_them(name: str) -> None:
    codec = PLAIN[name]
    sample = next(codec.encode(m) for known, m in SAMPLES.values() if known is codec)

    @given(st.integers(0, len(sample)), st.binary(max_size=40))
    @settings(max_examples=examples(100), deadline=None)
    def run(kept: int, rest: bytes) -> None:
        data = sample[:kept] + rest
        try:
            found = codec.decode(data)
        except MalformedMessage:
            return
        assert codec.encode(found) == data

    run()


HUGE = b"\xff\xff\xff\xff"


LENGTHS: dict[str, tuple[Codec[Any], bytes]] = {
    "edges of a commit": (COMMIT, h(1) + HUGE),
    "rows of a join": (ROW_JOIN, bytes(32 + 32 + 64 + 1) + HUGE),
    "words of rows": (ROW_PUBLISH, h(1) + HUGE),
    "edges of a prove": (PROVE, h(1) + HUGE),
    "value of a publish": (PUBLISH, h(1) + HUGE),
    "edges of an opening": (OPENING, h(1) + HUGE),
    "parties of a roll": (CLOSE, h(1) + bytes(8) + b"\x01" + bytes(2) + b"\x01" + HUGE),
    "nonces of coins": (CLOSE, h(1) + bytes(8) + b"\x02" + bytes(2) + b"\x02\0\0\1\1" + HUGE),
    "sums of a result": (RESULT, h(1) + bytes(8) + HUGE),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("tail", [0, 1, 10_000])
def test_huge_lengths_cost_nothing(name: str, tail: int) -> None:
    codec, start = LENGTHS[name]
    data = start + bytes(tail)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            codec.decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("field", ["phase", "cause", "reason", "released", "about"])
@pytest.mark.parametrize("value", [0xFE, 0xFF])
def test_unknown_members_of_enumerations(field: str, value: int) -> None:
    name, at = {
        "phase": ("close of join", 32 + 8 + 32),
        "cause": ("result", 32 + 8 + 3 + 16 + 3 + 5),
        "reason": ("abort", 40),
        "released": ("abort", 41),
        "about": ("accusation", 32),
    }[field]
    codec, message = SAMPLES[name]
    data = bytearray(codec.encode(message))
    assert codec.decode(bytes(data)) == message
    data[at] = value
    with pytest.raises(MalformedMessage) as refused:
        codec.decode(bytes(data))
    assert refused.value.field.endswith(field)
    assert refused.value.offset == at


@pytest.mark.parametrize("phase", Phase)
def test_a_close_lists_what_its_phase_makes(phase: Phase) -> None:
    contents = (ROLL.content, Coins(b"\1", (), b"", b""), Members(b"\1", final=False))
    wanted = {Phase.JOIN: Roll, Phase.COINS: Coins}.get(phase, Members)
    closed = phase not in {Phase.ORGANISER, Phase.ACCUSE}
    for content in contents:
        if closed and type(content) is wanted:
            close = Close(h(1), 1, bytes(32), phase, b"", content)
            assert CLOSE.decode(CLOSE.encode(close)) == close
        else:
            with pytest.raises(UsageError):
                Close(h(1), 1, bytes(32), phase, b"", content)


def test_a_close_of_another_phase_does_not_decode() -> None:
    data = bytearray(CLOSE.encode(ROLL))
    assert CLOSE.decode(bytes(data)) == ROLL
    data[72] = Phase.COMMIT
    with pytest.raises(MalformedMessage):
        CLOSE.decode(bytes(data))


def test_kinds_have_a_widest_body() -> None:
    for kind in Kind:
        assert widest_body(kind) == max(bodies_of(path)[kind].max_size for path in Path)
    assert {kind for kind in Kind if BODIES[kind] is not BODIES_OF_ROWS[kind]} == {
        kind for kind, _ in ROW_MESSAGES.values()
    }
    assert widest_body(200) < min(widest_body(Kind.PUBLISH), widest_body(Kind.CLOSE))


def naive(positions: set[int], parties: int) -> bytes:
    """Section 2 of the specification, word by word."""
    packed = [0] * ((parties + 7) // 8)
    for position in positions:
        packed[position // 8] += 2 ** (position % 8)
    return bytes(packed)


@given(st.integers(1, 40), st.data())
def test_lists_round_trip(parties: int, data: st.DataObject) -> None:
    members = data.draw(st.sets(st.integers(0, parties - 1)))
    packed = pack_members(members, parties)
    assert packed == naive(members, parties)
    assert unpack_members(packed, parties) == tuple(sorted(members))


def test_order_and_repetition_do_not_matter() -> None:
    assert pack_members([3, 1, 3], 9) == pack_members([1, 3], 9) == b"\x0a\x00"


@pytest.mark.parametrize("parties", [1, 7, 8, 9, 15, 16, 17])
def test_lengths_and_padding_are_strict(parties: int) -> None:
    everybody = pack_members(range(parties), parties)
    assert unpack_members(everybody, parties) == tuple(range(parties))
    for wrong in (everybody[:-1], everybody + b"\0", b""):
        with pytest.raises(MalformedMessage):
            unpack_members(wrong, parties)
    for bit in range(parties % 8 or 8, 8):
        padded = everybody[:-1] + bytes([everybody[-1] | 1 << bit])
        with pytest.raises(MalformedMessage):
            unpack_members(padded, parties)


@given(st.binary(min_size=2, max_size=2))
def test_every_string_is_refused_or_packs_to_itself(data: bytes) -> None:
    try:
        members = unpack_members(data, 11)
    except MalformedMessage:
        assert data[1] >> 3
        return
    assert pack_members(members, 11) == data


@pytest.mark.parametrize("position", [-1, 5, 8])
def test_positions_are_on_the_roll(position: int) -> None:
    assert pack_members([0, 4], 5) == b"\x11"
    with pytest.raises(UsageError):
        pack_members([0, position], 5)


ROOT = pathlib.Path(__file__).resolve().parents[2]


SPEC = (ROOT / "specs" / "04-protocol.md").read_text()


LONG_SPEC = (ROOT / "specs" / "14-long-vectors.md").read_text()


VECTORS = json.loads((ROOT / "specs" / "vectors" / "messages.json").read_text())


ELSEWHERE = {
    "03-privacy.md": {"GaussianTable", "NoNoise", "WeightRun", "WeightedBits"},
    "09-beacon.md": {"Scheme", "DrandChain"},
}


def printed() -> list[str]:
    """Every definition in the text, in order."""
    texts = f"{SPEC}\n{LONG_SPEC}"
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
