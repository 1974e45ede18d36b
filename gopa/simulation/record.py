"""What a simulated logical round came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gopa.messages.organiser import Abort, Result
from gopa.rules import Findings, RoundFindings
from gopa.simulation.actor import Usage
from wire.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """All attempts of one logical round.

    Parties are named by their number in the simulation, from 0, in the order of their
    keys. `included` is the final list of the last attempt, if that has a result.
    `usage` is what each party posted, read and computed in this logical round.
    """

    logical: int
    findings: Findings
    attempts: tuple[RoundFindings, ...]
    outcome: Result | Abort | None
    included: tuple[int, ...]
    usage: tuple[Usage, ...]
    halted: Mapping[int, ProtocolError]

    @property
    def sums(self) -> tuple[int, ...] | None:
        """The result on the grid; None if the logical round has none."""
        return self.outcome.sums if isinstance(self.outcome, Result) else None
