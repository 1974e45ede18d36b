"""Follows a session on its board. `specs/12-sessions.md`, section 3."""

from gopa.sessions.following.follower import BoardLink, Horizon, PollingPace, SessionLog
from gopa.sessions.following.selective import SelectiveLog
from gopa.sessions.following.whole import WholeLog

__all__ = ["BoardLink", "Horizon", "PollingPace", "SelectiveLog", "SessionLog", "WholeLog"]
