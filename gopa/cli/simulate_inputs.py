"""What the parties of a simulation have, and when some of them fall silent."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.cli.values import read_value
from gopa.planning.terms import Terms
from wire.errors import UsageError

Inputs: TypeAlias = npt.NDArray[np.float64]
"""A row for each party, a column for each coordinate."""

_BEFORE_UNMASKING: Final = ("join", "coins", "commit", "publish")
"""A round goes on without a party that falls silent here; in `unmask` others must recover it."""

_INPUTS: Final = 1
_SILENCE: Final = 2
_WITHIN: Final = 0.999
"""So much of the largest length a shortened vector has: rounding may lengthen it."""

_CACHED_ROUNDS: Final = 64


def read_inputs(path: Path, dimension: int) -> Inputs:
    """The values of all parties, one after the other.

    Raises:
        UsageError: the file holds no numbers, or no whole number of parties.
    """
    try:
        found = np.asarray(read_value(None, path), dtype=np.float64)
    except (TypeError, ValueError):
        message = f"{path} holds no list of numbers, or of lists of numbers of one length"
        raise UsageError(message, "--values") from None
    if found.ndim == 2 and found.shape[1] != dimension:
        message = f"{path} has {found.shape[1]} numbers for each party: say --dimension so"
        raise UsageError(message, "--values")
    if found.ndim > 2 or found.size == 0 or found.size % dimension:
        message = f"{path} has {found.size} numbers, and every party has {dimension}"
        raise UsageError(message, "--values")
    if not np.isfinite(found).all():
        raise UsageError(f"{path} holds a number that is not finite", "--values")
    return found.reshape(-1, dimension)


def random_inputs(terms: Terms, norm: str | None, seed: int | None, *, integers: bool) -> Inputs:
    """Values drawn evenly from the range; vectors that are too long are shortened."""
    rng = _generator(seed, _INPUTS)
    shape, low, high = (terms.parties, terms.dimension), float(terms.low), float(terms.high)
    if integers:
        return rng.integers(int(low), int(high), shape, endpoint=True).astype(np.float64)
    found = rng.uniform(low, high, shape)
    if norm is not None:
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        found *= np.minimum(1.0, _WITHIN * float(norm) / np.maximum(lengths, _WITHIN))
    return found


def silence(
    fraction: float, terms: Terms, seed: int | None
) -> Callable[[int], Mapping[int, str]] | None:
    """So large a part of the parties falls silent in every round, each from a phase drawn on."""
    count = round(fraction * terms.parties)
    if not count:
        return None
    phases = (*_BEFORE_UNMASKING, *(("unmask",) if terms.threshold_numerator else ()))
    fixed = secrets.randbits(64) if seed is None else seed

    @lru_cache(_CACHED_ROUNDS)
    def script(number: int) -> Mapping[int, str]:
        rng = _generator(fixed, _SILENCE, number)
        silent = rng.choice(terms.parties, count, replace=False)
        return {int(party): str(rng.choice(phases)) for party in silent}

    return script


def as_values(inputs: Inputs) -> list[Any]:
    """Numbers for a plan of one coordinate, vectors otherwise."""
    return inputs[:, 0].tolist() if inputs.shape[1] == 1 else list(inputs)


def _generator(seed: int | None, *purpose: int) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else [seed, *purpose])
