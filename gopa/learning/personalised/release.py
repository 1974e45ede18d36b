"""Makes what users tell of their rows private: clipped, on a grid, behind exact integer noise.

Specification: `specs/20-personalised.md`, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.accounting import gaussian_sigma
from gopa.learning.clipping import DEVIATION, Norm, clip
from gopa.learning.ledger import BudgetExceeded
from gopa.learning.objectives import Linear
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.links import Floats
from gopa.learning.privacy import Charge, Privacy, Unit
from gopa.noise import TableLaw, discrete_laplace, rounded_gaussian, subseed

Noise: TypeAlias = Literal["gaussian", "laplace"]
Integers: TypeAlias = npt.NDArray[np.int64]

_FINE: Final = 400
_FARTHEST: Final = 40
_LAPLACE_SCALE: Final = 2**16
_SLACK: Final = 1 + 2.0**-40
"""What the unit is longer by, so that no rounding of a quotient makes a row too long."""
_BLOCK: Final = 128
"""Numbers that are drawn at a time for one run; part of what a seed means."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Adds integers of one law to integers that one row moves by 2 `reach` at most, in `norm`."""

    law: TableLaw
    scale: int
    norm: Norm

    @classmethod
    def of(cls, noise: Noise) -> Mechanism:
        """Normal noise for lengths, or Laplace noise for sums of moduli."""
        if noise not in get_args(Noise):
            raise UsageError(f"one of {', '.join(get_args(Noise))}", "noise")
        if noise == "gaussian":
            return cls(rounded_gaussian(DEVIATION), DEVIATION, 2)
        return cls(discrete_laplace(_LAPLACE_SCALE), _LAPLACE_SCALE, 1)

    @property
    def deviation(self) -> float:
        """Of one integer of noise."""
        return math.sqrt(float(self.law.variance))

    def charge(self, reach: float) -> Charge:
        """One release, of what rows reach so far."""
        if self.norm == 2:
            return Charge.gaussian(float(self.scale), 2 * reach)
        return Charge.discrete_laplace(float(self.scale), int(2 * reach))

    def together(self, reaches: Integers) -> Charge:
        """Several releases as one: lengths add up like sides of a box, moduli as they are.

        Releases may depend on those before: each law is dominated by one of these.
        """
        if self.norm == 2:
            return self.charge(math.sqrt(float((reaches.astype(np.float64) ** 2).sum())) * _SLACK)
        return self.charge(int(reaches.sum()))

    def most(self, accounts: Accounts, releases: int) -> int:
        """The largest reach that everybody can afford so many times, within 1 in 400.

        Raises:
            BudgetExceeded: not even 1.
        """
        low, high, middle = 0, _FARTHEST * self.scale, self._guess(accounts.privacy, releases)
        ends, pace = {low, high}, 1.01
        while high - low > 1 + low // _FINE:
            if accounts.fits(self.charge(middle), releases):
                low = middle
            else:
                high = middle
            if high in ends or low in ends:
                # Only one end is known: on, in longer and longer steps.
                pace *= pace
                middle = math.ceil(low * pace) if low else int(high / pace)
                middle = min(max(middle, low + 1), high - 1)
            else:
                middle = (low + high) // 2
        if not low:
            message = f"too little privacy was asked for, or is left, for {releases} releases"
            raise BudgetExceeded(message, math.inf, 0)
        return low

    def _guess(self, privacy: Privacy, releases: int) -> int:
        """What would be right, or nearly, if nothing had been spent."""
        whole = privacy.epsilon / releases
        if self.norm == 2:
            whole = 1 / gaussian_sigma(privacy.epsilon, privacy.delta, math.sqrt(releases))
        return min(max(1, int(whole * self.scale / 2)), _FARTHEST * self.scale - 1)

    def charge_tables(self, accounts: Accounts, user: int, draws: int) -> None:
        """What the tables of the noise add to delta, for all draws of a user."""
        lost = float(self.law.charged(draws, accounts.privacy.epsilon))
        if not accounts.privacy.delta > 2 * lost:
            message = f"noise is drawn from tables that are cut off: at least {4 * lost:.0e}"
            raise UsageError(message, "delta")
        accounts.charge(user, Charge.guarantee(0.0, lost), note="tables")


@dataclass(frozen=True, slots=True)
class GridSums:
    """Sums a number or a vector over a user's rows: clipped to `bound`, on a grid, with noise.

    A row becomes integers of length `reach` at most: rounded towards zero, none becomes
    longer. So the sum of them moves by 2 `reach` at most where one row is replaced, and by as
    much for each row with the unit "user".
    """

    mechanism: Mechanism
    bound: float
    counts: Integers
    unit: Unit

    def on_grid(self, rows: Floats, reach: npt.ArrayLike) -> Integers:
        """The sum over rows (batch, rows, p) of integers that reach so far; see `unit_length`."""
        clipped = clip(rows, self.mechanism.norm, self.bound)
        units = self.unit_length(reach)[..., None, None]
        return np.asarray(np.trunc(clipped / units).sum(axis=-2), dtype=np.int64)

    def unit_length(self, reach: npt.ArrayLike) -> Floats:
        """What one step of the grid stands for."""
        return np.asarray(self.bound / np.asarray(reach, dtype=np.float64) * _SLACK)

    def released(self, rows: Floats, reach: Integers, noise: Integers, users: Integers) -> Floats:
        """The mean over each user's rows, with noise."""
        counts = np.maximum(self.counts[users], 1)
        steps = self.on_grid(rows, reach) + noise
        return np.asarray(steps * (self.unit_length(reach) / counts)[:, None])

    def deviations(self, reach: npt.ArrayLike, users: Integers) -> Floats:
        """Of the noise in one number of a mean."""
        counts = np.maximum(self.counts[users], 1)
        return np.asarray(self.mechanism.deviation * self.unit_length(reach) / counts)

    def reach_of(self, most: int, user: int) -> int:
        """What one row may reach where all that is hidden may reach `most`."""
        found = most // max(1, int(self.counts[user])) if self.unit == "user" else most
        if not found:
            raise BudgetExceeded("too many rows for a user to be hidden", math.inf, 0)
        return found

    def moved(self, reaches: Integers, user: int) -> Integers:
        """The reach that has to be charged."""
        many = max(1, int(self.counts[user])) if self.unit == "user" else 1
        return reaches * many


def private_gradients(
    local: Linear, mechanism: Mechanism, unit: Unit, clipping: float | None
) -> GridSums:
    """Gradients of rows, cut to `clipping`, or to what was declared of rows and loss."""
    declared = local.row_gradient_bound(mechanism.norm)
    bound = declared if clipping is None else min(clipping, declared)
    if not 0 < bound < math.inf:
        message = "gradients of rows have no bound: declare one of rows, and of labels, or clip"
        raise UsageError(message, "clipping")
    return GridSums(mechanism, bound, local.rows.counts, unit)


class NoiseStream:
    """Reads the noise of many runs step by step: each run has its own."""

    def __init__(self, law: TableLaw, width: int, seed: int, *names: str | int) -> None:
        self._law, self._width, self._seed, self._names = law, width, seed, names
        self._steps = max(1, _BLOCK // width)
        self._blocks: dict[int, tuple[int, Integers]] = {}

    def at(self, runs: Integers, steps: Integers) -> Integers:
        """Noise (batch, width) of one step of each of these runs."""
        return np.stack(
            [self._one(*pair) for pair in zip(runs.tolist(), steps.tolist(), strict=True)]
        )

    def _one(self, run: int, step: int) -> Integers:
        number, place = divmod(step, self._steps)
        known = self._blocks.get(run)
        if known is None or known[0] != number:
            name = subseed(self._seed, *self._names, run, number)
            known = self._blocks[run] = number, self._law.draw(name, (self._steps, self._width))
        row: Integers = known[1][place]
        return row
