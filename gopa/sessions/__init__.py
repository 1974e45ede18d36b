"""Sessions between processes: the party and the organiser of the protocol, with files and networks.

Read `ticket` (where a session is, what to trust), `client` (`Client` and `Membership`, a party as
users see it). Rooms: `parties` has the state machine as a process that outlives a crash,
`following` reads a board, `organising` is the organiser, `tunnel` has parties that are called,
`vault` keeps secrets.
Learning code takes a `SessionAggregator`, which has the interface of `gopa.LocalAggregator`. Many
parties of one process follow a board `Together`.

    >>> import gopa, os
    >>> from bulletin_board import NoteSigner
    >>> from bulletin_board.note import KeyKind
    >>> from wire.secret import SecretBytes
    >>> log = NoteSigner("board.example", KeyKind.LOG, SecretBytes(os.urandom(32))).verifier
    >>> ticket = gopa.Ticket("https://board.example", log, session=os.urandom(32))
    >>> gopa.Ticket.from_json(ticket.to_json()) == ticket  # the file that every party is handed
    True

`docs/deploy.md` runs one in three terminals. Specification: `specs/12-sessions.md`.
"""

from gopa.sessions.aggregator import SessionAggregator
from gopa.sessions.board_access import Alone, Connect, RoundPatience, Together
from gopa.sessions.client import Client, Membership
from gopa.sessions.contribution import Contribution, RoundStatus
from gopa.sessions.parties.runner import SessionOver
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
