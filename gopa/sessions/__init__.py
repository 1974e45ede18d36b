"""Sessions between processes. Specification: `specs/12-sessions.md`.

A party is a `Client`: it joins the session of a `Ticket` and contributes values. Learning code
takes a `SessionAggregator`, which has the interface of `gopa.LocalAggregator`. Many parties of
one process follow a board `Together`. Needs the extra `gopa[session]`.
"""

from gopa.sessions.aggregator import SessionAggregator
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.entrance import Alone, Connect, Together
from gopa.sessions.membership import Membership
from gopa.sessions.party_runner import SessionOver
from gopa.sessions.patience import RoundPatience
from gopa.sessions.round_progress import RoundStatus
from gopa.sessions.ticket import Ticket

__all__ = [
    "Alone",
    "Client",
    "Connect",
    "Contribution",
    "Membership",
    "RoundPatience",
    "RoundStatus",
    "SessionAggregator",
    "SessionOver",
    "Ticket",
    "Together",
]
