"""Gaussian noise proofs: what they accept, what provers are refused, and what must not pass."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Opening, Pedersen, VectorPedersen, ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.noise_samples import DEFAULT, SMALL, UNIT, Party, commit, party, transcript
from wire.errors import InvalidProof, ProtocolError, UsageError
from zkp.noise import GaussianTable, NoiseSeeds
from zkp.noise.gaussian_table import (
    Draw,
    GaussianNoiseStatement,
    NoiseWitness,
    draw,
    prove_gaussian_noise,
)
from zkp.range import Interval, RangeStatement
from zkp.transcript import Transcript
from zkp.vectors import constant

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


def placed(row: int, below: int, above: int, carry: int) -> Draw:
    return Draw(row - SMALL.radius, row, below, above, carry)


def forge(monkeypatch: pytest.MonkeyPatch, made: Party, told: Draw) -> bytes:
    """The proof of a prover that skips its checks and places its draw where it likes."""
    with monkeypatch.context() as patched:
        patched.setattr("zkp.bits.prover.require_satisfied", lambda *_: None)
        patched.setattr("zkp.bits.prover.require_valid", lambda *_: None)
        patched.setattr("zkp.noise.gaussian_table.draw", lambda *_: told)
        return made.prove()


class _AlwaysEqual:
    """Stands for what an honest prover compares its results with."""

    def __ne__(self, other: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return True


# A draw exactly on the lower boundary of a row: y + p = F_4 + 32, so the carry is set.
ROW = 4
START = SMALL.cumulative[ROW]
COIN = 25
HALF = START + SMALL.total - COIN
assert 0 <= HALF < SMALL.total
WIDTH = SMALL.masses
LIES: dict[str, Draw] = {
    "the row below its boundary": placed(ROW - 1, WIDTH[ROW - 1], -1, 1),
    "the row below, both slacks in range": placed(ROW - 1, WIDTH[ROW - 1] - 1, 0, 1),
    "the first integer of the row below": placed(ROW - 1, 0, WIDTH[ROW - 1] - 1, 1),
    "the row above": placed(ROW + 1, 0, WIDTH[ROW + 1] - 1, 1),
    "the first row": placed(0, 0, 0, 1),
    "no carry": placed(ROW, 0, WIDTH[ROW] - 1, 0),
    "no carry, the last row": placed(6, 0, 0, 0),
    "one further in the row": placed(ROW, 1, WIDTH[ROW] - 2, 1),
    "a slack too long": placed(ROW, 0, WIDTH[ROW], 1),
}


@pytest.mark.parametrize("lie", LIES)
def test_no_other_place_in_the_table_passes(
    group: Group, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = party(group, SMALL, [HALF], [COIN], [7])
    honest.verify(forge(monkeypatch, honest, draw(SMALL, HALF, COIN)))
    told = LIES[lie]
    liar = party(group, SMALL, [HALF], [COIN], [7], claimed=[told.noise])
    forged = forge(monkeypatch, liar, told)
    with pytest.raises(InvalidProof):
        liar.verify(forged)


@pytest.mark.parametrize("factor", [0, -1, 2])
def test_scaled_noise_does_not_pass(
    group: Group, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = draw(SMALL, 3, 0)
    assert true.noise != 0
    honest = party(group, SMALL, [3], [0], [7])
    honest.verify(forge(monkeypatch, honest, true))
    liar = party(group, SMALL, [3], [0], [7], claimed=[factor * true.noise])
    with pytest.raises(InvalidProof):
        liar.verify(forge(monkeypatch, liar, true))


class _Bits(Draw):
    """A draw that writes down the bits it is told."""

    __slots__ = ("told",)
    told: list[int]

    def bits(self, table: GaussianTable) -> list[int]:
        del table
        return self.told


def lying_bits(told: Draw, bits: list[int]) -> Draw:
    made = _Bits(told.noise, told.row, told.below, told.above, told.carry)
    object.__setattr__(made, "told", bits)
    return made


BITS = draw(SMALL, HALF, COIN).bits(SMALL)
SETTINGS: dict[str, list[int]] = {
    "two rows": [1, *BITS[1:]],
    "no row": [0] * SMALL.rows + BITS[SMALL.rows :],
    "no bit at all": [0] * len(BITS),
    "every bit": [1] * len(BITS),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_exactly_one_row(group: Group, setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = party(group, SMALL, [HALF], [COIN])
    true = draw(SMALL, HALF, COIN)
    honest.verify(forge(monkeypatch, honest, lying_bits(true, BITS)))
    bits = SETTINGS[setting]
    noise = sum(bit * (row - SMALL.radius) for row, bit in enumerate(bits[: SMALL.rows]))
    liar = party(group, SMALL, [HALF], [COIN], claimed=[noise])
    with pytest.raises(InvalidProof):
        liar.verify(forge(monkeypatch, liar, lying_bits(true, bits)))


@pytest.mark.parametrize("carry", [2, -1])
def test_the_carry_is_a_bit(group: Group, carry: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half two totals too large, or one below zero, would satisfy every row."""
    half = START + carry * SMALL.total - COIN
    true = draw(SMALL, HALF, COIN)
    honest = party(group, SMALL, [HALF], [COIN])
    honest.verify(forge(monkeypatch, honest, lying_bits(true, BITS)))
    liar = party(group, SMALL, [half], [COIN], claimed=[true.noise])
    told = [*BITS[:-1], carry % group.order]
    with pytest.raises(UsageError):
        forge(monkeypatch, liar, lying_bits(true, told))

    def blind(group: Group, value: int, length: int) -> object:
        return _AlwaysEqual() if length == len(told) else constant(group, value, length)

    monkeypatch.setattr("zkp.bits.witness.constant", blind)
    honest.verify(forge(monkeypatch, honest, lying_bits(true, BITS)))
    with pytest.raises(InvalidProof):
        liar.verify(forge(monkeypatch, liar, lying_bits(true, told)))


def test_a_half_chosen_after_the_coins_is_not_noticed_here(group: Group) -> None:
    """Why callers make sure of the order: with it turned round, any noise can be had."""
    for row, start in enumerate(SMALL.cumulative[:-1]):
        made = party(group, SMALL, [(start - COIN) % SMALL.total], [COIN])
        made.verify(made.prove())
        assert made.noise == [row - SMALL.radius]


@lru_cache
def two_parties(group: Group) -> tuple[Party, Party, bytes]:
    mine = party(group, SMALL, [3, 14], [8, 15], [0, 20], seed="mine")
    theirs = party(group, SMALL, [3, 14], [9, 14], [0, 20], seed="theirs")
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
    own, other = mine.statement, theirs.statement
    for changes in (
        {"coins": other.coins},
        {"seeds": other.seeds},
        {"inputs": other.inputs},
        {"output": other.output},
        {"seeds": own.output, "output": own.seeds},
    ):
        with pytest.raises(InvalidProof):
            replace(mine, statement=replace(own, **changes)).verify(proof)


def test_equal_numbers_under_another_table_are_another_statement(group: Group) -> None:
    """Two descriptions whose rows coincide: the hash of the parameters tells them apart."""
    tables = [GaussianTable.with_scale(scale, bits=5, rows=7) for scale in ("1.5", "1.501")]
    assert tables[0].masses == tables[1].masses
    assert tables[0] != tables[1]
    made = party(group, tables[0], [3], [8])
    proof = made.prove()
    made.verify(proof)
    with pytest.raises(InvalidProof):
        replace(made, statement=replace(made.statement, table=tables[1])).verify(proof)


def test_an_input_is_not_hidden_noise() -> None:
    """A proof of noise alone says nothing about an output that has an input in it."""
    group = ristretto255()
    alone = party(group, SMALL, [3], [8])
    proof = alone.prove()
    alone.verify(proof)
    output, _ = commit(group, [alone.noise[0] + UNIT.high], 5)
    with pytest.raises(InvalidProof):
        replace(alone, statement=replace(alone.statement, output=output)).verify(proof)
