"""Which engine a mode has."""

from __future__ import annotations

from commitments.group import Group
from gopa.aggregation.dropouts import leaving
from gopa.aggregation.engine import Engine
from gopa.aggregation.off_lists import Conditions
from gopa.aggregation.off_mode import OffMode
from gopa.aggregation.settings import Settings
from gopa.planning import Terms
from wire.randomness import Rng


def make_engine(terms: Terms, settings: Settings, group: Group, rng: Rng) -> Engine:
    """The engine for these settings; `UsageError` where plan and settings do not fit."""
    if settings.mode == "off":
        conditions = Conditions(
            terms=terms,
            one_close=settings.trust == "honest-but-curious",
            max_rollbacks=settings.max_rollbacks,
        )
        script = leaving(settings.script, terms.parties)
        return OffMode(conditions, group, rng, script, settings.progress)
    from gopa.aggregation.sessions import Session

    return Session(terms, settings, rng)
