"""Sessions in which the lies of `tests/lies/table.py` are told: six parties, of whom two may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import RoundRecord, Script, Simulation
from gopa.protocol.simulation.script import Skip
from tests.lies.table import LEAVER, LIAR, VICTIM, Lie
from tests.protocol.simulation import row_worlds
from tests.protocol.simulation.worlds import (
    FULL,
    RECOVERING,
    RECOVERING_VECTOR,
    SCALAR,
    SIGNED,
    inputs_for,
    plain_sum,
    simulate,
)
from zkp.noise import NoNoise


def of_six(terms: Terms) -> Terms:
    """The same terms for six parties."""
    late = min(terms.late, 2)
    return replace(terms, parties=6, k=5, survivors=4, loss=2, late=late, rounds=1)


@dataclass(frozen=True, slots=True)
class Told:
    """A round in which a lie was told."""

    simulation: Simulation
    record: RoundRecord
    expected: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class World:
    """A kind of session."""

    terms: Terms
    setting: SessionSetting = FULL

    def tell(self, lie: Lie | None) -> Told:
        """A round with this lie, or the same one without any."""
        script = Script()
        if lie is not None:
            script = script.misbehave(LIAR, *lie.does)
        if lie is not None and lie.beside == "leaves":
            last = Phase.PROVE if self.terms.squared_norm else Phase.PUBLISH
            script = script.drop(LEAVER, before=last)
        if lie is not None and lie.beside == "vetoes":
            script = script.misbehave(VICTIM, Skip(Phase.UNMASK))
        simulation, inputs = self._session(script)
        record = simulation.run_round(inputs)
        add_up = row_worlds.sum_in_the_open if self.terms.squared_norm else plain_sum
        return Told(simulation, record, add_up(simulation, record, inputs))

    def _session(self, script: Script) -> tuple[Simulation, Sequence[Sequence[int]]]:
        if self.terms.squared_norm:
            inputs = row_worlds.vectors_for(self.terms)
            return row_worlds.simulate_rows(self.terms, script), inputs
        inputs = inputs_for(self.terms)
        if self.setting.weighted:
            inputs = [[min(x, row[-1]) for x in row] for row in inputs]
        return simulate(self.terms, self.setting, script), inputs


EXACT: Final = replace(
    of_six(RECOVERING), noise=NoNoise(), epsilon=None, charged=0, delta=Decimal("0.5")
)

WORLDS: Final[dict[str, World]] = {
    "plain": World(of_six(SCALAR)),
    "number": World(of_six(RECOVERING)),
    "vector": World(of_six(RECOVERING_VECTOR)),
    "weights": World(of_six(RECOVERING_VECTOR), replace(FULL, weighted=True)),
    "words": World(of_six(RECOVERING_VECTOR), SIGNED),
    "exact": World(EXACT),
    "exact weights": World(
        replace(EXACT, dimension=3, squared_sensitivity=1200), replace(FULL, weighted=True)
    ),
    "rows": World(of_six(row_worlds.RECOVERING)),
}
