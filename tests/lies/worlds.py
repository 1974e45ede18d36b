"""Sessions in which the lies of `tests/lies/table.py` are told: six parties, of whom two may go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Protocol

from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import RoundRecord, Script, Simulation
from gopa.rounds.toolkit import Toolkit
from tests.lies.table import PARTIES
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
from tests.rounds.doubles import ProofDoubles
from zkp.noise import NoNoise


def of_six(terms: Terms) -> Terms:
    """The same terms for six parties."""
    late = min(terms.late, 2)
    return replace(terms, parties=PARTIES, k=PARTIES - 1, survivors=4, loss=2, late=late, rounds=1)


@dataclass(frozen=True, slots=True)
class Told:
    """A round in which a lie was told."""

    simulation: Simulation
    record: RoundRecord
    expected: tuple[int, ...]


class Tale(Protocol):
    """A lie of a party or of an organiser."""

    def script(self, *, rows: bool) -> Script: ...


@dataclass(frozen=True, slots=True)
class World:
    """A kind of session."""

    terms: Terms
    setting: SessionSetting = FULL
    doubles: Toolkit | None = None

    @property
    def in_rows(self) -> bool:
        """Whether vectors are proved row by row."""
        return bool(self.terms.squared_norm)

    def tell(self, lie: Tale | None, toolkit: Toolkit | None = None) -> Told:
        """A round with this lie, or the same one without any."""
        return self.act(Script() if lie is None else lie.script(rows=self.in_rows), toolkit)

    def act(self, script: Script, toolkit: Toolkit | None = None) -> Told:
        """A round in which all of this happens; with doubles in a toolkit nothing is proved."""
        toolkit = toolkit or self.doubles
        if self.in_rows:
            inputs = row_worlds.vectors_for(self.terms)
            simulation = row_worlds.simulate_rows(self.terms, script, toolkit=toolkit)
        else:
            inputs = inputs_for(self.terms)
            if self.setting.weighted:
                inputs = [[min(x, row[-1]) for x in row] for row in inputs]
            simulation = simulate(self.terms, self.setting, script, toolkit=toolkit)
        record = simulation.run_round(inputs)
        add_up = row_worlds.sum_in_the_open if self.in_rows else plain_sum
        return Told(simulation, record, add_up(simulation, record, inputs))


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
    "forms": World(of_six(row_worlds.RECOVERING), doubles=Toolkit(proofs=ProofDoubles())),
}
