"""Small worlds whose vectors are proved row by row: two liars among five, and all that they may do.

They have the organiser with them, or prove late, twice, or what is false in a second attempt only.

Proofs are doubles that hold for whatever went through a prover. So liars make words and masks that
a real proof would hold for: what one adds to its words it takes off some mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Final

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds import add_to_the_sum, late, leave, overlook, spoil_value, twice
from gopa.adversary.deeds.organising import AlteredClose, GivesUp, with_final
from gopa.adversary.malicious import Malicious, MaliciousOrganiser, script_of
from gopa.adversary.setup import short_vectors
from gopa.contract.organiser import Close, Members, Released, pack_members
from gopa.contract.party import OPENING
from gopa.contract.phases import Phase
from gopa.contract.row_terms import origin
from gopa.protocol.simulation import OrganiserBehaviour, RoundRecord, Simulation, SimulationOptions
from tests.protocol.simulation.doubles import SWIFT
from tests.randomness import seeded
from tests.small_worlds.row_terms import SHORT

LIARS: Final = (1, 2)
HONEST: Final = 0
CRASHES: Final = 3
BIAS: Final = 1000

LIES: Final = ("none", "own", "more on their edge", "less on their edge", "honest edge", "words")
WAYS: Final = ("stays", "overlooks", "publish", "prove", "rollback", "confirm", "unmask")
"""What a liar does besides: goes on, opens no edge to the other liar, or leaves before a phase."""

LATER: Final = ("late", "twice", "in the retry")
"""It proves behind the close, or two things, or keeps the rules in the first attempt."""


def of_everybody(close: Close) -> Close:
    """The same with everybody listed."""
    if not isinstance(close.content, Members):
        return close
    packed = pack_members(range(SHORT.parties), SHORT.parties)
    return replace(close, content=replace(close.content, members=packed))


ORGANISERS: Final[Mapping[str, OrganiserBehaviour]] = {
    "final": AlteredClose(Phase.PROVE, with_final(final=True)),
    "not final": AlteredClose(Phase.PROVE, with_final(final=False)),
    "lists who proved nothing": AlteredClose(Phase.PROVE, of_everybody),
    "keeps who lied": AlteredClose(Phase.ROLLBACK, of_everybody),
    "gives up": GivesUp(Phase.CONFIRM, Released.MASKED),
}
"""What the organiser does with them: says of a list that it is final, or not; lists more; ends."""

_LED_WAYS: Final = ("stays", "overlooks", "prove", "late", "twice", "unmask")

EVERY: Final = 397
"""Of so many worlds one is acted out by default; the order mixes them."""


@dataclass(frozen=True, slots=True)
class RowWorld:
    """What either liar says that is not so, and what it does then; somebody honest may crash."""

    lies: tuple[str, str]
    ways: tuple[str, str]
    crash: bool
    organiser: str = ""

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
            rounds = {2, 3} if way == "in the retry" else None
            if lie in aims:
                yield Malicious(number, at="publish", do=add_to_the_sum(*aims[lie]), rounds=rounds)
            if lie == "words":
                yield Malicious(number, at="publish", do=spoil_value(), rounds=rounds)
            if way == "overlooks":
                yield Malicious(number, at="prove", do=overlook(other))
            elif way in {"late", "twice"}:
                yield Malicious(number, at="prove", do=late() if way == "late" else twice())
            elif way not in {"stays", "in the retry"}:
                yield Malicious(number, at=way, do=leave())
        if self.crash:
            yield Malicious(CRASHES, at="prove", do=leave(), rounds={1})


WORLDS: Final = [
    RowWorld((one, other), (way, beside), crash)
    for one, other, way, beside, crash in product(LIES, LIES, WAYS, WAYS, (False, True))
]


MORE_WORLDS: Final = [
    RowWorld((one, other), (way, beside), crash)
    for one, other, way, beside, crash in product(
        LIES, LIES, (*WAYS, *LATER), (*WAYS, *LATER), (False, True)
    )
    if {way, beside} & {*LATER}
]

LED_WORLDS: Final = [
    RowWorld((one, other), (way, beside), crash=crash, organiser=organiser)
    for one, other, way, beside, crash, organiser in product(
        LIES, LIES, _LED_WAYS, _LED_WAYS, (False, True), ORGANISERS
    )
]


def played(world: RowWorld) -> tuple[Simulation, RoundRecord]:
    options = SimulationOptions(toolkit=SWIFT, remember_noise=True)
    led = [MaliciousOrganiser(do=ORGANISERS[world.organiser])] if world.organiser else []
    script = script_of([*world.actors, *led])
    simulation = Simulation(SHORT, rng=seeded("rows"), script=script, options=options)
    return simulation, simulation.run_round(short_vectors(SHORT, weighted=False))


def require_sound(world: RowWorld) -> RoundRecord:
    """Sums are right, nobody honest is blamed, stopped, bared or left out."""
    simulation, record = played(world)
    keys = [each.author for each in simulation.parties]
    zero, inputs = origin(SHORT), short_vectors(SHORT, weighted=False)
    kept_the_rules = set(range(SHORT.parties)) - set(LIARS)
    convicted = {fault.author for fault in record.findings.faults}
    led = {simulation.manifest.organiser} if world.organiser else set()
    assert {keys.index(author) for author in convicted - led} <= set(LIARS), world
    assert all(fault.proved for fault in record.findings.faults), world
    if not convicted & led:
        assert record.halted.keys() <= set(LIARS), world
    require_closed(world, simulation, record)
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
        # Who crashed sits out the retry as well, and is no reason to blame the organiser.
        gone = {CRASHES} if world.crash else set()
        assert kept_the_rules - gone <= set(numbers), world
    return record


def require_closed(world: RowWorld, simulation: Simulation, record: RoundRecord) -> None:
    """Nobody honest has opened an edge to anybody honest who is there, whatever it was told."""
    keys = [each.author for each in simulation.parties]
    there = set(range(SHORT.parties)) - {*LIARS} - ({CRASHES} if world.crash else set())
    rolls = {attempt.number: attempt.roll for attempt in record.attempts}
    for raw in simulation.log().entries():
        entry = Submission.decode(raw).entry
        if entry.phase == Phase.ROLLBACK and keys.index(entry.author.data) in there:
            opened = OPENING.decode(entry.body).edges
            ends = {keys.index(rolls[entry.round][each.neighbour]) for each in opened}
            assert not ends & there, world


def mixed(worlds: list[RowWorld]) -> list[RowWorld]:
    """The same in an order in which neighbours differ in everything."""
    step = 1009  # a prime that does not divide their number
    return [worlds[at * step % len(worlds)] for at in range(len(worlds))]


def test_the_order_misses_none() -> None:
    assert set(mixed(WORLDS)) == set(WORLDS)
    assert [len(WORLDS), len(MORE_WORLDS), len(LED_WORLDS)] == [3528, 3672, 12960]


@pytest.mark.parametrize(
    "every",
    [
        pytest.param(EVERY, marks=pytest.mark.slow),
        16 * EVERY,
    ],
)
def test_every_so_many_worlds_of_two_liars(every: int) -> None:
    for worlds, times in ((WORLDS, 1), (MORE_WORLDS, 2), (LED_WORLDS, 6)):
        for world in islice(mixed(worlds), 0, None, every * times):
            require_sound(world)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(12))
def test_all_worlds_of_two_liars(part: int) -> None:
    for world in WORLDS[part::12]:
        require_sound(world)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(12))
def test_all_worlds_of_two_liars_who_prove_late_or_lie_later(part: int) -> None:
    for world in MORE_WORLDS[part::12]:
        require_sound(world)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(36))
def test_all_worlds_of_two_liars_and_the_organiser(part: int) -> None:
    for world in LED_WORLDS[part::36]:
        require_sound(world)


@pytest.mark.slow
@pytest.mark.parametrize("organiser", ORGANISERS)
def test_an_organiser_that_lies_about_a_false_edge_is_named(organiser: str) -> None:
    """Or ends the attempt, which is its veto."""
    stays = ("stays", "stays")
    world = RowWorld(("honest edge", "none"), stays, crash=False, organiser=organiser)
    simulation, record = played(world)
    require_sound(world)
    named = simulation.manifest.organiser in {each.author for each in record.findings.faults}
    # Nobody else lied about the list of who proved, and it says of that list what is so.
    honest = organiser in {"not final", "lists who proved nothing"}
    assert named is not (honest or organiser == "gives up")
    assert bool(record.attempts[0].veto) is (organiser == "gives up")


def test_who_keeps_the_rules_at_first_lies_in_the_retry() -> None:
    """Which the other one has brought about by a veto."""
    world = RowWorld(("honest edge", "none"), ("in the retry", "unmask"), crash=False)
    record = require_sound(world)
    assert len(record.attempts) == 2
    assert {(fault.rule, fault.round) for fault in record.findings.faults} == {("14-K6", 2)}
    assert record.included == (0, 3, 4)


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
    monkeypatch.setattr("gopa.protocol.rules.rows.disputed_edges", lambda *_: ())
    with pytest.raises(AssertionError, match="honest edge"):
        require_sound(RowWorld(("honest edge", "none"), ("stays", "stays"), crash=False))
