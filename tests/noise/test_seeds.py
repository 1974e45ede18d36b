"""Seeds: every path leads to one of its own, and no two ways of writing lead to one seed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from gopa.noise import subseed
from wire.domains import NOISE_SEED
from wire.errors import UsageError

PATHS: list[tuple[Any, ...]] = [
    (0,),
    (1,),
    (-1,),
    (255,),
    (-(2**15),),
    (2**15,),
    (10**5000,),
    ("1",),
    (b"1",),
    ("",),
    (b"",),
    ("", ""),
    ("ab",),
    ("a", "b"),
    ("a", b"b"),
    (1, 2),
    (12,),
    (2, 1),
    ("\ud800",),
    (b"\x01",),
    (b"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x01",),
]


def test_paths_give_seeds_of_their_own() -> None:
    seeds = [subseed(*path) for path in PATHS]
    assert {len(seed) for seed in seeds} == {32}
    assert len(set(seeds)) == len(seeds)


def test_a_seed_by_the_rule() -> None:
    parts = [
        b"\x02" + (1).to_bytes(8) + b"a",
        b"\x01" + (2).to_bytes(8) + b"\x01\x00",
        b"\x03" + (1).to_bytes(8) + b"c",
    ]
    expected = hashlib.sha256(NOISE_SEED + (3).to_bytes(4) + b"".join(parts)).digest()
    assert subseed("a", 256, b"c") == expected
    assert subseed("a", np.int64(256), b"c") == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, 1.0, True, (1,), [b"a"], bytearray(1)], ids=repr)
def test_other_parts_are_refused(bad: Any) -> None:
    assert subseed(7, "a") != subseed(7)
    for path in ((bad,), (7, bad)):
        with pytest.raises(UsageError):
            subseed(*path)
