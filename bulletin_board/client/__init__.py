"""Posts to a board and reads it, trusting nothing.

Specification: `specs/05-bulletin-board.md`, section 9.
"""
