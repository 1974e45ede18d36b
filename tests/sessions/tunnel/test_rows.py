"""Vectors that are proved row by row, by parties that are functions of bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gopa.sessions.tunnel import Supply, TunnelInput
from tests.sessions.tunnel.worlds import Tunnelled, slots
from tests.simulation.row_worlds import IN_ROWS, ROWS


def short(number: int, dimension: int) -> Supply:
    """Gives party `number` a vector of length 1/8."""
    vector = np.zeros(dimension)
    vector[number % dimension] = 0.125
    return lambda _: TunnelInput(vector.tolist())


@dataclass
class InRows(Tunnelled):
    """A session whose parties have vectors of the length that they are proved to have."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, each in enumerate(self.identities):
            caller = self.callers[each.public.data]
            caller.supply = short(number, self.terms.dimension)


def test_parties_are_called_with_their_states() -> None:
    world = InRows(replace(ROWS, rounds=2), IN_ROWS).run()
    findings = world.findings()
    assert findings.faults == ()
    assert [each.final for each in findings.rounds] == [(0, 1, 2, 3, 4)] * 2
    assert all(len(each) == 1 for each in slots(world.raws()).values())
