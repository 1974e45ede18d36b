"""Chooses where the randomness of a simulation comes from."""

from __future__ import annotations

import hashlib
import os
from typing import TypeAlias

from commitments.group import Group, Stream
from wire.domains import SIMULATION_SEED, SIMULATION_STREAM, Domain, stream_domain
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

Seed: TypeAlias = int | bytes | None
"""What makes a simulation reproducible; None takes randomness from the operating system.

Never text: "7" from a command line would silently be another run than 7.
"""


def source(seed: Seed, group: Group) -> Rng:
    """The randomness of a simulation: seeded, or that of the operating system.

    Raises:
        UsageError: the seed is no integer and no bytes.
    """
    if seed is None:
        return os.urandom
    if isinstance(seed, bool) or not isinstance(seed, (int, bytes)):
        raise UsageError("must be an integer or bytes, or None for fresh randomness", "seed")
    key = hashlib.sha256(SIMULATION_SEED + repr(seed).encode()).digest()
    return group.stream(SecretBytes(key), stream_domain(SIMULATION_STREAM)).bytes


def fresh_stream(group: Group, rng: Rng, purpose: Domain) -> Stream:
    """A stream of its own for one purpose, keyed from `rng`."""
    return group.stream(SecretBytes(draw(rng, 32)), stream_domain(purpose))
