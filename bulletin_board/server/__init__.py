"""The board as an HTTP service. Needs the extra `gopa[board]`.

Specification: `specs/05-bulletin-board.md`, section 8.
"""
