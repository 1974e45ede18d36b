"""Noise from weighted bits: exact laws, early commitment, and everything that is bound."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from commitments import Commitment, Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.noise_samples import transcript
from wire.errors import InvalidProof, ProtocolError, UsageError
from zkp import bits
from zkp.batch import ProofClaim, verify_batch
from zkp.noise import WeightedBits, WeightRun, binomial, irwin_hall
from zkp.noise.weighted_bits import (
    NoiseBits,
    WeightedNoisePlan,
    WeightedNoiseStatement,
    commit_weighted_noise,
    prove_weighted_noise,
    verify_weighted_noise,
)
from zkp.range import Interval
from zkp.transcript import Transcript

GROUPS = st.sampled_from(proving_groups())
LAWS = [binomial(4), irwin_hall(2, 2), WeightedBits((WeightRun(1, 2), WeightRun(2, 1)))]
LAW = LAWS[1]
INTERVAL = Interval(-3, 9)


@dataclass(frozen=True)
class Party:
    """A statement and what its prover needs; `again` makes equal private coins anew."""

    statement: WeightedNoiseStatement
    openings: bits.Openings
    again: Callable[[], NoiseBits]
    noise: list[int]

    def prove(self, onto: Transcript | None = None) -> bytes:
        return prove_weighted_noise(
            self.statement, self.again(), self.openings, onto or transcript(), rng=seeded("proof")
        )

    def verify(self, proof: bytes, onto: Transcript | None = None) -> None:
        verify_weighted_noise(self.statement, proof, onto or transcript())


def party(
    plan: WeightedNoisePlan,
    values: list[int] | None,
    seed: int | str = 1,
    *,
    coins: bytes | None = None,
    claimed: list[int] | None = None,
) -> Party:
    """An honest party; `claimed` replaces the noise in the output, for the dishonest one."""
    group, order = plan.group, plan.group.order
    inputs = None if values is None else group.secret_scalars([v % order for v in values])

    def again() -> NoiseBits:
        return commit_weighted_noise(plan, inputs, transcript(), rng=seeded(f"hidden {seed}"))

    hidden = again()
    if coins is None:
        coins = bytes(byte & 1 for byte in seeded(f"coins {seed}")(plan.coin_count))
    noise = hidden.noise(coins)
    found = [(v + order // 2) % order - order // 2 for v in noise.reveal().ints()]
    if claimed is not None:
        noise = group.secret_scalars([v % order for v in claimed])
    key = VectorPedersen(group, plan.dimension)
    total = noise if inputs is None else noise + inputs
    output, opened = key.commit_fresh(total, rng=seeded(f"output {seed}"))
    given, vectors = None, [opened]
    if plan.inputs_committed and inputs is not None:
        given, own = key.commit_fresh(inputs, rng=seeded(f"inputs {seed}"))
        vectors = [own, opened]
    statement = WeightedNoiseStatement(plan, hidden.point, coins, output, given)
    return Party(statement, bits.Openings(vectors=vectors), again, found)


def plans(group: Group, dimension: int, law: WeightedBits = LAW) -> list[WeightedNoisePlan]:
    return [
        WeightedNoisePlan(group, law, dimension),
        WeightedNoisePlan(group, law, dimension, INTERVAL),
        WeightedNoisePlan(group, law, dimension, INTERVAL, inputs_committed=True),
    ]


def values_of(plan: WeightedNoisePlan) -> list[int] | None:
    return None if plan.interval is None else [(5 * i) % 13 - 3 for i in range(plan.dimension)]


@given(GROUPS, st.sampled_from(LAWS), st.integers(1, 4), st.integers(0, 2), st.integers())
@settings(max_examples=examples(20), deadline=None)
def test_honest_parties_are_accepted(
    group: Group, law: WeightedBits, dimension: int, which: int, seed: int
) -> None:
    plan = plans(group, dimension, law)[which]
    made = party(plan, values_of(plan), seed)
    made.verify(made.prove())


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_either_uniform_coins_give_exactly_the_law(law: WeightedBits) -> None:
    """All public coins against all private ones, through the rows of the real statement."""
    plan = WeightedNoisePlan(ristretto255(), law, 1)
    order = plan.group.order
    every = list(itertools.product((0, 1), repeat=len(law.weights)))
    found: dict[tuple[int, ...], Counter[int]] = {bits: Counter() for bits in every}
    for coins in every:
        made = party(plan, None, 1, coins=bytes(coins)).statement.as_bits()
        signed, (constant,) = made.varying.ints(), made.constants.ints()
        for private in every:
            value = constant + sum(s * a for s, a in zip(signed, private, strict=True))
            found[private][(value + order // 2) % order - order // 2] += 1
    for counts in found.values():  # whatever was committed, over all public coins
        assert [counts[i - law.radius] for i in range(len(law.masses))] == list(law.masses)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [2_000, pytest.param(8_000, marks=pytest.mark.soak)])
def test_the_noise_of_a_witness_follows_the_law(draws: int) -> None:
    """Draws of the function that makes outputs, with constant public coins."""
    plan = WeightedNoisePlan(ristretto255(), irwin_hall(4, 4), draws // 2)
    found: Counter[int] = Counter()
    for number in range(2):
        hidden = commit_weighted_noise(plan, None, transcript(), rng=seeded(f"law {number}"))
        noise = hidden.noise(bytes(plan.coin_count)).reveal().ints()
        order = plan.group.order
        found.update((v + order // 2) % order - order // 2 for v in noise)
    observed, expected = [0.0], [0.0]
    for row, mass in enumerate(plan.law.masses):
        if expected[-1] >= 10:
            observed.append(0)
            expected.append(0)
        observed[-1] += found[row - plan.law.radius]
        expected[-1] += draws * mass / plan.law.total
    observed[-2:], expected[-2:] = [sum(observed[-2:])], [sum(expected[-2:])]
    assert found.total() == draws
    assert float(stats.chisquare(observed, expected).pvalue) > 1e-4


@pytest.mark.parametrize("which", range(3))
def test_false_outputs_are_refused_before_and_after(
    group: Group, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zero noise, scaled noise, noise off by one in one coordinate."""
    plan = plans(group, 3)[which]
    made = party(plan, values_of(plan))
    made.verify(made.prove())
    true = made.noise
    assert any(true)
    lies = [[0, 0, 0], [2 * eta for eta in true], [true[0] + 1, *true[1:]], true[::-1]]
    for claimed in lies:
        assert claimed != true
        liar = party(plan, values_of(plan), claimed=claimed)
        with pytest.raises(UsageError):
            liar.prove()
        with monkeypatch.context() as patched:
            patched.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
            patched.setattr("zkp.bits.prover.require_valid", lambda *_: None)
            made.verify(made.prove())
            forged = liar.prove()
        with pytest.raises(InvalidProof):
            liar.verify(forged)


def test_bits_committed_after_the_coins_are_refused(group: Group) -> None:
    """The proof alone is fine: only the point that was published before tells."""
    plan = plans(group, 2)[0]
    honest = party(plan, None)
    honest.verify(honest.prove())
    coins = honest.statement.coins
    wanted = group.secret_scalars([coin ^ 1 for coin in coins])  # every bit comes out as 1
    late = bits.commit_bits(group, plan.layout, wanted, transcript(), rng=seeded(3))
    chosen = NoiseBits(plan, late, wanted)
    key = VectorPedersen(group, 2)
    output, opening = key.commit_fresh(chosen.noise(coins), rng=seeded(4))
    assert chosen.noise(coins).reveal().ints() == [plan.law.radius] * 2
    claim = WeightedNoiseStatement(plan, late.point, coins, output)
    openings = bits.Openings(vectors=[opening])
    proof = prove_weighted_noise(claim, chosen, openings, transcript(), rng=seeded(5))
    verify_weighted_noise(claim, proof, transcript())
    published = replace(claim, committed=honest.statement.committed)
    with pytest.raises(InvalidProof) as refused:
        verify_weighted_noise(published, proof, transcript())
    assert refused.value.check == "06-A12"
    with pytest.raises(InvalidProof):
        verify_batch([ProofClaim(published, proof, transcript())], rng=seeded(6))


def test_private_coins_serve_once(group: Group) -> None:
    plan = plans(group, 2)[0]
    made = party(plan, None)
    hidden = made.again()
    coins = made.statement.coins
    made.verify(
        prove_weighted_noise(made.statement, hidden, made.openings, transcript(), rng=seeded(1))
    )
    with pytest.raises(UsageError):
        hidden.noise(bytes(1 - coin for coin in coins))
    with pytest.raises(UsageError):
        prove_weighted_noise(made.statement, hidden, made.openings, transcript(), rng=seeded(1))
    assert "secret" in repr(hidden)


@lru_cache
def two_parties(group: Group) -> tuple[Party, Party, bytes]:
    plan = plans(group, 3)[2]
    mine, theirs = (party(plan, values_of(plan), seed) for seed in ("mine", "theirs"))
    theirs.verify(theirs.prove())
    proof = mine.prove()
    mine.verify(proof)
    return mine, theirs, proof


def test_proofs_do_not_move(group: Group) -> None:
    """Nothing of another party fits; published records change the statement in other ways."""
    mine, theirs, proof = two_parties(group)
    with pytest.raises(InvalidProof):
        mine.verify(proof, transcript(b"another party"))
    with pytest.raises(InvalidProof):
        theirs.verify(proof)
    for part in ("coins", "committed", "inputs", "output"):
        moved = replace(mine.statement, **{part: getattr(theirs.statement, part)})
        with pytest.raises(InvalidProof):
            replace(mine, statement=moved).verify(proof)


def test_a_witness_that_does_not_fit_is_refused(group: Group) -> None:
    plan = plans(group, 3)[2]
    made, other = party(plan, values_of(plan)), party(plan, values_of(plan), seed=2)
    made.verify(made.prove())
    for changes in (
        {"again": other.again},
        {"openings": other.openings},
        {"openings": bits.Openings(vectors=list(made.openings.vectors)[::-1])},
        {"openings": bits.Openings(vectors=list(made.openings.vectors)[:1])},
    ):
        with pytest.raises(UsageError):
            replace(made, **changes).prove()
    outside = [plan.interval.high + 1 if plan.interval else 0, 0, 0]
    short = group.secret_scalars([0, 0])
    for inputs in (group.secret_scalars(outside), short, None):
        with pytest.raises(UsageError):
            commit_weighted_noise(plan, inputs, transcript(), rng=seeded(1))
    alone = plans(group, 2)[0]
    commit_weighted_noise(alone, None, transcript(), rng=seeded(1))
    with pytest.raises(UsageError):
        commit_weighted_noise(alone, short, transcript(), rng=seeded(1))


def test_statements_have_one_of_each(group: Group) -> None:
    mine, _, proof = two_parties(group)
    mine.verify(proof)
    statement = mine.statement
    coins = statement.coins
    scalar, _ = Pedersen(group).commit_fresh(group.secret_scalars([1]), rng=seeded(1))
    longer = Commitment(VectorPedersen(group, 4), statement.output.points)
    for changes in (
        {"coins": coins[:-1]},
        {"coins": coins + b"\0"},
        {"coins": b"\2" + coins[1:]},
        {"coins": list(coins)},
        {"output": scalar},
        {"output": longer},
        {"inputs": longer},
        {"inputs": None},
    ):
        with pytest.raises(UsageError):
            replace(statement, **changes)
    with pytest.raises(UsageError):
        WeightedNoisePlan(group, LAW, 3, inputs_committed=True)
    with pytest.raises(UsageError):
        WeightedNoisePlan(group, LAW, 0)
    half = group.order // 2
    WeightedNoisePlan(group, LAW, 1, Interval(0, half - LAW.radius))
    with pytest.raises(UsageError):
        WeightedNoisePlan(group, LAW, 1, Interval(0, half - LAW.radius + 1))


@pytest.mark.parametrize(
    ("dimension", "width"), [(50, 4), pytest.param(1000, 16, marks=pytest.mark.soak)]
)
def test_rows(dimension: int, width: int) -> None:
    plan = WeightedNoisePlan(
        ristretto255(), irwin_hall(4, 4), dimension, Interval(0, 2**width - 1), True
    )
    made = party(plan, [i * 7919 % 2**width for i in range(dimension)])
    proof = made.prove()
    made.verify(proof)
    with pytest.raises(ProtocolError):
        made.verify(proof[:-1] + bytes([proof[-1] ^ 1]))


def test_openings_of_commitments_are_not_of_vectors(group: Group) -> None:
    plan = plans(group, 1)[0]
    made = party(plan, None)
    made.verify(made.prove())
    (opening,) = made.openings.vectors
    scalar = Opening(Pedersen(group), opening.values, opening.blindings)
    with pytest.raises(UsageError):
        replace(made, openings=bits.Openings(vectors=[scalar])).prove()
