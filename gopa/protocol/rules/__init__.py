"""The numbered rules of the protocol, evaluated over a log.

`Ledger` follows one session entry by entry, and gives at every point what the rules demand next;
`check` does so for a whole log. Organiser, board and auditor share this one evaluation.

    >>> import gopa
    >>> log = gopa.average([0, 1] * 5, epsilon=2, delta=1e-5, corrupt=1, seed=1).transcript
    >>> log.check().faults  # `check` over all its entries
    ()

To read: `gopa/contract/phases.py` has the table of phases, `table` every rule in a line.
`rounds.py` takes each message to the rules of the open phase, one class for each (`join`,
`commit`, `publish`, `rollback`, `rows`, `final_phases`); from their decision `closes.py` makes the
message that the organiser has to post, and its close leads to the next phase of the table.
`round_state.py` is what they share. Specification: `specs/04-protocol.md`.
"""

from gopa.protocol.rules.findings import (
    BeaconValue,
    Control,
    Fault,
    Findings,
    Listed,
    Removed,
    Role,
    RoundFindings,
    RuleNote,
    outcome_of,
)
from gopa.protocol.rules.forks import read_session
from gopa.protocol.rules.ledger import Ledger, LogCheck, check, check_log
from gopa.protocol.rules.table import RULES
from gopa.protocol.rules.view import RoundPicture, SessionState

__all__ = [
    "RULES",
    "BeaconValue",
    "Control",
    "Fault",
    "Findings",
    "Ledger",
    "Listed",
    "LogCheck",
    "Removed",
    "Role",
    "RoundFindings",
    "RoundPicture",
    "RuleNote",
    "SessionState",
    "check",
    "check_log",
    "outcome_of",
    "read_session",
]
