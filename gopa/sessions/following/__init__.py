"""A session as its board shows it: what is read, in which order, and what is checked of it.

Read `follower` (`BoardFollower`: checkpoints that only grow), then `whole` (all entries) or
`selective` (those that a party needs). Specification: `specs/12-sessions.md`, section 3.
"""

from gopa.sessions.following.follower import BoardLink, Horizon, PollingPace, SessionLog
from gopa.sessions.following.selective import SelectiveLog
from gopa.sessions.following.whole import ManifestSearch, WholeLog, entries_of_session, matching

__all__ = [
    "BoardLink",
    "Horizon",
    "ManifestSearch",
    "PollingPace",
    "SelectiveLog",
    "SessionLog",
    "WholeLog",
    "entries_of_session",
    "matching",
]
