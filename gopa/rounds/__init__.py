"""Computes what follows from a manifest and a roll: graph, losses, commitment key, statements.

Parties, organiser and rules share it, so that all of them mean the same.
Specification: `specs/04-protocol.md`.
"""
