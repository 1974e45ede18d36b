"""What users tell behind noise: how it is drawn, planned before a run, and charged to accounts.

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
from gopa.learning.checks import whole
from gopa.learning.clipping import DEVIATION, Norm, clip
from gopa.learning.ledger import BudgetExceeded, LedgerEntry, PrivacyLedger
from gopa.learning.objectives import Linear, Softmax
from gopa.learning.privacy import CLASSES, Charge, Privacy, Spent, Unit, worst
from gopa.noise import TableLaw, discrete_laplace, rounded_gaussian, subseed
from gopa.support.arrays import Floats, Integers

Noise: TypeAlias = Literal["gaussian", "laplace"]


Allocation: TypeAlias = Literal["equal", "expected", "schedule"]
"""The same in all updates; more in later ones, by when they are expected, or known to be."""


Entries: TypeAlias = tuple[LedgerEntry, ...]


ASSUMED: Final = (
    "public: who takes part, how many rows each has, who acts when, and the graph at the start",
    CLASSES,
    "nobody publishes or shows a prediction of what a user keeps to itself",
    "nobody else has the seed, or sees a second run of it, or the history",
)


_ROUNDING: Final = 1 + 1e-12


class Accounts:
    """What each user has spent; a step is charged before anything of it is sent.

    Normal noises compose to one of their added precisions, and are kept as one entry; so are
    the deltas that tables cost.
    """

    def __init__(self, privacy: Privacy, users: int) -> None:
        if privacy.relation != "replace-one" or privacy.view != "everything":
            message = 'everybody sees all messages, and rows are replaced: view="everything"'
            raise UsageError(message, "privacy")
        self.privacy, self.users = privacy, users
        self._of: list[Entries] = [()] * users
        self._known: dict[Entries, Spent] = {}
        self._runs = 0

    @classmethod
    def of(cls, privacy: Privacy | None, users: int, kept: Accounts | None) -> Accounts | None:
        """The accounts of a run: new ones, or those that are kept, if they are meant for it."""
        if kept is None:
            return None if privacy is None else cls(privacy, users)
        if (kept.privacy, kept.users) != (privacy, users):
            # Else a run would spend what they allow, and not what it was asked for.
            raise UsageError(f"accounts of {users} users for {privacy}, as asked for", "accounts")
        return kept

    def next_run(self) -> int:
        """A number for the noise of a run: runs of a seed with equal noise would show both."""
        self._runs += 1
        return self._runs

    def ledger(self, user: int) -> PrivacyLedger:
        """What a user was charged for, as a ledger of its own."""
        return self._ledger(self._of[user])

    def fits(self, charge: Charge, times: int = 1) -> bool:
        """Whether everybody can afford so many runs of a mechanism."""
        return all(self._fits(_with(each, charge, times, "")) for each in set(self._of))

    def charge(self, user: int, charge: Charge, times: int = 1, note: str = "") -> None:
        """Charge one user for a mechanism.

        Raises:
            BudgetExceeded: it would cost more than was asked for.
        """
        whole(times, "times")
        before = self._of[whole(user, "user", 0, self.users - 1)]
        entries = _with(before, charge, times, note)
        if not self._fits(entries):
            found = self._spent(entries).epsilon
            message = (
                f"{charge!r} {times} times would come to epsilon {found:.4g} of {self.privacy}"
            )
            raise BudgetExceeded(message, found, 0)
        self._of[user] = entries

    def spent(self) -> Spent:
        """The spending of the user who has spent most."""
        return worst([self._spent(each) for each in dict.fromkeys(self._of)])

    def _fits(self, entries: Entries) -> bool:
        return self._spent(entries).epsilon <= self.privacy.epsilon

    def _spent(self, entries: Entries) -> Spent:
        if entries not in self._known:
            self._known[entries] = self._ledger(entries).spent(points=1)
        return self._known[entries]

    def _ledger(self, entries: Entries) -> PrivacyLedger:
        return PrivacyLedger(self.privacy, assumptions=ASSUMED, entries=entries)


def _with(entries: Entries, charge: Charge, times: int, note: str) -> Entries:
    """One entry more, or a larger one."""
    if charge.law not in {"gaussian", "guarantee"} or charge.relation is not None:
        return (*entries, LedgerEntry(charge, times, note))
    # Numbers of a sample are for one user more or less: they are no shifts to add to others.
    plain = [each for each in entries if each.charge.relation is None]
    same = [each for each in plain if each.charge.law == charge.law]
    if charge.law == "gaussian":
        shift = math.hypot(*(_shift(each) for each in (*same, LedgerEntry(charge, times))))
        together = Charge.gaussian(1.0, shift * _ROUNDING)
    else:
        added = [each.charge.numbers for each in same for _ in range(each.times)]
        added += [charge.numbers] * times
        together = Charge.guarantee(
            math.fsum(each[0] for each in added), math.fsum(each[1] for each in added)
        )
    notes = [each.note for each in same if each.note]
    merged = LedgerEntry(
        together, 1, ", ".join([*notes, *([note] if note not in {"", *notes} else [])])
    )
    return (merged, *(each for each in entries if each not in same))


def _shift(entry: LedgerEntry) -> float:
    """How many deviations one row moves all of these numbers by, in length."""
    sigma, sensitivity = entry.charge.numbers
    return sensitivity / sigma * math.sqrt(entry.times) if sigma else math.inf


_FINE: Final = 400


_FARTHEST: Final = 40


_LAPLACE_SCALE: Final = 2**16


_SLACK: Final = 1 + 2.0**-40
"""What the unit is longer by, so that no rounding of a quotient makes a row too long."""


_BLOCK: Final = 128
"""Numbers that are drawn at a time for one run; part of what a seed means."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Integers of one law, added to integers that one row moves by 2 `reach` at most, in `norm`."""

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
        """The deviation of one integer of noise."""
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
        """The deviation of the noise in one number of a mean, for each user."""
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
    local: Linear | Softmax, mechanism: Mechanism, unit: Unit, clipping: float | None
) -> GridSums:
    """Gradients of rows, cut to `clipping`, or to what was declared of rows and loss."""
    declared = local.row_gradient_bound(mechanism.norm)
    bound = declared if clipping is None else min(clipping, declared)
    if not 0 < bound < math.inf:
        message = "gradients of rows have no bound: declare one of rows, and of labels, or clip"
        raise UsageError(message, "clipping")
    return GridSums(mechanism, bound, local.rows.counts, unit)


class NoiseStream:
    """The noise of many runs step by step: each run has its own."""

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


def plan(  # noqa: PLR0913 - a plan has many parts
    accounts: Accounts,
    rows: GridSums,
    actors: Integers,
    *,
    releases: int,
    allocation: Allocation,
    kept: float,
    width: int,
) -> Integers:
    """The reach of each update: (runs, users, releases), 0 where a user has stopped.

    Charges every user for the updates of the run in which it has most. `kept` is what a step
    leaves of the distance to the optimum: noise of step t is forgotten by kept^(T - 1 - t), so
    later steps deserve more of the budget.
    """
    if allocation not in get_args(Allocation):
        raise UsageError(f"one of {', '.join(get_args(Allocation))}", "allocation")
    runs, steps = actors.shape
    users, norm = len(rows.counts), rows.mechanism.norm
    when = np.full((runs, users, releases), -1, dtype=np.int64)
    taken = np.zeros((runs, users), dtype=np.int64)
    everyone = np.arange(runs)
    for step in range(steps):
        who = actors[:, step]
        number = taken[everyone, who]
        some = number < releases
        when[everyone[some], who[some], number[some]] = step
        taken[everyone, who] += 1
    taken = np.minimum(taken, releases)
    for user in np.flatnonzero(taken.any(axis=0)).tolist():
        # As many for all: users with equal accounts share one.
        rows.mechanism.charge_tables(accounts, user, releases * width)
    found = np.zeros_like(when)
    if allocation == "equal":
        most = rows.mechanism.most(accounts, releases)
        for user in range(users):
            reach, many = rows.reach_of(most, user), int(taken[:, user].max())
            found[:, user] = np.where(when[:, user] >= 0, reach, 0)
            if many:
                moved = int(rows.moved(np.array([reach]), user)[0])
                accounts.charge(user, rows.mechanism.charge(moved), many, f"{many} updates")
        return found
    most = rows.mechanism.most(accounts, 1)
    expected = np.broadcast_to((np.arange(releases) + 0.5) * steps / releases, when.shape)
    times = when if allocation == "schedule" else expected
    shape = np.exp(math.log(kept) * (steps - 1 - times) / (4 if norm == 2 else 3))
    used = np.where(when >= 0, shape, 0.0)
    total = _length(used if allocation == "schedule" else shape, norm)[..., None]
    for user in range(users):
        share = used[:, user] / np.maximum(total[:, user], 1e-300)
        found[:, user] = np.floor(rows.reach_of(most, user) * share)
        if not (found[:, user] > 0)[when[:, user] >= 0].all():
            raise UsageError("some updates would tell nothing: fewer releases", "allocation")
        worst = found[_length(found[:, user], norm).argmax(), user]
        if worst.any():
            charge = rows.mechanism.together(rows.moved(worst, user))
            accounts.charge(user, charge, 1, f"{(worst > 0).sum()} updates")
    return found


def _length(reaches: Floats | Integers, norm: float) -> Floats:
    squares = np.asarray(reaches, dtype=np.float64) ** norm
    return np.asarray(squares.sum(axis=-1) ** (1 / norm))
