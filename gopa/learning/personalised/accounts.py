"""Keeps a ledger for each user; users with equal entries share one account.

Specification: `specs/20-personalised.md`, section 4.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from gopa import UsageError
from gopa.learning.charges import Charge
from gopa.learning.ledger import LedgerEntry, PrivacyLedger
from gopa.learning.privacy import Privacy, Spent, worst

Entries: TypeAlias = tuple[LedgerEntry, ...]

ASSUMED: Final = (
    "public: who takes part, how many rows each has, who acts when, and the graph at the start",
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

    def fits(self, charge: Charge, times: int = 1) -> bool:
        """Whether everybody can afford so many runs of a mechanism."""
        return all(self._fits((*each, LedgerEntry(charge, times))) for each in set(self._of))

    def charge(self, user: int, charge: Charge, times: int = 1, note: str = "") -> None:
        """Charges one user.

        Raises:
            BudgetExceeded: it would cost more than was asked for.
        """
        before = self._of[user]
        entries = (*before, LedgerEntry(charge, times, note))
        if entries not in self._ledgers and not self._fits(entries):
            # Says what it would have come to.
            PrivacyLedger(self.privacy, entries=before).charge(charge, times, note)
        self._of[user] = entries
        self._ledger(entries)

    def spent(self) -> Spent:
        """Of the user who has spent most."""
        return worst([self._ledger(each).spent() for each in dict.fromkeys(self._of)])

    def _fits(self, entries: Entries) -> bool:
        spent = PrivacyLedger(self.privacy, entries=entries).spent(points=1)
        return spent.epsilon <= self.privacy.epsilon

    def _ledger(self, entries: Entries) -> PrivacyLedger:
        if entries not in self._ledgers:
            self._ledgers[entries] = PrivacyLedger(
                self.privacy, assumptions=ASSUMED, entries=entries
            )
        return self._ledgers[entries]
