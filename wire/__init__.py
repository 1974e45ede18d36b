"""Provides what everything stands on: errors, secrets, strict binary encoding, signatures.

Nothing here knows groups, proofs or the protocol. Specification: `specs/00-wire.md`.
"""
