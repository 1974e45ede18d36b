"""What must not pass for proved noise: provers that lie, and proofs that were moved or changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import ristretto255
from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.zkp.noise_samples import SMALL, UNIT, Party, commit, party, transcript
from wire.errors import InvalidProof, ProtocolError, UsageError
from zkp.noise import GaussianTable
from zkp.noise.gaussian_table import Draw, GaussianNoiseStatement, draw
from zkp.range import Interval, RangeStatement
from zkp.vectors import constant

GROUPS = st.sampled_from(proving_groups())


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


Change = Callable[[GaussianNoiseStatement, GaussianNoiseStatement], GaussianNoiseStatement]


def _other_inputs(old: GaussianNoiseStatement, new: GaussianNoiseStatement) -> RangeStatement:
    assert old.inputs is not None
    assert new.inputs is not None
    return replace(old.inputs, commitment=new.inputs.commitment)


def _interval(old: GaussianNoiseStatement, low: int, high: int) -> GaussianNoiseStatement:
    assert old.inputs is not None
    first = (Interval(low, high), *old.inputs.intervals[1:])
    return replace(old, inputs=replace(old.inputs, intervals=first))


CHANGES: dict[str, Change] = {
    "another scale": lambda old, _: replace(old, table=GaussianTable.with_scale(2, bits=5, rows=7)),
    "fewer rows": lambda old, _: replace(old, table=GaussianTable.with_scale(1, bits=5, rows=5)),
    "another coin": lambda old, _: replace(old, coins=(old.coins[0] ^ 1, old.coins[1])),
    "coins swapped": lambda old, _: replace(old, coins=old.coins[::-1]),
    "coins of another party": lambda old, new: replace(old, coins=new.coins),
    "seeds of another party": lambda old, new: replace(old, seeds=new.seeds),
    "inputs of another party": lambda old, new: replace(old, inputs=_other_inputs(old, new)),
    "outputs of another party": lambda old, new: replace(old, output=new.output),
    "outputs without noise": lambda old, _: replace(
        old, output=old.inputs.commitment if old.inputs else old.output
    ),
    "a wider interval": lambda old, _: _interval(old, 0, 21),
    "a smaller interval": lambda old, _: _interval(old, 0, 19),
    "a shifted interval": lambda old, _: _interval(old, -1, 19),
    "no inputs": lambda old, _: replace(old, inputs=None),
    "seeds and outputs swapped": lambda old, _: replace(old, seeds=old.output, output=old.seeds),
}


@lru_cache
def two_parties(group: Group) -> tuple[Party, Party, bytes]:
    mine = party(group, SMALL, [3, 14], [8, 15], [0, 20], seed="mine")
    theirs = party(group, SMALL, [3, 14], [9, 14], [0, 20], seed="theirs")
    theirs.verify(theirs.prove())
    proof = mine.prove()
    mine.verify(proof)
    return mine, theirs, proof


@pytest.mark.parametrize("change", CHANGES)
def test_every_part_of_the_statement_is_bound(group: Group, change: str) -> None:
    mine, theirs, proof = two_parties(group)
    changed = CHANGES[change](mine.statement, theirs.statement)
    with pytest.raises(ProtocolError):
        replace(mine, statement=changed).verify(proof)


def test_proofs_do_not_move(group: Group) -> None:
    mine, theirs, proof = two_parties(group)
    with pytest.raises(InvalidProof):
        mine.verify(proof, transcript(b"another party"))
    with pytest.raises(InvalidProof):
        theirs.verify(proof)


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


@pytest.mark.slow
def test_every_field_and_byte_counts(group: Group) -> None:
    """On the fast backend every byte, on the other one byte of every field."""
    mine, _, proof = two_parties(group)
    step = 1 if group.backend == "native" else 32
    for at in range(0, len(proof), step):
        changed = bytearray(proof)
        changed[at] ^= 1 << at % 8
        with pytest.raises(ProtocolError):
            mine.verify(bytes(changed))


def require_change_refused(group: Group, data: st.DataObject) -> None:
    """Any stretch of a valid proof replaced by any other bytes."""
    mine, _, proof = two_parties(group)
    at = data.draw(st.integers(0, len(proof) - 1))
    end = data.draw(st.integers(at, len(proof)))
    changed = proof[:at] + data.draw(st.binary(max_size=64)) + proof[end:]
    if changed == proof:
        return
    with pytest.raises(ProtocolError):
        mine.verify(changed)


MUTATIONS = (GROUPS, st.data())


@given(*MUTATIONS)
@settings(max_examples=examples(40), deadline=None)
def test_any_change_is_refused(group: Group, data: st.DataObject) -> None:
    require_change_refused(group, data)


@pytest.mark.soak
@given(*MUTATIONS)
@settings(max_examples=20_000, deadline=None)
def test_twenty_thousand_changes_are_refused(group: Group, data: st.DataObject) -> None:
    require_change_refused(group, data)


def test_an_input_is_not_hidden_noise() -> None:
    """A proof of noise alone says nothing about an output that has an input in it."""
    group = ristretto255()
    alone = party(group, SMALL, [3], [8])
    proof = alone.prove()
    alone.verify(proof)
    output, _ = commit(group, [alone.noise[0] + UNIT.high], 5)
    with pytest.raises(InvalidProof):
        replace(alone, statement=replace(alone.statement, output=output)).verify(proof)
