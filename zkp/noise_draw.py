"""One draw from a noise table by two halves: what the row proof of a draw hides. Integers only.

A party fixes y before public coins give p. Their sum mod the total of the table is
uniform when either of them is, and the table turns it into noise. Specification 07,
section 3.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from wire.errors import UsageError
from wire.secret import Guarded
from zkp.noise_table import GaussianTable


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draw(Guarded):
    """The sum of both halves, placed in the table. Secret: it tells the noise.

    `row` is the row with F_row <= y + p - carry * total < F_(row + 1); the position in
    it is `below` steps above its lower end and `above` steps below its last integer.
    """

    noise: int
    row: int
    below: int
    above: int
    carry: int

    def bits(self, table: GaussianTable) -> list[int]:
        """The hidden bits of this draw, in the order of rule R6."""
        width = slack_bits(table)
        one_hot = [int(row == self.row) for row in range(table.rows)]
        slacks = [slack >> j & 1 for slack in (self.below, self.above) for j in range(width)]
        return [*one_hot, *slacks, self.carry]


def draw(table: GaussianTable, y: int, p: int) -> Draw:
    """The draw that the private half y and the public coins p decide.

    Takes a time that depends on the draw.

    Raises:
        UsageError: a half is not an integer in [0, total).
    """
    total, cumulative = table.total, table.cumulative
    require_halves(table, [y], "a private half")
    require_halves(table, [p], "a coin")
    carry, uniform = divmod(y + p, total)
    row = bisect_right(cumulative, uniform) - 1
    below, above = uniform - cumulative[row], cumulative[row + 1] - 1 - uniform
    return Draw(row - table.radius, row, below, above, carry)


def slack_bits(table: GaussianTable) -> int:
    """How many bits a position in the widest row takes."""
    return (max(table.masses) - 1).bit_length()


def require_halves(table: GaussianTable, halves: list[int] | tuple[int, ...], what: str) -> None:
    """Raises `UsageError` for a half that is not an integer in [0, total)."""
    total = table.total
    if any(type(half) is not int or not 0 <= half < total for half in halves):
        raise UsageError(f"{what} is an integer from 0 to the table's total minus 1")
