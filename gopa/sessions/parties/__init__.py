"""Parties that survive their processes. `specs/12-sessions.md`, sections 1 and 2."""

from gopa.sessions.parties.durable import Attempt, DurableParty

__all__ = ["Attempt", "DurableParty"]
