"""The phases of a round have an order that their numbers do not say."""

from __future__ import annotations

from gopa.contract.phases import KIND_IN, ORDER, Kind, Phase


def test_the_order_is_that_of_the_rules() -> None:
    names = "join coins commit accuse publish prove rollback confirm unmask recover"
    assert [phase.name.lower() for phase in ORDER] == names.split()
    places = [Phase.ORGANISER.place, *(phase.place for phase in ORDER)]
    assert places == list(range(len(Phase)))
    assert sorted(Phase, key=lambda phase: phase.place) != sorted(Phase)


def test_numbers_are_those_of_the_format() -> None:
    assert (Phase.PROVE, Kind.PROVE) == (10, 25)
    assert sorted(Phase) == list(range(11))
    assert all(KIND_IN[phase] == 15 + phase for phase in ORDER)
