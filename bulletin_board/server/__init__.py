"""Serves a board over HTTP. Needs the extra `gopa[board]`.

Specification: `specs/05-bulletin-board.md`, section 8.
"""
