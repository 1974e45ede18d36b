"""The three hashes of RFC 6962, section 2.1."""

from __future__ import annotations

import hashlib

HASH_SIZE = 32

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """SHA-256(0x00 || entry). The prefix keeps a leaf from passing for a node."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()
