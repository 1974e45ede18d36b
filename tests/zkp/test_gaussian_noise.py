"""Gaussian noise proofs: what they accept, in both kinds, and what provers are refused."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.noise_samples import DEFAULT, SMALL, UNIT, Party, commit, party
from wire.errors import ProtocolError, UsageError
from zkp.noise import GaussianTable
from zkp.noise.gaussian_table import (
    GaussianNoiseStatement,
    NoiseSeeds,
    NoiseWitness,
    prove_gaussian_noise,
)
from zkp.range import Interval, RangeStatement
from zkp.transcript import Transcript

GROUPS = st.sampled_from(proving_groups())
HALVES = st.integers(0, SMALL.total - 1)


@given(GROUPS, st.lists(st.tuples(HALVES, HALVES, st.integers(0, 20)), min_size=1, max_size=3))
@settings(max_examples=examples(15), deadline=None)
def test_honest_draws_are_proved(group: Group, draws: list[tuple[int, int, int]]) -> None:
    halves, coins, values = zip(*draws, strict=True)
    joint = party(group, SMALL, halves, coins, values)
    joint.verify(joint.prove())
    alone = party(group, SMALL, halves, coins)
    alone.verify(alone.prove())


def test_every_draw_of_a_table_gives_its_noise() -> None:
    """All pairs of halves, proved: the outputs follow the table exactly."""
    group = ristretto255()
    table = GaussianTable.with_scale("0.7", bits=2, rows=3)
    found: Counter[int] = Counter()
    for y, p in itertools.product(range(table.total), repeat=2):
        made = party(group, table, [y], [p])
        made.verify(made.prove())
        found.update(made.noise)
    assert [found[noise] for noise in (-1, 0, 1)] == [4 * mass for mass in table.masses]


def test_the_default_table(group: Group) -> None:
    joint = party(group, DEFAULT, [2**48 - 1], [2**47 + 12345], [7])
    data = joint.prove()
    joint.verify(data)
    assert len(data) == 864


def test_many_draws_share_one_proof() -> None:
    """Twelve coordinates: twelve times the bits, a few more points."""
    group, total = ristretto255(), DEFAULT.total
    halves = [(7919 * i + 13) ** 4 % total for i in range(12)]
    coins = [(104729 * i + 5) ** 4 % total for i in range(12)]
    made = party(group, DEFAULT, halves, coins, list(range(12)))
    proof = made.prove()
    made.verify(proof)
    assert len(proof) < 864 + 12 * 32
    coins[7] ^= 1
    changed = replace(made.statement, coins=tuple(coins))
    with pytest.raises(ProtocolError):
        replace(made, statement=changed).verify(proof)


def test_seeds_are_uniform_bits_of_the_source(group: Group) -> None:
    seeds = NoiseSeeds.fresh(group, DEFAULT, 3, rng=seeded(5))
    data = seeded(5)(24)
    expected = [int.from_bytes(data[i : i + 6], "little") for i in (0, 8, 16)]
    assert seeds.opening.values.reveal().ints() == expected
    Pedersen(group).verify_opening(seeds.commitment, seeds.opening.reveal())
    assert len(set(seeds.opening.blindings.reveal().ints())) == 3


def test_seeds_serve_one_list_of_coins(group: Group) -> None:
    seeds = NoiseSeeds.fresh(group, SMALL, 2, rng=seeded(1))
    first = seeds.noise([3, 4]).reveal().ints()
    assert seeds.noise([3, 4]).reveal().ints() == first
    with pytest.raises(UsageError):
        seeds.noise([3, 5])
    with pytest.raises(UsageError):
        NoiseSeeds.fresh(group, SMALL, 2, rng=seeded(1)).noise([3])
    with pytest.raises(UsageError):
        seeds.draws([3, SMALL.total])


def test_seeds_serve_one_output_and_input(group: Group) -> None:
    """One noise in two outputs would leave the difference of the inputs in the clear."""
    key, seeds, coins = Pedersen(group), NoiseSeeds.fresh(group, SMALL, 1, rng=seeded(1)), (3,)

    def attempt(value: int, context: str) -> None:
        commitment, opening = key.commit_fresh(group.secret_scalars([value]), rng=seeded(context))
        noisy = opening.values + seeds.noise(coins)
        output, noisy_opening = key.commit_fresh(noisy, rng=seeded(context + " output"))
        inputs = RangeStatement.up_to(commitment, 15)
        statement = GaussianNoiseStatement(SMALL, seeds.commitment, coins, output, inputs)
        transcript = Transcript(b"tests/serve once")
        transcript.absorb(b"context", context.encode())
        witness = NoiseWitness(seeds, noisy_opening, opening)
        prove_gaussian_noise(statement, witness, transcript, rng=seeded(2))

    attempt(3, "first")
    attempt(3, "first")
    for value, context in ((15, "first"), (3, "second")):
        with pytest.raises(UsageError):
            attempt(value, context)
    attempt(3, "first")


@pytest.mark.parametrize("coins", [[3], iter([3])])
def test_coins_are_a_tuple(group: Group, coins: object) -> None:
    seeds = NoiseSeeds.fresh(group, SMALL, 1, rng=seeded(1))
    output = Pedersen(group).commit_fresh(seeds.noise([3]), rng=seeded(2))[0]
    GaussianNoiseStatement(SMALL, seeds.commitment, (3,), output)
    with pytest.raises(UsageError):
        GaussianNoiseStatement(SMALL, seeds.commitment, coins, output)  # type: ignore[arg-type]


def test_noise_of_seeds_is_that_of_the_table(group: Group) -> None:
    seeds = NoiseSeeds.fresh(group, SMALL, 16, rng=seeded(1))
    halves, coins = seeds.opening.values.reveal().ints(), range(16)
    expected = [
        SMALL.noise_at((y + p) % SMALL.total) % group.order
        for y, p in zip(halves, coins, strict=True)
    ]
    assert seeds.noise(coins).reveal().ints() == expected


def refuse(made: Party, **changes: object) -> None:
    """The unchanged witness proves, the changed one raises before anything is made."""
    made.verify(made.prove())
    witness = replace(made.witness, **changes)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        replace(made, witness=witness).prove()


def test_a_witness_that_does_not_fit_is_refused(group: Group) -> None:
    halves, coins, values = [3, 9], [8, 15], [0, 20]
    made = party(group, SMALL, halves, coins, values)
    other = party(group, SMALL, halves, coins, values, seed=2)
    refuse(made, seeds=other.witness.seeds)
    refuse(made, output=other.witness.output)
    refuse(made, inputs=other.witness.inputs)
    refuse(made, inputs=None)
    alone = party(group, SMALL, halves, coins)
    refuse(alone, inputs=made.witness.inputs)
    one = party(group, SMALL, halves[:1], coins[:1], values[:1])
    refuse(one, output=made.witness.output)
    refuse(one, inputs=made.witness.inputs)
    wider = GaussianTable.with_scale(2, bits=5, rows=7)
    refuse(made, seeds=NoiseSeeds(wider, made.witness.seeds.opening))


@pytest.mark.parametrize("y", [-1, SMALL.total, SMALL.total + 5, 2**252])
def test_halves_out_of_range_are_refused(group: Group, y: int) -> None:
    inside = party(group, SMALL, [3], [4])
    inside.verify(inside.prove())
    for coin in (0, 5, SMALL.total - 1):
        with pytest.raises(UsageError):
            party(group, SMALL, [y], [coin]).prove()


@pytest.mark.parametrize("value", [-1, 21, 2**252])
def test_inputs_out_of_range_are_refused(group: Group, value: int) -> None:
    inside = party(group, SMALL, [3], [4], [20])
    inside.verify(inside.prove())
    with pytest.raises(UsageError):
        party(group, SMALL, [3], [4], [value]).prove()


def test_false_outputs_are_refused(group: Group) -> None:
    made = party(group, SMALL, [3], [4], [20])
    made.verify(made.prove())
    (noise,) = made.noise
    for claimed in set(range(-4, 5)) - {noise}:
        with pytest.raises(UsageError):
            party(group, SMALL, [3], [4], [20], claimed=[claimed]).prove()


def test_statements_have_one_of_each(group: Group) -> None:
    made = party(group, SMALL, [3, 9], [8, 15], [0, 20])
    made.verify(made.prove())
    statement = made.statement
    single, _ = commit(group, [1], 9)
    three, _ = commit(group, [1, 2, 3], 9)
    vector, _ = VectorPedersen(group, 2).commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    for changes in (
        {"coins": (8,)},
        {"coins": (8, 15, 1)},
        {"coins": (8, 32)},
        {"coins": (-1, 15)},
        {"coins": (8.0, 15)},
        {"seeds": single},
        {"output": three},
        {"output": vector},
        {"seeds": vector},
        {"inputs": RangeStatement.up_to(single, 3)},
        {"inputs": RangeStatement.up_to(three, 3)},
    ):
        with pytest.raises(UsageError):
            replace(statement, **changes)
    empty, _ = commit(group, [], 1)
    with pytest.raises(UsageError):
        GaussianNoiseStatement(SMALL, empty, (), empty)


def test_inputs_leave_room_for_the_noise(group: Group) -> None:
    commitment, _ = commit(group, [1], 1)
    half = group.order // 2
    for radius, fits in ((SMALL.radius, True), (SMALL.radius - 1, False)):
        inputs = RangeStatement(commitment, (Interval(0, half - radius),))
        if fits:
            GaussianNoiseStatement(SMALL, commitment, (1,), commitment, inputs)
            continue
        with pytest.raises(UsageError):
            GaussianNoiseStatement(SMALL, commitment, (1,), commitment, inputs)


def test_witnesses_stay_closed(group: Group) -> None:
    made = party(group, SMALL, [3], [4], [20])
    for secret in (made.witness, made.witness.seeds):
        assert "secret" in repr(secret)
        with pytest.raises(UsageError):
            hash(secret)


def test_openings_may_be_kept_and_used_later(group: Group) -> None:
    """Seeds restored from a stored opening prove the same statement."""
    made = party(group, SMALL, [3], [4], [UNIT.high])
    old = made.witness.seeds.opening
    stored = Opening(old.key, old.values, old.blindings)
    restored = NoiseWitness(NoiseSeeds(SMALL, stored), made.witness.output, made.witness.inputs)
    made.verify(replace(made, witness=restored).prove())
