"""The board of a session, as its commands reach it."""

from __future__ import annotations

import os
from typing import Final

from bulletin_board import TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, NetworkError
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.source import MissingResource
from gopa.sessions.ticket import Ticket
from wire.errors import InvalidProof, MalformedMessage, UsageError

_SHORT: Final = Patience(attempts=3, first_seconds=0.2, most_seconds=1.0)
"""Somebody waits for the answer, or asks again by itself."""


def board_client(ticket: Ticket, state: ClientState | None = None) -> BoardClient:
    """A client that believes what the ticket trusts."""
    return _client(ticket.board, ticket.trust, state or MemoryState())


def require_board(address: str, policy: TrustPolicy) -> None:
    """Return if there is a board with this log; raises `UsageError` that says what is there."""
    alone = TrustPolicy.single_log(policy.log.key)  # witnesses may come later
    try:
        _client(address, alone, MemoryState()).update()
    except NetworkError as error:
        message = f"the board does not answer: {error}. Start it, or use --offline"
        raise UsageError(message, "--board") from None
    except MissingResource:
        raise UsageError("there is a server, and it is no board", "--board") from None
    except (InvalidProof, MalformedMessage):
        message = "the board's log has another key: ask its operator, who sees it when it starts"
        raise UsageError(message, "--log-key") from None


def _client(address: str, policy: TrustPolicy, state: ClientState) -> BoardClient:
    transport = HttpTransport(seconds=20.0)
    return BoardClient(address, policy, state, transport, rng=os.urandom, patience=_SHORT)
