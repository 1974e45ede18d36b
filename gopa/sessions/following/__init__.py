"""How a participant follows its session on a board. `specs/12-sessions.md`, section 3."""

from gopa.sessions.following.follower import Pace
from gopa.sessions.following.interface import Horizon, SessionLog
from gopa.sessions.following.link import Link
from gopa.sessions.following.selective import SelectiveLog
from gopa.sessions.following.whole import WholeLog

__all__ = ["Horizon", "Link", "Pace", "SelectiveLog", "SessionLog", "WholeLog"]
