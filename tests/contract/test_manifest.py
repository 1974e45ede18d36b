"""Manifests hold together: every rule of 04-S2 stops something that could not end well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bulletin_board.note import KeyKind, NoteSigner
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import (
    MANIFEST,
    CommitReveal,
    DrandBeacon,
    Manifest,
    Mode,
    OpenAdmission,
    Roster,
    TestCoins,
    Trust,
    session_id,
)
from gopa.contract.parameters import MOST_REGISTERED
from gopa.contract.terms import MOST_STEPS
from gopa.rounds.masks.law import LARGEST_DEVIATION, RoundedGaussian
from tests.contract.samples import (
    LOG,
    POLICY,
    TABLE,
    manifest,
    manifests,
    roster,
    signed_manifest,
    signing_key,
    terms,
    vector_terms,
)
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes
from zkp.noise import (
    LARGEST_TOTAL_WEIGHT,
    MOST_ROWS,
    MOST_WEIGHTED_BITS,
    GaussianTable,
    binomial,
)

THRESHOLD: dict[str, Any] = {"threshold_numerator": 1, "threshold_denominator": 2}
CURIOUS: dict[str, Any] = {"mask": "gaussian", "mask_deviation": 3}
OTHER_LOG = NoteSigner("elsewhere.example/log", KeyKind.LOG, SecretBytes(b"\x03" * 32))
WIDE = GaussianTable(64, 1)


@pytest.mark.parametrize("name", manifests())
def test_the_samples_hold_together(name: str) -> None:
    given = manifests()[name]
    assert MANIFEST.decode(given.to_bytes()) == given


Change = Callable[[], Manifest]

REFUSED: dict[str, tuple[str, Change, Change]] = {
    "an unknown version": ("version", manifest, lambda: manifest(version=1)),
    "an organiser without a valid key": (
        "organiser",
        manifest,
        lambda: manifest(organiser=bytes(32)),
    ),
    "a log without a key": ("log", manifest, lambda: manifest(log=b"tests.example/log")),
    "a log that is no text": ("log", manifest, lambda: manifest(log=b"\xff" * 40)),
    "the key of a witness as the log's": (
        "log",
        manifest,
        lambda: manifest(
            log=str(NoteSigner("w", KeyKind.WITNESS, SecretBytes(bytes(32))).verifier).encode()
        ),
    ),
    "a policy that does not parse": (
        "policy",
        lambda: manifest(policy=POLICY),
        lambda: manifest(policy=POLICY[:-1]),
    ),
    "a policy about another log": (
        "policy",
        lambda: manifest(policy=POLICY),
        lambda: manifest(policy=POLICY, log=str(OTHER_LOG.verifier).encode()),
    ),
    "test coins outside of simulations": (
        "beacon",
        manifest,
        lambda: manifest(simulation=False),
    ),
    "a beacon that the plan was not made for": (
        "beacon",
        lambda: manifest(beacon=CommitReveal()),
        lambda: manifest(terms(beacon="drand"), beacon=CommitReveal()),
    ),
    "drand in a plan for commit-reveal": (
        "beacon",
        lambda: manifest(terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY),
        lambda: manifest(beacon=DrandBeacon(QUICKNET), policy=POLICY),
    ),
    "drand without a policy": (
        "policy",
        lambda: manifest(terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY),
        lambda: manifest(terms(beacon="drand"), beacon=DrandBeacon(QUICKNET)),
    ),
    "drand without a quorum": (
        "policy",
        lambda: manifest(terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY),
        lambda: manifest(
            terms(beacon="drand"),
            beacon=DrandBeacon(QUICKNET),
            policy=POLICY.replace(b"quorum w", b"quorum none"),
        ),
    ),
    "a roster that is too small": (
        "admission",
        manifest,
        lambda: manifest(admission=roster(4)),
    ),
    "a roster that is too large": (
        "admission",
        manifest,
        lambda: manifest(admission=roster(6)),
    ),
    "an organiser on the roster": (
        "admission",
        manifest,
        lambda: manifest(organiser=signing_key("party 3").public.data),
    ),
    "more parties than planned for": (
        "admission",
        lambda: manifest(admission=OpenAdmission(5)),
        lambda: manifest(admission=OpenAdmission(6)),
    ),
    "fewer parties than a round needs": (
        "admission",
        lambda: manifest(admission=OpenAdmission(3)),
        lambda: manifest(admission=OpenAdmission(2)),
    ),
    "attempts that recovery does not charge, with other parties in each": (
        "terms.charged",
        lambda: manifest(terms(charged=2, **THRESHOLD), admission=OpenAdmission(5)),
        lambda: manifest(terms(**THRESHOLD), admission=OpenAdmission(5)),
    ),
    "a weight and nothing else": (
        "weighted",
        lambda: manifest(vector_terms(2), weighted=True),
        lambda: manifest(weighted=True),
    ),
    "a weight and nothing else in signed mode": (
        "weighted",
        lambda: signed_manifest(weighted=True),
        lambda: manifest(
            terms(mask="uniform", mask_deviation=0), mode=Mode.SIGNED, word_width=32, weighted=True
        ),
    ),
    "a table for vectors in full mode": (
        "terms.noise",
        lambda: manifest(vector_terms(noise=binomial(4))),
        lambda: manifest(vector_terms(noise=TABLE)),
    ),
    "words in full mode": ("word_width", manifest, lambda: manifest(word_width=32)),
    "full mode among the curious": (
        "trust",
        manifest,
        lambda: manifest(trust=Trust.HONEST_BUT_CURIOUS),
    ),
    "recovery of self-masks that the curious do not have": (
        "terms.threshold_numerator",
        lambda: manifest(
            vector_terms(**CURIOUS),
            mode=Mode.SIGNED,
            word_width=32,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
        lambda: manifest(
            vector_terms(**CURIOUS, **THRESHOLD),
            mode=Mode.SIGNED,
            word_width=32,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
    ),
    "Gaussian masks that are to cancel": (
        "trust",
        signed_manifest,
        lambda: manifest(vector_terms(**CURIOUS), mode=Mode.SIGNED, word_width=32),
    ),
    "uniform masks that stay": (
        "trust",
        lambda: manifest(
            vector_terms(**CURIOUS),
            mode=Mode.SIGNED,
            word_width=32,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
        lambda: signed_manifest(trust=Trust.HONEST_BUT_CURIOUS),
    ),
    "words that are too narrow": (
        "word_width",
        lambda: signed_manifest(word_width=8),
        lambda: signed_manifest(word_width=7),
    ),
    "words that are too wide": (
        "word_width",
        lambda: signed_manifest(word_width=64),
        lambda: signed_manifest(word_width=65),
    ),
    "words that do not hold the sum": (
        "word_width",
        lambda: manifest(vector_terms(steps=24), mode=Mode.SIGNED, word_width=8),
        lambda: manifest(vector_terms(steps=25), mode=Mode.SIGNED, word_width=8),
    ),
    "words that do not hold masks that stay": (
        "word_width",
        lambda: manifest(
            vector_terms(**CURIOUS),
            mode=Mode.SIGNED,
            word_width=11,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
        lambda: manifest(
            vector_terms(**CURIOUS),
            mode=Mode.SIGNED,
            word_width=10,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
    ),
    "a sensitivity that no field holds": (
        "terms.squared_sensitivity",
        lambda: wide(steps=2**32 - 1),
        lambda: wide(steps=2**32),
    ),
    "more parties than a roll holds": (
        "terms.parties",
        lambda: wide(parties=2**20),
        lambda: wide(parties=2**20 + 1),
    ),
    "more neighbours than a commit holds": (
        "terms.k",
        lambda: wide(parties=2**20, k=16_367),
        lambda: wide(parties=2**20, k=16_368),
    ),
    "more rounds than entries can count": (
        "terms.rounds",
        lambda: manifest(terms(rounds=65, attempts=1000)),
        lambda: manifest(terms(rounds=66, attempts=1000)),
    ),
}


def wide(parties: int = 5, steps: int = 20, k: int = 2) -> Manifest:
    """A session of single numbers that is large in some way."""
    agreed = terms(parties=parties, steps=steps, squared_sensitivity=steps**2, k=k)
    return manifest(agreed, admission=OpenAdmission(parties))


def test_sums_are_below_the_largest_integer_of_a_result() -> None:
    """04-Z2: what the bounds of all numbers together allow."""
    noise = max(binomial(MOST_WEIGHTED_BITS).radius, LARGEST_TOTAL_WEIGHT // 2, MOST_ROWS // 2)
    masks = MOST_REGISTERED * 2**16 * 14 * LARGEST_DEVIATION
    assert MOST_REGISTERED * (MOST_STEPS + noise) + masks < 2**62
    assert all(RoundedGaussian(s).radius < 14 * s for s in (1, 2, 3, 10, 500))


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    field, accepted, refused = REFUSED[name]
    good = accepted()
    assert MANIFEST.decode(good.to_bytes()) == good
    with pytest.raises(UsageError) as error:
        refused()
    assert error.value.field == field


def test_what_does_not_fit_does_not_decode() -> None:
    """The same rules hold for bytes: here the flag that says simulation is cleared."""
    given = manifest()
    real = manifest(simulation=False, beacon=CommitReveal())
    data, other = given.to_bytes(), real.to_bytes()
    at = next(i for i, (a, b) in enumerate(zip(data, other, strict=False)) if a != b)
    assert (data[at], other[at]) == (1, 0)
    assert MANIFEST.decode(data) == given
    with pytest.raises(MalformedMessage) as refused:
        MANIFEST.decode(data[:at] + b"\0" + data[at + 1 :])
    assert refused.value.field == "beacon"


def test_keys_of_a_roster_are_sorted_and_distinct() -> None:
    keys = roster(3).keys
    for wrong in (keys[::-1], (keys[0], keys[0], keys[1]), (keys[1], keys[0], keys[2])):
        with pytest.raises(UsageError):
            Roster(wrong)
    given = manifest(admission=roster(5))
    data, keys = given.to_bytes(), roster(5).keys
    assert MANIFEST.decode(data) == given
    first, second = keys[:2]
    swapped = data.replace(first + second, second + first)
    with pytest.raises(MalformedMessage):
        MANIFEST.decode(swapped)
    repeated = data.replace(first + second, first + first)
    with pytest.raises(MalformedMessage):
        MANIFEST.decode(repeated)


def test_the_session_is_the_hash_of_every_byte() -> None:
    given = manifest()
    assert given.session == session_id(given.to_bytes())
    changes: list[dict[str, Any]] = [
        {"salt": b"\x08" * 32},
        {"title": b"other"},
        {"max_rollbacks": 9},
        {"terms": replace(given.terms, loss=1)},
        {"beacon": CommitReveal()},
        {"policy": POLICY},
    ]
    sessions = {replace(given, **change).session for change in changes}
    assert len(sessions) == len(changes)
    assert given.session not in sessions
    assert all(len(each.session) == 32 for each in manifests().values())
    assert len({each.session for each in manifests().values()}) == len(manifests())


def test_the_quorum_is_there_exactly_if_the_policy_has_one() -> None:
    assert manifest().quorum is None
    assert manifest(policy=POLICY.replace(b"quorum w", b"quorum none")).quorum is None
    quorum = manifest(policy=POLICY).quorum
    assert quorum is not None
    assert quorum.log.key == LOG.verifier
    assert quorum.needs_witnesses


def test_test_coins_are_no_test() -> None:
    assert not TestCoins.__test__


def test_a_table_serves_single_numbers_and_unproved_vectors() -> None:
    assert manifest(terms(noise=WIDE)).terms.noise == WIDE
    signed = manifest(vector_terms(noise=WIDE), mode=Mode.SIGNED, word_width=32)
    assert MANIFEST.decode(signed.to_bytes()) == signed


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (manifest(terms(**THRESHOLD)), False),
        (manifest(terms(noise=binomial(4), **THRESHOLD)), True),
        (manifest(vector_terms(**THRESHOLD)), True),
        (
            manifest(
                terms(mask="uniform", mask_deviation=0, **THRESHOLD),
                mode=Mode.SIGNED,
                word_width=32,
            ),
            True,
        ),
        (manifest(vector_terms(**THRESHOLD), mode=Mode.SIGNED, word_width=32), True),
    ],
    ids=["table", "bits", "vectors", "words from a table", "words"],
)
def test_masks_are_shared_where_one_scalar_is_committed_to_and_seeds_elsewhere(
    given: Manifest, seeds: bool
) -> None:
    assert given.deals_seeds == seeds
    assert [given.coefficients(n) for n in (0, 1, 2, 5)] == [0, seeds, 1 + seeds, 2 + seeds]
    without = replace(given.terms, threshold_numerator=0, threshold_denominator=1)
    plain = replace(given, terms=without)
    assert not plain.deals_seeds
    assert [plain.coefficients(n) for n in (0, 1, 5)] == [0, 0, 0]
