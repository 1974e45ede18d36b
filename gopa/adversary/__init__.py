"""Parties, organisers and boards that misbehave in one line, and who catches them.

A catalogue of named attacks, and what must never come of any of them. Read `malicious` (who
misbehaves, when and how), `setup` (in which session), `trial` (the session and its audit),
`outcome` and `harm` (what came of it), `attack` (all of that under a name), `served` (the same
over HTTP), `library` (many attacks). Rooms: `deeds` has what can be done at a phase, `catalogue`
the attacks, `boards` what lies over HTTP, `privacy` what colluding parties learn.

    >>> import gopa
    >>> row = gopa.adversary.named("zero-noise").run()
    >>> row.held, row.blamed, row.result
    (True, ('party 1',), 'right')

`docs/security.md` shows how to write one's own.
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
