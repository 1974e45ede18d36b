"""Serves a board over HTTP.

Specification: `specs/05-bulletin-board.md`, section 8.
"""
