"""Sessions between processes. Specification: `specs/12-sessions.md`.

A party is a `Client`: it joins the session of a `Ticket` and contributes values. Learning code
takes a `SessionAggregator`, which has the interface of `gopa.LocalAggregator`. Many parties of
one process follow a board `Together`. Needs the extra `gopa[session]`.
"""

from gopa.sessions.aggregator import SessionAggregator
from gopa.sessions.client import Client
from gopa.sessions.contribution import Contribution
from gopa.sessions.entrance import Alone, Connect, Together
from gopa.sessions.herald import News
from gopa.sessions.membership import Membership
from gopa.sessions.patience import Waiting
from gopa.sessions.seat import SessionOver
from gopa.sessions.ticket import Ticket

__all__ = [
    "Alone",
    "Client",
    "Connect",
    "Contribution",
    "Membership",
    "News",
    "SessionAggregator",
    "SessionOver",
    "Ticket",
    "Together",
    "Waiting",
]
