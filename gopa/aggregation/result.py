"""What an aggregation returns: the numbers, how exact they are, and what they gave away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gopa.aggregation.engine import Excluded, Mode, Trust
from gopa.aggregation.report import numbers, report_lines
from gopa.aggregation.structure import flat
from gopa.planning import PrivacyStatement

if TYPE_CHECKING:
    from rich.panel import Panel


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """The outcome of one round. Values have the structure of the parties' values.

    `mean` and `sum` are over the `included` parties and carry noise; `stderr` and
    `sum_stderr` are the standard errors that this noise, rounding and, honest but curious,
    masks left in the sum give them; they say nothing of how parties were chosen.
    `rounding` is the variance of the mean that rounding has at most, and part of `stderr`.
    With weights, `mean` is the weighted one, `sum` the sum of weight times value, and
    `weight` the noisy sum of the weights.

    `privacy` states what the round gave away; it is None in mode off, which claims
    nothing. `excluded` says where and why parties were lost, `rolled_back` whose masks were
    opened after that. `clipped` counts coordinates that were moved into the range and
    `scaled` vectors that were shortened: a simulation knows, a session would not.
    `attempts` counts rounds, `vetoes` those among them that ended without a result after
    masked values were out, and `organiser_vetoes` those that the organiser ended though the log
    had what they needed. `transcript` is where the log is, if there is one.
    """

    mean: Any
    sum: Any
    stderr: Any
    sum_stderr: Any
    privacy: PrivacyStatement | None
    included: tuple[int, ...]
    excluded: tuple[Excluded, ...]
    rolled_back: tuple[int, ...]
    clipped: int
    scaled: int
    rounding: float
    mode: Mode
    trust: Trust
    simulation: bool
    attempts: int
    vetoes: int
    organiser_vetoes: int
    transcript: Any
    weight: float | None = None
    weight_stderr: float | None = None

    @property
    def count(self) -> int:
        """How many parties are in the result."""
        return len(self.included)

    def headlines(self) -> list[tuple[str, str]]:
        """The numbers themselves, in words."""
        return [("mean", numbers(self.mean, self.stderr))]

    def __str__(self) -> str:
        """A summary for a person; long vectors are shortened."""
        return "\n".join(f"{name:<9}{text}" for name, text in report_lines(self))

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {len(flat(self.mean))} numbers, {self.count} parties, mode {self.mode}>"

    def __rich__(self) -> Panel:
        """The same summary in a frame, for `rich.print`."""
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for name, text in report_lines(self):
            grid.add_row(Text(name, "bold"), Text(text))
        return Panel(grid, title="gopa", expand=False)
