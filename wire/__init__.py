"""The floor of the library: errors, secrets, strict binary encoding, signatures.

Nothing here knows groups, proofs or the protocol. Specification: `specs/00-wire.md`.
"""
