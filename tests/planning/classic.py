"""Plans with every choice made explicitly, for tests of what each choice does by itself.

They have Gaussian masks, one charged retry, one curious party, no recovery, and any chance
of a result.
"""

from __future__ import annotations

from typing import Any, Final

import gopa.planning
from gopa.planning import Plan

CLASSIC: Final[dict[str, Any]] = {
    "corrupt": 0,
    "mask": "gaussian",
    "charged": 1,
    "attempts": 3,
    "recovery": None,
    "beacon": "commit-reveal",
    "least_chance": 0,
}


def plan(**options: Any) -> Plan:
    """The plan for these options, the others as above."""
    return gopa.planning.plan(**{**CLASSIC, **options})
