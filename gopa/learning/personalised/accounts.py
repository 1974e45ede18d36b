"""Keeps a ledger for each user; users with equal entries share one account.

Specification: `specs/20-personalised.md`, section 4.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from gopa import UsageError
from gopa.learning.checks import whole
from gopa.learning.ledger import BudgetExceeded, LedgerEntry, PrivacyLedger
from gopa.learning.privacy import Charge, Privacy, Spent, worst

Entries: TypeAlias = tuple[LedgerEntry, ...]

ASSUMED: Final = (
    "public: who takes part, how many rows each has, who acts when, and the graph at the start",
    "public: which two classes there are",
    "nobody publishes or shows a prediction of what a user keeps to itself",
    "nobody else has the seed, or sees a second run of it, or the history",
)
_ROUNDING: Final = 1 + 1e-12


class Accounts:
    """Holds what each user has spent; a step is charged before anything of it is sent.

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
        """Charges one user.

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
        """Of the user who has spent most."""
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
