"""Defines what is said in a session, as strict binary structs. `specs/04-protocol.md`."""
