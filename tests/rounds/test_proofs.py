"""Proofs of a round hold for exactly one claim: no field can change, nothing can be copied."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from commitments import ristretto255
from commitments.group import Group
from gopa.rounds.context import RoundContext
from gopa.rounds.masks.law import BITS
from gopa.rounds.proofs import NoiseClaim, PossessionClaim, Proofs, SharedKeyClaim
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.unproved_noise import add_noise
from tests.contract.samples import signed_manifest
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from tests.rounds.samples import (
    KINDS,
    context_of,
    manifest_of,
    noisy,
    party_number,
    possession,
    shared_key,
)
from wire.errors import UsageError
from zkp import NoiseSeeds
from zkp.noise import GaussianTable, NoiseLaw, WeightedBits, WeightRun, binomial, irwin_hall
from zkp.noise.weighted_bits import even_groups

REAL = RealProofs()
DOUBLES = ProofDoubles()
IDENTITY = bytes(32)
NO_POINT = b"\xff" * 32
proofs_of_both_kinds = pytest.mark.parametrize("proofs", [REAL, DOUBLES], ids=["real", "doubles"])
AnyClaim = PossessionClaim | NoiseClaim | SharedKeyClaim


def bad(proofs: Proofs, *claims: Any, executor: Executor | None = None) -> frozenset[int]:
    """The positions of bad claims, all of one kind."""
    checks: dict[type, Callable[..., frozenset[int]]] = {
        PossessionClaim: proofs.bad_possessions,
        NoiseClaim: proofs.bad_noises,
        SharedKeyClaim: proofs.bad_shared,
    }
    return checks[type(claims[0])](claims, seeded("checks"), executor)


def noise(proofs: Proofs, context: RoundContext, number: int = 1) -> NoiseClaim:
    return noisy(context, number).proved(proofs, seeded(f"proof {number}"))


MAKERS: dict[str, Callable[[Proofs, Group, int], AnyClaim]] = {
    "possession": lambda proofs, group, number: possession(proofs, context_of(group), number),
    "shared": lambda proofs, group, number: shared_key(proofs, context_of(group), number),
    **{
        kind: lambda proofs, group, number, kind=kind: noise(  # type: ignore[misc]
            proofs, context_of(group, kind), number
        )
        for kind in KINDS
    },
}

makers = pytest.mark.parametrize("maker", MAKERS)


def moved(claim: AnyClaim) -> list[AnyClaim]:
    """The same claim in another session, another round, after another close, by another party."""
    context = claim.context
    return [
        replace(claim, context=replace(context, session=b"\x01" * 32)),
        replace(claim, context=replace(context, round=context.round + 1)),
        replace(claim, acts_on=b"\x01" * 32),
        replace(claim, party=party_number(200)),
    ]


def other_fields(claim: AnyClaim, other: AnyClaim) -> list[AnyClaim]:
    """The claim with one field at a time taken from another claim."""
    skipped = {"context", "acts_on", "party", "proof", "weighing"}
    own = [name for name in claim.__slots__ if name not in skipped]
    changes: list[dict[str, Any]] = [{name: getattr(other, name)} for name in own]
    if isinstance(claim, NoiseClaim):
        changes = [change for change in changes if "joint" not in change]
        changes.append({"joint": b"\x02" * 32})
    return [replace(claim, **change) for change in changes]


@proofs_of_both_kinds
@makers
def test_every_field_is_bound(proofs: Proofs, maker: str, group: Group) -> None:
    claim, other = (MAKERS[maker](proofs, group, number) for number in (1, 2))
    assert not bad(proofs, claim, other)
    changed = [*moved(claim), *other_fields(claim, other)]
    assert len(changed) >= 5
    for each in changed:
        assert bad(proofs, each) == {0}
    assert bad(proofs, claim, *changed, other) == frozenset(range(1, len(changed) + 1))


@proofs_of_both_kinds
@makers
def test_proofs_are_not_copied(proofs: Proofs, maker: str, group: Group) -> None:
    first, second = (MAKERS[maker](proofs, group, number) for number in (1, 2))
    assert not bad(proofs, first, second)
    copies: dict[str, Any] = {"proof": first.proof}
    if isinstance(first, NoiseClaim):
        copies["weighing"] = first.weighing
    copied = replace(second, **copies)
    assert bad(proofs, first, copied) == {1}
    assert bad(proofs, replace(first, party=second.party), second) == {0}


@makers
def test_bytes_that_no_prover_writes_are_bad_claims(maker: str, group: Group) -> None:
    claim = MAKERS[maker](REAL, group, 1)
    assert not bad(REAL, claim)
    parts = ["proof"]
    if isinstance(claim, NoiseClaim) and claim.weighing:
        parts.append("weighing")
    for part in parts:
        own: bytes = getattr(claim, part)
        for changed in (b"", own[:-1], own + b"\0", own[1:], b"\xff" * len(own), bytes(len(own))):
            hostile: Any = {part: changed}
            assert bad(REAL, claim, replace(claim, **hostile), claim) == {1}


POINTS = {"possession": ["key"], "shared": ["own", "other", "shared"]}


@proofs_of_both_kinds
@makers
@pytest.mark.parametrize("encoding", [IDENTITY, NO_POINT, b"", b"\1" * 31, b"\1" * 33])
def test_points_that_do_not_decode_are_bad_claims(
    proofs: Proofs, maker: str, encoding: bytes, group: Group
) -> None:
    claim = MAKERS[maker](proofs, group, 1)
    assert not bad(proofs, claim)
    for name in POINTS.get(maker, ["given", "seed", "output"]):
        hostile: Any = {name: encoding}
        assert bad(proofs, claim, replace(claim, **hostile)) == {1}


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
@makers
def test_every_bit_of_a_proof_counts(maker: str, step: int) -> None:
    claim = MAKERS[maker](REAL, ristretto255(), 1)
    flipped: list[AnyClaim] = [
        replace(claim, proof=flip(claim.proof, bit)) for bit in range(0, 8 * len(claim.proof), step)
    ]
    if isinstance(claim, NoiseClaim):
        flipped += [
            replace(claim, weighing=flip(claim.weighing, bit))
            for bit in range(0, 8 * len(claim.weighing), step)
        ]
    assert bad(REAL, claim, *flipped) == frozenset(range(1, len(flipped) + 1))


def flip(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@makers
def test_the_bad_among_many_are_named(maker: str) -> None:
    claims = [MAKERS[maker](REAL, ristretto255(), number) for number in range(1, 13)]
    assert not bad(REAL, *claims)
    for at in (0, 5, 11):
        claims[at] = replace(claims[at], party=party_number(200 + at))
    assert bad(REAL, *claims) == {0, 5, 11}


@proofs_of_both_kinds
def test_nothing_to_check_is_nothing_bad(proofs: Proofs) -> None:
    assert not proofs.bad_possessions([], seeded(1))
    assert not proofs.bad_noises([], seeded(1))
    assert not proofs.bad_shared([], seeded(1))


POOLS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
}


@pytest.mark.parametrize("pool", POOLS)
def test_workers_find_the_same(pool: str) -> None:
    with POOLS[pool]() as executor:
        for make in MAKERS.values():
            claims = [make(REAL, ristretto255(), number) for number in (1, 2, 3)]
            assert not bad(REAL, *claims, executor=executor)
            claims[1] = replace(claims[1], acts_on=b"\x01" * 32)
            assert bad(REAL, *claims, executor=executor) == {1}


def test_sizes(group: Group) -> None:
    assert len(possession(REAL, context_of(group), 1).proof) == 64
    assert len(shared_key(REAL, context_of(group), 1).proof) == 96


@proofs_of_both_kinds
def test_a_possession_is_proved_of_the_own_key_only(proofs: Proofs, group: Group) -> None:
    claim = possession(proofs, context_of(group), 1)
    assert not bad(proofs, claim)
    stranger = group.random_scalars(1, seeded("stranger"))[0]
    with pytest.raises(UsageError):
        proofs.prove_possession(replace(claim, proof=b""), stranger, seeded(1))


@proofs_of_both_kinds
def test_a_key_that_is_not_shared_is_not_proved(proofs: Proofs, group: Group) -> None:
    claim = shared_key(proofs, context_of(group), 1)
    assert not bad(proofs, claim)
    secret = group.random_scalars(2, seeded("shared 1"))[0]
    assert proofs.prove_shared(replace(claim, proof=b""), secret, seeded(1))
    wrong = replace(claim, shared=claim.own, proof=b"")
    with pytest.raises(UsageError):
        proofs.prove_shared(wrong, secret, seeded(1))


@proofs_of_both_kinds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [1, -1])
def test_wrong_noise_is_not_proved(proofs: Proofs, kind: str, error: int, group: Group) -> None:
    context = context_of(group, kind)
    assert not bad(proofs, noise(proofs, context))
    with pytest.raises(UsageError):
        noisy(context, 1, error=error).proved(proofs, seeded(1))


@proofs_of_both_kinds
def test_inputs_out_of_range_are_not_proved(proofs: Proofs, group: Group) -> None:
    context = context_of(group)
    assert not bad(proofs, noisy(context, 1, [20]).proved(proofs, seeded(1)))
    for value in (-1, 21):
        with pytest.raises(UsageError):
            noisy(context, 1, [value]).proved(proofs, seeded(1))


@proofs_of_both_kinds
def test_values_above_their_weight_are_not_proved(proofs: Proofs, group: Group) -> None:
    context, free = context_of(group, "weights"), context_of(group, "bits")
    for fine in ([5, 5, 5], [0, 0, 0], [0, 20, 20]):
        assert not bad(proofs, noisy(context, 1, fine).proved(proofs, seeded(1)))
    for heavy in ([6, 5, 5], [0, 1, 0], [0, 20, 19]):
        assert not bad(proofs, noisy(free, 1, heavy).proved(proofs, seeded(1)))
        with pytest.raises(UsageError):
            noisy(context, 1, heavy).proved(proofs, seeded(1))


def test_a_weighing_is_there_exactly_with_weights(group: Group) -> None:
    weighed = noise(REAL, context_of(group, "weights"))
    plain = noise(REAL, context_of(group, "bits"))
    assert weighed.weighing
    assert not plain.weighing
    assert not bad(REAL, weighed, plain)
    assert bad(REAL, replace(weighed, weighing=b""), plain, weighed) == {0}
    assert bad(REAL, weighed, replace(plain, weighing=weighed.weighing), plain) == {1}


def test_seeds_of_another_kind_prove_nothing(group: Group) -> None:
    table, flips = (noisy(context_of(group, kind), 1) for kind in ("table", "bits"))
    assert not bad(REAL, table.proved(REAL, seeded(1)), flips.proved(REAL, seeded(1)))
    for claim, seeds in ((table, flips.seeds), (flips, table.seeds)):
        with pytest.raises(UsageError):
            replace(claim, seeds=seeds).proved(REAL, seeded(1))


def test_one_seed_serves_one_output(group: Group) -> None:
    first = noisy(context_of(group), 1)
    assert isinstance(first.seeds, NoiseSeeds)
    assert not bad(REAL, first.proved(REAL, seeded(1)))
    second = noisy(context_of(group), 2)
    swapped = replace(second, seeds=first.seeds, claim=replace(second.claim, seed=first.claim.seed))
    with pytest.raises(UsageError):
        swapped.proved(REAL, seeded(1))


def test_a_session_without_proofs_is_the_callers_mistake(group: Group) -> None:
    claim = noise(REAL, context_of(group))
    assert not bad(REAL, claim)
    signed = replace(claim.context, manifest=signed_manifest())
    with pytest.raises(UsageError):
        bad(REAL, claim, replace(claim, context=signed))


def test_a_claim_about_another_kind_of_noise_is_bad(group: Group) -> None:
    claim = noise(REAL, context_of(group))
    assert not bad(REAL, claim)
    other = replace(claim.context, manifest=manifest_of("bits"))
    assert bad(REAL, replace(claim, context=other), claim) == {0}


def test_claims_of_one_call_are_over_one_group() -> None:
    claims = [possession(REAL, context_of(each), 1) for each in installed_groups()]
    for claim in claims:
        assert not bad(REAL, claim)
    if len(claims) > 1:
        with pytest.raises(UsageError):
            bad(REAL, *claims)


@makers
def test_leaves_ids_and_coins_are_the_callers_own(maker: str, group: Group) -> None:
    """A caller that mixes them up blames nobody."""
    claim = MAKERS[maker](REAL, group, 1)
    assert not bad(REAL, claim)
    names = ["acts_on", "party", *(["joint"] if isinstance(claim, NoiseClaim) else [])]
    for name in names:
        for wrong in (b"", b"\x01" * 31, b"\x01" * 33):
            change: Any = {name: wrong}
            with pytest.raises(UsageError):
                replace(claim, **change)
    with pytest.raises(UsageError):
        replace(claim.context, session=b"\x01" * 31)


GROUP = ristretto255()

LAWS: dict[str, NoiseLaw] = {
    "table": GaussianTable.with_scale("2.5", rows=31),
    "narrow table": GaussianTable.with_scale("0.75", bits=20, rows=7),
    "few bits": binomial(20),
    "many bits": binomial(300),
    "uniforms": irwin_hall(14, 5),
    "odd weights": WeightedBits((WeightRun(1, 130), WeightRun(2, 3), WeightRun(3, 130))),
}

MANY = {"few bits": 1, "many bits": 3, "uniforms": 1, "odd weights": 3}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_have_the_law(law: NoiseLaw) -> None:
    """Chi-square over rows of at least 20 expected draws; alarms once in 10,000 runs each."""
    draws = np.zeros(200_000, dtype=np.int64)
    add_noise(draws, law, GROUP, seeded("draws"))
    assert np.abs(draws).max() <= law.radius
    expected = np.array([float(Fraction(mass, law.total)) for mass in law.masses]) * len(draws)
    observed = np.bincount(draws + law.radius, minlength=len(expected))
    usual = expected >= 20
    rare = float(expected[~usual].sum())
    assert observed[~usual].sum() <= stats.poisson.isf(1e-5, rare) if rare else True
    columns = np.append(observed[usual], observed[~usual].sum())
    means = np.append(expected[usual], rare)
    if not rare:
        columns, means = columns[:-1], means[:-1]
    assert stats.chisquare(columns, means * columns.sum() / means.sum()).pvalue > 1e-4


@given(st.lists(st.integers(1, 40), min_size=2, max_size=400).filter(lambda w: sum(w) % 2 == 0))
def test_groups_hold_every_weight_once_and_have_a_middle(weights: list[int]) -> None:
    groups = even_groups(tuple(weights))
    assert sorted(weight for group in groups for weight in group) == sorted(weights)
    assert all(1 <= len(group) <= BITS and sum(group) % 2 == 0 for group in groups)


@pytest.mark.parametrize("name", MANY)
def test_the_groups_of_a_law_convolve_to_it(name: str) -> None:
    law = LAWS[name]
    groups = [np.array(piece, dtype=object) for piece in law.pieces]
    assert len(groups) == MANY[name]
    whole = groups[0]
    for group in groups[1:]:
        whole = np.convolve(whole, group)
    assert tuple(whole.tolist()) == law.masses
    assert all(before <= after for before, after in pairwise(law.cumulative))


def test_noise_is_added_in_place_and_wraps() -> None:
    law = LAWS["table"]
    signed, words = np.zeros(1000, dtype=np.int64), np.zeros(1000, dtype=np.uint32)
    for array in (signed, words):
        add_noise(array, law, GROUP, seeded("wrap"))
    assert signed.min() < 0 < signed.max()
    assert (words.view(np.int32) == signed).all()
    with pytest.raises(UsageError):
        add_noise(np.zeros(3), law, GROUP, seeded("wrap"))
