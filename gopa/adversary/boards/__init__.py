"""Malicious boards on real HTTP, and honest sessions behind them. Needs `gopa[session]`.

A `MaliciousBoard` has several faces, each a real board with the same key. Every participant
reaches it on a `Way` of its own, which shows one face and does to requests what it is told.
A `Stage` has a session of honest parties and an organiser on such ways; `played` runs a play
on it, and `ServedOutcome` is what came of it.
"""

from gopa.adversary.boards.asking import Asked, Onward, Tampering, Which, closing, said
from gopa.adversary.boards.chair import Chair
from gopa.adversary.boards.face import FEW_CONNECTIONS, FEW_PENDING, FEW_SESSIONS, Face
from gopa.adversary.boards.front import MaliciousBoard, NeverHappened, Sent, Way
from gopa.adversary.boards.guests import Guest
from gopa.adversary.boards.harm import harm
from gopa.adversary.boards.liar import Liar
from gopa.adversary.boards.outcome import ServedOutcome
from gopa.adversary.boards.playing import Play, lying, played, require_honest_session
from gopa.adversary.boards.stage import Stage, staged
from gopa.adversary.boards.strangers import Crowd, Squatters

__all__ = [
    "FEW_CONNECTIONS",
    "FEW_PENDING",
    "FEW_SESSIONS",
    "Asked",
    "Chair",
    "Crowd",
    "Face",
    "Guest",
    "Liar",
    "MaliciousBoard",
    "NeverHappened",
    "Onward",
    "Play",
    "Sent",
    "ServedOutcome",
    "Squatters",
    "Stage",
    "Tampering",
    "Way",
    "Which",
    "closing",
    "harm",
    "lying",
    "played",
    "require_honest_session",
    "said",
    "staged",
]
