"""How a participant follows its session on a board. `specs/12-sessions.md`, section 3."""

from gopa.sessions.following.follower import BoardLink, PollingPace
from gopa.sessions.following.interface import Horizon, SessionLog
from gopa.sessions.following.selective import SelectiveLog
from gopa.sessions.following.whole import WholeLog

__all__ = ["BoardLink", "Horizon", "PollingPace", "SelectiveLog", "SessionLog", "WholeLog"]
