"""Carries out what a round says about long vectors: what coins decide, what a party holds.

`specs/14-long-vectors.md`. Everything here is pure; parties, organiser and rules share it.
"""
