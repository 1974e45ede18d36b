"""Lets parties, organisers and boards misbehave in one line, and shows who catches it.

Parties, organisers and boards that lie, a catalogue of named attacks, and what must never
come of any of them. `docs/security.md` shows how to write one's own.
"""

from gopa.adversary.attack import Attack, AttackResult, AttackRoles, SessionAttack, attack
from gopa.adversary.harm import harm
from gopa.adversary.library import attacks, named
from gopa.adversary.malicious import Malicious, MaliciousOrganiser, script_of
from gopa.adversary.outcome import AttackOutcome, Catch
from gopa.adversary.privacy.distinguishing import DistinguishResult, distinguish
from gopa.adversary.setup import SessionSetup
from gopa.adversary.trial import TwinFailed, try_out

__all__ = [
    "Attack",
    "AttackOutcome",
    "AttackResult",
    "AttackRoles",
    "Catch",
    "DistinguishResult",
    "Malicious",
    "MaliciousOrganiser",
    "SessionAttack",
    "SessionSetup",
    "TwinFailed",
    "attack",
    "attacks",
    "distinguish",
    "harm",
    "named",
    "script_of",
    "try_out",
]
