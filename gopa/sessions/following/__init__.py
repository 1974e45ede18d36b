"""Follows a session on its board. `specs/12-sessions.md`, section 3."""

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
