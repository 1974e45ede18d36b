"""Posts to a board and reads it, trusting nothing. Needs the extra `gopa[board]`.

Specification: `specs/05-bulletin-board.md`, section 9.
"""
