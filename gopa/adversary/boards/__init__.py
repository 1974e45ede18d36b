"""Malicious boards on real HTTP, and honest sessions behind them.

A `MaliciousBoard` has several forks, each a real board with the same key. Every participant
reaches it on a `TamperedTransport` of its own, which shows one fork and does to requests what
it is told. A `ServedSession` has a session of honest parties and an organiser on such
transports; `played` runs a scenario in it, and `ServedOutcome` is what came of it. Read
`scenario`, `served_session`, `transport`.
"""

from gopa.adversary.boards.clients import HonestClient, OrganiserProcess
from gopa.adversary.boards.log_fork import FEW_CONNECTIONS, FEW_PENDING, FEW_SESSIONS, LogFork
from gopa.adversary.boards.lying_client import LyingClient
from gopa.adversary.boards.outcome import ServedOutcome
from gopa.adversary.boards.scenario import Scenario, harm, lying, played, require_honest_session
from gopa.adversary.boards.served_session import ServedSession, serve_session
from gopa.adversary.boards.strangers import Crowd, Squatters
from gopa.adversary.boards.tampering import BoardRequest, Onward, Tampering, Which, closing, said
from gopa.adversary.boards.transport import MaliciousBoard, NeverHappened, Sent, TamperedTransport

__all__ = [
    "FEW_CONNECTIONS",
    "FEW_PENDING",
    "FEW_SESSIONS",
    "BoardRequest",
    "Crowd",
    "HonestClient",
    "LogFork",
    "LyingClient",
    "MaliciousBoard",
    "NeverHappened",
    "Onward",
    "OrganiserProcess",
    "Scenario",
    "Sent",
    "ServedOutcome",
    "ServedSession",
    "Squatters",
    "TamperedTransport",
    "Tampering",
    "Which",
    "closing",
    "harm",
    "lying",
    "played",
    "require_honest_session",
    "said",
    "serve_session",
]
