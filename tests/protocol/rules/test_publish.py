"""The close of publish: masked values have to open what was committed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.organiser import Abort, AbortReason, RemovalCause
from gopa.contract.party import Publish
from gopa.contract.phases import Phase
from gopa.contract.words import pack_words, unpack_words
from gopa.protocol.rules import publish
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, World, changed

ORDER = 2**252 + 27742317777372353535851937790883648493
REST = [0, 1, 3, 4]


def gone(rule: str, place: int = 2) -> list[tuple[int, Phase, RemovalCause, str]]:
    return [(place, Phase.PUBLISH, RemovalCause.INVALID, rule)]


def shifted(by: int, coordinate: int = 0) -> Change:
    """The same value plus a bit."""

    def change(publish: Publish) -> Publish:
        value = bytearray(publish.value)
        at = slice(32 * coordinate, 32 * coordinate + 32)
        number = (int.from_bytes(value[at], "little") + by) % ORDER
        value[at] = number.to_bytes(32, "little")
        return replace(publish, value=bytes(value))

    return change


@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("scalar", shifted(1)),
        ("scalar", changed(blinding=bytes(32))),
        ("vector", shifted(-1, 2)),
        ("gaussian", shifted(5)),
        ("recovery", shifted(1)),
    ],
    ids=["value", "blinding", "vector", "gaussian", "recovery"],
)
def test_another_value_does_not_open(kind: str, change: Change, real: bool) -> None:
    baseline(kind)
    world = make(kind, real=real)
    world.run(change={Phase.PUBLISH: {2: change}})
    require(world, gone("04-P1"), [(2, "04-P1")], REST)


def test_errors_that_cancel_are_found_in_both() -> None:
    """+1 and -1: the sum would be right, both values are wrong (04-P1 holds for each party)."""
    baseline()
    world = make()
    world.run(change={Phase.PUBLISH: {1: shifted(1), 2: shifted(-1)}})
    rows = [*gone("04-P1", 1), *gone("04-P1", 2)]
    require(world, rows, [(1, "04-P1"), (2, "04-P1")], [0, 3, 4])


@pytest.mark.parametrize("at_once", [1, 2, 3, 5])
def test_openings_are_judged_a_few_at_a_time(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors that cancel between parties of one group, or of two."""
    baseline()
    world = make()
    world.run(change={Phase.PUBLISH: {1: shifted(1), 2: shifted(-1)}})
    together = world.check()
    assert len(together.faults) == 2
    monkeypatch.setattr(publish, "_AT_ONCE", at_once)
    assert world.check() == together


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("scalar", lambda p: replace(p, value=p.value + bytes(32))),
        ("vector", lambda p: replace(p, value=p.value[:-32])),
        ("scalar", changed(value=ORDER.to_bytes(32, "little"))),
        ("scalar", changed(value=b"\xff" * 32)),
        ("scalar", changed(blinding=ORDER.to_bytes(32, "little"))),
        ("scalar", changed(blinding=b"")),
        ("signed", lambda p: replace(p, value=p.value[:-1])),
        ("signed", changed(blinding=bytes(32))),
    ],
    ids=[
        "too long",
        "too short",
        "the order",
        "too large",
        "blinding not canonical",
        "no blinding",
        "too few words",
        "words with a blinding",
    ],
)
def test_malformed_values(kind: str, change: Change) -> None:
    baseline(kind)
    world = make(kind)
    world.run(change={Phase.PUBLISH: {2: change}})
    found = world.check()
    rule = next(fault.rule for fault in found.faults)
    assert rule in {"04-P2", "04-S4"}
    require(world, gone(rule), [(2, rule)], REST)


def test_a_wrong_word_moves_the_sum_as_any_input_would() -> None:
    """In signed mode nothing is proved about one party's value."""
    baseline("signed")
    world = make("signed")

    def more(publish: Publish) -> Publish:
        words = unpack_words(publish.value, 3, 32)
        words += 5
        return replace(publish, value=pack_words(words, 32))

    world.run(change={Phase.PUBLISH: {2: more}})
    found = world.check()
    assert found.faults == ()
    expected = world.expected_sums(range(5))
    assert found.rounds[0].sums == tuple(each + 5 for each in expected)


def late(world: World, number: int) -> int:
    """Everybody publishes, one party after the cut; the cut."""
    view = world.view
    for each, party in enumerate(world.parties):
        if each != number:
            world.say(party, Phase.PUBLISH, party.publish(view))
    cut = len(world.log)
    party = world.parties[number]
    world.say(party, Phase.PUBLISH, party.publish(view))
    return cut


def test_a_late_value_is_rolled_back_and_its_self_mask_stays_closed() -> None:
    """Its edges are opened, so only b_u hides x_u + eta_u: nothing opens b_u."""
    baseline()
    world = make()
    world.run(until=Phase.PUBLISH)
    world.control(cut=late(world, 2))
    world.run()
    removed = [(2, Phase.PUBLISH, RemovalCause.ABSENT, "04-C6")]
    found = require(world, removed, (), REST)
    assert found.rounds[0].unmasked == tuple(REST)
    assert found.rounds[0].opened == ((0, 2), (1, 2), (2, 3), (2, 4))
    assert [note.rule for note in found.notes] == ["04-C6"]


def test_too_few_values_abort_and_release_nothing() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.PUBLISH: [0, 1, 2]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits, ended.released) == (
        AbortReason.TOO_FEW_LEFT,
        (0, 1, 2),
        0,
    )
    missing = [(p, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2") for p in (0, 1, 2)]
    lost = [(p, Phase.PUBLISH, RemovalCause.LOST, "04-L2") for p in (3, 4)]
    require(world, [*missing, *lost])


def test_without_rollbacks_every_dropout_aborts() -> None:
    baseline()
    world = make(max_rollbacks=0)
    world.run(skip={Phase.PUBLISH: [2]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits) == (AbortReason.TOO_MANY_ROLLBACKS, (2,))
    require(world, [(2, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2")])
