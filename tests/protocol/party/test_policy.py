"""What a party refuses before it says anything, and before the coins are known."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import gopa
from bulletin_board import KeyKind, NoteSigner
from gopa.contract.beacon import LEAGUE_OF_ENTROPY, QUICKNET, DrandChain, Scheme
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Mode, OpenAdmission, Path
from gopa.contract.terms import Terms
from gopa.planning import guarantee
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.protocol.party import LocalPolicy, Party, Refusal
from gopa.protocol.simulation import Script, SimulatedWitnesses
from gopa.protocol.simulation.setup import permissive
from tests.contract.beacon.rounds import FASTNET
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.row_worlds import IN_ROWS, MANY_ROWS
from tests.protocol.simulation.worlds import (
    CURIOUS,
    LENIENT,
    RECOVERING,
    SCALAR,
    VECTOR,
    inputs_for,
    simulate,
)
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes
from zkp.noise import NoNoise

LOG = NoteSigner("log.test", KeyKind.LOG, SecretBytes(bytes(32)))
KEYS = sorted((SigningKey.generate(seeded(i)) for i in range(8)), key=lambda key: key.public.data)
ORGANISER = SigningKey.generate(seeded("organiser"))
WITNESSES = SimulatedWitnesses.fresh(2, seeded("witnesses"), time=0)
STRICT = LocalPolicy(
    epsilon=SCALAR.promised_epsilon,
    delta=SCALAR.delta,
    corrupt_share=Fraction(1, 8),
    simulation=True,
)


def manifest(
    terms: Terms = SCALAR,
    setting: SessionSetting | None = None,
    *,
    witnessed: bool = False,
    roster: OpenAdmission | None = None,
) -> Manifest:
    policy = WITNESSES.policy(LOG.verifier) if witnessed else None
    return new_manifest(
        terms,
        roster or [key.public.data for key in KEYS],
        organiser=ORGANISER.public.data,
        log=LOG.verifier,
        rng=seeded(1),
        setting=setting,
        policy=policy,
    )


def refused(policy: LocalPolicy, offered: Manifest, field: str, key: SigningKey = KEYS[0]) -> bool:
    STRICT.require(manifest(), KEYS[0].public.data)
    with pytest.raises(Refusal) as caught:
        Party(offered, key, policy, rng=seeded(1), toolkit=SWIFT)
    assert str(caught.value).startswith(f"{field}: ")
    return caught.value.field == field


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (replace(STRICT, epsilon=Decimal(99)), "epsilon"),
        (replace(STRICT, delta=Decimal("1e-9")), "delta"),
        (replace(STRICT, corrupt_share=Fraction(1, 4)), "corrupt"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_refusal_says_with_what_the_party_would_take_part(
    policy: LocalPolicy, field: str
) -> None:
    with pytest.raises(Refusal) as caught:
        policy.require(manifest(), KEYS[0].public.data)
    needed = caught.value.needed
    wider = {
        "epsilon": lambda: replace(policy, epsilon=Decimal(needed)),
        "delta": lambda: replace(policy, delta=Decimal(needed)),
        "corrupt": lambda: replace(policy, corrupt_share=Fraction(needed)),
    }
    wider[field]().require(manifest(), KEYS[0].public.data)
    assert caught.value.field == field


PROMISE: dict[str, Any] = {
    "epsilon": 1,
    "delta": "1e-6",
    "mode": "signed",
    "dropout": 0.0,
    "least_chance": 0,
}


@pytest.mark.parametrize(
    ("parties", "share", "asked"),
    [
        (6, None, 1),
        (19, None, 1),
        (19, Fraction(1, 10), 1),
        (20, None, 2),
        (200, None, 20),
        (200, Fraction(1, 200), 1),
        (200, Fraction(0), 1),
        (200, Fraction(1, 4), 50),
        (100, Fraction(29, 100), 29),
    ],
    ids=str,
)
def test_as_many_may_collude_as_a_plan_assumes_if_nobody_says(
    parties: int, share: Fraction | None, asked: int
) -> None:
    """One number for plans and for parties: what is a default here is refused by nobody there."""
    keys = [SigningKey.generate(seeded(i)).public.data for i in range(parties)]

    def offered(corrupt: float) -> Manifest:
        made = gopa.plan(n=parties, corrupt=corrupt, **PROMISE)
        setting = SessionSetting(mode=Mode.SIGNED)
        admitted = sorted(keys)
        return new_manifest(
            made,
            admitted,
            organiser=ORGANISER.public.data,
            log=LOG.verifier,
            rng=seeded(1),
            setting=setting,
        )

    policy = LocalPolicy(Decimal(1), Decimal("1e-6"), modes=frozenset({Mode.SIGNED}))
    if share is not None:
        policy = replace(policy, corrupt_share=share)
        assert offered(float(share)).terms.corrupt == asked
    else:
        plain = gopa.plan(n=parties, **PROMISE)
        assert plain.terms.corrupt == asked
    policy.require(offered(asked), keys[0])
    if asked > 1:
        with pytest.raises(Refusal) as caught:
            policy.require(offered(asked - 1), keys[0])
        assert caught.value.field == "corrupt"
        less = replace(policy, corrupt_share=Fraction(caught.value.needed))
        less.require(offered(asked - 1), keys[0])


POLICIES = {
    "epsilon": (replace(STRICT, epsilon=Decimal(99)), "epsilon"),
    "delta": (replace(STRICT, delta=Decimal("1e-9")), "delta"),
    "corrupt share": (replace(STRICT, corrupt_share=Fraction(1, 4)), "corrupt"),
    "mode": (replace(STRICT, modes=frozenset({Mode.SIGNED})), "mode"),
    "beacon": (replace(STRICT, beacons=frozenset({DrandBeacon})), "beacon"),
    "witnesses": (replace(STRICT, witnesses=True), "policy"),
}


@pytest.mark.parametrize(("policy", "field"), POLICIES.values(), ids=POLICIES)
def test_manifest_below_the_policy(policy: LocalPolicy, field: str) -> None:
    assert refused(policy, manifest(), field)


OFFERS = {
    "simulation": (manifest(setting=SessionSetting(simulation=True)), "simulation"),
    "nobody is distrusted": (manifest(CURIOUS, LENIENT), "mode"),
    "anybody may join": (manifest(roster=OpenAdmission(8)), "admission"),
    "unknown beacon": (
        manifest(
            replace(SCALAR, beacon="drand"),
            SessionSetting(beacon=DrandBeacon(FASTNET)),
            witnessed=True,
        ),
        "chain",
    ),
}


@pytest.mark.parametrize(("offered", "field"), OFFERS.values(), ids=OFFERS)
def test_session_of_a_kind_that_is_not_allowed(offered: Manifest, field: str) -> None:
    real = replace(STRICT, simulation=False)
    real.require(manifest(), KEYS[0].public.data)
    assert refused(real, offered, field)


def test_lenient_trust_is_asked_for_by_name() -> None:
    policy = replace(STRICT, modes=frozenset(Mode))
    assert refused(policy, manifest(CURIOUS, LENIENT), "trust")
    replace(policy, honest_but_curious=True).require(
        manifest(CURIOUS, LENIENT), KEYS[0].public.data
    )


EXACT = replace(SCALAR, noise=NoNoise(), epsilon=None, mask="uniform", mask_deviation=0, charged=0)


@pytest.mark.parametrize("epsilon", [Decimal(100), Decimal("1e9"), Decimal("Infinity")])
def test_exact_sums_are_accepted_by_name_only(epsilon: Decimal) -> None:
    """However large an epsilon a party accepts, it does not say that it needs none."""
    policy = replace(STRICT, epsilon=epsilon)
    offered = manifest(EXACT)
    assert refused(policy, offered, "exact_sums")
    replace(policy, exact_sums=True).require(offered, KEYS[0].public.data)
    replace(STRICT, epsilon=Decimal("1e-9"), exact_sums=True).require(offered, KEYS[0].public.data)


def test_who_accepts_exact_sums_asks_noisy_sessions_for_what_it_asked_before() -> None:
    assert refused(
        replace(STRICT, epsilon=Decimal("0.001"), exact_sums=True), manifest(), "epsilon"
    )


def test_a_second_exact_sum_is_refused_by_parties_too() -> None:
    accepting = replace(STRICT, exact_sums=True)
    accepting.require(manifest(EXACT), KEYS[0].public.data)
    assert refused(accepting, manifest(replace(EXACT, charged=1)), "terms")
    anybody = replace(accepting, open_admission=True)
    once = replace(EXACT, attempts=1)
    anybody.require(manifest(once, roster=OpenAdmission(8)), KEYS[0].public.data)
    assert refused(anybody, manifest(EXACT, roster=OpenAdmission(8)), "terms")


def drawn_from(chain: DrandChain) -> Manifest:
    """A session with the coins of this chain."""
    setting = SessionSetting(beacon=DrandBeacon(chain))
    return manifest(replace(SCALAR, beacon="drand"), setting, witnessed=True)


def test_known_beacon_with_witnesses_is_accepted() -> None:
    replace(STRICT, witnesses=True).require(drawn_from(QUICKNET), KEYS[0].public.data)


@pytest.mark.parametrize(
    ("known", "scheme"),
    [
        (QUICKNET, Scheme.BLS_UNCHAINED_ON_G1),
        (LEAGUE_OF_ENTROPY, Scheme.PEDERSEN_BLS_UNCHAINED),
    ],
    ids=["quicknet", "league of entropy"],
)
def test_known_key_under_another_scheme_is_another_chain(known: DrandChain, scheme: Scheme) -> None:
    """The two have one hash, as drand makes it."""
    STRICT.require(drawn_from(known), KEYS[0].public.data)
    other = replace(known, scheme=scheme)
    assert other.chain_hash == known.chain_hash
    assert refused(STRICT, drawn_from(other), "chain")
    own = replace(STRICT, chains=frozenset({other}))
    own.require(drawn_from(other), KEYS[0].public.data)
    assert refused(own, drawn_from(known), "chain")


def test_plan_that_claims_more_than_it_has() -> None:
    """The party computes for itself what the terms are worth (04-S3)."""
    claims = replace(SCALAR, delta=Decimal("1e-9"))
    assert guarantee(claims).total > claims.delta
    trusting = replace(STRICT, delta=Decimal(1))
    trusting.require(manifest(), KEYS[0].public.data)
    assert refused(trusting, manifest(claims), "terms")


def test_stranger_and_organiser_do_not_join() -> None:
    assert refused(STRICT, manifest(), "admission", SigningKey.generate(seeded("stranger")))
    assert refused(STRICT, manifest(), "organiser", ORGANISER)


def test_number_that_joined_is_judged_before_the_coins() -> None:
    offered = manifest()
    STRICT.require_joined(offered, 8)
    STRICT.require_joined(offered, SCALAR.survivors)
    with pytest.raises(Refusal) as caught:
        STRICT.require_joined(offered, SCALAR.survivors - 1)
    assert caught.value.field == "joined"


def test_permissive_policy_takes_part_in_every_kind_of_simulation() -> None:
    for terms, setting in ((SCALAR, None), (CURIOUS, LENIENT), (RECOVERING, None)):
        permissive(terms).require(manifest(terms, setting), KEYS[0].public.data)
    assert CommitReveal in permissive(SCALAR).beacons


def test_round_without_input_is_sat_out() -> None:
    simulation, inputs = simulate(toolkit=SWIFT, script=Script()), inputs_for(SCALAR)
    record = simulation.run_round([None, *inputs[1:]])
    assert record.included == tuple(range(1, 8))
    assert record.usage[0].posted == 0
    assert not record.halted


def test_vectors_may_be_proved_by_either_path_unless_a_party_says_otherwise() -> None:
    offered = manifest(MANY_ROWS, replace(IN_ROWS, simulation=True))
    willing = replace(permissive(MANY_ROWS), paths=frozenset({Path.ROWS}))
    willing.require(offered, KEYS[0].public.data)
    assert refused(replace(willing, paths=frozenset({Path.BITS})), offered, "path")
    assert STRICT.paths == frozenset(Path)
    numbers = replace(permissive(SCALAR), paths=frozenset({Path.ROWS}))
    numbers.require(manifest(SCALAR), KEYS[0].public.data)
    vectors = replace(permissive(VECTOR), paths=frozenset({Path.ROWS}))
    assert refused(vectors, manifest(VECTOR), "path")
    signed = SessionSetting(mode=Mode.SIGNED, simulation=True)
    replace(vectors, modes=frozenset(Mode)).require(manifest(VECTOR, signed), KEYS[0].public.data)
