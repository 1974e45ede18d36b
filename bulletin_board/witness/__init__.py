"""Cosigns one history of a log and no other, and asks others to do so (C2SP tlog-witness).

Specification: `specs/05-bulletin-board.md`, section 10.
"""
