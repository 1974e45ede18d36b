"""Draws the neighbours that a party chooses, from its own seed alone, in integers.

A party's k choices depend on its seed, its position and the number of parties, so
nobody steers anybody else's choices by withholding or grinding. With larger k the
choices are extended, not redrawn. Specification: `specs/03-privacy.md`, section 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from wire.domains import GRAPH
from wire.errors import UsageError

Indices: TypeAlias = npt.NDArray[np.int32]

Stream: TypeAlias = Callable[[int], bytes]
"""The first bytes of an endless stream, as many as asked for."""

SEED_SIZE: Final = 32
MOST_PARTIES: Final = 2**24
_WORD = 8
_BATCH = 65_536


def chosen_by(seed: bytes, position: int, parties: int, k: int) -> tuple[int, ...]:
    """The k distinct parties that the party at `position` chooses, in order of choice.

    Uniform over ordered choices of k among the other `parties - 1`. `UsageError` for
    a seed that is not 32 bytes or numbers that do not fit.
    """
    _check(parties, k)
    if type(position) is not int or not 0 <= position < parties:
        raise UsageError("a position is an integer from 0 to the number of parties minus 1")
    chosen: list[int] = []
    seen: set[int] = set()
    for choice in _candidates(_stream(seed, position, parties), position, parties):
        if len(chosen) == k:
            break
        if choice not in seen:
            seen.add(choice)
            chosen.append(choice)
    return tuple(chosen)


def all_choices(seeds: bytes | Sequence[bytes], parties: int, k: int) -> Indices:
    """Row u holds `chosen_by` of party u: one seed for each party, or one for all.

    One seed for all serves public coins: the position keeps the choices apart.
    """
    _check(parties, k)
    if not isinstance(seeds, bytes) and len(seeds) != parties:
        raise UsageError(f"{parties} parties need {parties} seeds, or one for all")
    result = np.empty((parties, k), dtype=np.int32)
    for start in range(0, parties, _BATCH):
        stop = min(start + _BATCH, parties)
        result[start:stop] = _batch(seeds, start, stop, parties, k)
    return result


def _batch(seeds: bytes | Sequence[bytes], start: int, stop: int, parties: int, k: int) -> Indices:
    """Rows whose first k words are accepted and distinct at once; the others one by one."""
    own = [seeds if isinstance(seeds, bytes) else seeds[u] for u in range(start, stop)]
    words = np.frombuffer(
        b"".join(_stream(seed, u, parties)(_WORD * k) for u, seed in enumerate(own, start)),
        dtype=">u8",
    ).reshape(stop - start, k)
    others = parties - 1
    rows = (words % np.uint64(others)).astype(np.int32)
    rows += rows >= np.arange(start, stop, dtype=np.int32)[:, None]
    ordered = np.sort(rows, axis=1)
    doubtful = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    doubtful |= (words > np.uint64(_largest_word(others))).any(axis=1)
    for row in np.flatnonzero(doubtful):
        rows[row] = chosen_by(own[row], start + int(row), parties, k)
    return rows


def _largest_word(others: int) -> int:
    """Words above this one would make small remainders likelier."""
    return 2**64 - 2**64 % others - 1


def _candidates(stream: Stream, position: int, parties: int) -> Iterator[int]:
    others = parties - 1
    largest = _largest_word(others)
    start, size = 0, 64 * _WORD
    while True:
        block = stream(start + size)[start:]
        for offset in range(0, size, _WORD):
            word = int.from_bytes(block[offset : offset + _WORD])
            if word <= largest:
                choice = word % others
                yield choice + (choice >= position)
        start, size = start + size, 2 * size


def _stream(seed: bytes, position: int, parties: int) -> Stream:
    if type(seed) is not bytes or len(seed) != SEED_SIZE:
        raise UsageError(f"a seed is {SEED_SIZE} bytes")
    where = position.to_bytes(4) + parties.to_bytes(4)
    return hashlib.shake_128(GRAPH + seed + where).digest


def _check(parties: int, k: int) -> None:
    if type(parties) is not int or not 2 <= parties <= MOST_PARTIES:
        raise UsageError(f"a graph has 2 to {MOST_PARTIES} parties", "parties")
    if type(k) is not int or not 1 <= k < parties:
        raise UsageError("k is at least 1 and less than the number of parties", "k")
