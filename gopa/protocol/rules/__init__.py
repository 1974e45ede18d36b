"""The numbered rules of the protocol, evaluated over a log.

`Ledger` follows one session entry by entry and says at every point what the rules demand
next; `check` does so for a whole log. Organiser, board and auditor share this one
evaluation. Specification: `specs/04-protocol.md`.
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
