"""04-S2, 04-S3: both verifiers refuse the same manifests."""

from __future__ import annotations

import random
from collections import Counter
from copy import copy
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

import pytest

from bulletin_board import Submission, sign_entry
from gopa.contract.beacon.drand import DRAND_CHAIN
from gopa.contract.manifest import (
    MANIFEST,
    VERSION,
    DrandBeacon,
    Mode,
    OpenAdmission,
    Path,
    Roster,
    Trust,
    session_id,
)
from tests.verifier.answers import Answer, anchors_of, first, second
from tests.verifier.mutations import Material, flipped, material
from wire.ed25519 import PublicKey
from wire.errors import MalformedMessage
from zkp.noise import GaussianTable, NoNoise

NAMES: Final = (
    "clean_full",
    "clean_weighted",
    "clean_curious",
    "clean_drand",
    "clean_recovery",
    "exact_full",
    "clean_rows",
)
WORTH: Final = "04-S3"
WIDTH, NUMBERS = 4, 6
"""Parties, corrupt, survivors, loss, k, dimension: the terms begin with these."""


def log_of(given: Material, body: bytes) -> tuple[bytes, bytes]:
    """An archive that holds one manifest, signed by its organiser, and its anchors."""
    entry = Submission.decode(given.entries[0]).entry
    session = session_id(body)
    entry = replace(entry, body=body, session=session)
    raw = sign_entry(entry, given.keys[entry.author.data])
    anchors = anchors_of(str(given.log.verifier), sha256(body).hexdigest())
    return given.packed([raw], session), anchors


def judged(answer: Answer) -> frozenset[tuple[str, str, str]]:
    """Faults, but for what terms that fit together are worth."""
    return frozenset(fault for fault in answer.faults if fault[2] != WORTH)


def agree(given: Material, body: bytes) -> bool:
    """Whether both take a manifest; asserts that they agree."""
    archive, anchors = log_of(given, body)
    found, expected = second(archive, anchors), first(archive, anchors)
    if int.from_bytes(body[:2]) != VERSION:
        assert found.verdict == "INVALID"  # here: refused, as unsupported
        return False
    assert found.faults == expected.faults
    assert found.verdict == expected.verdict
    return not judged(found)


def manifest_of(name: str) -> tuple[Material, bytes]:
    given = material(name)
    return given, Submission.decode(given.entries[0]).entry.body


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "tries", [40, pytest.param(1000, marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_both_judge_a_flipped_bit_alike(name: str, tries: int) -> None:
    given, body = manifest_of(name)
    assert agree(given, body)
    source, seen = random.Random(f"manifest of {name}"), Counter[bool]()
    interesting = _interesting(body)
    for _ in range(tries):
        at = source.choice(interesting)
        changed = body[:at] + flipped(body[at : at + 1], source) + body[at + 1 :]
        if not _in_chain(body, at):
            seen[agree(given, changed)] += 1
    assert seen[True]
    assert seen[False]


@pytest.mark.thirds
@pytest.mark.parametrize("name", NAMES)
def test_both_judge_other_terms_alike(name: str) -> None:
    """Every number of the terms one more, one less, and far away."""
    given, body = manifest_of(name)
    assert agree(given, body)
    start = _terms_at(body)
    seen = Counter[bool]()
    for at in range(start, start + WIDTH * NUMBERS, WIDTH):
        value = int.from_bytes(body[at : at + WIDTH])
        for other in {value - 1, value + 1, 0, 1, 2**20, 2**20 + 1, 2**32 - 1} - {value, -1}:
            changed = body[:at] + other.to_bytes(WIDTH) + body[at + WIDTH :]
            seen[agree(given, changed)] += 1
    assert seen[False]


def test_a_key_on_the_roster_that_nobody_can_sign_for_is_allowed() -> None:
    """Its place stays empty. The organiser's own key has to be one."""
    given, body = manifest_of("clean_full")
    assert agree(given, body)
    manifest = MANIFEST.decode(body)
    roster = manifest.admission
    assert isinstance(roster, Roster)
    nobody = b"\xff" * 32
    with pytest.raises(MalformedMessage):
        PublicKey(nobody)
    changed = replace(manifest, admission=Roster((*roster.keys[:-1], nobody)))
    assert agree(given, changed.to_bytes())
    at = body.index(manifest.organiser)
    assert not agree(given, body[:at] + nobody + body[at + 32 :])


def test_both_want_all_retries_charged_where_anybody_may_come_and_masks_are_recovered() -> None:
    given, body = manifest_of("clean_recovery")
    listed = MANIFEST.decode(body)
    terms = replace(listed.terms, attempts=3, charged=2)
    anybody = replace(listed, admission=OpenAdmission(terms.parties), terms=terms).to_bytes()
    assert agree(given, anybody)
    charged, fewer = b"\0\2\0\3", b"\0\1\0\3"
    assert anybody.count(charged) == 1
    assert not agree(given, anybody.replace(charged, fewer))
    on_a_roster = replace(listed, terms=replace(terms, charged=1)).to_bytes()
    assert agree(given, on_a_roster)


ONE_SUM: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "a charged retry": ({"attempts": 2}, {"attempts": 2, "charged": 1}),
    "Gaussian masks": ({}, {"mask": "gaussian", "mask_deviation": 9}),
    "half of the honest parties": ({"survivors": 4}, {"survivors": 3}),
    "two attempts for anybody": ({"attempts": 1}, {"attempts": 2}),
}


@pytest.mark.parametrize("name", ONE_SUM)
def test_both_see_to_it_that_a_round_releases_one_exact_sum(name: str) -> None:
    """04-S5: each of its conditions, with everything else as in a manifest that both take."""
    given, body = manifest_of("exact_full")
    listed = MANIFEST.decode(body)
    assert isinstance(listed.admission, Roster)
    keys = tuple(sorted((*listed.admission.keys, b"\xff" * 32)))
    listed = replace(
        listed,
        admission=OpenAdmission(5) if name.endswith("anybody") else Roster(keys),
        terms=replace(listed.terms, parties=5, survivors=4, loss=1, k=4),
    )
    for changes, taken in zip(ONE_SUM[name], (True, False), strict=True):
        changed = replace(listed, terms=replace(listed.terms, **changes)).to_bytes()
        assert agree(given, changed) is taken
        archive, anchors = log_of(given, changed)
        rules = {rule for *_, rule in second(archive, anchors).faults} - {WORTH}
        assert rules == (set() if taken else {"04-S5"})


def test_both_know_this_version_alone() -> None:
    """Version 2 always had noise, 3 no path and no roots in closes; 4 and 5 cut otherwise."""
    given, body = manifest_of("clean_full")
    assert agree(given, body)
    for version in (1, 2, 3, 4, 5, 7):
        assert not agree(given, version.to_bytes(2) + body[2:])


def test_both_take_an_epsilon_or_no_noise() -> None:
    """Not both and not neither: an epsilon without noise would claim what nothing keeps."""
    given, exact = manifest_of("exact_full")
    _, noisy = manifest_of("clean_full")
    assert agree(given, exact)
    assert agree(given, noisy)
    epsilon = str(MANIFEST.decode(noisy).terms.promised_epsilon).encode()
    spelt = bytes([len(epsilon)]) + epsilon
    start = _terms_at(noisy)
    at = noisy.index(spelt + bytes([len(str(MANIFEST.decode(noisy).terms.delta))]), start)
    assert not agree(given, noisy[:at] + b"\0" + noisy[at + len(spelt) :])
    delta = str(MANIFEST.decode(exact).terms.delta).encode()
    at = exact.index(b"\0" + bytes([len(delta)]) + delta, _terms_at(exact))
    assert not agree(given, exact[:at] + spelt + exact[at + 1 :])


def test_a_manifest_names_no_more_parties_than_its_messages_hold() -> None:
    """Terms alone may have more."""
    given, body = manifest_of("clean_full")
    listed = MANIFEST.decode(body)
    anybody = replace(listed, admission=OpenAdmission(listed.terms.parties)).to_bytes()
    assert agree(given, anybody)
    start = _terms_at(anybody)
    for parties, taken in ((2**20, True), (2**20 + 1, False)):
        changed = anybody[:start] + parties.to_bytes(WIDTH) + anybody[start + WIDTH :]
        assert agree(given, changed) is taken
    replace(listed.terms, parties=2**20 + 1)


OTHER_TERMS: Final[dict[str, tuple[Any, ...]]] = {
    "path": (Path.BITS,),
    "mode": (Mode.SIGNED,),
    "trust": (Trust.HONEST_BUT_CURIOUS,),
    "weighted": (False, True),
    "word_width": (0, 8, 15, 16, 17, 63, 64, 65),
    "squared_norm": (0, 1, 99, 101, 1600, 2**30, 2**62 - 1, 2**62, 2**63),
    "noise_square": (0, 1, 2**30, 2**62 - 1, 2**62),
    "spike": (0, 1, 2**31 - 1, 2**31),
    "late": (0, 1, 2, 3, 2**31),
    "weight_length": (0, 1, 2, 3, 2**32 - 1),
    "weight_scale": (0, 1, 3, 4, 2**32 - 1),
    "low": (Decimal(-2), Decimal("-0.9"), Decimal(0), Decimal("0.5")),
    "steps": (1, 2, 19, 20, 39, 41, 2**31, 2**40),
    "dimension": (1, 2, 3, 4, 2**20, 2**20 + 1),
    "squared_sensitivity": (1, 399, 401, 863, 800, 3200, 64_000, 2**60),
    "noise": (NoNoise(),),
    "mask": ("gaussian",),
}
BASES: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "weighted": {
        "weighted": True,
        "steps": 20,
        "weight_length": 1,
        "weight_scale": 4,
        "squared_norm": 1300,
        "squared_sensitivity": 864,
        "noise_square": 39_476,
        "spike": 65,
        "noise": GaussianTable.with_scale("16", bits=24, rows=99),
    },
    "counts": {"low": Decimal(0), "squared_norm": 1600, "squared_sensitivity": 3200},
    "box": {"squared_norm": 16_000, "squared_sensitivity": 64_000, "low": Decimal("-0.9")},
}
"""Kinds of manifests of rows: by length, with weights, of counts in bins, of numbers in a range."""


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_both_judge_what_terms_say_about_rows_alike(base: str) -> None:
    """14-L1, 14-L5, 14-M6, 14-W1: each number at its borders."""
    given, body = manifest_of("clean_rows")
    plain = with_fields(body, **BASES[base])
    assert agree(given, plain)
    refused = set()
    for field, values in OTHER_TERMS.items():
        for value in values:
            if not agree(given, with_fields(plain, **{field: value})):
                refused.add(field)
    assert refused >= {"path", "mode", "trust", "word_width", "squared_norm", "late", "dimension"}


def with_fields(body: bytes, **fields: Any) -> bytes:
    """The manifest with other values, whether it may have them or not."""
    manifest = copy(MANIFEST.decode(body))
    terms = copy(manifest.terms)
    for name, value in fields.items():
        object.__setattr__(terms if hasattr(terms, name) else manifest, name, value)
    object.__setattr__(manifest, "terms", terms)
    return MANIFEST.encode(manifest)


def _terms_at(body: bytes) -> int:
    manifest = MANIFEST.decode(body)
    title, log, policy = len(manifest.title), len(manifest.log), len(manifest.policy)
    return 2 + 32 + 1 + title + 32 + 2 + log + 2 + policy + 4


def _interesting(body: bytes) -> list[int]:
    """Places of the numbers, and a few of everything else."""
    start = _terms_at(body)
    return [*range(start - 4, start + 160), *range(0, start, 5), *range(start + 160, len(body), 3)]


def _in_chain(body: bytes, at: int) -> bool:
    """The parts of a drand chain are outside of the program."""
    beacon = MANIFEST.decode(body).beacon
    if not isinstance(beacon, DrandBeacon):
        return False
    chain = DRAND_CHAIN.encode(beacon.chain)
    start = body.index(chain)
    return start <= at < start + len(chain)
