"""Malicious users as a library: misbehave in one line, and see who catches it.

Parties, organisers and boards that lie, a catalogue of named attacks, and what must never
come of any of them. `docs/security.md` shows how to write one's own.
"""

from gopa.adversary.attack import Attack, Cast, Row, SessionAttack, attack
from gopa.adversary.ground import Ground
from gopa.adversary.harm import harm
from gopa.adversary.library import attacks, named
from gopa.adversary.malicious import Malicious, MaliciousOrganiser
from gopa.adversary.outcome import Catch, Outcome
from gopa.adversary.trial import TwinFailed, try_out

__all__ = [
    "Attack",
    "Cast",
    "Catch",
    "Ground",
    "Malicious",
    "MaliciousOrganiser",
    "Outcome",
    "Row",
    "SessionAttack",
    "TwinFailed",
    "attack",
    "attacks",
    "harm",
    "named",
    "try_out",
]
