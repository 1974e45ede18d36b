"""Witnesses: they cosign one history of a log and no other (C2SP tlog-witness).

Specification: `specs/05-bulletin-board.md`, section 10.
"""
