"""Changed archives: both verifiers agree, and none is accepted with another meaning."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from dataclasses import replace
from typing import Any, Final

import pytest

from bulletin_board import Submission, sign_entry
from gopa.contract.bodies import BODIES, widest_body
from gopa.contract.phases import Phase
from tests.verifier.answers import ACCEPTED, any_roots, first, program, second
from tests.verifier.mutations import MUTATIONS, NAMES, Material, material
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

ROUNDS: Final = pytest.mark.parametrize(
    "tries", [3, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"]
)


@pytest.mark.thirds
@ROUNDS
@pytest.mark.parametrize("name", NAMES)
def test_both_agree_and_nothing_changed_is_accepted(name: str, tries: int) -> None:
    given = material(name)
    original = first(given.archive, given.anchors)
    assert original.verdict in ACCEPTED
    assert second(given.archive, given.anchors) == original
    source, verdicts = random.Random(f"{name} {tries}"), Counter[str]()
    for number in range(tries):
        mutation = MUTATIONS[(number + NAMES.index(name)) % len(MUTATIONS)]
        changed = mutation(given, source)
        found = second(changed, given.anchors)
        assert found == first(changed, given.anchors), (mutation.__name__, number)
        assert found.verdict not in ACCEPTED or found.meaning == original.meaning
        with any_roots():
            further = second(changed, given.anchors)
            assert further == first(changed, given.anchors), (mutation.__name__, number)
        verdicts[found.verdict] += 1
    assert verdicts["INVALID"]


@pytest.mark.slow
def test_an_archive_packed_again_is_the_same() -> None:
    for name in NAMES:
        given = material(name)
        assert given.packed(list(given.entries)) == given.archive


def _posted(given: Material, key: SigningKey, **changes: Any) -> bytes:
    """The first entry of the session with these changes, by the holder of this key."""
    entry = Submission.decode(given.entries[0]).entry
    return sign_entry(replace(entry, author=key.public, **changes), key)


@pytest.mark.parametrize("count", [7, 8])
def test_strangers_before_the_manifest(count: int) -> None:
    given = material("clean_full")
    strangers = [SigningKey(SecretBytes(bytes([number]) * 32)) for number in range(count)]
    entries = [_posted(given, key, body=b"no manifest") for key in strangers]
    changed = given.packed([*entries, *given.entries])
    found = first(changed, given.anchors)
    assert second(changed, given.anchors) == found
    assert bool(found.rounds) == (count < 8)


@pytest.mark.parametrize("early", [False, True])
def test_a_slot_that_was_taken_before_the_manifest(early: bool) -> None:
    given = material("clean_full")
    own = Submission.decode(given.entries[0]).entry.author.data
    party = next(key for author, key in given.keys.items() if author != own)
    before, after = (
        _posted(given, party, phase=int(Phase.RECOVER), round=1, body=body)
        for body in (b"before", b"after")
    )
    changed = given.packed([*([before] if early else []), *given.entries, after])
    found = first(changed, given.anchors)
    assert second(changed, given.anchors) == found
    assert (("party", party.public.data.hex(), "04-E3") in found.faults) == early


@pytest.mark.parametrize("chunk", [0, 1])
def test_a_chunk_of_a_round_that_is_not_open_takes_its_slot(chunk: int) -> None:
    given = material("two_rounds_convict_is_barred")
    rounds = first(given.archive, given.anchors).rounds
    (row,) = rounds[1].removed
    barred = bytes.fromhex(row[0])
    places = [_place(raw) for raw in given.entries]
    opened = next(at for at, place in enumerate(places) if place[1:] == (Phase.ORGANISER, 2))
    joined = places.index((barred, Phase.JOIN, 2))
    key = given.keys[barred]
    entry = _posted(given, key, phase=1, kind=16, round=2, chunk=chunk, chunks=2)
    left_out = [*given.entries[:joined], *given.entries[joined + 1 :]]
    changed = given.packed([*left_out[:opened], entry, *left_out[opened:]])
    found = first(changed, given.anchors)
    assert second(changed, given.anchors) == found
    assert {rule for _, _, rule in found.faults} >= {"04-C7"}
    with any_roots():
        found = first(changed, given.anchors)
        assert second(changed, given.anchors) == found
    assert found.rounds == rounds


def _place(raw: bytes) -> tuple[bytes, int, int]:
    entry = Submission.decode(raw).entry
    return entry.author.data, entry.phase, entry.round


def test_the_longest_bodies_are_those_of_the_formats() -> None:
    program()
    longest = importlib.import_module("board").LONGEST
    assert longest == {int(kind): widest_body(kind) for kind in BODIES}
