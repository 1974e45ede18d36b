"""Plans how many parties may go missing behind publish before a round of long vectors ends.

Each of them adds to the sets of liars that could have left when they saw where they are checked
(rules P11 and K1 of specification 14), so the fewest are planned that hardly ever end a round.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import bdtrc

TOO_MANY: Final = 1e-3
"""The planned chance that more honest parties than that go missing behind publish."""

_DEVIATIONS: Final = 12


def planned_late(parties: int, corrupt: int, survivors: int, chance: float) -> int:
    """All corrupt parties and as many honest ones as go missing, each with this chance.

    Never more than the plan can lose at all: fewer parties end a round anyway.
    """
    honest = parties - corrupt
    most = math.ceil(honest * chance + _DEVIATIONS * math.sqrt(honest * chance + 1))
    counts = np.arange(min(honest, most) + 1, dtype=np.float64)
    missing = int(np.argmax(bdtrc(counts, honest, chance) <= TOO_MANY))
    return min(corrupt + missing, parties - survivors)
