"""The parts of the second verifier on public and published vectors."""

from __future__ import annotations

import importlib
import json
import random
from types import ModuleType
from typing import Any

import pytest

from commitments import ristretto255
from gopa.rounds.masks.law import RoundedGaussian
from tests.vectors.registry import FOLDER
from tests.verifier.answers import program
from tests.wire.test_ed25519_vectors import Vector, by_verify, cctv, wycheproof
from wire.errors import MalformedMessage


def part(name: str) -> ModuleType:
    program()
    return importlib.import_module(name)


def published(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("vectors", [cctv, wycheproof], ids=["cctv", "wycheproof"])
def test_signatures_have_one_accept_set(vectors: Any) -> None:
    signed, seen = part("curve").signed, set()
    listed: list[Vector] = vectors()[::3]
    for each in listed:
        accepted = signed(each.key, each.message, each.signature)
        assert accepted == by_verify(each), each.id
        seen.add(accepted)
    assert seen == {True, False}


def test_the_same_encodings_are_points() -> None:
    curve, group, source = part("curve"), ristretto255(), random.Random(1)
    seen = set()
    for number in range(400):
        data = source.randbytes(31) + bytes([source.randrange(128 if number % 4 else 256)])
        data = bytes([data[0] & 254]) + data[1:] if number % 8 else data
        try:
            group.decode_point(data)
            expected = True
        except MalformedMessage:
            expected = False
        try:
            curve.decode_point(data)
            found = True
        except part("codec").Wrong:
            found = False
        assert found == expected, data.hex()
        seen.add(found)
    assert seen == {True, False}
    with pytest.raises(part("codec").Wrong):
        curve.decode_point(bytes(32))


def test_laws_of_noise() -> None:
    laws, codec, given = part("laws"), part("codec"), published("noise_table")
    for each in given["laws"]:
        found = laws.noise_law(codec.decode("NoiseLaw", bytes.fromhex(each["encoding"])))
        assert found.hash.hex() == each["hash"], each["name"]
    for each in given["refused"]:
        with pytest.raises(codec.Wrong):
            laws.noise_law(codec.decode("NoiseLaw", bytes.fromhex(each["encoding"])))
    assert given["laws"]
    assert given["refused"]


@pytest.mark.parametrize("deviation", [1, 2, 3, 7, 50, pytest.param(1000, marks=pytest.mark.soak)])
def test_laws_of_masks(deviation: int) -> None:
    table = part("laws").mask_table(deviation)
    assert tuple(table) == RoundedGaussian(deviation).cumulative


def test_choices_of_neighbours() -> None:
    choices = part("joining").choices
    given = published("graph")["choices"]
    for each in given:
        seed = bytes.fromhex(each["seed"])
        found = choices(seed, each["position"], each["parties"], each["k"])
        assert found == set(each["chosen"])
    assert given


def test_shares_of_a_seed_lead_to_its_mask_and_its_hash() -> None:
    entry, masks = published("masks")["shares_of_a_seed"], part("masks")
    data = bytes.fromhex(entry["commitments"])
    dealt = [data[at : at + 32] for at in range(0, len(data), 32)]
    shares = {each["at"]: bytes.fromhex(each["share"]) for each in entry["shares"]}
    assert all(masks.share_fits(share, at, dealt) for at, share in shares.items())
    assert not masks.share_fits(shares[1], 2, dealt)
    used = {at: shares[at] for at in sorted(shares)[1 : entry["threshold"] + 1]}
    seed = masks.combine(used).to_bytes(32, "little")
    assert seed.hex() == entry["seed"]
    session, party = (bytes.fromhex(entry["context"][name]) for name in ("session", "party"))
    drawn = masks.Masks(session, entry["context"]["round"].to_bytes(2), 3, 0, 0)
    assert drawn.seed_hash(seed, party).hex() == entry["hash"]
    point = part("proofs").commit(*drawn.own(seed, party), vector=True)
    posted = part("curve").decode_point(bytes.fromhex(entry["mask_commitment"]))
    assert part("curve").same(point, posted)
