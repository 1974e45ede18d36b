"""Keeps a ledger for each user; users with equal entries share one account.

Specification: `specs/20-personalised.md`, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.charges import Charge
from gopa.learning.ledger import LedgerEntry, PrivacyLedger
from gopa.learning.privacy import Privacy, Spent, worst

Entries: TypeAlias = tuple[LedgerEntry, ...]
Counts: TypeAlias = npt.NDArray[np.int64]

ASSUMED: Final = (
    "who takes part, how many rows each user has, who acts when and the graph it starts from are public",
    "nobody publishes or shows a prediction of what a user keeps to itself",
)


class Accounts:
    """Holds what each user has spent; a step is charged before anything of it is sent."""

    def __init__(self, privacy: Privacy, users: int) -> None:
        if privacy.relation != "replace-one" or privacy.view != "everything":
            message = 'everybody sees all messages, and rows are replaced: view="everything"'
            raise UsageError(message, "privacy")
        self.privacy = privacy
        self._of: list[Entries] = [()] * users
        self._ledgers: dict[Entries, PrivacyLedger] = {}

    def ledger(self, user: int) -> PrivacyLedger:
        """The ledger of a user; read it, and charge by `charge` alone."""
        return self._ledger(self._of[user])

    def fits(self, charges: Sequence[Charge], times: int = 1) -> bool:
        """Whether everybody can afford all of these, each so many times."""
        more = tuple(LedgerEntry(each, times) for each in charges[:-1])
        return all(
            PrivacyLedger(self.privacy, entries=(*each, *more)).room(charges[-1], times) >= times
            for each in set(self._of)
        )

    def room(self, charge: Charge, most: int) -> Counts:
        """How many runs of a mechanism each user can still afford, up to `most`."""
        rooms = {each: self._ledger(each).room(charge, most) for each in set(self._of)}
        return np.array([rooms[each] for each in self._of], dtype=np.int64)

    def charge(self, user: int, charge: Charge, times: int = 1, note: str = "") -> None:
        """Charges one user.

        Raises:
            BudgetExceeded: it would cost more than was asked for.
        """
        before = self._of[user]
        entries = (*before, LedgerEntry(charge, times, note))
        if entries not in self._ledgers:
            ledger = PrivacyLedger(self.privacy, assumptions=ASSUMED, entries=before)
            ledger.charge(charge, times, note)
            self._ledgers[entries] = ledger
        self._of[user] = entries

    def spent(self) -> Spent:
        """Of the user who has spent most."""
        return worst([self._ledger(each).spent() for each in dict.fromkeys(self._of)])

    def _ledger(self, entries: Entries) -> PrivacyLedger:
        if entries not in self._ledgers:
            self._ledgers[entries] = PrivacyLedger(
                self.privacy, assumptions=ASSUMED, entries=entries
            )
        return self._ledgers[entries]
