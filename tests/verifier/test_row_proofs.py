"""The second verifier about long vectors: published proofs and challenges, and real sizes."""

from __future__ import annotations

import random
from hashlib import sha256
from typing import Any

import pytest

from tests.verifier.test_parts import part, published
from tests.zkp.second_verifier import pieces, script_of

RECORDS: list[dict[str, Any]] = published("rows")["proofs"]
ROUNDS: dict[str, Any] = published("row_rounds")


def coins_of(record: dict[str, Any], shape: Any) -> Any:
    def bits(text: str, count: int) -> list[int]:
        data, size = bytes.fromhex(text), -(-count // 8)
        return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]

    rows = [bits(each, shape.h) for each in record["test_rows"]]
    return part("row_proofs").Coins(rows, bits(record["test_columns"], 1 << shape.s))


def holds(record: dict[str, Any]) -> bool:
    long = part("row_proofs")
    shape = long.shape_of(record["dimension"])
    script, coins = (
        script_of(b"test/long", bytes.fromhex(record["context"])),
        coins_of(record, shape),
    )
    tests, proof = bytes.fromhex(record["tests"]), bytes.fromhex(record["proof"])
    names = ["inputs", "noise", *(["carries"] if "carries" in record else []), "pads"]
    vectors = [pieces(record[name]) for name in names]
    if "points" not in record:
        bounds, weight = ([int(n) for n in record.get(name, [])] for name in ("bounds", "weight"))
        given = bounds, weight, vectors, tests, coins, proof
        return bool(long.lengths_hold(script, shape, *given))
    minus, d = bytes.fromhex(record["minus"]), record["dimension"]
    said = long.Words(
        record["words"],
        record["word_bits"],
        bytes.fromhex(record["words_hash"]),
        record["places"],
        [minus[j // 8] >> j % 8 & 1 for j in range(d)],
    )
    edges = long.Edges(
        record["neighbours"],
        record["signs"],
        pieces(record["edges"]),
        bytes.fromhex(record["own"]),
    )
    z = [[int.from_bytes(each, "little") for each in pieces(text)] for text in record["points"]]
    return bool(long.masks_hold(script, shape, said, z, vectors, edges, tests, coins, proof))


def whole(record: dict[str, Any]) -> dict[str, Any]:
    bases = {each["name"]: each for each in RECORDS}
    return bases.get(record["base"], {}) | record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_every_record_gets_the_published_answer(record: dict[str, Any]) -> None:
    assert holds(whole(record)) == (record["error"] is None)


NAMES = ("lengths", "weighted", "masks")


def altered(piece: bytes) -> list[bytes]:
    """Other pieces that decode: the next point, if these bytes are one, and the next scalar."""
    curve = part("curve")
    value, found = int.from_bytes(piece, "little"), []
    if curve.are_points(piece):
        found.append(curve.encode_point(curve.add(curve.decode_point(piece), curve.GENERATOR)))
    if value < curve.Q:
        found.append(((value + 1) % curve.Q).to_bytes(32, "little"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "count", [16, pytest.param(1000, marks=pytest.mark.soak)], ids=["few", "all"]
)
def test_every_piece_of_a_proof_counts(name: str, count: int) -> None:
    """Each point and scalar, exchanged for one that decodes: the first and the last always."""
    record = whole(next(each for each in RECORDS if each["name"] == name))
    assert holds(record)
    data = bytes.fromhex(record["proof"])
    places = list(range(0, len(data), 32))
    source = random.Random(name)
    drawn = {places[0], places[-1], *source.sample(places, min(count, len(places)))}
    for at in sorted(drawn):
        for piece in altered(data[at : at + 32]):
            changed = data[:at] + piece + data[at + 32 :]
            assert not holds(record | {"proof": changed.hex()}), at // 32


def test_tests_lie_strictly_between_their_bounds() -> None:
    """14-M2: however right all else is."""
    read_tests, wrong = part("row_proofs").read_tests, part("codec").Wrong
    edge = 2**113 - 1
    taken = [edge, -edge, 0, *range(357)]
    data = b"".join(each.to_bytes(15, signed=True) for each in taken)
    assert read_tests(data) == taken
    for value in (edge + 1, -edge - 1, 2**119 - 1, -(2**119)):
        with pytest.raises(wrong):
            read_tests(value.to_bytes(15, signed=True) + data[15:])
    for size in (-15, -1):
        with pytest.raises(wrong):
            read_tests(data[:size])


@pytest.mark.parametrize("given", ROUNDS["challenges"], ids=lambda given: given["dimension"])
def test_what_coins_and_closes_decide(given: dict[str, Any]) -> None:
    coins, shape = part("row_coins"), part("row_proofs").shape_of(given["dimension"])
    joint, leaf, party = (bytes.fromhex(ROUNDS[name]) for name in ("joint", "leaf", "party"))
    tag = bytes.fromhex(ROUNDS["session"]) + ROUNDS["round"].to_bytes(2)

    def digest(values: list[int], count: int) -> str:
        return sha256(b"".join(n.to_bytes(-(-count // 8), "little") for n in values)).hexdigest()

    tests = coins.input_tests(joint, tag, shape)
    assert [digest(each, shape.h) for each in tests.rows] == given["test_rows_sha256"]
    assert digest(tests.columns, 1 << shape.s) == given["test_columns_sha256"]
    carries = coins.carry_tests(tag, leaf, shape)
    assert digest(carries.rows[0], shape.h) == given["carry_test_rows_sha256"]
    assert digest(carries.columns, 1 << shape.s) == given["carry_test_columns_sha256"]
    places, minus = coins.signed_permutation(joint, tag, party, shape.d)
    assert places == given["places"]
    signs = int.from_bytes(bytes.fromhex(given["signs"]), "little")
    assert sum(bit << at for at, bit in enumerate(minus)) == signs & (1 << shape.d) - 1
    points = coins.equation_points(tag, leaf, len(given["points"]), shape.v)
    assert [[n.to_bytes(32, "little").hex() for n in z] for z in points] == given["points"]


def test_what_masks_are_at_the_points() -> None:
    coins, masks = part("row_coins"), part("masks")
    session, party, leaf = (bytes.fromhex(ROUNDS[name]) for name in ("session", "party", "leaf"))
    tag = ROUNDS["round"].to_bytes(2)
    for given in ROUNDS["masks"]:
        shape = part("row_proofs").shape_of(given["dimension"])
        z = coins.equation_points(session + tag, leaf, given["count"], shape.v)
        drawn = masks.Masks(session, tag, given["dimension"], 0, given["width"])
        made = coins.Equations(drawn, leaf, z)
        key, seed, other = (bytes.fromhex(given[name]) for name in ("key", "seed", "other"))
        assert made.edge(key, party, other).hex() == given["edge"]
        assert made.own(seed, party).hex() == given["self"]
    assert ROUNDS["masks"]
