"""Runs sessions between processes. Specification: `specs/12-sessions.md`.

A party is a `Client`: it joins the session of a `Ticket` and contributes values. Learning code
takes a `SessionAggregator`, which has the interface of `gopa.LocalAggregator`. Many parties of
one process follow a board `Together`.
"""

from gopa.sessions.aggregator import SessionAggregator
from gopa.sessions.board_access import Alone, Connect, RoundPatience, Together
from gopa.sessions.client import Client, Membership
from gopa.sessions.contribution import Contribution, RoundStatus
from gopa.sessions.party_runner import SessionOver
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
