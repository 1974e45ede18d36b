"""What everything stands on: errors, secrets, strict binary encoding, signatures, domain labels.

Nothing here knows groups, proofs or the protocol. Read `errors` (who is at fault), `secret`,
`codec`, then `ed25519`; every label that is hashed stands in `domains`.

    >>> import os
    >>> from wire.ed25519 import SigningKey, verify
    >>> key = SigningKey.generate(os.urandom)
    >>> verify(key.public, b"a vote", key.sign(b"a vote"))
    >>> verify(key.public, b"another vote", key.sign(b"a vote"))
    Traceback (most recent call last):
    wire.errors.InvalidSignature: ...

Specification: `specs/00-wire.md`.
"""
