"""One key for everything in a session, and transcripts that belong to one place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commitments import Opening, Pedersen, VectorPedersen
from commitments.group import Group
from gopa.contract.manifest import Manifest
from gopa.rounds.context import RoundContext, commit, opening_of, revealed
from gopa.rounds.statements import noise_coins, require_provable
from tests.contract.samples import manifest, signed_manifest, terms, vector_terms
from tests.randomness import seeded
from tests.rounds.samples import CLOSE, KINDS, context_of, manifest_of, party_number
from wire.domains import INPUT_AND_NOISE, POSSESSION, Domain
from wire.errors import UsageError
from zkp import Transcript
from zkp.noise import WeightedBits, binomial


def in_round(group: Group, agreed: Manifest, number: int = 1) -> RoundContext:
    return RoundContext(agreed, agreed.session, number, group)


@pytest.mark.parametrize("kind", KINDS)
def test_commitments_open_under_the_key_of_the_session(group: Group, kind: str) -> None:
    context = context_of(group, kind)
    values = group.secret_scalars([5, 6, 7][-context.dimension :])
    blinding = group.random_scalars(1, seeded(kind))[0]
    made = commit(context.key, values, blinding)
    opening = opening_of(context.key, values, blinding)
    assert len(made) == len(opening) == 1
    assert made.key == opening.key == context.key
    assert revealed(opening.reveal()) == made
    context.key.verify_opening(made, opening.reveal())
    other = opening_of(context.key, values + group.scalar(1), blinding)
    assert revealed(other.reveal()) != made


def test_each_law_of_noise_has_its_key(group: Group) -> None:
    assert context_of(group, "table").key == Pedersen(group)
    assert context_of(group, "bits").key == VectorPedersen(group, 3)
    single = in_round(group, manifest(terms(noise=binomial(4))))
    assert single.key == VectorPedersen(group, 1)
    assert single.dimension == 1


def test_sums_of_openings_open_sums_of_commitments(group: Group) -> None:
    for kind in KINDS:
        context, rng = context_of(group, kind), seeded(kind)
        parts = []
        for number in (1, 2):
            values = group.secret_scalars([number, 2, 3][-context.dimension :])
            blinding = group.random_scalars(1, rng)[0]
            parts.append(
                (commit(context.key, values, blinding), opening_of(context.key, values, blinding))
            )
        (first, opened), (second, other) = parts
        assert revealed((opened + other).reveal()) == first + second
        assert revealed((opened - other).reveal()) == first - second


def test_only_openings_of_a_known_key_are_revealed(group: Group) -> None:
    class Other:
        group: Group
        values_per_commitment = 1

        def describe(self) -> str:
            return "another key"

    key = Other()
    key.group = group
    values = group.secret_scalars([1])
    assert revealed(Opening(Pedersen(group), values, values).reveal())
    with pytest.raises(UsageError):
        revealed(Opening(key, values, values).reveal())


def test_the_dimension_of_a_vector_is_that_of_the_key(group: Group) -> None:
    context = context_of(group, "bits")
    blinding = group.random_scalars(1, seeded(1))[0]
    assert commit(context.key, group.secret_scalars([1, 2, 3]), blinding)
    for values in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(UsageError):
            commit(context.key, group.secret_scalars(values), blinding)
    scalar = context_of(group, "table")
    with pytest.raises(UsageError):
        commit(scalar.key, group.secret_scalars([1, 2]), blinding)


def challenge(transcript: Transcript) -> bytes:
    return transcript.digest(b"test")


def test_transcripts_belong_to_one_place(group: Group) -> None:
    context = context_of(group)

    def drawn(
        at: RoundContext = context,
        purpose: Domain = INPUT_AND_NOISE,
        acts_on: bytes = CLOSE,
        party: bytes = party_number(1),
    ) -> bytes:
        return challenge(at.transcript(purpose, acts_on, party))

    everything = [
        drawn(),
        drawn(replace(context, session=b"\x01" * 32)),
        drawn(replace(context, round=2)),
        drawn(purpose=POSSESSION),
        drawn(acts_on=b"\x01" * 32),
        drawn(party=party_number(2)),
        drawn(acts_on=party_number(1), party=CLOSE),
    ]
    assert drawn() == everything[0]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("number", [0, -1, 65_536])
def test_rounds_are_numbered_from_one(group: Group, number: int) -> None:
    agreed = manifest()
    assert in_round(group, agreed, 1).round == 1
    assert in_round(group, agreed, 65_535).round == 65_535
    with pytest.raises(UsageError):
        in_round(group, agreed, number)


def test_full_mode_is_the_one_with_commitments(group: Group) -> None:
    full = context_of(group)
    assert full.proved
    assert full.committed_masks
    signed = in_round(group, signed_manifest())
    assert not signed.proved
    assert not signed.committed_masks
    for kind in KINDS:
        require_provable(context_of(group, kind))
    with pytest.raises(UsageError):
        require_provable(signed)


def test_a_plan_of_bits_has_the_inputs_of_the_terms(group: Group) -> None:
    context = context_of(group, "bits")
    law, steps = context.manifest.terms.noise, context.manifest.terms.steps
    assert isinstance(law, WeightedBits)
    plan = law.plan(context.noise_setting)
    assert plan.interval is not None
    assert (plan.dimension, plan.interval.low, plan.interval.high) == (3, 0, steps)
    assert plan.inputs_committed


def test_every_party_and_round_has_coins_of_its_own(group: Group) -> None:
    context = context_of(group)
    agreed = manifest(terms(noise=manifest_of("table").terms.noise))
    drawn = {
        noise_coins(each, joint, party_number(number))
        for each in (context, replace(context, round=2), in_round(group, agreed))
        for joint in (b"\x01" * 32, b"\x02" * 32)
        for number in range(8)
    }
    assert len(drawn) > 8
    width = context.manifest.terms.noise.total
    assert all(0 <= coin < width for (coin,) in drawn)
    assert vector_terms().dimension == 3
