"""Small worlds whose vectors are proved row by row: two liars among five, and all that they may do.

Proofs are doubles that hold for whatever went through a prover. So liars make words and masks that
a real proof would hold for: what one adds to its words it takes off some mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

import pytest

from gopa.adversary.deeds import add_to_the_sum, leave, overlook, spoil_value
from gopa.adversary.malicious import Malicious, script_of
from gopa.adversary.setup import short_vectors
from gopa.messages.row_terms import origin
from gopa.simulation import RoundRecord, Simulation, SimulationOptions
from tests.randomness import seeded
from tests.simulation.doubles import SWIFT
from tests.small_worlds.row_terms import SHORT

LIARS: Final = (1, 2)
HONEST: Final = 0
CRASHES: Final = 3
BIAS: Final = 1000

LIES: Final = ("none", "own", "more on their edge", "less on their edge", "honest edge", "words")
WAYS: Final = ("stays", "overlooks", "publish", "prove", "rollback", "confirm", "unmask")
"""What a liar does besides: goes on, opens no edge to the other liar, or leaves before a phase."""

EVERY: Final = 397
"""Of so many worlds one is acted out by default; the order mixes them."""


@dataclass(frozen=True, slots=True)
class RowWorld:
    """What either liar says that is not so, and what it does then; somebody honest may crash."""

    lies: tuple[str, str]
    ways: tuple[str, str]
    crash: bool

    @property
    def actors(self) -> Iterator[Malicious]:
        """Liars, in the order of what they do; who crashes is no liar, and is none of them."""
        for number, other, lie, way in zip(LIARS, LIARS[::-1], self.lies, self.ways, strict=True):
            aims: Mapping[str, tuple[int, int | None]] = {
                "own": (BIAS, None),
                "more on their edge": (BIAS, other),
                "less on their edge": (-BIAS, other),
                "honest edge": (BIAS, HONEST),
            }
            if lie in aims:
                yield Malicious(number, at="publish", do=add_to_the_sum(*aims[lie]))
            if lie == "words":
                yield Malicious(number, at="publish", do=spoil_value())
            if way == "overlooks":
                yield Malicious(number, at="prove", do=overlook(other))
            elif way != "stays":
                yield Malicious(number, at=way, do=leave())
        if self.crash:
            yield Malicious(CRASHES, at="prove", do=leave(), rounds={1})


WORLDS: Final = [
    RowWorld((one, other), (way, beside), crash)
    for one, other, way, beside, crash in product(LIES, LIES, WAYS, WAYS, (False, True))
]


def played(world: RowWorld) -> tuple[Simulation, RoundRecord]:
    options = SimulationOptions(toolkit=SWIFT, remember_noise=True)
    script = script_of(world.actors)
    simulation = Simulation(SHORT, rng=seeded("rows"), script=script, options=options)
    return simulation, simulation.run_round(short_vectors(SHORT, weighted=False))


def require_sound(world: RowWorld) -> RoundRecord:
    """Sums are right, nobody honest is blamed, stopped, bared or left out."""
    simulation, record = played(world)
    keys = [each.author for each in simulation.parties]
    zero, inputs = origin(SHORT), short_vectors(SHORT, weighted=False)
    kept_the_rules = set(range(SHORT.parties)) - set(LIARS)
    assert {keys.index(fault.author) for fault in record.findings.faults} <= set(LIARS), world
    assert all(fault.proved for fault in record.findings.faults), world
    assert record.halted.keys() <= set(LIARS), world
    for attempt in record.attempts:
        final = attempt.final or ()
        numbers = [keys.index(attempt.roll[place]) for place in final]
        honest = {at for at, number in zip(final, numbers, strict=True) if number not in LIARS}
        assert not [pair for pair in attempt.opened if honest.issuperset(pair)], world
        if attempt.sums is None:
            continue
        rows = [
            [x - zero + a for x, a in zip(inputs[each], noise, strict=True)]
            for each in numbers
            for noise in [simulation.noise_for_tests[attempt.number, each]]
        ]
        assert attempt.sums == tuple(map(sum, zip(*rows, strict=True))), world
        gone = {CRASHES} if world.crash else set()  # it sits out the retry as well
        assert kept_the_rules - gone <= set(numbers), world
    return record


def mixed(worlds: list[RowWorld]) -> list[RowWorld]:
    """The same in an order in which neighbours differ in everything."""
    step = 1009  # a prime that does not divide their number
    return [worlds[at * step % len(worlds)] for at in range(len(worlds))]


def test_the_order_misses_none() -> None:
    assert set(mixed(WORLDS)) == set(WORLDS)
    assert len(WORLDS) == 3528


def test_every_so_many_worlds_of_two_liars() -> None:
    for world in islice(mixed(WORLDS), 0, None, EVERY):
        require_sound(world)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(12))
def test_all_worlds_of_two_liars(part: int) -> None:
    for world in WORLDS[part::12]:
        require_sound(world)


def test_a_world_without_lies_has_all_parties_and_one_with_a_false_edge_a_conviction() -> None:
    stays = ("stays", "stays")
    record = require_sound(RowWorld(("none", "none"), stays, crash=False))
    assert record.included == (0, 1, 2, 3, 4)
    record = require_sound(RowWorld(("honest edge", "none"), stays, crash=False))
    assert {fault.rule for fault in record.findings.faults} == {"14-K6"}


def test_the_same_false_edge_of_two_who_stay_cancels() -> None:
    lies = ("more on their edge", "less on their edge")
    record = require_sound(RowWorld(lies, ("stays", "stays"), crash=False))
    assert record.included == (0, 1, 2, 3, 4)
    assert not record.findings.faults


def test_without_disputes_there_is_a_world_with_a_wrong_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the worlds find what they look for."""
    monkeypatch.setattr("gopa.rules.prove.disputed_edges", lambda *_: ())
    with pytest.raises(AssertionError, match="honest edge"):
        require_sound(RowWorld(("honest edge", "none"), ("stays", "stays"), crash=False))
